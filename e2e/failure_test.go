package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/ledger"
)

// transientFailure starts a delivery that waits for a lock, has it fail in some way, and delivers again.
func transientFailure(t *testing.T, a *account, kind string, fail func(cancel context.CancelFunc)) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := async(func() (ledger.Outcome, error) { return a.Handle(ctx, money(kind, "a", 100)) })
	blocked(t, a.db, 1)
	fail(cancel)
	_, err := first()
	failed(t, err, ledger.Transient, ledger.Classify, nil)
	return err
}

func (a *account) redeliver(t *testing.T, kind string, want ledger.Outcome, change int64) {
	t.Helper()
	outcome, err := a.Handle(t.Context(), money(kind, "a", 100))
	became(t, want, outcome, err)
	a.balanceIs(t, change)
	a.markersAre(t, 1)
}

const terminate = `SELECT bool_and(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE datname = current_database() AND wait_event_type = 'Lock'`

func TestFailureDuringEffect(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		lock := begin(t, a.db)
		run(t, lock, "SELECT FROM ledger FOR UPDATE")
		err := transientFailure(t, a, kind, func(cancel context.CancelFunc) { cancel() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled, but %v", err)
		}
		waitFor(t, a.db, `SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		err = transientFailure(t, a, kind, func(context.CancelFunc) { holds(t, a.db, true, terminate) })
		var server *pgconn.PgError
		if !errors.As(err, &server) || server.Code != "57P01" {
			t.Errorf("terminated, but %v", err)
		}
		commit(t, lock)
		a.redeliver(t, kind, ledger.Applied, change)
	})
}

// TestKilledAtCommit has a deferred trigger wait while the transaction commits, and ends the session there.
func TestKilledAtCommit(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		run(t, a.db, `
			CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
			CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON inbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`)
		lock := begin(t, a.db)
		run(t, lock, "SELECT pg_advisory_xact_lock(1)")
		_ = transientFailure(t, a, kind, func(context.CancelFunc) { holds(t, a.db, true, terminate) })
		commit(t, lock)
		a.markersAre(t, 0)
		a.balanceIs(t, 0)
		a.redeliver(t, kind, ledger.Applied, change)
	})
}

// answerLost is a connection that breaks when the server reports that it has committed.
type answerLost struct {
	net.Conn
	lose *atomic.Bool
}

func (c *answerLost) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose.Load() && (bytes.Contains(b[:n], []byte("COMMIT\x00")) || bytes.Contains(b[:n], []byte("SELECT 1\x00Z"))) {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// TestAnswerLost breaks the connection after the commit and before the client knows of it.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		var lose atomic.Bool
		db := &database{url: a.db.(*pgxpool.Pool).Config().ConnString()}
		pool := db.pool(t, func(c *pgxpool.Config) {
			dial := c.ConnConfig.DialFunc
			c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				return &answerLost{conn, &lose}, err
			}
		})
		lose.Store(true)
		_, err := ledger.NewAccounting(pool).Handle(t.Context(), money(kind, "a", 100))
		failed(t, err, ledger.Transient, ledger.Classify, nil)
		a.balanceIs(t, change) // it was committed all the same
		a.redeliver(t, kind, ledger.Duplicate, change)
	})
}

// asRole returns a pool of sessions that act as a new role, which has been granted what is said.
func asRole(t *testing.T, a *account, grants string) *pgxpool.Pool {
	t.Helper()
	pool := a.db.(*pgxpool.Pool)
	role := read[string](t, pool, "SELECT current_database()::text")
	run(t, pool, "CREATE ROLE "+role)
	t.Cleanup(func() {
		// The test's own context is cancelled by now.
		if _, err := pool.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Error(err)
		}
	})
	for _, grant := range bytes.Split([]byte(grants), []byte(";")) {
		run(t, pool, string(grant)+" TO "+role)
	}
	return (&database{url: pool.Config().ConnString()}).pool(t, func(c *pgxpool.Config) {
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET ROLE "+role)
			return err
		}
	})
}

const ownGrants = `GRANT SELECT, INSERT, UPDATE ON ledger; GRANT INSERT, SELECT ON refund`

// TestLeastPrivilege has a role that may do nothing with the inbox but what the documentation asks for.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		c := ledger.NewAccounting(asRole(t, a, ownGrants+"; GRANT INSERT, SELECT ON inbox"))
		for _, want := range []ledger.Outcome{ledger.Applied, ledger.Duplicate} {
			outcome, err := c.Handle(t.Context(), money(kind, "a", 100))
			became(t, want, outcome, err)
		}
		_, err := c.Handle(t.Context(), money(kind, "a", 101))
		failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrReusedID)
		a.balanceIs(t, change)
	})
}

// TestBrokenDeployment has databases on which no message can succeed: none may become a dead letter.
func TestBrokenDeployment(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, a *account, kind string, change int64) {
		deliver := func(pool *pgxpool.Pool, code string) {
			t.Helper()
			_, err := ledger.NewAccounting(pool).Handle(t.Context(), money(kind, "a", 100))
			failed(t, err, ledger.Deployment, ledger.Classify, nil)
			var server *pgconn.PgError
			if !errors.As(err, &server) || server.Code != code {
				t.Errorf("%v, want SQLSTATE %s", err, code)
			}
		}
		deliver(asRole(t, a, ownGrants), "42501")
		pool := a.db.(*pgxpool.Pool)
		run(t, pool, "ALTER TABLE ledger RENAME TO renamed")
		deliver(pool, "42P01")
		run(t, pool, "ALTER TABLE renamed RENAME TO ledger; ALTER TABLE inbox RENAME TO renamed")
		deliver(pool, "42P01")
		run(t, pool, "ALTER TABLE renamed RENAME TO inbox")
		a.redeliver(t, kind, ledger.Applied, change)
	})
}
