package pgsql

import (
	"slices"
	"testing"
)

// TestNumbers shows which occurrences of a name share a number.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sql, want string }{
		// the columns' types reach the rows behind the first
		{"INSERT INTO m (acc, amt) VALUES (@a, @b), (- @a, - @b)", "INSERT INTO m (acc, amt) VALUES ($1, $2), (- $1, - $2)"},
		{"INSERT INTO m (id, uid) VALUES (@i, @i), (@i || '2', @i)", "INSERT INTO m (id, uid) VALUES ($1, $2), ($1 || '2', $2)"},
		// in one list each column gives a type
		{"UPDATE t SET note = @x, name = @x", "UPDATE t SET note = $1, name = $2"},
		{"UPDATE t SET (note, name) = (@x, @x)", "UPDATE t SET (note, name) = ($1, $2)"},
		{"UPDATE t SET a = @x, b = b + @x, c = @x", "UPDATE t SET a = $1, b = b + $2, c = $2"},
		{"INSERT INTO t (a, b) SELECT @x, @x FROM u WHERE c = @x", "INSERT INTO t (a, b) SELECT $1, $2 FROM u WHERE c = $3"},
		{"INSERT INTO t (a, b) SELECT @x, @x FROM u JOIN v ON v.c = @x", "INSERT INTO t (a, b) SELECT $1, $1 FROM u JOIN v ON v.c = $1"},
		// a WHERE is read before the SET, and gives the type to assign
		{"UPDATE t SET whole = @x WHERE exact = @x", "UPDATE t SET whole = $1 WHERE exact = $1"},
		{"UPDATE t SET a = @x FROM u WHERE b = 1 RETURNING c = @x", "UPDATE t SET a = $1 FROM u WHERE b = 1 RETURNING c = $1"},
		// what comes behind an assignment has its type
		{"INSERT INTO t (a) VALUES (@x) ON CONFLICT (a) DO UPDATE SET n = t.n + @x", "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET n = t.n + $1"},
		{"WITH w AS (INSERT INTO t (a, b) VALUES (@x, @x)) DELETE FROM u WHERE c = - @x", "WITH w AS (INSERT INTO t (a, b) VALUES ($1, $2)) DELETE FROM u WHERE c = - $1"},
		{"WITH RECURSIVE w AS (INSERT INTO t (a, b) VALUES (@x, @x)) DELETE FROM u WHERE c = - @x", "WITH RECURSIVE w AS (INSERT INTO t (a, b) VALUES ($1, $1)) DELETE FROM u WHERE c = - $1"},
		{
			"MERGE INTO t USING u ON true WHEN MATCHED THEN UPDATE SET a = @x, b = @x WHEN NOT MATCHED THEN INSERT (a) VALUES (@x)",
			"MERGE INTO t USING u ON true WHEN MATCHED THEN UPDATE SET a = $1, b = $2 WHEN NOT MATCHED THEN INSERT (a) VALUES ($1)",
		},
		{"MERGE INTO t USING u ON true WHEN MATCHED AND c = @x THEN UPDATE SET a = @x", "MERGE INTO t USING u ON true WHEN MATCHED AND c = $1 THEN UPDATE SET a = $1"},
		// a cast gives a type too, but text is assigned as the value itself
		{"INSERT INTO t (a, b) VALUES (@x::numeric, @x)", "INSERT INTO t (a, b) VALUES ($1::numeric, $1)"},
		{"INSERT INTO t (a, b) VALUES ('no. ' || @x::text, @x)", "INSERT INTO t (a, b) VALUES ('no. ' || $1::text, $2)"},
		{"UPDATE t SET a = @x::uuid WHERE b = @x::text", "UPDATE t SET a = $1::uuid WHERE b = $1::text"},
	} {
		s, problems := Parse(c.sql)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.sql, problems)
			continue
		}
		if got := s.SQL(); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.sql, got, c.want)
		}
	}
}

// TestCast has the type that a cast gives a parameter, for each of its numbers.
func TestCast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT f(@x::text, CAST(@y AS bigint), @z)", []string{"text", "int8", ""}},
		{"SELECT f(@x::character varying(3), @y::double precision, @z::timestamp with time zone)", []string{"varchar", "float8", "timestamptz"}},
		{"SELECT f(@x::int[], @y::text[][], @z::numeric(3,1) ARRAY[4])", []string{"int4[]", "text[]", "numeric[]"}},
		{`SELECT f(@x::my.text, @y::pg_catalog.text, @z::"Text")`, []string{"my.text", "text", "Text"}},
		{"SELECT f((@x)::text, (@y::bigint)::text, (@z + 1)::text)", []string{"text", "int8", ""}},
		{"SELECT f(@x::text, @x::text, @y::text, @y::varchar, @z::text, @z)", []string{"text", "", ""}},
		{"UPDATE t SET a = @x::text WHERE b = @x", []string{""}},
		{"INSERT INTO t (a, b) VALUES (@x::text, @x)", []string{"text", ""}},
	} {
		s, problems := Parse(c.sql)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.sql, problems)
			continue
		}
		var got []string
		for i := range s.Parameters() {
			got = append(got, s.Cast(i))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
}
