package pgsql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	pg "github.com/sqlc-dev/oliphant"
)

// FuzzGuard builds statements from the input, guards them, and has the checker, which knows nothing of how that is done,
// look at the result.
func FuzzGuard(f *testing.F) {
	for i := range 64 {
		seed := make([]byte, 48)
		for j := range seed {
			seed[j] = byte((i + 1) * (j*7 + 3))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		b := &builder{input: input}
		b.statement(2)
		checkGuard(t, b.out.String())
	})
}

// FuzzParse feeds any text.
func FuzzParse(f *testing.F) {
	for _, s := range statements {
		f.Add(s.sql)
	}
	for _, r := range refusals {
		f.Add(r.sql)
	}
	f.Fuzz(checkGuard)
}

func checkGuard(t *testing.T, sql string) {
	s, problems := Parse(sql)
	for _, p := range problems {
		if p.Start < 0 || p.End < p.Start || p.End > len(sql) || p.Message == "" || p.Rule == "" {
			t.Fatalf("%q: %+v", sql, p)
		}
	}
	if len(problems) > 0 || s == nil {
		return
	}
	checkNumbers(t, s)
	if problems := s.CheckInbox(ledgerInbox); len(problems) > 0 {
		return
	}
	for _, postgres := range []int{15, 17} {
		guarded, err := s.Guard(ledgerInbox, "c.M", ExpectSome, postgres)
		if err == nil {
			err = provenGuarded(guarded)
			if err != nil {
				t.Fatalf("%v:\n%s\nguarded:\n%s", err, sql, guarded)
			}
		}
		if _, _, err := s.Check("c.M", ExpectSome, postgres); err != nil && guarded != "" {
			t.Fatalf("guarded, but not checked: %v:\n%s", err, sql)
		}
	}
}

// checkNumbers has the numbered statement parsed again: it must be one, with a parameter wherever the user's has one.
func checkNumbers(t *testing.T, s *Statement) {
	n, err := parseOne(s.SQL())
	if err != nil {
		t.Fatalf("%v:\n%s\nnumbered:\n%s", err, s.Source, s.SQL())
	}
	at := map[int32]int32{} // by place: (a, b) = (…) has its values in the tree twice
	walk(n, func(m any) bool {
		if p, ok := m.(*pg.ParamRef); ok {
			at[p.Location] = p.Number
		}
		return true
	})
	var want []int32
	for i, p := range s.parameters {
		for range p.occurrences {
			want = append(want, int32(i+1))
		}
	}
	numbers := slices.Sorted(maps.Values(at))
	if !slices.Equal(numbers, want) {
		t.Fatalf("numbers %v, want %v:\n%s\nnumbered:\n%s", numbers, want, s.Source, s.SQL())
	}
}

// builder makes a statement: each byte of the input is a choice.
type builder struct {
	input []byte
	out   strings.Builder
}

// choose returns a number below n; once the input is used up it is 0, the simplest choice.
func (b *builder) choose(n int) int {
	if len(b.input) == 0 {
		return 0
	}
	c := int(b.input[0])
	b.input = b.input[1:]
	return c % n
}

func (b *builder) one(of ...string) { b.out.WriteString(" " + of[b.choose(len(of))]) }

// maybe calls f one time in n.
func (b *builder) maybe(n int, f func()) {
	if b.choose(n) == n-1 {
		f()
	}
}

func (b *builder) comment() {
	b.maybe(4, func() {
		b.one("/* WHERE */", "-- it's\n", "/* a /* RETURNING */ b */", "/*+ Hint(x) */", "--\n", "-- é @x\n", "\r\n")
	})
}

func (b *builder) statement(depth int) {
	b.comment()
	b.maybe(3, func() { b.with(depth) })
	switch b.choose(5) {
	case 0:
		b.update(depth)
	case 1:
		b.insert(depth)
	case 2:
		b.delete(depth)
	case 3:
		b.merge(depth)
	case 4:
		b.query(depth)
	}
	b.comment()
}

func (b *builder) with(depth int) {
	b.one("WITH", "WITH RECURSIVE")
	for i := range 1 + b.choose(2) {
		if i > 0 {
			b.out.WriteString(",")
		}
		b.one("a", "b", `"where"`, "inbox", "returning_")
		b.comment()
		b.one("AS", "AS MATERIALIZED", "AS NOT MATERIALIZED", "(x) AS")
		b.out.WriteString(" (")
		b.comment()
		if depth > 0 {
			switch b.choose(4) {
			case 0:
				b.query(depth - 1)
			default:
				b.statement(depth - 1)
			}
		} else {
			b.out.WriteString(" SELECT 1")
		}
		b.out.WriteString(")")
	}
}

func (b *builder) table() {
	b.one("t", "s.t", `"Odd ""t"`, "ONLY t", "t *")
	b.maybe(3, func() { b.one("AS x", "x", `AS "set"`) })
}

func (b *builder) update(depth int) {
	b.out.WriteString(" UPDATE")
	b.table()
	b.one("SET a =", "SET (a, b) = ROW(1,", "SET a[1:2] =")
	paren := strings.HasSuffix(b.out.String(), ",")
	b.expression(depth)
	if paren {
		b.out.WriteString(")")
	}
	b.maybe(3, func() { b.from(depth, "FROM") })
	b.where(depth)
	b.returning(depth)
}

func (b *builder) delete(depth int) {
	b.out.WriteString(" DELETE FROM")
	b.table()
	b.maybe(3, func() { b.from(depth, "USING") })
	b.where(depth)
	b.returning(depth)
}

func (b *builder) insert(depth int) {
	b.one("INSERT INTO t", "INSERT INTO t (a, b)", "INSERT INTO s.t AS x (a)", "INSERT INTO t OVERRIDING USER VALUE")
	switch b.choose(4) {
	case 0:
		for i := range 1 + b.choose(2) {
			b.one("VALUES (", "VALUES(")
			if i > 0 {
				s := strings.TrimSuffix(strings.TrimSuffix(b.out.String(), "VALUES("), "VALUES (")
				b.out.Reset()
				b.out.WriteString(s + ", (")
			}
			b.expression(depth)
			b.maybe(2, func() { b.out.WriteString(","); b.expression(depth) })
			b.maybe(5, func() { b.out.WriteString(", DEFAULT") })
			b.out.WriteString(")")
		}
	case 1:
		b.out.WriteString(" DEFAULT VALUES")
	default:
		b.query(depth)
	}
	b.maybe(3, func() {
		b.one("ON CONFLICT DO NOTHING", "ON CONFLICT (a) DO NOTHING", "ON CONFLICT (a) WHERE b DO UPDATE SET a =", "ON CONFLICT ON CONSTRAINT k DO UPDATE SET a =")
		if strings.HasSuffix(b.out.String(), "=") {
			b.expression(depth)
			b.where(depth)
		}
	})
	b.returning(depth)
}

func (b *builder) merge(depth int) {
	b.out.WriteString(" MERGE INTO")
	b.one("t", "t AS x", "s.t x")
	b.out.WriteString(" USING")
	b.source(depth)
	b.out.WriteString(" ON")
	b.condition(depth)
	for range 1 + b.choose(3) {
		b.one("WHEN MATCHED", "WHEN NOT MATCHED", "WHEN NOT MATCHED BY SOURCE", "WHEN NOT MATCHED BY TARGET")
		b.maybe(2, func() { b.out.WriteString(" AND"); b.condition(depth) })
		b.comment()
		b.one("THEN DO NOTHING", "THEN DELETE", "THEN UPDATE SET a =", "THEN INSERT VALUES (")
		switch text := b.out.String(); {
		case strings.HasSuffix(text, "="):
			b.expression(depth)
		case strings.HasSuffix(text, "("):
			b.expression(depth)
			b.out.WriteString(")")
		}
	}
	b.maybe(4, func() { b.returning(depth) })
}

func (b *builder) query(depth int) {
	b.maybe(8, func() { b.with(0) })
	paren := b.choose(8) == 7
	if paren {
		b.out.WriteString(" (")
	}
	b.one("SELECT", "SELECT DISTINCT", "SELECT DISTINCT ON (a)", "SELECT ALL")
	b.expression(depth)
	b.maybe(3, func() { b.out.WriteString(","); b.expression(depth) })
	b.maybe(3, func() { b.one(`AS "from"`, "AS where_", `"order"`) })
	b.maybe(2, func() { b.from(depth, "FROM") })
	b.where(depth)
	b.maybe(5, func() {
		b.one("GROUP BY a", "GROUP BY ROLLUP (a)", "GROUP BY ()", "GROUP BY 'c'::text", "GROUP BY 1", "GROUP BY GROUPING SETS ((a), ())", "GROUP BY a HAVING true", "HAVING true")
	})
	b.maybe(6, func() {
		b.one("WINDOW w AS (PARTITION BY a)", "WINDOW w AS ()", "WINDOW w AS (ORDER BY a ROWS n(1) PRECEDING)")
	})
	b.maybe(6, func() { b.one("UNION SELECT 1", "UNION ALL SELECT n(1)", "EXCEPT SELECT 1", "INTERSECT SELECT 1") })
	b.maybe(5, func() { b.out.WriteString(" ORDER BY"); b.expression(depth) })
	b.maybe(5, func() {
		b.one("LIMIT 1", "LIMIT (SELECT 1)", "OFFSET 1", "FETCH FIRST 1 ROW ONLY", "LIMIT n(1)", "LIMIT 1 OFFSET 2")
	})
	b.maybe(6, func() { b.one("FOR UPDATE", "FOR UPDATE SKIP LOCKED", "FOR SHARE OF x") })
	if paren {
		b.out.WriteString(")")
	}
}

func (b *builder) from(depth int, keyword string) {
	b.comment()
	b.out.WriteString(" " + keyword)
	b.source(depth)
	b.maybe(3, func() {
		b.one(",", "CROSS JOIN", "JOIN", "LEFT JOIN", "NATURAL JOIN")
		join := strings.HasSuffix(b.out.String(), "T JOIN") || strings.HasSuffix(b.out.String(), " JOIN") && !strings.HasSuffix(b.out.String(), "CROSS JOIN") && !strings.HasSuffix(b.out.String(), "NATURAL JOIN")
		b.source(depth)
		if join {
			b.out.WriteString(" ON")
			b.condition(depth)
		}
	})
}

func (b *builder) source(depth int) {
	switch k := b.choose(5); {
	case k < 2 || depth == 0:
		b.one("u", "u AS y", "a", "s.u y", "inboxgen_x")
	case k == 2:
		b.out.WriteString(" (")
		b.query(depth - 1)
		b.out.WriteString(") AS y")
	case k == 3:
		b.one("LATERAL (SELECT 1) y", "generate_series(1, 2) AS y", "(VALUES (1), (2)) AS y(a)", "f(1) AS y", "ROWS FROM (f(1), g(2)) AS y")
	default:
		b.one("u TABLESAMPLE SYSTEM (100)", "unnest(ARRAY[1]) WITH ORDINALITY AS y")
	}
}

func (b *builder) where(depth int) {
	b.maybe(2, func() {
		b.comment()
		b.out.WriteString(" WHERE")
		b.condition(depth)
	})
}

func (b *builder) returning(depth int) {
	b.maybe(3, func() {
		b.comment()
		b.out.WriteString(" RETURNING")
		b.one("*", "a", `a AS "where"`, "1")
		b.maybe(3, func() { b.out.WriteString(","); b.expression(depth) })
	})
}

func (b *builder) condition(depth int) {
	b.comment()
	switch b.choose(10) {
	case 0:
		b.one("a = @x", "true", "a IS NULL", "doc ? 'k'", "a BETWEEN '1' AND '2'", "a %%% ANY (ARRAY['x', 'y'])", "a OPERATOR(public.%%%) 'x'", "a ->> 'where' = @y", "x.a = any(@list::bigint[])")
	case 1, 2:
		b.condition(max(depth-1, 0))
		b.one("OR", "AND", "OR NOT")
		b.atom(depth)
	case 3:
		b.out.WriteString(" (")
		b.condition(max(depth-1, 0))
		b.out.WriteString(")")
	case 4:
		b.out.WriteString(" CASE WHEN")
		b.atom(depth)
		b.out.WriteString(" THEN true ELSE false END")
	case 5:
		b.out.WriteString(" NOT")
		b.atom(depth)
	default:
		b.atom(depth)
	}
}

func (b *builder) atom(depth int) {
	switch k := b.choose(5); {
	case k < 2 || depth == 0:
		b.one("a = @x", "b", "a IN ('1', '2')", "f(1)", "lower(a) = 'x'", `"where"`, "nextval('q') > 0")
	case k == 2:
		b.one("EXISTS (", "a IN (", "a = ALL (")
		b.query(depth - 1)
		b.out.WriteString(")")
	default:
		b.one("a = 'WHERE b'", "a = $$RETURNING$$", `a = E'\''`, "a = U&'x'", "a @> @x", "a[1:2] = @x")
	}
}

func (b *builder) expression(depth int) {
	switch k := b.choose(12); {
	case k < 4:
		b.one("@x", "a", "1", "@a.b", "@x::text", "'s'", "ARRAY[@x]", "a[1]", "NULL")
	case k == 4:
		b.one("f(@x)", "count(*)", "sum(a)", "count(*) OVER ()", "now()", "s.f(1)", "pg_catalog.count(*)", "nextval('q')", "coalesce(@x, 1)", "random()",
			"JSON_ARRAYAGG(a)", "n(1)", "my(a)", "count(*) OVER (ORDER BY a ROWS n(1) PRECEDING)", "count(*) OVER (ORDER BY a ROWS 1 PRECEDING)",
			"set_config('inboxgen.test', 'x', true)", "set_config('inboxgen.test', my(a), true)", "a %%% 'x'", "sum(count(*)) OVER ()")
	case k == 5 && depth > 0:
		b.out.WriteString(" (")
		b.query(depth - 1)
		b.out.WriteString(")")
	case k == 6 && depth > 0:
		b.out.WriteString(" f(")
		b.expression(depth - 1)
		b.out.WriteString(")")
	case k == 7:
		b.out.WriteString(" CASE WHEN")
		b.condition(0)
		b.out.WriteString(" THEN")
		b.expression(0)
		b.out.WriteString(" ELSE 1 END")
	case k == 8 && depth > 0:
		b.expression(depth - 1)
		b.one("+", "||", "->>", "#>>", "::text ||")
		b.expression(depth - 1)
	default:
		b.one("a", "x.a", `"from"`, "@x")
	}
}

// TestBuilder holds the fuzz target to building statements that parse and are guarded, or it would find nothing.
func TestBuilder(t *testing.T) {
	parsed, guarded := 0, 0
	const n = 4000
	for i := range n {
		b := &builder{input: randomBytes(i)}
		b.statement(2)
		s, problems := Parse(b.out.String())
		if len(problems) > 0 {
			continue
		}
		parsed++
		if _, err := s.Guard(ledgerInbox, "c.M", ExpectSome, 17); err == nil {
			guarded++
		}
	}
	if parsed < n/2 || guarded < n/10 {
		t.Errorf("of %d statements %d parse and %d are guarded", n, parsed, guarded)
	}
	if testing.Verbose() {
		fmt.Printf("of %d statements %d parse and %d are guarded\n", n, parsed, guarded)
	}
}
