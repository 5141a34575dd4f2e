package pgsql

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// randomSchema has what the builder names. f and its like write, wherever they are called.
const randomSchema = `
CREATE SCHEMA s;
CREATE TABLE t (a text UNIQUE, b boolean, doc jsonb, CONSTRAINT k UNIQUE (a, b));
CREATE TABLE u (a text, b boolean, doc jsonb);
CREATE TABLE s.t (LIKE t INCLUDING ALL);
CREATE TABLE s.u (LIKE u);
CREATE TABLE "Odd ""t" (LIKE t INCLUDING ALL);
CREATE TABLE inboxgen_x (LIKE u);
CREATE TABLE called (f text);
CREATE SEQUENCE q;
CREATE FUNCTION f(n int) RETURNS boolean LANGUAGE sql AS $$ INSERT INTO called VALUES ('f') RETURNING true $$;
CREATE FUNCTION f(n text) RETURNS boolean LANGUAGE sql AS $$ INSERT INTO called VALUES ('f') RETURNING true $$;
CREATE FUNCTION g(n int) RETURNS boolean LANGUAGE sql AS $$ INSERT INTO called VALUES ('g') RETURNING true $$;
CREATE FUNCTION s.f(n int) RETURNS boolean LANGUAGE sql AS $$ INSERT INTO called VALUES ('s.f') RETURNING true $$;
CREATE FUNCTION n(n int) RETURNS int LANGUAGE sql AS $$ INSERT INTO called VALUES ('n') RETURNING 1 $$;
CREATE AGGREGATE my(text) (SFUNC = text_larger, STYPE = text);
CREATE FUNCTION op(a text, b text) RETURNS boolean LANGUAGE sql AS $$ INSERT INTO called VALUES ('op') RETURNING true $$;
CREATE OPERATOR %%% (LEFTARG = text, RIGHTARG = text, FUNCTION = op);
INSERT INTO t VALUES ('x', true, '{"k": 1}'), ('y', false, '{}'), ('1', true, '[]');
INSERT INTO u SELECT * FROM t;
INSERT INTO s.t SELECT * FROM t;
INSERT INTO s.u SELECT * FROM t;
INSERT INTO "Odd ""t" SELECT * FROM t;
INSERT INTO inboxgen_x SELECT * FROM t;
`

const randomContents = `SELECT jsonb_build_object(
	't', (SELECT jsonb_agg(x ORDER BY x) FROM t x), 'u', (SELECT jsonb_agg(x ORDER BY x) FROM u x),
	's.t', (SELECT jsonb_agg(x ORDER BY x) FROM s.t x), 's.u', (SELECT jsonb_agg(x ORDER BY x) FROM s.u x),
	'odd', (SELECT jsonb_agg(x ORDER BY x) FROM "Odd ""t" x), 'x', (SELECT jsonb_agg(x ORDER BY x) FROM inboxgen_x x),
	'called', (SELECT jsonb_agg(x) FROM called x), 'q', (SELECT jsonb_agg(x.last_value) FROM q x),
	'setting', nullif(current_setting('inboxgen.test', true), ''))::text`

// TestRandom runs built statements on a server, which alone knows what they do: for a duplicate nothing may change, and the
// first delivery must leave what the bare statement leaves.
func TestRandom(t *testing.T) {
	t.Parallel()
	for _, major := range []int{15, 18} {
		t.Run(strconv.Itoa(major), func(t *testing.T) {
			t.Parallel()
			config, err := pgx.ParseConfig(testenv.Postgres(t, major).Database(t))
			if err != nil {
				t.Fatal(err)
			}
			config.DefaultQueryExecMode = pgx.QueryExecModeExec
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			if _, err := conn.Exec(t.Context(), randomSchema+inboxTable, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			r := random{conn: conn, major: major, before: ask[string](t, conn, randomContents)}
			for i := range 4000 {
				b := &builder{input: randomBytes(i)}
				b.statement(2)
				r.try(t, b.out.String())
			}
			t.Logf("%d are guarded, %d run, %d change something", r.guarded, r.ran, r.changed)
			if r.ran < 100 || r.changed < 50 {
				t.Errorf("%d are guarded, but only %d run and %d change something", r.guarded, r.ran, r.changed)
			}
		})
	}
}

// random tries statements on one server, and counts what became of them.
type random struct {
	conn                  *pgx.Conn
	major                 int
	before                string
	guarded, ran, changed int
}

func (r *random) try(t *testing.T, sql string) {
	t.Helper()
	s, problems := Parse(sql)
	if len(problems) > 0 || len(s.CheckInbox(ledgerInbox)) > 0 {
		return
	}
	text, err := s.Guard(ledgerInbox, "c.M", ExpectAny, r.major)
	if err != nil {
		return
	}
	r.guarded++
	args := make([]any, len(s.Parameters()))
	for i := range args {
		args[i] = "x"
	}
	bare, err := outcome(t, r.conn, randomContents, query{s.SQL(), args})
	if err != nil {
		return // it does not fit the tables
	}
	r.ran++
	if bare != r.before {
		r.changed++
	}
	delivery := append([]any{"c", "m", int64(1)}, args...)
	first, err := outcome(t, r.conn, randomContents, query{text, delivery})
	switch {
	case err != nil:
		t.Errorf("runs bare, but not guarded: %s", sql)
	case first != bare && !strings.Contains(sql, "random()"):
		t.Errorf("%s\nleaves\n%s\nwant\n%s", sql, first, bare)
	}
	duplicate, err := outcome(t, r.conn, randomContents, query{ledgerInbox.MarkerSQL(), delivery[:3]}, query{text, delivery})
	if err != nil || duplicate != r.before {
		t.Errorf("fails or acts for a duplicate: %s\n%s\n%s", sql, duplicate, text)
	}
}

type query struct {
	sql  string
	args []any
}

// outcome runs queries in a transaction that is rolled back, and returns what the query contents then finds.
func outcome(t *testing.T, conn *pgx.Conn, contents string, queries ...query) (found string, err error) {
	t.Helper()
	batch := &pgx.Batch{}
	batch.Queue("SELECT setval('q', 1, false)")
	batch.Queue("BEGIN")
	for _, q := range queries {
		batch.Queue(q.sql, q.args...)
	}
	batch.Queue(contents).QueryRow(func(row pgx.Row) error { return row.Scan(&found) })
	err = conn.SendBatch(t.Context(), batch).Close()
	if _, rollback := conn.Exec(t.Context(), "ROLLBACK"); rollback != nil {
		t.Fatal(rollback)
	}
	return found, err
}

// randomBytes returns the i-th input of those that are tried.
func randomBytes(i int) []byte {
	input := make([]byte, 60)
	state := uint32(i)*2654435761 + 1
	for j := range input {
		state = state*1664525 + 1013904223
		input[j] = byte(state >> 24)
	}
	return input
}
