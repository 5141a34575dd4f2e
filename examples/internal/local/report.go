package local

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Message is one that a producer sends.
type Message struct {
	ID, Type   string
	MerchantID int64
	Body       []byte
}

// Messages makes n messages; duplicates of them, in percent, come twice, and some are of a merchant that does not exist.
func Messages(n, duplicates int) []Message {
	var out []Message
	for i := range n {
		m := Message{ID: fmt.Sprintf("event-%d", i), Type: "order.paid", MerchantID: 1 + int64(i%10)}
		switch i % 50 {
		case 7:
			m.Type = "order.refunded"
		case 13:
			m.MerchantID = 404
		}
		m.Body = fmt.Appendf(nil, `{"event_id": %q, "merchant_id": %d, "amount": 100}`, m.ID, m.MerchantID)
		out = append(out, m)
		if rand.IntN(100) < duplicates {
			out = append(out, m)
		}
	}
	return out
}

// ServeMetrics serves Prometheus's metrics on addr until ctx is done.
func ServeMetrics(ctx context.Context, addr string) {
	server := &http.Server{Addr: addr, Handler: promhttp.Handler(), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ListenAndServe() }()
}

// Background runs a consumer until stop is called, which returns how it ended. The context is done when it has ended.
func Background(ctx context.Context, consume func(context.Context) error) (running context.Context, stop func() error) {
	consuming, cancel := context.WithCancel(ctx)
	running, ended := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		defer ended()
		done <- consume(consuming)
	}()
	return running, func() error { cancel(); return <-done }
}

// Until waits until a query says yes.
func Until(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) error {
	return Repeat(ctx, func() (done bool, err error) {
		err = pool.QueryRow(ctx, query, args...).Scan(&done)
		return done, err
	})
}

// Repeat tries something until it is done.
func Repeat(ctx context.Context, try func() (done bool, err error)) error {
	for {
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Report prints what the database holds, and what was counted.
func Report(ctx context.Context, out io.Writer, pool *pgxpool.Pool) error {
	var markers, refunds, balance int64
	err := pool.QueryRow(ctx, "SELECT (SELECT count(*) FROM inbox), (SELECT count(*) FROM refund), (SELECT sum(balance)::bigint FROM merchant)").
		Scan(&markers, &refunds, &balance)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "in the database: %d markers, %d refunds, balances of %d\n", markers, refunds, balance)
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if !slices.Contains([]string{"inbox_messages_total", "inbox_dead_letters_total"}, f.GetName()) {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			fmt.Fprintf(out, "%s: %s %.0f\n", f.GetName(), strings.Join(labels, " "), m.GetCounter().GetValue())
		}
	}
	return nil
}

// Filter picks dead letters by their message's type, the reason that they are there, and their age.
type Filter struct {
	Type, Reason string
	Older        time.Duration
}

// Picks reports whether the filter picks a dead letter.
func (f Filter) Picks(message, reason string, at time.Time) bool {
	return (f.Type == "" || f.Type == message) && (f.Reason == "" || f.Reason == reason) && time.Since(at) >= f.Older
}
