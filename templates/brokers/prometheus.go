//go:build ignore

package brokers

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// WithRegisterer has the metrics registered with r; the default is prometheus.DefaultRegisterer.
func WithRegisterer(r prometheus.Registerer) Option {
	return func(i *inbox) { i.meter = newPrometheusMetrics(r) }
}

// prometheusMeter is the meter of every consumer that is given no registerer.
var prometheusMeter = sync.OnceValue(func() meter { return newPrometheusMetrics(prometheus.DefaultRegisterer) })

type prometheusMetrics struct {
	messages    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	batches     *prometheus.HistogramVec
	retries     *prometheus.CounterVec
	deadLetters *prometheus.CounterVec
	behind      *prometheus.GaugeVec
	deleted     *prometheus.CounterVec
	cleaned     *prometheus.GaugeVec
}

func newPrometheusMetrics(r prometheus.Registerer) *prometheusMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
	}
	return &prometheusMetrics{
		messages:    counter("inbox_messages_total", "Messages that were handled, by what became of them.", "consumer", "message", "outcome"),
		duration:    histogram("inbox_process_duration_seconds", "How long a message took, or the batch that it came in.", prometheus.DefBuckets, "consumer", "message"),
		batches:     histogram("inbox_batch_messages", "Messages of a batch.", prometheus.ExponentialBuckets(1, 2, 11), "consumer"),
		retries:     counter("inbox_retries_total", "Times that a message had to be tried again.", "consumer"),
		deadLetters: counter("inbox_dead_letters_total", "Messages that were moved to the dead letter.", "consumer", "message", "reason"),
		behind:      gauge("inbox_lag_messages", "Messages of a partition that are not applied yet.", "consumer", "topic", "partition"),
		deleted:     counter("inbox_retention_deleted_total", "Markers that the retention has deleted.", "consumer"),
		cleaned:     gauge("inbox_retention_last_success_timestamp_seconds", "When the retention last found nothing more to delete.", "consumer"),
	}
}

// registered registers a collector, or returns the one that another consumer of this process has registered before.
func registered[C prometheus.Collector](r prometheus.Registerer, c C) C {
	var already prometheus.AlreadyRegisteredError
	switch err := r.Register(c); {
	case err == nil:
	case errors.As(err, &already):
		if other, ok := already.ExistingCollector.(C); ok {
			return other
		}
	default:
		panic(err) // another metric of this name: a mistake in the program
	}
	return c
}

func (p *prometheusMetrics) message(_ context.Context, e Event) {
	p.messages.WithLabelValues(e.Consumer, knownMessage(e), e.Outcome.String()).Inc()
	p.duration.WithLabelValues(e.Consumer, knownMessage(e)).Observe(e.Duration.Seconds())
}

func (p *prometheusMetrics) batch(consumer string, size int, _ time.Duration) {
	p.batches.WithLabelValues(consumer).Observe(float64(size))
}

func (p *prometheusMetrics) retried(consumer string) { p.retries.WithLabelValues(consumer).Inc() }

func (p *prometheusMetrics) buried(consumer, message, reason string) {
	p.deadLetters.WithLabelValues(consumer, message, reason).Inc()
}

func (p *prometheusMetrics) lag(consumer, topic string, partition int32, messages int64) {
	p.behind.WithLabelValues(consumer, topic, strconv.Itoa(int(partition))).Set(float64(messages))
}

func (p *prometheusMetrics) purged(consumer string, markers int64, finished bool) {
	p.deleted.WithLabelValues(consumer).Add(float64(markers))
	if finished {
		p.cleaned.WithLabelValues(consumer).SetToCurrentTime()
	}
}
