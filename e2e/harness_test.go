package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// onServers runs a test on the oldest and the newest server.
func onServers(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	for _, major := range []int{15, 18} {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			t.Parallel()
			test(t, &database{url: testenv.Postgres(t, major).Database(t)})
		})
	}
}

// database is an empty database for one test.
type database struct{ url string }

// with makes the team's tables and the inbox of a case, and returns a pool.
func (d *database) with(t *testing.T, name string) *pgxpool.Pool {
	t.Helper()
	pool := d.pool(t, func(*pgxpool.Config) {})
	migrations, err := filepath.Glob(filepath.Join("..", "testdata", name, "migrations", "*.up.sql"))
	if err != nil || len(migrations) == 0 {
		t.Fatalf("%s has no migrations: %v", name, err)
	}
	for _, file := range append([]string{filepath.Join("..", "testdata", name, "schema.sql")}, migrations...) {
		sql, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		run(t, pool, string(sql))
	}
	return pool
}

func (d *database) pool(t *testing.T, configure func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(d.url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 16
	configure(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func (d *database) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// run executes statements that return nothing.
func run(t *testing.T, db queryer, sql string, args ...any) {
	t.Helper()
	if len(args) == 0 {
		args = []any{pgx.QueryExecModeSimpleProtocol} // several statements in one string
	}
	rows, err := db.Query(t.Context(), sql, args...)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// read returns the one value that a query gives.
func read[T any](t *testing.T, db queryer, sql string, args ...any) T {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// holds checks the one value that a query gives.
func holds[T comparable](t *testing.T, db queryer, want T, sql string, args ...any) {
	t.Helper()
	if got := read[T](t, db, sql, args...); got != want {
		t.Errorf("%s: %v, want %v", sql, got, want)
	}
}

// became checks what a handler returned when no error is due.
func became[O comparable](t *testing.T, want, got O, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// failed checks the error that a handler returned: its class and, unless nil, its cause.
func failed[C comparable](t *testing.T, err error, class C, classify func(error) C, cause error) {
	t.Helper()
	if err == nil || classify(err) != class || cause != nil && !errors.Is(err, cause) {
		t.Errorf("%v (%v), want %v (%v)", err, classify(err), cause, class)
	}
}

// waitFor asks until the answer is yes. What it waits for is what another session does, of which only the server knows.
func waitFor(t *testing.T, db queryer, sql string, args ...any) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !read[bool](t, db, sql, args...) {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", sql)
		}
	}
}

// blocked waits until n sessions of this database wait for a lock.
func blocked(t *testing.T, db queryer, n int) {
	t.Helper()
	waitFor(t, db, `SELECT count(*) = $1 FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`, n)
}

// async calls f in the background; the function that it returns waits for the result.
func async[O any](f func() (O, error)) func() (O, error) {
	type result struct {
		outcome O
		err     error
	}
	done := make(chan result, 1)
	go func() {
		outcome, err := f()
		done <- result{outcome, err}
	}()
	return func() (O, error) {
		r := <-done
		return r.outcome, r.err
	}
}

// withMode makes a pool send its queries in another way.
func withMode(mode pgx.QueryExecMode) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode }
}

var execModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// inEveryMode runs a test with each of pgx's ways to send a query.
func inEveryMode(t *testing.T, db *database, test func(t *testing.T, pool *pgxpool.Pool)) {
	t.Helper()
	for _, mode := range execModes {
		t.Run(strings.ReplaceAll(mode.String(), " ", "_"), func(t *testing.T) { test(t, db.pool(t, withMode(mode))) })
	}
}

// TestMain keeps the consumers' log out of the tests' output; where it matters a test gives a logger.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}
