package pgsql

import (
	"strings"
	"testing"
)

// refusal is a statement that can't be an effect: what is marked ("" for all of it), and the whole text of the error.
type refusal struct{ sql, marked, text string }

const (
	noTransaction = "BEGIN, COMMIT, ROLLBACK and savepoints are the generated code's: marker and effect commit together; remove this statement"
	noDDL         = "an effect is INSERT, UPDATE, DELETE, MERGE, SELECT of a function, or CALL; a change of the schema belongs in a migration"
	noMaintenance = "maintenance can't be an effect; run it as a job: it must run inside the message's transaction, together with the marker"
	noSettings    = "session settings are the connection's; for one transaction write SELECT set_config('name', 'value', true)"
	noCursors     = "cursors can't be an effect; write the statement itself"
	noPrepared    = "prepared statements are the driver's; write the statement itself"
	noListen      = "LISTEN and UNLISTEN act on the session, not on the data; they can't be an effect"
	readsInbox    = "the inbox reads differently in a batch, whose markers are all written before its effects; keep what the effect must know in a table of the team's own"
	noInbox       = "the inbox is written by the generated code alone: a marker that an effect adds, changes or removes breaks exactly-once"
)

var refusals = []refusal{
	{"BEGIN", "BEGIN", noTransaction},
	{"START TRANSACTION ISOLATION LEVEL SERIALIZABLE", "", noTransaction},
	{"COMMIT", "COMMIT", noTransaction},
	{"END", "END", noTransaction},
	{"ROLLBACK", "ROLLBACK", noTransaction},
	{"SAVEPOINT a", "SAVEPOINT a", noTransaction},
	{"RELEASE a", "RELEASE a", noTransaction},
	{"PREPARE TRANSACTION 'x'", "", noTransaction},
	{"CREATE TABLE t (a int)", "", noDDL},
	{"CREATE TABLE t AS SELECT 1", "", noDDL},
	{"CREATE INDEX ON t (a)", "", noDDL},
	{"ALTER TABLE t ADD b int", "", noDDL},
	{"DROP TABLE t", "", noDDL},
	{"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "", noDDL},
	{"CREATE TRIGGER g AFTER INSERT ON t EXECUTE FUNCTION f()", "", noDDL},
	{"GRANT SELECT ON t TO PUBLIC", "", noDDL},
	{"COMMENT ON TABLE t IS 'x'", "", noDDL},
	{"CREATE ROLE r", "", noDDL},
	{"CREATE SCHEMA s", "", noDDL},
	{"SELECT 1 INTO t", "", "SELECT INTO makes a table; tables belong in a migration"},
	{"SELECT 1 INTO t UNION SELECT 2", "", "SELECT INTO makes a table; tables belong in a migration"},
	{"COPY t FROM STDIN", "", "COPY can't be an effect: it moves a stream, not one message's values; write an INSERT"},
	{"COPY t TO '/tmp/x'", "", "COPY can't be an effect: it moves a stream, not one message's values; write an INSERT"},
	{"NOTIFY c, 'x'", "", "NOTIFY takes no parameters and can't be guarded; write SELECT pg_notify('channel', @field::text)"},
	{"LISTEN c", "LISTEN c", noListen},
	{"UNLISTEN *", "UNLISTEN *", noListen},
	{"TRUNCATE t", "TRUNCATE t", "TRUNCATE locks out every reader and can't be guarded; write a DELETE"},
	{"LOCK TABLE t", "", "LOCK changes nothing by itself; lock the rows with SELECT … FOR UPDATE, or let the effect's own UPDATE do it"},
	{"SET search_path = x", "", noSettings},
	{"SET LOCAL a.b = 'x'", "", noSettings},
	{"RESET ALL", "RESET ALL", noSettings},
	{"SHOW all", "SHOW all", noSettings},
	{"DISCARD ALL", "DISCARD ALL", noSettings},
	{"DO $$ BEGIN END $$", "", "DO takes no parameters and can't be guarded; make it a function by a migration and write SELECT my_function(@field)"},
	{"PREPARE p AS SELECT 1", "", noPrepared},
	{"EXECUTE p", "EXECUTE p", noPrepared},
	{"DEALLOCATE p", "", noPrepared},
	{"DECLARE c CURSOR FOR SELECT 1", "", noCursors},
	{"FETCH c", "FETCH c", noCursors},
	{"CLOSE c", "CLOSE c", noCursors},
	{"VACUUM t", "VACUUM t", noMaintenance},
	{"ANALYZE t", "ANALYZE t", noMaintenance},
	{"CHECKPOINT", "CHECKPOINT", noMaintenance},
	{"CLUSTER t", "CLUSTER t", noMaintenance},
	{"REINDEX TABLE t", "", noMaintenance},
	{"REFRESH MATERIALIZED VIEW v", "", noMaintenance},
	{"EXPLAIN DELETE FROM t", "", noMaintenance},
	{"", "", "there is no statement here; write the SQL that the message's effect is"},
	{" \n", " \n", "there is no statement here; write the SQL that the message's effect is"},
	{"-- nothing\n/* at all */ ;", "", "there is no statement here; write the SQL that the message's effect is"},
	{"UPDATE t SET a = 0 -- é\x00\nWHERE b = 1", "\x00", "there is a NUL here, where PostgreSQL would end the statement; remove it"},
	{"DELETE FROM t; DELETE FROM u", "DELETE", "an effect is one statement; give the second one an entry of its own under effects"},
	{"UPDATE t SET a = $1", "$1", "$1 is not a parameter here; write @ and the field's name, such as @amount"},
	{"UPDATE t SET b = 1 WHERE a <@x", "<@x", "<@x can be read as the operator <@ before x or as < before the parameter @x; write < @x or <@ x"},
	{"UPDATE t SET b = 1 WHERE a @@q", "@@q", "@@q can be read as the operator @@ before q or as @ before the parameter @q; write @ @q or @@ q"},
	{"UPDATE t SET b = 1 WHERE a ^@x", "^@x", "^@x can be read as the operator ^@ before x or as ^ before the parameter @x; write ^ @x or ^@ x"},
	{"UPDATE t SET b = @-@x", "@-@x", "@-@x can be read as the operator @-@ before x or as @- before the parameter @x; write @- @x or @-@ x"},
	{"UPDATE t SET b = a -@-@x", "-@-@x", "-@-@x can be read as the operator -@-@ before x or as -@- before the parameter @x; write -@- @x or -@-@ x"},
	{"UPDATE t SET b = a <&&@x", "<&&@x", "<&&@x can be read as the operator <&&@ before x or as <&& before the parameter @x; write <&& @x or <&&@ x"},
	{`""`, `""`, "there is no statement here; write the SQL that the message's effect is"},
	{" ''\n", " ''\n", "there is no statement here; write the SQL that the message's effect is"},
	{`UPDATE t SET "" = 1`, `""`, `zero-length delimited identifier at or near """"`},
	{"UPDATE t SET b = 'é' WHERE c = 1 AND@x", "AND@x", "AND@x has no space before the parameter @x; write AND @x"},
	{"SELECT f(x@a.b)", "x@a.b", "x@a.b has no space before the parameter @a.b; write x @a.b"},
	{"SELECT f(1@a)", "1@a", "1@a has no space before the parameter @a; write 1 @a"},
	{"SELECT f(@a@b)", "a@b", "a@b has no space before the parameter @b; write a @b"},
	{"UPDATE t SET b = 1 WHERE (WITH d AS (DELETE FROM u RETURNING 1) SELECT true FROM d)", "d", "PostgreSQL allows a WITH query that modifies data only in the statement's outermost WITH; move d there"},
	{"DELETE FROM t WHERE CURRENT OF c", "", "WHERE CURRENT OF needs a cursor, and an effect has none; name the row by its key"},
	{"DELETE FRM t", "FRM", "syntax error at or near \"FRM\""},
	{"UPDATE t SET a = 'é☃' WHERE WHERE", "WHERE", "syntax error at or near \"WHERE\""},
	{"UPDATE t SET a = 'é☃' /* ☃ */ @field.name 1", "@field.name", "syntax error at or near \"@field.name\""},
	{"UPDATE t SET a = '☃' WHERE b = 'x", "'x", "unterminated quoted string at or near \"'x\""},
	{"UPDATE t SET a = $q$ x $r$", "$q$ x $r$", "unterminated dollar-quoted string at or near \"$q$ x $r$\""},
	{"UPDATE t SET a = 1 /* /* */", "/* /* */", "unterminated /* comment at or near \"/* /* */\""},
	{"UPDATE t SET a = 'x", "'x", "unterminated quoted string at or near \"'x\""},
	// the inbox and our names
	{"DELETE FROM inbox", "inbox", noInbox},
	{"UPDATE inbox SET fingerprint = 1", "inbox", noInbox},
	{"INSERT INTO inbox (consumer_name, message_id) VALUES ('a', 'b')", "inbox", noInbox},
	{"MERGE INTO inbox USING t ON true WHEN MATCHED THEN DELETE", "inbox", noInbox},
	{`DELETE FROM "inbox"`, `"inbox"`, noInbox},
	{"DELETE FROM INBOX", "INBOX", noInbox},
	{"DELETE FROM public.inbox", "public", noInbox},
	{"WITH a AS (DELETE FROM inbox RETURNING 1) UPDATE t SET a = 1", "inbox", noInbox},
	{"WITH inboxgen_marker AS (SELECT 1) DELETE FROM t", "inboxgen_marker", "inboxgen_marker is a name the generated statement uses for itself; give this WITH query another name"},
	{"WITH inbox AS (SELECT 1) DELETE FROM t", "inbox", "inbox is a name the generated statement uses for itself; give this WITH query another name"},
	{"WITH a AS (INSERT INTO public.inbox SELECT * FROM t), b AS (SELECT 1) DELETE FROM t", "public", noInbox},
	{"UPDATE ONLY inbox AS i SET fingerprint = NULL", "inbox", noInbox},
	{"WITH inboxgen_marker AS (SELECT 1) DELETE FROM t USING inboxgen_marker", "inboxgen_marker", "inboxgen_marker is a name the generated statement uses for itself; give this WITH query another name"},
	{"WITH RECURSIVE inboxgen_effect AS (SELECT 1 UNION SELECT 2 FROM inboxgen_effect) DELETE FROM t USING inboxgen_effect", "inboxgen_effect", "inboxgen_effect is a name the generated statement uses for itself; give this WITH query another name"},
	{"WITH inbox AS (SELECT 1) DELETE FROM t USING inbox", "inbox", "inbox is a name the generated statement uses for itself; give this WITH query another name"},
	{"SELECT f(fingerprint) FROM inbox", "inbox", readsInbox},
	{"DELETE FROM t WHERE a IN (SELECT message_id FROM public.inbox)", "public", readsInbox},
	{"UPDATE t SET a = 1 FROM inbox AS i WHERE i.message_id = @message_id", "inbox", readsInbox},
	{"INSERT INTO t SELECT 1 WHERE NOT EXISTS (SELECT FROM inbox)", "inbox", readsInbox},
	{"WITH a AS (SELECT * FROM inbox), b AS (SELECT 1) DELETE FROM t USING a", "inbox", readsInbox},
	{"DELETE FROM inbox WHERE 'x' IN (SELECT message_id FROM inbox)", "inbox", noInbox},
	{"DELETE FROM t USING inbox AS a, public.inbox AS b", "inbox", readsInbox},
	{"SELECT f(1) FROM t WHERE a = ANY (SELECT b FROM u UNION SELECT message_id FROM INBOX)", "INBOX", readsInbox},
	{"DELETE FROM t USING inboxgen_marker AS a, inboxgen_marker AS b", "inboxgen_marker", "inboxgen_marker is a name the generated statement uses for itself; qualify the table with its schema"},
	{"WITH inboxgen_marker AS (SELECT 1) DELETE FROM t USING inboxgen_marker, inboxgen_marker AS m", "inboxgen_marker", "inboxgen_marker is a name the generated statement uses for itself; give this WITH query another name"},
	{"DELETE FROM t USING inboxgen_marker", "inboxgen_marker", "inboxgen_marker is a name the generated statement uses for itself; qualify the table with its schema"},
	{"UPDATE t SET a = 1 WHERE 'é' IN (WITH inboxgen_effect AS (SELECT 1) SELECT b FROM u)", "inboxgen_effect", "inboxgen_effect is a name the generated statement uses for itself; give this WITH query another name"},
	{"DELETE FROM inboxgen_effect", "inboxgen_effect", "inboxgen_effect is a name the generated statement uses for itself; qualify the table with its schema"},
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, r := range refusals {
		s, problems := Parse(r.sql)
		if s != nil && len(problems) == 0 {
			problems = s.CheckInbox(ledgerInbox)
		}
		if len(problems) != 1 {
			t.Errorf("%s: %d problems: %v", r.sql, len(problems), problems)
			continue
		}
		p := problems[0]
		if p.Message != r.text {
			t.Errorf("%s:\n  %s\nwant\n  %s", r.sql, p.Message, r.text)
		}
		want := r.marked
		if want == "" {
			want = r.sql
		}
		if marked := r.sql[p.Start:p.End]; marked != want {
			t.Errorf("%s: marks %q, want %q", r.sql, marked, want)
		}
	}
}

// TestInboxWithSchema tells the inbox from a table of its name elsewhere.
func TestInboxWithSchema(t *testing.T) {
	t.Parallel()
	inbox := Inbox{Schema: "My Schema", Table: "In Box", MessageIDType: "text"}
	for sql, marked := range map[string]string{
		`DELETE FROM "My Schema"."In Box"`:  `"My Schema"`,
		`INSERT INTO "In Box" VALUES ('é')`: `"In Box"`,
		`WITH a AS (UPDATE "My Schema"."In Box" SET message_id = 'x' RETURNING 1) DELETE FROM t`:                       `"My Schema"`,
		`DELETE FROM t WHERE a IN (SELECT b FROM other."In Box")`:                                                      "",
		`WITH a AS (SELECT 1 FROM "In Box"), "In Box" AS (SELECT 1) DELETE FROM t`:                                     `"In Box"`,
		`DELETE FROM t USING "In Box" WHERE EXISTS (WITH "In Box" AS (SELECT 1) SELECT 1)`:                             `"In Box"`,
		`DELETE FROM t WHERE a IN ((WITH "In Box" AS (SELECT 1) SELECT 1 FROM "In Box") UNION SELECT 2)`:               "",
		`DELETE FROM t WHERE a IN (SELECT 2 FROM "In Box" UNION (WITH "In Box" AS (SELECT 1) SELECT 1 FROM "In Box"))`: `"In Box"`,
		`SELECT f(1) FROM t AS "In Box" FOR UPDATE OF "In Box"`:                                                        "",
		`UPDATE t AS "In Box" SET a = "In Box".b`:                                                                      "",
		`DELETE FROM other."In Box"`:                                                                              "",
		`DELETE FROM "in box"`:                                                                                    "",
		`DELETE FROM "My Schema".t`:                                                                               "",
		`WITH "In Box" AS (SELECT 1 AS a) DELETE FROM t`:                                                          "",
		`DELETE FROM t WHERE a IN (SELECT b FROM "My Schema"."In Box")`:                                           `"My Schema"`,
		`DELETE FROM t USING "In Box"`:                                                                            `"In Box"`,
		`DELETE FROM t USING other."In Box"`:                                                                      "",
		`WITH "In Box" AS (SELECT 1 AS a) DELETE FROM t USING "In Box"`:                                           "",
		`WITH "In Box" AS (SELECT 1 AS a) DELETE FROM t USING "My Schema"."In Box"`:                               `"My Schema"`,
		`WITH x AS (SELECT * FROM "In Box"), "In Box" AS (SELECT 1 AS a) DELETE FROM t USING x`:                   `"In Box"`,
		`WITH RECURSIVE x AS (SELECT * FROM "In Box"), "In Box" AS (SELECT 1 AS a) DELETE FROM t USING x`:         "",
		`DELETE FROM t WHERE a IN (WITH "In Box" AS (SELECT 1 AS b) SELECT b FROM "In Box")`:                      "",
		`DELETE FROM t WHERE a IN (WITH "In Box" AS (SELECT 1) SELECT 1) OR a IN (SELECT b FROM "In Box")`:        `"In Box"`,
		`WITH "In Box" AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (WITH u AS (SELECT * FROM "In Box") SELECT 1)`: "",
	} {
		s, problems := Parse(sql)
		if len(problems) > 0 {
			t.Errorf("%s: %v", sql, problems)
			continue
		}
		got := ""
		for _, p := range s.CheckInbox(inbox) {
			got += sql[p.Start:p.End]
		}
		if got != marked {
			t.Errorf("%s: marks %q, want %q", sql, got, marked)
		}
	}
}

func TestEndOfInput(t *testing.T) {
	t.Parallel()
	const sql = "UPDATE t SET a = '☃' || ("
	_, problems := Parse(sql)
	want := Problem{len(sql), len(sql), "sql-syntax", "syntax error at end of input"}
	if len(problems) != 1 || problems[0] != want {
		t.Errorf("%v, want %v", problems, want)
	}
}

// TestAllProblems has more than one problem in one statement.
func TestAllProblems(t *testing.T) {
	t.Parallel()
	_, problems := Parse("UPDATE t SET a = 1 WHERE a <@a AND b = $2 AND c <@x")
	var rules []string
	for _, p := range problems {
		rules = append(rules, p.Rule)
	}
	if got := strings.Join(rules, " "); got != "ambiguous-parameter numbered-parameter ambiguous-parameter" {
		t.Error(got)
	}
}
