//go:build ignore

package brokers

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// WithTelemetry has metrics and spans go to these providers, and the producer's trace read from the headers by this
// propagator; the default of each, also where it is nil, is OpenTelemetry's global one.
func WithTelemetry(metrics metric.MeterProvider, traces trace.TracerProvider, headers propagation.TextMapPropagator) Option {
	return func(i *inbox) { i.meter = newTelemetry(metrics, traces, headers) }
}

func otelMeter() meter { return newTelemetry(nil, nil, nil) }

type telemetry struct {
	tracer      trace.Tracer
	propagator  propagation.TextMapPropagator
	messages    metric.Int64Counter
	duration    metric.Float64Histogram
	batches     metric.Int64Histogram
	retries     metric.Int64Counter
	deadLetters metric.Int64Counter
	behind      metric.Int64Gauge
	deleted     metric.Int64Counter
	cleaned     metric.Int64Gauge
}

func newTelemetry(metrics metric.MeterProvider, traces trace.TracerProvider, headers propagation.TextMapPropagator) *telemetry {
	if metrics == nil {
		metrics = otel.GetMeterProvider()
	}
	if traces == nil {
		traces = otel.GetTracerProvider()
	}
	if headers == nil {
		headers = otel.GetTextMapPropagator()
	}
	const scope = "inbox"
	m := metrics.Meter(scope)
	t := &telemetry{tracer: traces.Tracer(scope), propagator: headers}
	// An instrument that can't be made is reported to OpenTelemetry's error handler and measures nothing.
	counter := func(name, description string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithDescription(description))
		report(err)
		return c
	}
	gauge := func(name, description, unit string) metric.Int64Gauge {
		g, err := m.Int64Gauge(name, metric.WithDescription(description), metric.WithUnit(unit))
		report(err)
		return g
	}
	t.messages = counter("inbox.messages", "Messages that were handled, by what became of them.")
	t.retries = counter("inbox.retries", "Times that a message had to be tried again.")
	t.deadLetters = counter("inbox.dead_letters", "Messages that were moved to the dead letter.")
	t.deleted = counter("inbox.retention.deleted", "Markers that the retention has deleted.")
	t.behind = gauge("inbox.lag", "Messages of a partition that are not applied yet.", "{message}")
	t.cleaned = gauge("inbox.retention.last_success", "When the retention last found nothing more to delete.", "s")
	var err error
	t.duration, err = m.Float64Histogram("messaging.process.duration", metric.WithUnit("s"),
		metric.WithDescription("How long a message took, or the batch that it came in."))
	report(err)
	t.batches, err = m.Int64Histogram("inbox.batch.messages", metric.WithDescription("Messages of a batch."),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024))
	report(err)
	return t
}

func report(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// message counts a message and adds a span to the trace that its producer began.
func (t *telemetry) message(ctx context.Context, e Event) {
	consumer, name := attribute.String("inbox.consumer", e.Consumer), attribute.String("inbox.message", knownMessage(e))
	outcome := attribute.String("inbox.outcome", e.Outcome.String())
	t.messages.Add(ctx, 1, metric.WithAttributes(consumer, name, outcome))
	t.duration.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(
		attribute.String("messaging.operation.name", "process"), consumer, name))

	end := time.Now()
	ctx = t.propagator.Extract(ctx, propagation.MapCarrier(e.Headers))
	_, span := t.tracer.Start(ctx, "process "+knownMessage(e), trace.WithTimestamp(end.Add(-e.Duration)),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("messaging.operation.type", "process"), attribute.String("messaging.message.id", e.ID), consumer, outcome))
	if e.Err != nil {
		span.RecordError(e.Err)
		span.SetStatus(codes.Error, Classify(e.Err).String())
	}
	span.End(trace.WithTimestamp(end))
}

func (t *telemetry) batch(consumer string, size int, _ time.Duration) {
	t.batches.Record(context.Background(), int64(size), metric.WithAttributes(attribute.String("inbox.consumer", consumer)))
}

func (t *telemetry) retried(consumer string) {
	t.retries.Add(context.Background(), 1, metric.WithAttributes(attribute.String("inbox.consumer", consumer)))
}

func (t *telemetry) buried(consumer, message, reason string) {
	t.deadLetters.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String("inbox.consumer", consumer), attribute.String("inbox.message", message), attribute.String("error.type", reason)))
}

func (t *telemetry) lag(consumer, topic string, partition int32, messages int64) {
	t.behind.Record(context.Background(), messages, metric.WithAttributes(
		attribute.String("inbox.consumer", consumer), attribute.String("messaging.destination.name", topic),
		attribute.Int("messaging.destination.partition.id", int(partition))))
}

func (t *telemetry) purged(consumer string, markers int64, finished bool) {
	of := metric.WithAttributes(attribute.String("inbox.consumer", consumer))
	t.deleted.Add(context.Background(), markers, of)
	if finished {
		t.cleaned.Record(context.Background(), time.Now().Unix(), of)
	}
}
