package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/left"
	"github.com/inboxgen/inboxgen/testdata/right"
)

const leftSchema, rightSchema = `a`, `"B Schema"`

// bothSchemas makes the tables of two services, left and right, in one database, and returns what applies their migrations.
func bothSchemas(t *testing.T, db *database) (pool *pgxpool.Pool, l, r migrator) {
	t.Helper()
	pool = db.pool(t, func(*pgxpool.Config) {})
	migrators := map[string]migrator{}
	for name, tool := range map[string]string{"left": "golang-migrate", "right": "goose"} {
		dir := filepath.Join("..", "testdata", name)
		schema, err := os.ReadFile(filepath.Join(dir, "schema.sql"))
		if err != nil {
			t.Fatal(err)
		}
		run(t, pool, string(schema))
		migrators[name] = tools[tool](t, filepath.Join(dir, "migrations"), db.url)
		if err := migrators[name].up(); err != nil {
			t.Fatal(err)
		}
	}
	return pool, migrators["left"], migrators["right"]
}

// TestTwoSchemas has two services in one database, with inboxes of one name in schemas of their own, whose consumers have one
// name and whose messages have the same ids, on connections with every kind of search_path.
func TestTwoSchemas(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool, _, _ := bothSchemas(t, db)
		paths := []string{"a", `"B Schema"`, `"B Schema", a`, "", "public", "pg_temp"}
		lefts, rights := []left.Outcome{left.Applied, left.Duplicate}, []right.Outcome{right.Applied, right.Duplicate}
		for n, path := range paths {
			session := db.pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = path })
			l, r := left.NewSum(session), right.NewSum(session)
			id := fmt.Sprint("m", n)
			for round := range 2 {
				outcome, err := l.HandleAdded(t.Context(), left.Added{EventID: id, Amount: 1})
				became(t, lefts[round], outcome, err)
				theirs, err := r.HandleAdded(t.Context(), right.Added{EventID: id, Amount: 10})
				became(t, rights[round], theirs, err)
				outcome, err = l.HandleAddedTwice(t.Context(), left.AddedTwice{EventID: id + " twice", Amount: 1})
				became(t, lefts[round], outcome, err)
				theirs, err = r.HandleAddedTwice(t.Context(), right.AddedTwice{EventID: id + " twice", Amount: 10})
				became(t, rights[round], theirs, err)
				for _, result := range l.HandleAddedBatch(t.Context(), []left.Added{{EventID: id + " batch", Amount: 1}}) {
					became(t, lefts[round], result.Outcome, result.Err)
				}
			}
			_, err := r.HandleAdded(t.Context(), right.Added{EventID: id, Amount: 11})
			failed(t, err, right.Poison, right.Classify, right.ErrReusedID)
		}
		n := int64(len(paths))
		holds(t, pool, 4*n, "SELECT sum FROM a.total")
		holds(t, pool, 30*n, `SELECT sum FROM "B Schema".total`)
		holds(t, pool, 3*n, "SELECT count(*) FROM a.inbox")
		holds(t, pool, 2*n, `SELECT count(*) FROM "B Schema".inbox`)
	})
}

// TestTwoSchemasRetention deletes the old markers of one of two inboxes, also while the other's are being deleted.
func TestTwoSchemasRetention(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool, _, _ := bothSchemas(t, db)
		for _, schema := range []string{leftSchema, rightSchema} {
			run(t, pool, `INSERT INTO `+schema+`.inbox (consumer_name, message_id, processed_at)
				SELECT 'sum', 'm' || i, now() - interval '9 days' FROM generate_series(1, 20) AS i`)
		}
		other := begin(t, pool)
		if deleted, err := (right.Retention{DB: other, Pause: -1}).Run(t.Context()); err != nil || deleted["sum"] != 20 {
			t.Errorf("right: %v, %v", deleted, err)
		}
		if deleted, err := (left.Retention{DB: pool, Pause: -1}).Run(t.Context()); err != nil || deleted["sum"] != 20 {
			t.Errorf("left: %v, %v", deleted, err)
		}
		if err := other.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds(t, pool, int64(0), "SELECT count(*) FROM a.inbox")
		holds(t, pool, int64(20), `SELECT count(*) FROM "B Schema".inbox`)
	})
}

// TestTwoSchemasMigrations takes one of two inboxes away, and brings it back.
func TestTwoSchemasMigrations(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool, l, r := bothSchemas(t, db)
		there := func(wantLeft, wantRight bool) {
			holds(t, pool, wantLeft, "SELECT to_regclass($1) IS NOT NULL", leftSchema+".inbox")
			holds(t, pool, wantRight, "SELECT to_regclass($1) IS NOT NULL", rightSchema+".inbox")
		}
		step := func(move func() error, wantLeft, wantRight bool) {
			t.Helper()
			if err := move(); err != nil {
				t.Fatal(err)
			}
			there(wantLeft, wantRight)
		}
		there(true, true)
		step(l.down, false, true)
		_, err := left.NewSum(pool).HandleAdded(t.Context(), left.Added{EventID: "m", Amount: 1})
		failed(t, err, left.Deployment, left.Classify, nil)
		outcome, err := right.NewSum(pool).HandleAdded(t.Context(), right.Added{EventID: "m", Amount: 1})
		became(t, right.Applied, outcome, err)
		step(l.up, true, true)
		step(r.down, true, false)
		step(r.up, true, true)
		mine, err := left.NewSum(pool).HandleAdded(t.Context(), left.Added{EventID: "m", Amount: 1})
		became(t, left.Applied, mine, err)
	})
}
