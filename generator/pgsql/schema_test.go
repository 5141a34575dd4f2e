package pgsql

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

const ruleTables = `
CREATE TABLE r (id int PRIMARY KEY, n int);
CREATE TABLE log (id int, n int);
CREATE VIEW v AS SELECT * FROM r;
CREATE VIEW vv AS SELECT * FROM v WHERE n < 100;
INSERT INTO r VALUES (1, 1), (2, 2);
`

// TestRules has rules and statements: by which rule a statement can't be guarded, and what its command tag says.
func TestRules(t *testing.T) {
	t.Parallel()
	const (
		insert = "INSERT INTO r (id, n) VALUES (@x, 1)"
		update = "UPDATE r SET n = @x"
		remove = "DELETE FROM r"
	)
	for _, major := range []int{15, 17, 18} {
		conn, err := pgx.Connect(t.Context(), testenv.Postgres(t, major).Database(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), ruleTables+inboxTable); err != nil {
			t.Fatal(err)
		}
		for i, c := range []struct {
			ddl, sql  string
			rule      string // by which it can't be guarded
			uncounted bool
			tag       int64
		}{
			{"CREATE RULE a AS ON UPDATE TO r DO ALSO INSERT INTO log VALUES (new.id, new.n)", update, "a", false, 2},
			{"CREATE RULE a AS ON UPDATE TO r DO ALSO NOTHING", update, "", false, 2},
			{"CREATE RULE a AS ON UPDATE TO r WHERE old.id = 1 DO ALSO INSERT INTO log VALUES (1, 1)", update, "a", false, 2},
			{"CREATE RULE a AS ON UPDATE TO r DO ALSO SELECT 1", update, "a", false, 2},
			{"CREATE RULE a AS ON UPDATE TO r DO ALSO NOTIFY x", update, "a", false, 2},
			{"CREATE RULE a AS ON UPDATE TO r DO INSTEAD NOTHING", update, "a", true, 0},
			{"CREATE RULE a AS ON UPDATE TO r WHERE old.id = 1 DO INSTEAD NOTHING", update, "a", false, 1},
			{"CREATE RULE a AS ON UPDATE TO r WHERE old.id = 1 DO INSTEAD INSERT INTO log VALUES (1, 1)", update, "a", false, 1},
			{"CREATE RULE a AS ON UPDATE TO r DO INSTEAD INSERT INTO log VALUES (new.id, new.n)", update, "a", true, 0},
			{"CREATE RULE a AS ON UPDATE TO r DO INSTEAD INSERT INTO log VALUES (new.id, new.n) RETURNING *", update, "", true, 0},
			{"CREATE RULE a AS ON UPDATE TO r DO INSTEAD (INSERT INTO log VALUES (1, 1); DELETE FROM log)", update, "a", true, 0},
			{"CREATE RULE a AS ON INSERT TO r DO INSTEAD INSERT INTO log VALUES (new.id, new.n)", insert, "a", false, 1},
			{"CREATE RULE a AS ON INSERT TO r DO INSTEAD INSERT INTO log VALUES (new.id, new.n) RETURNING *", insert, "", false, 1},
			{"CREATE RULE a AS ON INSERT TO r DO INSTEAD (INSERT INTO log VALUES (new.id, 1); UPDATE log SET n = 0)", insert, "a", false, 1},
			{
				"CREATE RULE a AS ON INSERT TO r DO INSTEAD INSERT INTO log VALUES (new.id, new.n) RETURNING *; CREATE RULE b AS ON INSERT TO log DO ALSO DELETE FROM r",
				insert, "b", false, 1,
			},
			{
				"CREATE RULE a AS ON INSERT TO r DO INSTEAD INSERT INTO log VALUES (new.id, new.n) RETURNING *; CREATE RULE b AS ON UPDATE TO log DO ALSO DELETE FROM r",
				insert, "", false, 1,
			},
			{"CREATE RULE a AS ON DELETE TO r DO ALSO INSERT INTO log VALUES (old.id, 1)", remove, "a", false, 2},
			{"CREATE RULE a AS ON DELETE TO r DO ALSO INSERT INTO log VALUES (old.id, 1)", update, "", false, 2},
			{
				"CREATE RULE a AS ON DELETE TO r DO ALSO INSERT INTO log VALUES (old.id, 1)",
				"WITH w AS (DELETE FROM log RETURNING 1) UPDATE r SET n = @x", "", false, 2,
			},
			{"CREATE RULE a AS ON UPDATE TO public.r DO ALSO DELETE FROM log; CREATE VIEW w AS SELECT * FROM r", "UPDATE w SET n = @x", "a", false, 2},
			{ruleTables + "CREATE RULE a AS ON UPDATE TO r DO ALSO DELETE FROM log", "UPDATE vv SET n = @x", "a", false, 2},
			{ruleTables, "UPDATE vv SET n = @x", "", false, 2},
			{"CREATE RULE a AS ON UPDATE TO v DO INSTEAD UPDATE r SET n = new.n WHERE id = old.id", "UPDATE v SET n = @x", "a", false, 2},
			{"CREATE RULE a AS ON UPDATE TO v DO INSTEAD UPDATE r SET n = new.n WHERE id = old.id RETURNING *", "UPDATE v SET n = @x", "", false, 2},
			{`CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE r SET n = new.n WHERE id = old.id; RETURN new; END $$;
			  CREATE TRIGGER g INSTEAD OF UPDATE ON v FOR EACH ROW EXECUTE FUNCTION f()`, "UPDATE v SET n = @x", "", false, 2},
		} {
			t.Run(strconv.Itoa(major)+"/"+strconv.Itoa(i), func(t *testing.T) {
				schema := &Schema{}
				if problems := schema.Add(c.ddl); len(problems) > 0 {
					t.Fatal(problems)
				}
				s, problems := Parse(c.sql)
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				if got := schema.Rule(s.Writes); got != c.rule {
					t.Errorf("%s\n%s\nrule %q, want %q", c.ddl, c.sql, got, c.rule)
				}
				if got := schema.UncountedRule(s) != ""; got != c.uncounted {
					t.Errorf("%s\n%s\nuncounted: %t, want %t", c.ddl, c.sql, got, c.uncounted)
				}
				ruled{t, conn, strings.TrimPrefix(c.ddl, ruleTables), s}.run(c.tag, c.rule == "")
			})
		}
	}
}

// ruled is a statement on tables with rules.
type ruled struct {
	t    *testing.T
	conn *pgx.Conn
	ddl  string
	s    *Statement
}

// run checks what the command tag says, and whether the statement runs in a WITH query.
func (r ruled) run(tag int64, inWith bool) {
	args := make([]any, len(r.s.Parameters()))
	for i := range args {
		args[i] = 9
	}
	got, err := r.exec(r.s.SQL(), args)
	if err != nil || got != tag {
		r.t.Errorf("%s\n%s\n%d rows, %v, want %d", r.ddl, r.s.Source, got, err, tag)
	}
	guarded, err := r.s.Guard(ledgerInbox, "c.M", ExpectAny, 15)
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = r.exec(guarded, append([]any{"c", "m", 1}, args...))
	var server *pgconn.PgError
	if inWith && err != nil || !inWith && (!errors.As(err, &server) || server.Code != "0A000") {
		r.t.Errorf("%s\n%s\nguarded: %v", r.ddl, r.s.Source, err)
	}
}

func (r ruled) exec(sql string, args []any) (int64, error) {
	tx, err := r.conn.Begin(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(r.t.Context()) }()
	if _, err := tx.Exec(r.t.Context(), r.ddl); err != nil {
		r.t.Fatal(err)
	}
	result, err := tx.Exec(r.t.Context(), sql, append([]any{pgx.QueryExecModeExec}, args...)...) // a prepared statement would keep what a rule made of it
	return result.RowsAffected(), err
}

// TestCallingView finds a function that a view hides.
func TestCallingView(t *testing.T) {
	t.Parallel()
	schema := &Schema{}
	if problems := schema.Add(`CREATE VIEW plain AS SELECT a, lower(b) AS b FROM t;
		CREATE VIEW calling AS SELECT log_read(a) AS a FROM t;
		CREATE VIEW over AS WITH x AS (SELECT * FROM shop.calling) SELECT a FROM x JOIN plain USING (a);
		CREATE RECURSIVE VIEW loops (a) AS SELECT 1 UNION SELECT a FROM loops;`); len(problems) > 0 {
		t.Fatal(problems)
	}
	for sql, want := range map[string]string{
		"UPDATE u SET a = 1 FROM plain WHERE plain.a = u.a":                         "",
		"UPDATE u SET a = 1 FROM loops WHERE loops.a = u.a":                         "",
		"UPDATE u SET a = 1 FROM calling WHERE calling.a = u.a":                     "calling log_read",
		"UPDATE u SET a = 1 FROM other.calling c WHERE c.a = u.a":                   "calling log_read",
		"DELETE FROM u WHERE a IN (SELECT a FROM over)":                             "calling log_read",
		"WITH calling AS (SELECT 1 AS a) DELETE FROM u USING calling":               "",
		"MERGE INTO u USING over o ON o.a = u.a WHEN MATCHED THEN UPDATE SET a = 1": "calling log_read",
		"INSERT INTO u SELECT a FROM plain":                                         "",
	} {
		s, problems := Parse(sql)
		if len(problems) > 0 {
			t.Errorf("%s: %v", sql, problems)
			continue
		}
		view, function := schema.CallingView(s)
		if got := strings.TrimSpace(view + " " + function); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
