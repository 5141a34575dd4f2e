package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/ids"
	"github.com/inboxgen/inboxgen/testdata/ledger"
	"github.com/inboxgen/inboxgen/testdata/uuids"
)

// tables is all that the case ledger's messages change.
const tables = `SELECT jsonb_build_object(
	'ledger', (SELECT jsonb_agg(l ORDER BY merchant_id) FROM ledger l),
	'refund', (SELECT jsonb_agg(r ORDER BY event_id) FROM refund r),
	'entry', (SELECT jsonb_agg(e ORDER BY event_id, side, amount) FROM entry e),
	'booking', (SELECT jsonb_agg(b ORDER BY event_id) FROM booking b),
	'inbox', (SELECT jsonb_agg(to_jsonb(i) - 'processed_at' ORDER BY message_id) FROM inbox i))::text`

// stream makes messages of all kinds, with repeated ids, reused ids, and a tenth of poison.
func stream(random *rand.Rand, n int) []ledger.Delivery {
	var out []ledger.Delivery
	for len(out) < n {
		id := fmt.Sprint("m", random.IntN(n))
		switch k := random.IntN(20); {
		case k == 0:
			out = append(out, message("Paid", `{"event_id": %q, "merchant_id": 404, "amount": 1}`, id))
		case k == 1:
			out = append(out, []ledger.Delivery{
				message("Paid", `{`), message("Nobody's", `{}`), message("Paid", `{"event_id": "", "merchant_id": 1, "amount": 1}`),
				money("Refunded", id, 0), message("Booked", `{"event_id": %q, "account": 404}`, id),
				message("Ordered", `{"event_id": "a\u0000", "amount": 1}`),
			}[random.IntN(6)])
		case k == 2:
			out = append(out, message("Split", `{"event_id": %q, "amount": 3}`, id))
		case k == 3:
			out = append(out, message("Ordered", `{"event_id": %q, "amount": 3}`, id))
		case k < 6 && len(out) > 0:
			out = append(out, out[random.IntN(len(out))])
		default:
			kind := slices.Sorted(slices.Values([]string{"Paid", "Adjusted", "Opened", "Posted", "Refunded", "Called", "Merged"}))[random.IntN(7)]
			out = append(out, money(kind, id, 100))
		}
	}
	return out
}

// TestBatchIsSequence delivers random streams one by one to one database and in batches to another: what became of each
// message and what the databases hold must be the same.
func TestBatchIsSequence(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		one := openAccount(t, db.with(t, "ledger"))
		other := &database{url: sibling(t, db)}
		many := openAccount(t, other.with(t, "ledger"))
		for seed := range uint64(12) {
			random := rand.New(rand.NewPCG(seed, 0))
			deliveries := stream(random, 150)
			var want []ledger.Result
			for _, d := range deliveries {
				outcome, err := one.Handle(t.Context(), d)
				want = append(want, ledger.Result{Outcome: outcome, Err: err})
			}
			var got []ledger.Result
			for rest := deliveries; len(rest) > 0; {
				n := min(1+random.IntN(60), len(rest))
				got = append(got, many.HandleBatch(t.Context(), rest[:n])...)
				rest = rest[n:]
			}
			for i := range want {
				if !sameResult(want[i], got[i]) {
					t.Errorf("seed %d, message %d, %s %s:\n one by one: %v, %v\n in a batch: %v, %v", seed, i,
						deliveries[i].Headers["type"], deliveries[i].Body, want[i].Outcome, want[i].Err, got[i].Outcome, got[i].Err)
				}
			}
			if a, b := read[string](t, one.db, tables), read[string](t, many.db, tables); a != b {
				t.Fatalf("seed %d: one by one:\n%s\nin batches:\n%s", seed, a, b)
			}
		}
	})
}

// sibling makes another database on the server of db.
func sibling(t *testing.T, db *database) string {
	t.Helper()
	conn := db.connect(t)
	name := read[string](t, conn, "SELECT current_database() || '_b'")
	run(t, conn, "CREATE DATABASE "+name)
	config := conn.Config().Copy()
	t.Cleanup(func() {
		admin, err := pgx.Connect(context.Background(), db.url)
		if err == nil {
			_, err = admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
			_ = admin.Close(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprintf("postgres://postgres@%s:%d/%s?sslmode=disable", config.Host, config.Port, name)
}

func sameResult(a, b ledger.Result) bool {
	if a.Outcome != b.Outcome || ledger.Classify(a.Err) != ledger.Classify(b.Err) {
		return false
	}
	for _, cause := range []error{ledger.ErrDecode, ledger.ErrExpectation, ledger.ErrInvalidID, ledger.ErrReusedID, ledger.ErrUnknownType} {
		if errors.Is(a.Err, cause) != errors.Is(b.Err, cause) {
			return false
		}
	}
	return true
}

// roundTrips counts what pgx sends, by round trip.
type roundTrips struct {
	n       int
	queries []int
}

func (r *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	r.n++
	return ctx
}
func (*roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	r.n++
	r.queries = append(r.queries, data.Batch.Len())
	return ctx
}
func (*roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestBatchRoundTrips holds the batch plan to what it promises: three round trips, however many messages.
func TestBatchRoundTrips(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		openAccount(t, db.with(t, "ledger"))
		config, err := pgx.ParseConfig(db.url)
		if err != nil {
			t.Fatal(err)
		}
		var trips roundTrips
		config.Tracer = &trips
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		var batch []ledger.Paid
		for i := range 100 {
			batch = append(batch, ledger.Paid{EventID: fmt.Sprint(i / 2), MerchantID: 1, Amount: 1})
		}
		for n, r := range ledger.NewAccounting(conn).HandlePaidBatch(t.Context(), batch) {
			became(t, []ledger.Outcome{ledger.Applied, ledger.Duplicate}[n%2], r.Outcome, r.Err)
		}
		if trips.n != 3 || fmt.Sprint(trips.queries) != "[2 50 1]" {
			t.Errorf("%d round trips with %v statements", trips.n, trips.queries)
		}
	})
}

// TestBatchStops has a message in the middle of a batch that can't be applied yet: those before it are, those behind it
// are left alone, and all of them come again.
func TestBatchStops(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ledger")
		a := openAccount(t, pool)
		run(t, pool, "INSERT INTO ledger VALUES (2, 0)")
		impatient := ledger.NewAccounting(db.pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "50ms" }))
		lock := begin(t, pool)
		run(t, lock, "SELECT FROM ledger WHERE merchant_id = 2 FOR UPDATE")
		batch := []ledger.Delivery{
			money("Paid", "a", 1), money("Paid", "b", 1), message("Paid", `{"event_id": "poison", "merchant_id": 404, "amount": 1}`),
			money("Paid", "a", 1), message("Paid", `{"event_id": "locked", "merchant_id": 2, "amount": 1}`),
			money("Paid", "c", 1), money("Paid", "b", 1), message("Paid", `{`),
		}
		results := impatient.HandleBatch(t.Context(), batch)
		classes := make([]string, len(results))
		for n, r := range results {
			classes[n] = fmt.Sprint(r.Outcome, " ", ledger.Classify(r.Err))
		}
		want := []string{
			"applied none", "applied none", "failed poison", "duplicate none", "failed transient", "failed transient", "duplicate none",
			"failed poison",
		}
		if !slices.Equal(classes, want) {
			t.Errorf("%v, want %v", classes, want)
		}
		if !errors.Is(results[5].Err, ledger.ErrNotTried) || errors.Is(results[4].Err, ledger.ErrNotTried) {
			t.Errorf("%v; %v", results[4].Err, results[5].Err)
		}
		a.balanceIs(t, 2)
		a.markersAre(t, 2)
		commit(t, lock)
		for n, r := range impatient.HandleBatch(t.Context(), batch) {
			outcome := []ledger.Outcome{ledger.Duplicate, ledger.Duplicate, 0, ledger.Duplicate, ledger.Applied, ledger.Applied, ledger.Duplicate, 0}[n]
			if r.Outcome != outcome {
				t.Errorf("message %d: %v, %v; want %v", n, r.Outcome, r.Err, outcome)
			}
		}
		a.balanceIs(t, 3)
	})
}

// TestBatchInEveryWay has batches on every kind of database and in every exec mode.
func TestBatchInEveryWay(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ledger")
		a := openAccount(t, pool)
		want, next := int64(0), 0
		check := func(t *testing.T, db ledger.DB) {
			t.Helper()
			next++
			c := ledger.NewAccounting(db)
			var batch []ledger.Delivery
			for kind, change := range kinds {
				batch = append(batch, money(kind, fmt.Sprint(kind, next), 100), message("Paid", `{"event_id": %q, "merchant_id": 9, "amount": 1}`, kind))
				want += change
			}
			for _, outcome := range []ledger.Outcome{ledger.Applied, ledger.Duplicate} {
				for n, r := range c.HandleBatch(t.Context(), batch) {
					if n%2 == 0 {
						became(t, outcome, r.Outcome, r.Err)
					} else {
						failed(t, r.Err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
					}
				}
			}
			if results := c.HandleBatch(t.Context(), nil); len(results) != 0 {
				t.Errorf("an empty batch: %v", results)
			}
		}
		inEveryMode(t, db, func(t *testing.T, pool *pgxpool.Pool) { check(t, pool) })
		check(t, db.connect(t))
		check(t, &wrapper{db: pool})
		tx := begin(t, pool)
		check(t, tx)
		commit(t, tx)
		a.balanceIs(t, want)

		conn := db.connect(t)
		open := begin(t, conn)
		for _, r := range ledger.NewAccounting(conn).HandleBatch(t.Context(), []ledger.Delivery{money("Paid", "x", 1), money("Paid", "y", 1)}) {
			if r.Err == nil {
				t.Error("a batch joined the caller's transaction")
			}
		}
		if err := open.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestBatchesRace has batches with the same messages in different orders at once.
func TestBatchesRace(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		a := openAccount(t, db.with(t, "ledger"))
		outcomes := map[ledger.Outcome]int{}
		for _, counts := range collect(t, 8, func(i int) map[ledger.Outcome]int {
			random := rand.New(rand.NewPCG(uint64(i), 0))
			counts := map[ledger.Outcome]int{}
			for rest := random.Perm(200); len(rest) > 0; {
				n := min(50, len(rest))
				var batch []ledger.Delivery
				for _, m := range rest[:n] {
					batch = append(batch, money("Paid", fmt.Sprint(m), 1))
				}
				rest = rest[n:]
				for len(batch) > 0 {
					results := a.HandleBatch(t.Context(), batch)
					first := slices.IndexFunc(results, func(r ledger.Result) bool { return r.Err != nil })
					if first < 0 {
						first = len(batch)
					} else if ledger.Classify(results[first].Err) != ledger.Transient {
						t.Error(results[first].Err)
						return counts
					}
					for _, r := range results[:first] {
						counts[r.Outcome]++
					}
					batch = batch[first:]
				}
			}
			return counts
		}) {
			for outcome, n := range counts {
				outcomes[outcome] += n
			}
		}
		if outcomes[ledger.Applied] != 200 || outcomes[ledger.Duplicate] != 1400 {
			t.Errorf("200 messages delivered 8 times: %v", outcomes)
		}
		a.balanceIs(t, 200)
	})
}

// collect calls f from n goroutines at once and returns what they return.
func collect[R any](t *testing.T, n int, f func(i int) R) []R {
	t.Helper()
	waits := make([]func() (R, error), n)
	for i := range n {
		waits[i] = async(func() (R, error) { return f(i), nil })
	}
	out := make([]R, n)
	for i, wait := range waits {
		out[i], _ = wait()
	}
	return out
}

// TestBatchOfIdentified has ids that are no field of the message, and UUIDs in two spellings.
func TestBatchOfIdentified(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		noted := ids.Noted{Note: "n"}
		for n, r := range ids.NewByHeader(pool).HandleNotedBatch(t.Context(), []ids.Identified[ids.Noted]{{ID: "a", Message: noted}, {ID: "b", Message: noted}, {ID: "a", Message: noted}, {ID: "", Message: noted}, {ID: "a", Message: ids.Noted{Note: "other"}}}) {
			want := []ids.Outcome{ids.Applied, ids.Applied, ids.Duplicate, 0, 0}[n]
			if r.Outcome != want {
				t.Errorf("%d: %v, %v; want %v", n, r.Outcome, r.Err, want)
			}
		}
		for n, r := range ids.NewCloud(pool).HandleNotedBatch(t.Context(), []ids.CloudEvent[ids.Noted]{{Source: "/s", ID: "1", Message: noted}, {Source: "/s", ID: "1", Message: noted}, {Source: "/t", ID: "1", Message: noted}}) {
			became(t, []ids.Outcome{ids.Applied, ids.Duplicate, ids.Applied}[n], r.Outcome, r.Err)
		}
	})
	onServers(t, func(t *testing.T, db *database) {
		c := uuids.NewSum(db.with(t, "uuids"))
		batch := []uuids.Added{
			{EventID: "0190b8a4-7b6a-7c3e-8f00-00000000000a", Amount: 1},
			{EventID: "0190B8A4-7B6A-7C3E-8F00-00000000000A", Amount: 1},
			{EventID: "0190B8A4-7B6A-7C3E-8F00-00000000000B", Amount: 1},
		}
		for round := range 2 {
			for n, r := range c.HandleAddedBatch(t.Context(), batch) {
				want := uuids.Applied
				if round == 1 || n == 1 {
					want = uuids.Duplicate
				}
				became(t, want, r.Outcome, r.Err)
			}
		}
	})
}
