package pgsql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

var ledgerInbox = Inbox{Table: "inbox", MessageIDType: "text", DetectReuse: true}

// values are what the parameters of the statements are given.
var values = map[string]any{
	"message_id": "m-1", "consumer_name": "books", "merchant_id": int64(1), "amount": int64(7), "name": "one",
	"uid": "00000000-0000-0000-0000-000000000001", "doc": `{"a": 1}`, "mood": "good",
}

// contents is all that the statements can change.
const contents = `SELECT jsonb_build_object(
	'ledger', (SELECT jsonb_agg(t ORDER BY t.merchant_id) FROM public.ledger t), 'other', (SELECT jsonb_agg(t ORDER BY t.merchant_id) FROM other.ledger t),
	'entry', (SELECT jsonb_agg(t ORDER BY t.id) FROM entry t), 'daily', (SELECT jsonb_agg(t ORDER BY t.day, t.merchant_id) FROM daily t),
	'odd', (SELECT jsonb_agg(t) FROM "Odd Table" t), 'parted', (SELECT jsonb_agg(t ORDER BY t.id) FROM parted t),
	'setting', current_setting('inboxgen.test', true))::text`

const inboxTable = `CREATE TABLE inbox (consumer_name text NOT NULL, message_id text NOT NULL, fingerprint bigint, processed_at timestamptz DEFAULT now(),
	PRIMARY KEY (consumer_name, message_id))`

// TestStatements runs each statement bare, and then as a message's effect: the first delivery must change what the bare
// statement changes, the second nothing, one that is rolled back must leave nothing, and neither must one whose
// expectation is not met.
func TestStatements(t *testing.T) {
	t.Parallel()
	if len(statements) < 120 {
		t.Fatalf("%d statements", len(statements))
	}
	schema, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, major := range []int{15, 17, 18} {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), testenv.Postgres(t, major).Database(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			if _, err := conn.Exec(t.Context(), string(schema)+";"+inboxTable+"; SET inboxgen.test = ''"); err != nil {
				t.Fatal(err)
			}
			before := ask[string](t, conn, contents)
			for i, s := range statements {
				oldest := oldestServer(s.sql)
				if major < oldest || major == 17 && oldest != 17 && !strings.Contains(s.sql, "MERGE") {
					continue
				}
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					deliveries{t, conn, major, s}.run()
					if after := ask[string](t, conn, contents); after != before {
						t.Errorf("%s\nleft behind:\n%s", s.sql, after)
					}
					if n := ask[int](t, conn, "SELECT count(*) FROM inbox"); n != 0 {
						t.Errorf("%s\nleft %d markers behind", s.sql, n)
					}
				})
			}
		})
	}
}

// oldestServer is the first major of those tried that understands a statement.
func oldestServer(sql string) int {
	oldest := 0
	for words, major := range since {
		if strings.Contains(sql, words) {
			oldest = max(oldest, major)
		}
	}
	return oldest
}

func ask[T any](t *testing.T, conn *pgx.Conn, sql string) T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// deliveries tries one statement on one server.
type deliveries struct {
	t     *testing.T
	conn  *pgx.Conn
	major int
	statement
}

func (d deliveries) run() {
	t := d.t
	s, problems := Parse(d.sql)
	if problems == nil {
		problems = s.CheckInbox(ledgerInbox)
	}
	if len(problems) > 0 {
		t.Fatalf("%s: %v", d.sql, problems)
	}
	args := make([]any, len(s.Parameters()))
	for i, name := range s.Parameters() {
		args[i] = values[name]
	}
	want, rows := d.bare(s, args)
	guarded, err := s.Guard(ledgerInbox, "books.Paid", ExpectAny, d.major)
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	wantReason := d.reason
	if wantReason == merge && d.major >= 17 && !strings.Contains(d.sql, "pay(") {
		wantReason = ""
	} else if wantReason == merge && d.major >= 17 {
		wantReason = mayWriteCall
	}
	if (reason == "") != (wantReason == "") || !strings.Contains(reason, wantReason) {
		t.Fatalf("%s\nnot guarded because %q, want %q", d.sql, reason, wantReason)
	}
	if err == nil {
		d.guarded(s, guarded, args, want, rows)
	} else {
		d.behindMarker(s, args, want, rows)
	}
}

// inside runs f in a transaction that is rolled back.
func (d deliveries) inside(f func(tx pgx.Tx)) {
	d.t.Helper()
	tx, err := d.conn.Begin(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(d.t.Context()); err != nil {
			d.t.Error(err)
		}
	}()
	f(tx)
}

// bare returns what the statement itself leaves, and how many rows it affects.
func (d deliveries) bare(s *Statement, args []any) (after string, rows int64) {
	d.t.Helper()
	d.inside(func(tx pgx.Tx) {
		tag, err := tx.Exec(d.t.Context(), s.SQL(), args...)
		if err != nil {
			d.t.Fatalf("%s: %v", s.SQL(), err)
		}
		after, rows = ask[string](d.t, d.conn, contents), tag.RowsAffected()
	})
	return after, rows
}

func (d deliveries) guarded(s *Statement, sql string, args []any, want string, rows int64) {
	t := d.t
	if err := provenGuarded(sql); err != nil {
		t.Errorf("%v:\n%s", err, sql)
	}
	if _, err := d.conn.Prepare(t.Context(), "guarded", sql); err != nil {
		t.Fatalf("%v:\n%s", err, sql)
	}
	if err := d.conn.Deallocate(t.Context(), "guarded"); err != nil {
		t.Fatal(err)
	}
	all := append([]any{"books", "m-1", int64(42)}, args...)
	d.inside(func(tx pgx.Tx) {
		for _, first := range []bool{true, false} {
			var fresh, affected int64
			var seen *int64
			if err := tx.QueryRow(t.Context(), sql, all...).Scan(&fresh, &affected, &seen); err != nil {
				t.Fatalf("%v:\n%s", err, sql)
			}
			switch {
			case first && (fresh != 1 || affected != rows || seen != nil):
				t.Errorf("fresh %d, affected %d of %d, seen %v:\n%s", fresh, affected, rows, seen, sql)
			case !first && (fresh != 0 || affected != 0 || seen == nil || *seen != 42):
				t.Errorf("second delivery: fresh %d, affected %d, seen %v:\n%s", fresh, affected, seen, sql)
			}
			if got := ask[string](t, d.conn, contents); got != want {
				t.Errorf("%s\nleaves (first delivery: %v)\n%s\nwant\n%s", sql, first, got, want)
			}
		}
	})
	exactly, err := s.Guard(ledgerInbox, "books.Paid", Expect(rows), d.major)
	if err != nil {
		t.Fatal(err)
	}
	unmet, err := s.Guard(ledgerInbox, "books.Paid", Expect(rows+77), d.major)
	if err != nil {
		t.Fatal(err)
	}
	d.inside(func(tx pgx.Tx) {
		if _, err := tx.Exec(t.Context(), exactly, all...); err != nil {
			t.Errorf("%v:\n%s", err, exactly)
		}
	})
	d.fails(unmet, all, rows)
}

// fails checks that an unmet expectation is raised by the statement itself.
func (d deliveries) fails(sql string, args []any, rows int64) {
	d.t.Helper()
	d.inside(func(tx pgx.Tx) {
		_, err := tx.Exec(d.t.Context(), sql, args...)
		var server *pgconn.PgError
		text := fmt.Sprintf("books.Paid: expected %d rows, affected %d", rows+77, rows)
		if !errors.As(err, &server) || server.Code != "22P02" || !strings.Contains(server.Message, text) {
			d.t.Errorf("%v, want %s:\n%s", err, text, sql)
		}
	})
}

// behindMarker runs the statement as the transaction plan does.
func (d deliveries) behindMarker(s *Statement, args []any, want string, rows int64) {
	t := d.t
	sql, bySQL, err := s.Check("books.Paid", Expect(max(rows, 1)), d.major)
	if err != nil {
		t.Fatal(err)
	}
	d.inside(func(tx pgx.Tx) {
		for _, first := range []bool{true, false} {
			tag, err := tx.Exec(t.Context(), ledgerInbox.MarkerSQL(), "books", "m-1", int64(42))
			if err != nil || (tag.RowsAffected() == 1) != first {
				t.Fatalf("marker: %s, %v", tag, err)
			}
			if !first {
				continue
			}
			if rows == 0 {
				sql = s.SQL()
			}
			if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
				t.Fatalf("%v:\n%s", err, sql)
			}
			if got := ask[string](t, d.conn, contents); got != want {
				t.Errorf("%s\nleaves\n%s\nwant\n%s", sql, got, want)
			}
		}
	})
	if !bySQL {
		return
	}
	unmet, _, err := s.Check("books.Paid", Expect(rows+77), d.major)
	if err != nil {
		t.Fatal(err)
	}
	d.fails(unmet, args, rows)
}

func BenchmarkGuard(b *testing.B) {
	for b.Loop() {
		s, _ := Parse("UPDATE ledger SET balance = balance + @amount\nWHERE merchant_id = @merchant_id")
		if _, err := s.Guard(ledgerInbox, "c.M", s.DefaultExpect(), 17); err != nil {
			b.Fatal(err)
		}
	}
}
