package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/ledger"
)

// account is the consumer of the case ledger, on a merchant 1 whose balance is 0.
type account struct {
	*ledger.Accounting
	db queryer
}

func openAccount(t *testing.T, pool *pgxpool.Pool) *account {
	t.Helper()
	run(t, pool, "INSERT INTO ledger VALUES (1, 0)")
	return &account{ledger.NewAccounting(pool), pool}
}

func message(kind, body string, args ...any) ledger.Delivery {
	return ledger.Delivery{Headers: map[string]string{"type": kind}, Body: fmt.Appendf(nil, body, args...)}
}

// money is a message of one of the kinds that move an amount to or from merchant 1.
func money(kind, id string, amount int) ledger.Delivery {
	return message(kind, `{"event_id": %q, "merchant_id": 1, "amount": %d}`, id, amount)
}

func (a *account) balanceIs(t *testing.T, want int64) {
	t.Helper()
	holds(t, a.db, want, "SELECT balance FROM ledger WHERE merchant_id = 1")
}

func (a *account) markersAre(t *testing.T, want int64) {
	t.Helper()
	holds(t, a.db, want, "SELECT count(*) FROM inbox")
}

// kinds are the messages that change merchant 1's balance by their amount, with what they change it by.
var kinds = map[string]int64{
	"Paid": 100, "Adjusted": 100, "Opened": 100, "Posted": 100, "Refunded": -100, "Called": 100, "Merged": 100,
}

func forEachKind(t *testing.T, test func(t *testing.T, a *account, kind string, change int64)) {
	t.Helper()
	for kind, change := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, db *database) { test(t, openAccount(t, db.with(t, "ledger")), kind, change) })
		})
	}
}

func TestOnceTwiceAndRacing(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		outcome, err := a.Handle(t.Context(), money(kind, "a", 100))
		became(t, ledger.Applied, outcome, err)
		outcome, err = a.Handle(t.Context(), money(kind, "a", 100))
		became(t, ledger.Duplicate, outcome, err)
		a.balanceIs(t, change)

		outcomes := race(t, 16, func(int) (ledger.Outcome, error) { return a.Handle(t.Context(), money(kind, "b", 100)) })
		if outcomes[ledger.Applied] != 1 || outcomes[ledger.Duplicate] != 15 {
			t.Errorf("16 deliveries of one message: %v", outcomes)
		}
		a.balanceIs(t, 2*change)

		outcomes = race(t, 32, func(i int) (ledger.Outcome, error) {
			return a.Handle(t.Context(), money(kind, fmt.Sprint("c", i), 100))
		})
		if outcomes[ledger.Applied] != 32 {
			t.Errorf("32 messages for one row: %v", outcomes)
		}
		a.balanceIs(t, 34*change)
		a.markersAre(t, 34)
	})
}

// race calls f from n goroutines at once and counts what became of it.
func race[O comparable](t *testing.T, n int, f func(i int) (O, error)) map[O]int {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	start := make(chan struct{})
	outcomes := map[O]int{}
	for i := range n {
		group.Go(func() {
			<-start
			outcome, err := f(i)
			mu.Lock()
			defer mu.Unlock()
			outcomes[outcome]++
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	group.Wait()
	return outcomes
}

func TestReusedID(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		outcome, err := a.Handle(t.Context(), money(kind, "a", 100))
		became(t, ledger.Applied, outcome, err)
		_, err = a.Handle(t.Context(), money(kind, "a", 101))
		failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrReusedID)
		a.balanceIs(t, change)
	})
}

// TestCommitWhileWaiting has the second delivery wait for the first one's transaction, so that its own snapshot is older
// than the marker that it meets.
func TestCommitWhileWaiting(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		for id, test := range map[string]struct {
			amount  int
			outcome ledger.Outcome
			cause   error
		}{"same": {100, ledger.Duplicate, nil}, "other": {101, 0, ledger.ErrReusedID}} {
			tx := begin(t, a.db)
			outcome, err := a.HandleTx(t.Context(), tx, money(kind, id, 100))
			became(t, ledger.Applied, outcome, err)
			second := async(func() (ledger.Outcome, error) { return a.Handle(t.Context(), money(kind, id, test.amount)) })
			blocked(t, a.db, 1)
			commit(t, tx)
			if outcome, err = second(); test.cause == nil {
				became(t, test.outcome, outcome, err)
			} else {
				failed(t, err, ledger.Poison, ledger.Classify, test.cause)
			}
		}
		a.balanceIs(t, 2*change)
	})
}

// TestRollbackWhileWaiting has the second delivery wait for a first one that comes to nothing.
func TestRollbackWhileWaiting(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		tx := begin(t, a.db)
		outcome, err := a.HandleTx(t.Context(), tx, money(kind, "a", 100))
		became(t, ledger.Applied, outcome, err)
		second := async(func() (ledger.Outcome, error) { return a.Handle(t.Context(), money(kind, "a", 100)) })
		blocked(t, a.db, 1)
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		outcome, err = second()
		became(t, ledger.Applied, outcome, err)
		a.balanceIs(t, change)
	})
}

type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

func begin(t *testing.T, db any) pgx.Tx {
	t.Helper()
	tx, err := db.(beginner).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func commit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestUnmetExpectation(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Paid", "Refunded", "Merged"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, db *database) {
				a := openAccount(t, db.with(t, "ledger"))
				conn := db.connect(t)
				nobody := message(kind, `{"event_id": "a", "merchant_id": 2, "amount": 100}`)
				_, err := ledger.NewAccounting(conn).Handle(t.Context(), nobody)
				failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
				if !strings.Contains(fmt.Sprint(err), "expected 1 row, affected 0") {
					t.Errorf("it does not say what was expected: %v", err)
				}
				a.markersAre(t, 0)
				holds(t, conn, 1, "SELECT 1") // it can still be used

				run(t, conn, "INSERT INTO ledger VALUES (2, 0)")
				outcome, err := ledger.NewAccounting(conn).Handle(t.Context(), nobody)
				became(t, ledger.Applied, outcome, err)
			})
		})
	}
}

// TestNothingExpected applies a message whose effect finds no row, and may.
func TestNothingExpected(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		a := openAccount(t, db.with(t, "ledger"))
		for _, want := range []ledger.Outcome{ledger.Applied, ledger.Duplicate} {
			outcome, err := a.Handle(t.Context(), message("Adjusted", `{"event_id": "a", "merchant_id": 7, "amount": 1}`))
			became(t, want, outcome, err)
		}
		a.balanceIs(t, 0)
	})
}

func TestSeveralEffects(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		a := openAccount(t, db.with(t, "ledger"))
		for _, want := range []ledger.Outcome{ledger.Applied, ledger.Duplicate} {
			outcome, err := a.Handle(t.Context(), message("Ordered", `{"event_id": "a", "amount": 4}`))
			became(t, want, outcome, err)
			outcome, err = a.Handle(t.Context(), message("Split", `{"event_id": "b", "amount": 4}`))
			became(t, want, outcome, err)
		}
		holds(t, a.db, "third 41", "SELECT string_agg(side || ' ' || amount, ',') FROM entry WHERE event_id = 'a'")
		holds(t, a.db, "credit -4 accounting,debit 4 -",
			"SELECT string_agg(side || ' ' || amount || ' ' || coalesce(note, '-'), ',' ORDER BY side) FROM entry WHERE event_id = 'b'")

		// The second effect violates a constraint: the first is undone and no marker stays.
		_, err := a.Handle(t.Context(), money("Refunded", "c", 0))
		failed(t, err, ledger.Poison, ledger.Classify, nil)
		a.balanceIs(t, 0)
		a.markersAre(t, 2)
	})
}

// TestDeferredConstraint has a constraint that fails at COMMIT, when the effects have long succeeded.
func TestDeferredConstraint(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Booked", "BookedTwice"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, db *database) {
				a := openAccount(t, db.with(t, "ledger"))
				booked := message(kind, `{"event_id": "a", "account": 9}`)
				_, err := a.Handle(t.Context(), booked)
				failed(t, err, ledger.Poison, ledger.Classify, nil)
				a.markersAre(t, 0)
				holds(t, a.db, int64(0), "SELECT count(*) FROM booking")

				run(t, a.db, "INSERT INTO account VALUES (9)")
				outcome, err := a.Handle(t.Context(), booked)
				became(t, ledger.Applied, outcome, err)
			})
		})
	}
}

// TestDuplicateThatWouldFail delivers a message again after its effect took away what the effect divides by.
func TestDuplicateThatWouldFail(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ledger")
		run(t, pool, "INSERT INTO ledger (merchant_id, balance) VALUES (1, 1), (2, 0)")
		c := ledger.NewAccounting(pool)
		m := ledger.Emptied{EventID: "a", MerchantID: 1}
		for _, want := range []ledger.Outcome{ledger.Applied, ledger.Duplicate} {
			outcome, err := c.HandleEmptied(t.Context(), m)
			became(t, want, outcome, err)
		}
		outcome, err := ledger.NewAccounting(db.connect(t)).HandleEmptied(t.Context(), m)
		became(t, ledger.Duplicate, outcome, err)
		_, err = c.HandleEmptied(t.Context(), ledger.Emptied{EventID: "b", MerchantID: 2})
		failed(t, err, ledger.Poison, ledger.Classify, nil)
		holds(t, pool, int64(1), "SELECT count(*) FROM inbox")
	})
}
