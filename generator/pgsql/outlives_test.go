package pgsql

import (
	"testing"
)

func TestOutliving(t *testing.T) {
	t.Parallel()
	const (
		lock    = " is about a lock that lasts as long as the session, which others use next; write pg_advisory_xact_lock, whose lock the end of the transaction releases"
		setting = "set_config without true as its third argument changes a setting of the session, which others use next; write true"
		session = " changes the session, which others use next"
		outside = " works outside of the transaction, where a ROLLBACK reaches nothing; call it in code, behind the outcome"
	)
	for _, c := range []struct{ sql, marked, text string }{
		{"SELECT pg_advisory_lock(@id)", "pg_advisory_lock", "pg_advisory_lock" + lock},
		{"UPDATE t SET a = 1 WHERE pg_catalog.pg_try_advisory_lock(1)", "pg_catalog", "pg_try_advisory_lock" + lock},
		{"SELECT 'é☃', pg_advisory_unlock_all()", "pg_advisory_unlock_all", "pg_advisory_unlock_all" + lock},
		{"SELECT set_config('a.b', @v, false)", "set_config", setting},
		{"SELECT set_config('a.b', @v, @local)", "set_config", setting},
		{"CALL p(set_config('a.b', 'x', NOT true))", "set_config", setting},
		{"SELECT setseed(0.5)", "setseed", "setseed" + session},
		{"WITH a AS (SELECT pg_terminate_backend(@pid)) DELETE FROM t", "pg_terminate_backend", "pg_terminate_backend" + outside},
		{"SELECT lo_import('/etc/passwd')", "lo_import", "lo_import" + outside},
		{"INSERT INTO t SELECT pg_read_file(@name)", "pg_read_file", "pg_read_file" + outside},
		{"SELECT dblink_exec('c', 'DELETE FROM t')", "dblink_exec", "dblink_exec" + outside},
		{"SELECT * FROM ext.dblink('c', 'SELECT 1') AS x(a int)", "ext", "ext.dblink" + outside},
		{
			"SELECT pg_logical_emit_message(false, 'a', 'b')", "pg_logical_emit_message",
			"pg_logical_emit_message without true as its first argument is not undone by a ROLLBACK; write true",
		},
		{"SELECT pg_advisory_xact_lock(1), pg_try_advisory_xact_lock(2), pg_advisory_xact_lock_shared(3)", "", ""},
		{"SELECT set_config('a.b', @v, true), pg_logical_emit_message(true, 'a', 'b')", "", ""},
		{"SELECT nextval('s'), setval('s', 1), currval('s'), pg_notify('c', @v)", "", ""},
		{"SELECT my.pg_advisory_lock(1), my_dblink(1), f(now())", "", ""},
	} {
		s, problems := Parse(c.sql)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.sql, problems)
			continue
		}
		marked, text := "", ""
		for _, p := range s.Outliving() {
			marked += c.sql[p.Start:p.End]
			text += p.Message
			if p.Rule != "outlives-transaction" {
				t.Errorf("%s: %s", c.sql, p.Rule)
			}
		}
		want := c.text
		if want != "" {
			want += assumeAdvice
		}
		if marked != c.marked || text != want {
			t.Errorf("%s: marks %q\n%s\nwant %q\n%s", c.sql, marked, text, c.marked, want)
		}
	}
}

// TestOwnOperator has an operator of the team's that ends in @.
func TestOwnOperator(t *testing.T) {
	t.Parallel()
	schema := &Schema{}
	if problems := schema.Add("CREATE OPERATOR public.=@ (LEFTARG = int, RIGHTARG = int, FUNCTION = f);"); len(problems) > 0 {
		t.Fatal(problems)
	}
	const sql = "UPDATE t SET a = 1 WHERE b =@x"
	_, problems := schema.Parse(sql)
	if len(problems) != 1 || problems[0].Rule != "ambiguous-parameter" || sql[problems[0].Start:problems[0].End] != "=@x" {
		t.Errorf("%v", problems)
	}
	if _, problems := Parse(sql); len(problems) > 0 {
		t.Errorf("without the operator: %v", problems)
	}
}
