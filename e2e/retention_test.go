package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/ids"
	"github.com/inboxgen/inboxgen/testdata/uuids"
)

// fill adds n markers of a consumer for each age in seconds, relative to the retention of eight days.
func fill(t *testing.T, pool *pgxpool.Pool, consumer string, n int, age string) {
	t.Helper()
	run(t, pool, `INSERT INTO inbox (consumer_name, message_id, processed_at)
		SELECT $1, $2::text || ' ' || i, now() - interval '8 days' - $2::interval FROM generate_series(1, $3) AS i`, consumer, age, n)
}

// TestRetention has markers on both sides of the window, of consumers of this spec and of another service.
func TestRetention(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		for _, consumer := range []string{"by_header", "cloud", "of another service"} {
			fill(t, pool, consumer, 25, "1 second")
			fill(t, pool, consumer, 7, "-1 minute")
		}
		// A session elsewhere, with a clock of its own idea: only the server's counts.
		retention := ids.Retention{DB: pool, BatchSize: 10, Pause: -1}
		deleted, err := retention.Run(t.Context())
		if err != nil || deleted["by_header"] != 25 || deleted["cloud"] != 25 || deleted["by_property"] != 0 || len(deleted) != 4 {
			t.Errorf("deleted %v: %v", deleted, err)
		}
		for consumer, want := range map[string]int64{"by_header": 7, "cloud": 7, "of another service": 32} {
			holds(t, pool, want, "SELECT count(*) FROM inbox WHERE consumer_name = $1", consumer)
		}
		holds(t, pool, true, "SELECT bool_and(processed_at > now() - interval '8 days') FROM inbox WHERE consumer_name <> 'of another service'")
		deleted, err = retention.Run(t.Context())
		if err != nil || deleted["by_header"]+deleted["cloud"] != 0 {
			t.Errorf("the second run deleted %v: %v", deleted, err)
		}
	})
}

// TestRetentionBusy has another runner, a locked row, and a context that ends.
func TestRetentionBusy(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		fill(t, pool, "cloud", 20, "1 hour")

		// What a runner that has not committed holds.
		other := begin(t, pool)
		held := ids.Retention{DB: other, BatchSize: 5, Pause: -1}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := held.Run(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		deleted, err := ids.Retention{DB: pool}.Run(t.Context())
		if !errors.Is(err, ids.ErrRetentionBusy) {
			t.Errorf("beside another runner: %v, %v", deleted, err)
		}
		if err := other.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}

		locked := begin(t, pool)
		run(t, locked, "SELECT FROM inbox WHERE message_id = '1 hour 3' FOR UPDATE")
		deleted, err = ids.Retention{DB: pool, BatchSize: 7, Pause: -1}.Run(t.Context())
		if err != nil || deleted["cloud"] != 19 {
			t.Errorf("beside a locked row: %v, %v", deleted, err)
		}
		commit(t, locked)
		fill(t, pool, "by_header", 20, "1 hour")
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		paused := ids.Retention{DB: pool, BatchSize: 1, Pause: time.Hour}
		done := async(func() (map[string]int64, error) { return paused.Run(ctx) })
		waitFor(t, pool, "SELECT count(*) = 20 FROM inbox")
		cancel()
		deleted, err = done()
		if !errors.Is(err, context.Canceled) || deleted["by_header"]+deleted["cloud"] > 1 {
			t.Errorf("cancelled while it paused: %v, %v", deleted, err)
		}
	})
}

// lastDelete keeps the last DELETE that a connection sent.
type lastDelete struct{ pgx.TraceQueryStartData }

func (l *lastDelete) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(data.SQL, "DELETE") {
		l.TraceQueryStartData = data
	}
	return ctx
}

func (*lastDelete) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestRetentionIsIndexed has the server explain the batch on a table in which few rows are old.
func TestRetentionIsIndexed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		fill(t, pool, "cloud", 30000, "-1 hour")
		fill(t, pool, "cloud", 300, "1 hour")
		run(t, pool, "ANALYZE inbox")
		var seen lastDelete
		traced := db.pool(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = &seen })
		if _, err := (ids.Retention{DB: traced}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		fill(t, pool, "cloud", 300, "1 hour")
		rows, err := pool.Query(t.Context(), "EXPLAIN "+seen.SQL, "cloud", 691200.0, 100)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if text := strings.Join(lines, "\n"); err != nil || !strings.Contains(text, "inbox_processed_at_idx") || strings.Contains(text, "Seq Scan") {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func TestRetentionOfUUIDs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "uuids")
		run(t, pool, `INSERT INTO "My Schema"."In""box" (consumer_name, message_id, processed_at)
			SELECT 'sum', gen_random_uuid(), now() - make_interval(hours => h) FROM unnest(ARRAY[35, 37]) AS h`)
		deleted, err := uuids.Retention{DB: pool}.Run(t.Context())
		if err != nil || deleted["sum"] != 1 {
			t.Errorf("%v, %v", deleted, err)
		}
	})
}
