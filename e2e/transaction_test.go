package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/ledger"
)

func TestInsideTransaction(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		handle := func(tx pgx.Tx, id string, want ledger.Outcome) {
			t.Helper()
			outcome, err := a.HandleTx(t.Context(), tx, money(kind, id, 100))
			became(t, want, outcome, err)
		}
		tx := begin(t, a.db)
		handle(tx, "a", ledger.Applied)
		handle(tx, "a", ledger.Duplicate)
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.balanceIs(t, 0)
		a.markersAre(t, 0)

		tx = begin(t, a.db)
		handle(tx, "a", ledger.Applied)
		nested := begin(t, tx)
		handle(nested, "a", ledger.Duplicate)
		handle(nested, "b", ledger.Applied)
		if err := nested.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		handle(tx, "b", ledger.Applied)
		commit(t, tx)
		a.balanceIs(t, 2*change)
		a.markersAre(t, 2)

		tx = begin(t, a.db)
		handle(tx, "c", ledger.Applied)
		_, err := a.HandleTx(t.Context(), tx, money(kind, "a", 101))
		failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrReusedID)
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.balanceIs(t, 2*change)
		a.markersAre(t, 2)
	})
}

// wrapper is a DB of the user's own, as one that traces its calls is.
type wrapper struct {
	db    ledger.DB
	calls int
}

func (w *wrapper) Begin(ctx context.Context) (pgx.Tx, error) {
	w.calls++
	return w.db.Begin(ctx)
}

func (w *wrapper) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	w.calls++
	return w.db.QueryRow(ctx, sql, args...)
}

func TestKindsOfDatabase(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ledger")
		a := openAccount(t, pool)
		conn, tx := db.connect(t), begin(t, db.connect(t))
		wrapped := &wrapper{db: pool}
		want := int64(0)
		// The transaction is last: until it commits, its row is locked.
		for i, handle := range []ledger.DB{pool, conn, wrapped, tx} {
			for kind, change := range kinds {
				c := ledger.NewAccounting(handle)
				id := fmt.Sprint(kind, i)
				for _, want := range []ledger.Outcome{ledger.Applied, ledger.Duplicate} {
					outcome, err := c.Handle(t.Context(), money(kind, id, 100))
					became(t, want, outcome, err)
				}
				_, err := c.Handle(t.Context(), money(kind, id, 101))
				failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrReusedID)
				want += change
			}
		}
		if wrapped.calls < 3*len(kinds) {
			t.Errorf("only %d calls went through the wrapper", wrapped.calls)
		}
		commit(t, tx)
		a.balanceIs(t, want)
	})
}

// TestErrorInSavepoint gives a consumer a transaction: a message that fails costs its savepoint alone.
func TestErrorInSavepoint(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		a := openAccount(t, db.with(t, "ledger"))
		tx := begin(t, a.db)
		c := ledger.NewAccounting(tx)
		for _, kind := range []string{"Paid", "Refunded", "Merged"} {
			_, err := c.Handle(t.Context(), message(kind, `{"event_id": "bad", "merchant_id": 2, "amount": 1}`))
			failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
			outcome, err := c.Handle(t.Context(), money(kind, kind, 100))
			became(t, ledger.Applied, outcome, err)
		}
		commit(t, tx)
		a.balanceIs(t, 100)
		a.markersAre(t, 3)
	})
}

// TestConnectionInTransaction gives a consumer a connection on which the caller has begun a transaction: a message must
// neither join that nor end it.
func TestConnectionInTransaction(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		a := openAccount(t, db.with(t, "ledger"))
		conn := db.connect(t)
		c := ledger.NewAccounting(conn)
		for _, sql := range []string{"SELECT 1", "SELECT 1 / 0"} { // an open transaction, and a failed one
			tx := begin(t, conn)
			_, _ = tx.Exec(t.Context(), sql)
			status := conn.PgConn().TxStatus()
			for kind := range kinds {
				_, err := c.Handle(t.Context(), money(kind, "a", 100))
				failed(t, err, ledger.Deployment, ledger.Classify, nil)
				if got := conn.PgConn().TxStatus(); got != status {
					t.Errorf("%s left the caller's transaction in state %c, it was %c", kind, got, status)
				}
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}
		a.markersAre(t, 0)

		// A connection that broke in the middle of a transaction is no caller's mistake.
		_ = begin(t, conn)
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for kind := range kinds {
			_, err := c.Handle(t.Context(), money(kind, "a", 100))
			failed(t, err, ledger.Transient, ledger.Classify, nil)
		}
	})
}

func TestExecModes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		a := openAccount(t, db.with(t, "ledger"))
		want := int64(0)
		inEveryMode(t, db, func(t *testing.T, pool *pgxpool.Pool) {
			c := ledger.NewAccounting(pool)
			for kind, change := range kinds {
				id := t.Name() + kind
				for _, want := range []ledger.Outcome{ledger.Applied, ledger.Duplicate} {
					outcome, err := c.Handle(t.Context(), money(kind, id, 100))
					became(t, want, outcome, err)
				}
				_, err := c.Handle(t.Context(), money(kind, id, 101))
				failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrReusedID)
				want += change
			}
			for _, kind := range []string{"Paid", "Refunded", "Merged"} {
				_, err := c.Handle(t.Context(), message(kind, `{"event_id": %q, "merchant_id": 2, "amount": 1}`, t.Name()+"bad"))
				failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
			}
		})
		a.balanceIs(t, want)
	})
}

func withIsolation(level string) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_isolation"] = level }
}

// TestIsolation races deliveries under the levels at which PostgreSQL makes transactions fail. Each failure must be told
// as transient, and delivering until there is none must apply each message once.
func TestIsolation(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
				pool := (&database{url: a.db.(*pgxpool.Pool).Config().ConnString()}).pool(t, withIsolation(level))
				c := ledger.NewAccounting(pool)
				outcomes := race(t, 8, func(i int) (ledger.Outcome, error) {
					for {
						outcome, err := c.Handle(t.Context(), money(kind, fmt.Sprint(i/2), 100))
						if ledger.Classify(err) != ledger.Transient {
							return outcome, err
						}
					}
				})
				if outcomes[ledger.Applied] != 4 || outcomes[ledger.Duplicate] != 4 {
					t.Errorf("4 messages delivered twice: %v", outcomes)
				}
				a.balanceIs(t, 4*change)

				tx := begin(t, pool)
				outcome, err := a.HandleTx(t.Context(), tx, money(kind, "waited for", 100))
				became(t, ledger.Applied, outcome, err)
				second := async(func() (ledger.Outcome, error) { return c.Handle(t.Context(), money(kind, "waited for", 100)) })
				blocked(t, a.db, 1)
				commit(t, tx)
				_, err = second()
				failed(t, err, ledger.Transient, ledger.Classify, nil)
				outcome, err = c.Handle(t.Context(), money(kind, "waited for", 100))
				became(t, ledger.Duplicate, outcome, err)
				a.balanceIs(t, 5*change)
			})
		})
	}
}
