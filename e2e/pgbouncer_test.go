package e2e

import (
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/ids"
	"github.com/inboxgen/inboxgen/testdata/ledger"
)

// pooledModes need nothing of a server connection that outlasts a transaction. The others prepare a statement in one round trip
// and run it in another, which may reach another server connection.
var pooledModes = []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}

// bounced is the same database behind PgBouncer in transaction mode, with few server connections.
func (d *database) bounced(t *testing.T, server *testenv.Server) *database {
	t.Helper()
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = testenv.PgBouncer(t, server, "pool_mode=transaction", "default_pool_size=3", "max_client_conn=500")
	return &database{url: u.String()}
}

// TestPgBouncer has many workers that apply messages of every plan, each message by three workers at once.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	for _, major := range []int{15, 18} {
		for _, mode := range pooledModes {
			t.Run(fmt.Sprint(major, "/", mode), func(t *testing.T) {
				t.Parallel()
				server := testenv.Postgres(t, major)
				db := &database{url: server.Database(t)}
				direct := db.with(t, "ledger")
				openAccount(t, direct)
				pool := db.bounced(t, server).pool(t, func(c *pgxpool.Config) { withMode(mode)(c); c.MaxConns = 30 })
				const workers, each = 10, 20
				var group sync.WaitGroup
				for worker := range 3 * workers {
					group.Go(func() {
						c := ledger.NewAccounting(pool)
						for i := range each {
							n := worker/3*each + i
							for _, kind := range []string{"Paid", "Refunded", "Posted"} {
								if _, err := c.Handle(t.Context(), money(kind, fmt.Sprint(kind, n), 10)); err != nil {
									t.Errorf("%s: %v", kind, err)
								}
							}
						}
						var batch []ledger.Delivery
						for i := range each {
							for _, kind := range []string{"Paid", "Refunded"} {
								batch = append(batch, money(kind, fmt.Sprint("batch", kind, worker/3*each+i), 1))
							}
						}
						for _, r := range c.HandleBatch(t.Context(), batch) {
							if r.Err != nil {
								t.Error(r.Err)
							}
						}
					})
				}
				group.Wait()
				holds(t, direct, int64(10*workers*each), "SELECT balance FROM ledger WHERE merchant_id = 1")
				holds(t, direct, int64(5*workers*each), "SELECT count(*) FROM inbox")

				c := ledger.NewAccounting(pool)
				_, err := c.Handle(t.Context(), money("Paid", "Paid0", 11))
				failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrReusedID)
				_, err = c.Handle(t.Context(), message("Paid", `{"event_id": "x", "merchant_id": 404, "amount": 1}`))
				failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
				_, err = c.Handle(t.Context(), message("Refunded", `{"event_id": "x", "merchant_id": 404, "amount": 1}`))
				failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
			})
		}
	}
}

// TestPgBouncerPrepared has statements that are prepared on one server connection and run on another, as pgx does unless told
// otherwise. A PgBouncer that does not see to that itself makes them fail: the consumer must stop, and blame no message.
func TestPgBouncerPrepared(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t, 18)
	db := &database{url: server.Database(t)}
	direct := db.with(t, "ledger")
	openAccount(t, direct)
	pool := db.bounced(t, server).pool(t, func(c *pgxpool.Config) { withMode(pgx.QueryExecModeCacheStatement)(c); c.MaxConns = 30 })
	var applied atomic.Int64
	var group sync.WaitGroup
	for worker := range 30 {
		group.Go(func() {
			c := ledger.NewAccounting(pool)
			for i := range 20 {
				outcome, err := c.Handle(t.Context(), money("Paid", fmt.Sprint(worker, " ", i), 1))
				if err != nil {
					failed(t, err, ledger.Deployment, ledger.Classify, nil)
				} else if outcome == ledger.Applied {
					applied.Add(1)
				}
			}
		})
	}
	group.Wait()
	holds(t, direct, applied.Load(), "SELECT balance FROM ledger WHERE merchant_id = 1")
	holds(t, direct, applied.Load(), "SELECT count(*) FROM inbox")
}

// TestPgBouncerRetention deletes old markers from several processes at once, whose lock must not stay on a server connection.
func TestPgBouncerRetention(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t, 18)
	db := &database{url: server.Database(t)}
	direct := db.with(t, "ids")
	bounced := db.bounced(t, server)
	for _, mode := range pooledModes {
		pool := bounced.pool(t, withMode(mode))
		fill(t, direct, "cloud", 200, "1 hour")
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { _, _ = ids.Retention{DB: pool, BatchSize: 10, Pause: -1}.Run(t.Context()) }) // busy, but for one at a time
		}
		group.Wait()
		if _, err := (ids.Retention{DB: pool, Pause: -1}).Run(t.Context()); err != nil {
			t.Error(err)
		}
		holds(t, direct, int64(0), "SELECT count(*) FROM inbox")
		holds(t, direct, int64(0), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
	}
}
