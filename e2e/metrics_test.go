package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/otel"
	prom "github.com/inboxgen/inboxgen/testdata/prometheus"
)

// TestPrometheus counts what becomes of messages; what is not known of has one name, whatever the producer calls it.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	pool := (&database{url: testenv.Postgres(t, 18).Database(t)}).with(t, "prometheus")
	run(t, pool, "INSERT INTO ledger VALUES (1, 0)")
	registry := prometheus.NewRegistry()
	option := prom.WithRegisterer(registry)
	c, again := prom.NewAccounting(pool, option), prom.NewAccounting(pool, option) // two of one process share their metrics
	deliver := func(kind, id string, merchant int) prom.Delivery {
		return prom.Delivery{Headers: map[string]string{"type": kind}, Body: fmt.Appendf(nil, `{"event_id": %q, "merchant_id": %d, "amount": 1}`, id, merchant)}
	}
	for _, d := range []prom.Delivery{deliver("Paid", "a", 1), deliver("Paid", "a", 1), deliver("Paid", "b", 404), deliver("x", "c", 1), deliver("y", "c", 1)} {
		_, _ = again.Handle(t.Context(), d)
	}
	c.HandleBatch(t.Context(), []prom.Delivery{deliver("Paid", "c", 1), deliver("Refunded", "d", 1), deliver("Paid", "c", 1)})
	if deleted, err := (prom.Retention{DB: pool, Options: []prom.Option{option}}).Run(t.Context()); err != nil {
		t.Error(deleted, err)
	}
	want := `
# HELP inbox_messages_total Messages that were handled, by what became of them.
# TYPE inbox_messages_total counter
inbox_messages_total{consumer="accounting",message="Paid",outcome="applied"} 2
inbox_messages_total{consumer="accounting",message="Paid",outcome="duplicate"} 2
inbox_messages_total{consumer="accounting",message="Paid",outcome="failed"} 1
inbox_messages_total{consumer="accounting",message="Refunded",outcome="applied"} 1
inbox_messages_total{consumer="accounting",message="unknown",outcome="failed"} 2
# HELP inbox_retention_deleted_total Markers that the retention has deleted.
# TYPE inbox_retention_deleted_total counter
inbox_retention_deleted_total{consumer="accounting"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "inbox_messages_total", "inbox_retention_deleted_total"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"inbox_process_duration_seconds", "inbox_batch_messages", "inbox_retention_last_success_timestamp_seconds"} {
		if n, err := testutil.GatherAndCount(registry, name); n == 0 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// TestTelemetry has messages continue their producer's trace, one by one and in a batch.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	pool := (&database{url: testenv.Postgres(t, 18).Database(t)}).with(t, "otel")
	run(t, pool, "INSERT INTO ledger VALUES (1, 0)")
	reader, spans := metric.NewManualReader(), tracetest.NewSpanRecorder()
	c := otel.NewAccounting(pool, otel.WithTelemetry(
		metric.NewMeterProvider(metric.WithReader(reader)), trace.NewTracerProvider(trace.WithSpanProcessor(spans)), propagation.TraceContext{}))
	deliver := func(id string, merchant int) otel.Delivery {
		return otel.Delivery{
			Headers: map[string]string{"type": "Paid", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			Body:    fmt.Appendf(nil, `{"event_id": %q, "merchant_id": %d, "amount": 1}`, id, merchant),
		}
	}
	_, _ = c.Handle(t.Context(), deliver("a", 1))
	c.HandleBatch(t.Context(), []otel.Delivery{deliver("a", 1), deliver("b", 404)})
	var got []string
	for _, s := range spans.Ended() {
		if s.Parent().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || s.Parent().SpanID().String() != "b7ad6b7169203331" {
			t.Errorf("%s does not continue its producer's trace but %v", s.Name(), s.Parent())
		}
		got = append(got, s.Name()+" "+s.Status().Code.String())
	}
	if want := []string{"process Paid Unset", "process Paid Unset", "process Paid Error"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, point := range sum.DataPoints {
				outcome, _ := point.Attributes.Value("inbox.outcome")
				counts[m.Name+" "+outcome.AsString()] += point.Value
			}
		}
	}
	if fmt.Sprint(counts) != "map[inbox.messages applied:1 inbox.messages duplicate:1 inbox.messages failed:1]" {
		t.Errorf("%v", counts)
	}
}
