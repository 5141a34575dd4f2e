package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/inboxgen/inboxgen/examples/ledger/accounting"
)

const merchant = 1

// paid is the message that every scene delivers.
var paid = accounting.OrderPaid{EventID: "event-42", MerchantID: merchant, Amount: 12500}

// stage plays scenes on a database and prints what they left in it.
type stage struct {
	out  io.Writer
	pool *pgxpool.Pool
	url  string
}

func (s *stage) consumer() *accounting.Accounting {
	return accounting.NewAccounting(s.pool, accounting.WithLogger(slog.New(slog.DiscardHandler)))
}

// migrate applies the team's migration and the generated one.
func migrate(ctx context.Context, url string) (err error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations())
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// reset empties the tables and opens the merchant's account.
func (s *stage) reset(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, "TRUNCATE inbox, refund, ledger; INSERT INTO ledger (merchant_id, balance) VALUES (1, 0)")
	return err
}

// unsafeTwice does what a consumer without an inbox does when the broker delivers again.
func (s *stage) unsafeTwice(ctx context.Context) error {
	s.title("Without an inbox, one message delivered twice")
	for range 2 {
		_, err := s.pool.Exec(ctx, "UPDATE ledger SET balance = balance + $1 WHERE merchant_id = $2", paid.Amount, paid.MerchantID)
		if err != nil {
			return err
		}
	}
	return s.expect(ctx, 25000, 0)
}

func (s *stage) generatedTwice(ctx context.Context) error {
	s.title("The generated handler, the same message delivered twice")
	for _, want := range []accounting.Outcome{accounting.Applied, accounting.Duplicate} {
		outcome, err := s.consumer().HandleOrderPaid(ctx, paid)
		if err != nil {
			return err
		}
		s.line("outcome", outcome)
		if outcome != want {
			return fmt.Errorf("the outcome is %s, not %s", outcome, want)
		}
	}
	return s.expect(ctx, 12500, 1)
}

func (s *stage) race(ctx context.Context) error {
	const workers = 16
	s.title("Sixteen workers racing on one id")
	outcomes := make(chan accounting.Outcome, workers)
	failures := make(chan error, workers)
	start := make(chan struct{})
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			<-start
			outcome, err := s.consumer().HandleOrderPaid(ctx, paid)
			outcomes <- outcome
			failures <- err
		})
	}
	close(start)
	group.Wait()
	count := map[accounting.Outcome]int{}
	for range workers {
		count[<-outcomes]++
		if err := <-failures; err != nil {
			return err
		}
	}
	s.line("applied", count[accounting.Applied])
	s.line("duplicates", count[accounting.Duplicate])
	if count[accounting.Applied] != 1 || count[accounting.Duplicate] != workers-1 {
		return errors.New("not exactly one worker applied the message")
	}
	return s.expect(ctx, 12500, 1)
}

func (s *stage) reusedID(ctx context.Context) error {
	s.title("The same id with another amount")
	if _, err := s.consumer().HandleOrderPaid(ctx, paid); err != nil {
		return err
	}
	other := paid
	other.Amount = 99999
	_, err := s.consumer().HandleOrderPaid(ctx, other)
	if err := s.refused(err, accounting.ErrReusedID); err != nil {
		return err
	}
	return s.expect(ctx, 12500, 1)
}

func (s *stage) unknownMerchant(ctx context.Context) error {
	s.title("A merchant that does not exist")
	stray := paid
	stray.MerchantID = 404
	_, err := s.consumer().HandleOrderPaid(ctx, stray)
	if err := s.refused(err, accounting.ErrExpectation); err != nil {
		return err
	}
	return s.expect(ctx, 0, 0)
}

// refused prints an error and checks that it is the one that is due.
func (s *stage) refused(err, want error) error {
	s.line("error", err)
	s.line("class", accounting.Classify(err))
	if !errors.Is(err, want) || accounting.Classify(err) != accounting.Poison {
		return fmt.Errorf("the error is not %q", want)
	}
	return nil
}

// expect prints what is in the database and checks it.
func (s *stage) expect(ctx context.Context, balance, markers int64) error {
	var gotBalance, gotMarkers int64
	err := s.pool.QueryRow(ctx, "SELECT balance, (SELECT count(*) FROM inbox) FROM ledger WHERE merchant_id = $1", merchant).
		Scan(&gotBalance, &gotMarkers)
	if err != nil {
		return err
	}
	s.line("balance", gotBalance)
	s.line("markers", gotMarkers)
	if gotBalance != balance || gotMarkers != markers {
		return fmt.Errorf("expected balance %d and %d markers", balance, markers)
	}
	return nil
}

func (s *stage) title(text string) { fmt.Fprintf(s.out, "\n%s\n", text) }

func (s *stage) line(name string, value any) { fmt.Fprintf(s.out, "  %-11s %v\n", name, value) }
