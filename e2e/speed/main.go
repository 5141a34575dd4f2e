// Command speed compares the ways to apply messages with what people write by hand: BEGIN, INSERT of a marker, UPDATE,
// COMMIT, each a round trip.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/ledger"
)

const (
	workers   = 16
	merchants = 100_000
	batchSize = 100
)

func main() {
	round := flag.Duration("round", time.Second, "how long each way runs in a round")
	rounds := flag.Int("rounds", 15, "how often it runs")
	latency := flag.Duration("latency", 0, "added to each round trip")
	flag.Parse()
	if err := run(context.Background(), *rounds, *round, *latency); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

// way applies size messages in one call.
type way struct {
	name  string
	size  int
	apply func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error
}

var ways = []way{
	{"by hand, 4 round trips", 1, byHand},
	{"guarded statement", 1, func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
		return applied(consumer(pool).HandlePaid(ctx, messages[0]))
	}},
	{"transaction", 1, func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
		return applied(consumer(pool).HandleRefunded(ctx, ledger.Refunded(messages[0])))
	}},
	{fmt.Sprintf("batches of %d", batchSize), batchSize, func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
		for _, r := range consumer(pool).HandlePaidBatch(ctx, messages) {
			if err := applied(r.Outcome, r.Err); err != nil {
				return err
			}
		}
		return nil
	}},
}

func consumer(pool *pgxpool.Pool) *ledger.Accounting {
	return ledger.NewAccounting(pool, ledger.WithLogger(slog.New(slog.DiscardHandler)))
}

func applied(outcome ledger.Outcome, err error) error {
	if err == nil && outcome != ledger.Applied {
		return errors.New(outcome.String())
	}
	return err
}

func byHand(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
	m := messages[0]
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO inbox (consumer_name, message_id) VALUES ('accounting', $1) ON CONFLICT DO NOTHING", m.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return errors.Join(err, errors.New("no marker"))
		}
		_, err = tx.Exec(ctx, "UPDATE ledger SET balance = balance + $1 WHERE merchant_id = $2", m.Amount, m.MerchantID)
		return err
	})
}

func run(ctx context.Context, rounds int, round, latency time.Duration) error {
	server, err := testenv.Start(ctx, 18, "fsync=on", "synchronous_commit=on", "full_page_writes=on")
	if err != nil {
		return err
	}
	defer server.Close()
	pool, err := connect(ctx, server.URL("postgres"), latency)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := fill(ctx, pool); err != nil {
		return err
	}
	// The ways take turns and are compared within a round, so that what else the machine does is no one way's burden. The first
	// round, in which connections are opened and statements prepared, does not count.
	rates, ratios := make([][]float64, len(ways)), make([][]float64, len(ways))
	for n := range 1 + rounds {
		var first float64
		for i, w := range ways {
			rate, err := measure(ctx, pool, w, round)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if i == 0 {
				first = rate
			}
			if n > 0 {
				rates[i], ratios[i] = append(rates[i], rate), append(ratios[i], rate/first)
			}
		}
	}
	fmt.Printf("medians of %d rounds of %s, %d connections, %s added to a round trip, fsync on\n", rounds, round, workers, latency)
	for i, w := range ways {
		fmt.Printf("  %-24s %8.0f messages per second %6.1f times\n", w.name, median(rates[i]), median(ratios[i]))
	}
	return nil
}

func connect(ctx context.Context, url string, latency time.Duration) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = workers
	if latency > 0 {
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return slow{conn, latency}, err
		}
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func fill(ctx context.Context, pool *pgxpool.Pool) error {
	for _, file := range []string{"../testdata/ledger/schema.sql", "../testdata/ledger/migrations/20261201120000_create_inbox.up.sql"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := pool.Exec(ctx, string(text)); err != nil {
			return err
		}
	}
	_, err := pool.Exec(ctx, "INSERT INTO ledger SELECT i, 0 FROM generate_series(1, $1) AS i", merchants)
	return err
}

// measure returns messages per second. What the way before left is removed first.
func measure(ctx context.Context, pool *pgxpool.Pool, w way, round time.Duration) (float64, error) {
	for _, sql := range []string{"TRUNCATE inbox, refund", "VACUUM ledger", "CHECKPOINT"} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	var count atomic.Int64
	errs := make([]error, workers)
	start := time.Now()
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			messages := make([]ledger.Paid, w.size)
			for errs[worker] == nil && time.Since(start) < round {
				for i := range messages {
					n := int(count.Add(1))
					messages[i] = ledger.Paid{EventID: fmt.Sprint(n), MerchantID: int64(1 + n*7919%merchants), Amount: 1}
				}
				errs[worker] = w.apply(ctx, pool, messages)
			}
		})
	}
	group.Wait()
	return float64(count.Load()) / time.Since(start).Seconds(), errors.Join(errs...)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// slow is a connection whose answers take longer.
type slow struct {
	net.Conn
	latency time.Duration
}

func (s slow) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	time.Sleep(s.latency)
	return n, err
}
