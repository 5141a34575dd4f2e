package pgsql

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// TestTypes compares what is said of parameters' types with what servers make of the statement.
func TestTypes(t *testing.T) {
	t.Parallel()
	cases := []struct{ sql, typeless, integers string }{
		{"UPDATE ledger SET balance = - @x", "x", ""},
		{"INSERT INTO entry (id, amount) VALUES (@id, -@x)", "x", ""},
		{"UPDATE ledger SET balance = @x * @y", "x y", ""},
		{"UPDATE ledger SET balance = 1 WHERE @x IS NULL", "x", ""},
		{"UPDATE ledger SET note = concat(@x, '')", "x", ""},
		{"UPDATE ledger SET note = format(@f, @x)", "x", ""},
		{"UPDATE ledger SET note = concat_ws(@s, note, @x)", "x", ""},
		{"UPDATE ledger SET doc = jsonb_build_object('a', @x)", "x", ""},
		{"UPDATE ledger SET doc = to_jsonb(@x)", "x", ""},
		{"UPDATE ledger SET balance = 0 - @x", "", "x"},
		{"UPDATE ledger SET balance = balance * (1 - @x)", "", "x"},
		{"UPDATE ledger SET balance = 1 WHERE @x > -1", "", "x"},
		{"UPDATE ledger SET balance = 1 WHERE @x BETWEEN 1 AND 5 OR @y IN (1, 2)", "", "x y"},
		{"UPDATE ledger SET balance = COALESCE(@x, 0) + GREATEST(1, @y, 2) + NULLIF(@z, 0)", "", "x y z"},
		{"UPDATE ledger SET balance = CASE WHEN active THEN @x ELSE 0 END", "", "x"},
		{"UPDATE ledger SET balance = balance + CASE WHEN @x > 0 THEN @x ELSE -1 END", "", "x x"},
		{"INSERT INTO entry (id, amount) SELECT 'x', 1 WHERE @x > 0", "", "x"},
		{"INSERT INTO entry (id, amount) VALUES ('x', @x), ('y', - @x)", "", ""},
		{"UPDATE ledger SET balance = balance + @x", "", ""},
		{"UPDATE ledger SET balance = COALESCE(@x, balance, 0)", "", ""},
		{"UPDATE ledger SET balance = 100.0 * @x, note = @y || 'x' WHERE @z > balance AND @n::int IS NULL", "", ""},
		{"UPDATE ledger SET balance = - @x::bigint WHERE 1 > @x::bigint", "", ""},
		{"UPDATE ledger SET balance = 1 WHERE merchant_id = @x AND @x IS NOT NULL", "", ""},
	}
	ddl, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, major := range []int{15, 18} {
		conn, err := pgx.Connect(t.Context(), testenv.Postgres(t, major).Database(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context()) //nolint:errcheck // the database is dropped
		if _, err := conn.Exec(t.Context(), string(ddl)); err != nil {
			t.Fatal(err)
		}
		for n, c := range cases {
			s, problems := Parse(c.sql)
			if len(problems) > 0 {
				t.Errorf("%s: %v", c.sql, problems)
				continue
			}
			if got := referenced(s.Typeless()); got != c.typeless {
				t.Errorf("%s: typeless %q, want %q", c.sql, got, c.typeless)
			}
			if got := referenced(s.Integers()); got != c.integers {
				t.Errorf("%s: integers %q, want %q", c.sql, got, c.integers)
			}
			prepared, err := conn.Prepare(t.Context(), fmt.Sprint("s", n), s.SQL())
			if (err != nil) != (c.typeless != "") {
				t.Errorf("%d: %s: %v", major, s.SQL(), err)
			}
			if err != nil {
				continue
			}
			const integer, bigint = 23, 20
			for i, name := range s.Parameters() {
				isInteger := prepared.ParamOIDs[i] == integer || prepared.ParamOIDs[i] == bigint && c.integers != ""
				if want := strings.Contains(c.integers, name); want && !isInteger || !want && prepared.ParamOIDs[i] == integer && name != "n" {
					t.Errorf("%d: %s: @%s has the type %d", major, s.SQL(), name, prepared.ParamOIDs[i])
				}
			}
		}
	}
}

func referenced(all []Reference) string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	return strings.Join(names, " ")
}
