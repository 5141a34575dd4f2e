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
	"sync"
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
	messages := flag.Int("messages", 20_000, "how many each way applies")
	latency := flag.Duration("latency", 0, "added to each round trip")
	flag.Parse()
	if err := run(context.Background(), *messages, *latency); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

// way applies messages; one call has a worker's share of them.
type way struct {
	name  string
	apply func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error
}

var ways = []way{
	{"by hand, 4 round trips", byHand},
	{"guarded statement", func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
		return each(messages, func(m ledger.Paid) (ledger.Outcome, error) { return consumer(pool).HandlePaid(ctx, m) })
	}},
	{"transaction", func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
		return each(messages, func(m ledger.Paid) (ledger.Outcome, error) {
			return consumer(pool).HandleRefunded(ctx, ledger.Refunded(m))
		})
	}},
	{fmt.Sprintf("batches of %d", batchSize), func(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
		for len(messages) > 0 {
			n := min(batchSize, len(messages))
			for _, r := range consumer(pool).HandlePaidBatch(ctx, messages[:n]) {
				if r.Err != nil || r.Outcome != ledger.Applied {
					return fmt.Errorf("%s: %w", r.Outcome, r.Err)
				}
			}
			messages = messages[n:]
		}
		return nil
	}},
}

func consumer(pool *pgxpool.Pool) *ledger.Accounting {
	return ledger.NewAccounting(pool, ledger.WithLogger(slog.New(slog.DiscardHandler)))
}

func each(messages []ledger.Paid, handle func(m ledger.Paid) (ledger.Outcome, error)) error {
	for _, m := range messages {
		if outcome, err := handle(m); err != nil || outcome != ledger.Applied {
			return fmt.Errorf("%s: %w", outcome, err)
		}
	}
	return nil
}

func byHand(ctx context.Context, pool *pgxpool.Pool, messages []ledger.Paid) error {
	for _, m := range messages {
		if err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, "INSERT INTO inbox (consumer_name, message_id) VALUES ('accounting', $1) ON CONFLICT DO NOTHING", m.EventID)
			if err != nil || tag.RowsAffected() == 0 {
				return errors.Join(err, errors.New("a duplicate"))
			}
			_, err = tx.Exec(ctx, "UPDATE ledger SET balance = balance + $1 WHERE merchant_id = $2", m.Amount, m.MerchantID)
			return err
		}); err != nil && err.Error() != "a duplicate" {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, messages int, latency time.Duration) error {
	server, err := testenv.Start(ctx, 18, "fsync=on", "synchronous_commit=on", "full_page_writes=on")
	if err != nil {
		return err
	}
	defer server.Close()
	config, err := pgxpool.ParseConfig(server.URL("postgres"))
	if err != nil {
		return err
	}
	config.MaxConns = workers
	if latency > 0 {
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return slow{conn, latency}, err
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, file := range []string{"../testdata/ledger/schema.sql", "../testdata/ledger/migrations/20261201120000_create_inbox.up.sql"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := pool.Exec(ctx, string(text)); err != nil {
			return err
		}
	}
	if _, err := pool.Exec(ctx, "INSERT INTO ledger SELECT i, 0 FROM generate_series(1, $1) AS i", merchants); err != nil {
		return err
	}
	fmt.Printf("%d messages each way, %d connections, %s added to a round trip, fsync on\n", messages, workers, latency)
	var base float64
	for _, w := range ways {
		rate, err := measure(ctx, pool, w, messages)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if base == 0 {
			base = rate
		}
		fmt.Printf("  %-24s %8.0f messages per second %6.1f times\n", w.name, rate, rate/base)
	}
	return nil
}

// measure returns messages per second. What the way before left is removed first.
func measure(ctx context.Context, pool *pgxpool.Pool, w way, messages int) (float64, error) {
	if _, err := pool.Exec(ctx, "TRUNCATE inbox, refund"); err != nil {
		return 0, err
	}
	if _, err := pool.Exec(ctx, "CHECKPOINT"); err != nil {
		return 0, err
	}
	shares := make([][]ledger.Paid, workers)
	for i := range messages {
		shares[i%workers] = append(shares[i%workers], ledger.Paid{EventID: fmt.Sprint(i), MerchantID: int64(1 + i*7919%merchants), Amount: 1})
	}
	start := time.Now()
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i, share := range shares {
		group.Go(func() { errs[i] = w.apply(ctx, pool, share) })
	}
	group.Wait()
	return float64(messages) / time.Since(start).Seconds(), errors.Join(errs...)
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
