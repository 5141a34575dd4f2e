package pgsql

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

var (
	seed       = flag.Uint64("seed", 0, "what TestBare makes its statements from; by default the time")
	statementN = flag.Int("statements", 400, "how many statements TestBare makes for each server")
)

const bareSchema = `
CREATE TABLE p (id int PRIMARY KEY, i2 smallint, i4 int, i8 bigint, n numeric(10,2), f float8, t text, v varchar(40), b boolean,
	ts timestamptz, d date, u uuid, j jsonb, ai int[], at text[]);
CREATE TABLE o (LIKE p);
CREATE TABLE called (f text);
CREATE SEQUENCE q;
INSERT INTO p SELECT i, i, i, i, i + 0.5, i, 't' || i, 'v' || i, i = 1, '2026-01-02 03:04:05+00', '2026-01-02',
	'00000000-0000-0000-0000-000000000001', '{"k": 1}', '{1,2}', '{a,b}' FROM generate_series(1, 3) i;
INSERT INTO o SELECT * FROM p;
CREATE FUNCTION g(x bigint) RETURNS bigint LANGUAGE sql AS $$ INSERT INTO called VALUES ('i ' || x) RETURNING x $$;
CREATE FUNCTION g(x text) RETURNS text LANGUAGE sql AS $$ INSERT INTO called VALUES ('t ' || x) RETURNING x $$;
CREATE FUNCTION g2(x numeric, y text) RETURNS text LANGUAGE sql AS $$ INSERT INTO called VALUES (x || y) RETURNING y $$;
`

const bareContents = `SELECT jsonb_build_object('p', (SELECT jsonb_agg(x ORDER BY x) FROM p x),
	'o', (SELECT jsonb_agg(x ORDER BY x) FROM o x), 'called', (SELECT jsonb_agg(x ORDER BY x) FROM called x))::text`

// TestBare makes statements with parameters in every place, and writes each as one would by hand: every name one $n. What
// the server takes then, it must take in each of the forms that are generated, and each must do the same.
func TestBare(t *testing.T) {
	t.Parallel()
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
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
			if _, err := conn.Exec(t.Context(), bareSchema+inboxTable, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			b := bare{t: t, conn: conn, major: major, before: ask[string](t, conn, bareContents)}
			for i := range *statementN {
				w := &writer{rand: rand.New(rand.NewPCG(from, uint64(i))), major: major}
				w.statement()
				b.try(w.String())
			}
			t.Logf("-seed %d: of %d statements the server takes %d, %d of them run and %d are guarded; %d more it takes only as they are generated; %d differ",
				from, *statementN, b.taken, b.ran, b.guarded, b.more, b.differ)
			if b.taken < *statementN/10 || b.guarded < b.taken/4 {
				t.Error("these are too few")
			}
		})
	}
}

// bare tries statements on one server, and counts what became of them.
type bare struct {
	t      *testing.T
	conn   *pgx.Conn
	major  int
	before string

	taken, ran, guarded, more, differ int
}

func (b *bare) try(sql string) {
	s, problems := Parse(sql)
	if len(problems) > 0 {
		return
	}
	byHand, args := s.byHand()
	if !b.takes(byHand) {
		if b.takes(s.SQL()) {
			b.more++
		}
		return
	}
	b.taken++
	want, wantCode := b.outcome(query{byHand, args})
	if wantCode == "" {
		b.ran++
	}
	b.same(sql, "batch", want, wantCode, s.SQL(), s.values())
	// It is made to accept any number of rows: a bare statement accepts them.
	if checked, ok, err := s.Check("c.M", ExpectSome, b.major); err != nil {
		b.t.Errorf("%s\nchecked: %v", sql, err)
	} else if ok && b.takes(checked) {
		b.same(sql, "checked", want, wantCode, strings.Replace(checked, "effect.n > 0", "effect.n >= 0", 1), s.values())
	} else if ok {
		b.report("%s\nthe server does not take it checked:\n%s", sql, checked)
	}
	guarded, err := s.Guard(ledgerInbox, "c.M", ExpectAny, b.major)
	if err != nil {
		return
	}
	b.guarded++
	delivery := append([]any{"c", "m", "1"}, s.values()...)
	b.same(sql, "guarded", want, wantCode, guarded, delivery)
	again, code := b.outcome(query{ledgerInbox.MarkerSQL(), delivery[:3]}, query{guarded, delivery})
	if code == "" && again != b.before {
		b.report("%s\nacts for a duplicate:\n%s", sql, guarded)
	}
}

// same compares what a generated form does with what the statement does bare.
func (b *bare) same(sql, form, want, wantCode, generated string, args []any) {
	got, code := b.outcome(query{generated, args})
	if got != want || code != wantCode {
		b.report("%s\n%s:\n%s\nleaves (%s)\n%s\nwant (%s)\n%s", sql, form, generated, code, got, wantCode, want)
	}
}

func (b *bare) report(format string, args ...any) {
	b.differ++
	b.t.Errorf(format, args...)
}

// takes reports whether the server prepares a statement.
func (b *bare) takes(sql string) bool {
	_, err := b.conn.PgConn().Prepare(b.t.Context(), "", sql, nil)
	return err == nil
}

// outcome returns what queries leave, or the SQLSTATE they fail with.
func (b *bare) outcome(queries ...query) (found, code string) {
	found, err := outcome(b.t, b.conn, bareContents, queries...)
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		return "", server.Code
	case err != nil:
		b.t.Fatal(err)
	}
	return found, ""
}

// bareValues are the parameters and their values, in the text format, and bareColumns the columns where each fits.
var (
	bareValues = map[string]string{
		"x": "1", "z": "2", "q": "1.5", "s": "ab ", "y": "true", "e": "2026-01-02", "w": "2026-01-02 23:04:05+00",
		"k": "00000000-0000-0000-0000-00000000000A", "h": "[1,  2]", "l": "{1,2}",
	}
	bareColumns = map[string][]string{
		"x": {"i2", "i4", "i8", "n", "f", "t", "v"}, "z": {"i2", "i4", "i8", "n", "f", "t", "v"}, "q": {"n", "f", "t", "v", "i4"}, "s": {"t", "v"},
		"y": {"b", "t"}, "e": {"d", "ts", "t"}, "w": {"ts", "d", "v"}, "k": {"u", "t", "v"}, "h": {"j", "t"}, "l": {"ai", "at", "t"},
	}
	bareNames = []string{"x", "z", "q", "s", "y", "e", "w", "k", "h", "l"}
	bareTypes = []string{"smallint", "int", "bigint", "numeric", "numeric(6,1)", "float8", "text", "varchar", "varchar(3)", "bool", "timestamptz", "date", "uuid", "jsonb", "int[]", "text[]"}
)

// byHand numbers each name once, in the order of their first places.
func (s *Statement) byHand() (sql string, args []any) {
	numbers := map[string]int{}
	var edits []edit
	for _, o := range s.params {
		if numbers[o.name] == 0 {
			numbers[o.name] = len(numbers) + 1
			args = append(args, bareValues[o.name])
		}
		edits = append(edits, edit{o.start, o.end, fmt.Sprintf("$%d", numbers[o.name])})
	}
	return splice(s.Source, 0, s.end(), edits), args
}

func (s *Statement) values() []any {
	args := make([]any, len(s.Parameters()))
	for i, name := range s.Parameters() {
		args[i] = bareValues[name]
	}
	return args
}

// writer writes a statement. A few names are in use in each, so that they come several times.
type writer struct {
	strings.Builder
	rand  *rand.Rand
	major int
	names []string
	from  []string // what columns can be qualified with
}

func (w *writer) chance(n int) bool { return w.rand.IntN(n) == 0 }

func (w *writer) of(list ...string) string { return list[w.rand.IntN(len(list))] }

func (w *writer) add(parts ...string) { w.WriteString(strings.Join(parts, "")) }

// param is a parameter, mostly one that fits a column.
func (w *writer) param(column string) string {
	name := w.of(w.names...)
	for range 6 {
		if w.fits(name, column) {
			break
		}
		name = w.of(w.names...)
	}
	return "@" + name
}

func (w *writer) fits(name, column string) bool {
	for _, c := range bareColumns[name] {
		if c == column {
			return true
		}
	}
	return false
}

// column is one that fits a name in use.
func (w *writer) column() string { return w.of(bareColumns[w.of(w.names...)]...) }

func (w *writer) qualified(column string) string {
	if len(w.from) == 0 {
		return "NULL"
	}
	return w.of(w.from...) + "." + column
}

// value is an expression to assign to a column.
func (w *writer) value(column string, depth int) string {
	if depth == 0 || w.chance(2) {
		if w.chance(8) {
			return w.of("NULL", "'1'", "1", w.qualified(column), "("+w.param(column)+")")
		}
		return w.param(column)
	}
	v := func() string { return w.value(column, depth-1) }
	switch w.rand.IntN(18) {
	case 0:
		return "- " + v()
	case 1:
		return w.qualified(column) + w.of(" + ", " - ", " * ", " || ") + v()
	case 2:
		return v() + w.of(" + 1", " || 'x'", " * 2.5", " + interval '1 day'")
	case 3:
		return "coalesce(" + v() + ", " + w.of(w.qualified(column), v()) + ")"
	case 4:
		return "CASE WHEN " + w.condition(0) + " THEN " + v() + " ELSE " + w.of(w.qualified(column), v()) + " END"
	case 5, 6:
		return w.param(column) + "::" + w.of(bareTypes...)
	case 7:
		return "(" + w.param(column) + "::" + w.of(bareTypes...) + ")::" + w.of(bareTypes...)
	case 8:
		return "(SELECT " + v() + ")"
	case 9:
		return "(SELECT max(o." + w.of("i4", "t", column) + ") FROM o WHERE o." + column + " = " + w.param(column) + ")"
	case 10:
		return "ARRAY[" + v() + ", " + v() + "]"
	case 11:
		return w.of("greatest", "nullif", "concat", "format") + "(" + v() + ", " + v() + ")"
	case 12:
		return w.of("abs", "lower", "round", "to_jsonb", "length", "to_char", "date_trunc") + "(" + v() + ")"
	case 13:
		return w.param(column) + ` COLLATE "C"`
	case 14:
		return w.of("jsonb_build_object", "concat_ws", "date_trunc", "format") + "('day', " + v() + ")"
	case 15:
		return w.qualified("j") + w.of(" -> ", " ->> ", " || ") + v()
	case 16:
		return "(" + v() + ")"
	default:
		return w.qualified(w.column()) + w.of(" = ", " || ", " + ") + v()
	}
}

func (w *writer) condition(depth int) string {
	column := w.column()
	at := w.qualified(column)
	if at == "NULL" {
		at = "'1'"
	}
	switch w.rand.IntN(14) {
	case 0:
		return w.param(column) + w.of(" = ", " < ", " IS NOT DISTINCT FROM ") + at
	case 1:
		return at + " IN (" + w.param(column) + ", " + w.value(column, 1) + ")"
	case 2:
		return at + " = ANY (" + w.of("@l", "ARRAY["+w.param(column)+"]", w.param(column)+"::"+w.of(bareTypes...)+"[]") + ")"
	case 3:
		return w.param(column) + w.of(" IS NULL", "::text IS NOT NULL")
	case 4:
		return at + " BETWEEN " + w.param(column) + " AND " + w.param(column)
	case 5:
		return "(" + at + ", " + w.param(column) + ") = (" + w.param(column) + ", " + at + ")"
	case 6:
		return w.of("@y", "NOT @y", "true")
	case 7:
		return "EXISTS (SELECT 1 FROM o WHERE o." + column + " = " + w.value(column, 1) + ")"
	case 8:
		if depth > 0 {
			return w.condition(depth-1) + w.of(" OR ", " AND ") + w.condition(depth-1)
		}
	case 9:
		return at + " = " + w.param(column) + "::" + w.of(bareTypes...)
	case 10:
		return at + " IN (SELECT " + w.of(w.value(column, 0), "o."+column) + " FROM o)"
	}
	return at + w.of(" = ", " <> ", " >= ") + w.value(column, depth)
}

func (w *writer) where() {
	if w.chance(2) {
		w.add(" WHERE ", w.condition(2))
	}
}

func (w *writer) returning(prefix string) {
	if w.chance(4) {
		column := w.column()
		w.from = []string{prefix}
		w.add(" RETURNING ", prefix, ".id, ", w.value(column, 1))
	}
}

func (w *writer) statement() {
	for range 1 + w.rand.IntN(3) {
		w.names = append(w.names, w.of(bareNames...))
	}
	if w.chance(5) {
		w.add("WITH ", w.of("", "", "RECURSIVE "))
		for i := range 1 + w.rand.IntN(2) {
			if i > 0 {
				w.add(", ")
			}
			w.add("c", strconv.Itoa(i), " AS (")
			w.cte()
			w.add(")")
		}
		w.add(" ")
	}
	w.from = nil
	switch k := w.rand.IntN(13); {
	case k < 4:
		w.insert("p")
	case k < 8:
		w.update("p")
	case k < 9:
		w.delete()
	case k < 10:
		w.call()
	case k < 11:
		w.merge()
	default:
		w.insert("p")
	}
}

func (w *writer) cte() {
	w.from = nil
	switch w.rand.IntN(4) {
	case 0:
		w.update("o")
	case 1:
		w.insert("o")
	default:
		column := w.column()
		w.from = []string{"o"}
		w.add("SELECT ", w.value(column, 1), " AS c FROM o")
		w.where()
	}
}

// columnsFor are distinct columns to assign to.
func (w *writer) columnsFor() []string {
	var out []string
	seen := map[string]bool{}
	for range 1 + w.rand.IntN(4) {
		if c := w.column(); !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}

func (w *writer) values(columns []string) string {
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = w.value(c, 2)
	}
	return strings.Join(values, ", ")
}

func (w *writer) insert(table string) {
	columns := w.columnsFor()
	w.add("INSERT INTO ", table, " (id, ", strings.Join(columns, ", "), ") ")
	id := 10 + w.rand.IntN(5)
	if w.chance(4) {
		id = 1
	}
	if w.chance(3) {
		w.from = []string{"o"}
		key := w.of("o.id + 100", "o.id + 100", "(@x)", "o.id + @x")
		w.add("SELECT ", w.of("", "", "", "DISTINCT "), key, ", ", w.values(columns), " FROM o")
		w.where()
		w.add(w.of("", "", "", " ORDER BY o.id", " LIMIT 1", " LIMIT @x", " UNION ALL SELECT 99, "+w.values(columns)+" FROM o WHERE o.id = 1"))
	} else {
		w.add("VALUES ")
		for i := range w.rand.IntN(3)/2 + 1 + w.rand.IntN(2)*w.rand.IntN(3) {
			if i > 0 {
				w.add(", ")
			}
			w.add("(", w.of(strconv.Itoa(id+i), strconv.Itoa(id+i), "@z + "+strconv.Itoa(id+i)), ", ", w.values(columns), ")")
		}
	}
	if table == "p" && w.chance(3) {
		w.from = []string{table, "excluded"}
		w.add(" ON CONFLICT ", w.of("(id) DO NOTHING", "(id) DO UPDATE SET "))
		if strings.HasSuffix(w.String(), " ") {
			w.set()
			w.where()
		}
	}
	w.returning(table)
}

func (w *writer) set() {
	columns := w.columnsFor()
	if len(columns) > 1 && w.chance(3) {
		w.add("(", strings.Join(columns, ", "), ") = ", w.of("", "ROW"), "(", w.values(columns), ")")
		return
	}
	if len(columns) > 1 && w.chance(6) {
		w.add("(", strings.Join(columns, ", "), ") = (SELECT ", w.values(columns), ")")
		return
	}
	for i, c := range columns {
		if i > 0 {
			w.add(", ")
		}
		if (c == "ai" || c == "at") && w.chance(2) {
			w.add(c, "[", w.of("1", "@x"), "] = ", w.value("i4", 1))
			continue
		}
		w.add(c, " = ", w.value(c, 2))
	}
}

func (w *writer) update(table string) {
	w.from = []string{table}
	w.add("UPDATE ", table, " SET ")
	from := ""
	if table == "p" && w.chance(3) {
		w.from = append(w.from, "s")
		from = w.of(" FROM o AS s", " FROM (SELECT * FROM o WHERE o."+w.column()+" = "+w.param(w.column())+") AS s", " FROM o AS s JOIN called ON called.f = "+w.param("t"))
	}
	w.set()
	w.add(from)
	w.where()
	w.returning(table)
}

func (w *writer) delete() {
	w.from = []string{"p"}
	w.add("DELETE FROM p")
	if w.chance(2) {
		w.from = append(w.from, "o")
		w.add(" USING o")
	}
	w.where()
	w.returning("p")
}

func (w *writer) call() {
	column := w.column()
	from := w.of("", " FROM p")
	if from != "" {
		w.from = []string{"p"}
	}
	w.add("SELECT ", w.of("g("+w.value(column, 1)+")", "g2("+w.value("n", 1)+", "+w.value("t", 1)+")"), from)
	w.where()
}

func (w *writer) merge() {
	w.from = []string{"s"}
	w.add("MERGE INTO p USING ", w.of("o AS s", "(SELECT @x::int AS id, o.i4, o.i8, o.n, o.t, o.v, o.i2, o.f, o.j, o.b, o.d, o.ts, o.u, o.ai, o.at FROM o LIMIT 1) AS s"), " ON p.id = ", w.of("s.id", "s.id + @x"))
	w.from = []string{"s", "p"}
	w.add(" WHEN MATCHED")
	if w.chance(2) {
		w.add(" AND (", w.condition(1), ")")
	}
	w.add(" THEN UPDATE SET ")
	w.set()
	if w.chance(2) {
		columns := w.columnsFor()
		w.from = []string{"s"}
		w.add(" WHEN NOT MATCHED THEN INSERT (id, ", strings.Join(columns, ", "), ") VALUES (s.id + 50, ", w.values(columns), ")")
	}
	if w.major >= 17 {
		w.returning("p")
	}
}
