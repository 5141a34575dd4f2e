package pgsql

import (
	"fmt"
	"strings"

	pg "github.com/sqlc-dev/oliphant"
)

// Inbox is the ledger table, as far as SQL needs it.
type Inbox struct {
	Schema, Table string
	MessageIDType string // text or uuid
	DetectReuse   bool
}

// Name returns the table's name, quoted, and qualified when a schema is given.
func (i Inbox) Name() string {
	if i.Schema == "" {
		return QuoteIdent(i.Table)
	}
	return QuoteIdent(i.Schema) + "." + QuoteIdent(i.Table)
}

// Columns returns how many parameters the marker takes: consumer, message id, and the fingerprint when reuse is detected.
func (i Inbox) Columns() int {
	if i.DetectReuse {
		return 3
	}
	return 2
}

// MarkerSQL inserts the marker; one affected row means that the message is fresh.
func (i Inbox) MarkerSQL() string {
	columns, values := "consumer_name, message_id", "$1::text, $2::"+i.MessageIDType
	if i.DetectReuse {
		columns, values = columns+", fingerprint", values+", $3::bigint"
	}
	return "INSERT INTO " + i.Name() + " (" + columns + ")\n" +
		"VALUES (" + values + ")\n" +
		"ON CONFLICT (consumer_name, message_id) DO NOTHING"
}

// SeenSQL reads the fingerprint of the marker that is already there.
func (i Inbox) SeenSQL() string {
	return "SELECT fingerprint FROM " + i.Name() + " WHERE consumer_name = $1::text AND message_id = $2::" + i.MessageIDType
}

// QuoteIdent quotes an SQL identifier.
func QuoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Expect is how many rows an effect must touch.
type Expect int

// ExpectAny accepts any number of rows, ExpectSome at least one; a positive value is the exact number.
const (
	ExpectAny  Expect = 0
	ExpectSome Expect = -1
)

// String says what is expected, as in "expected 1 row".
func (e Expect) String() string {
	switch e {
	case ExpectAny:
		return "any number of rows"
	case ExpectSome:
		return "at least 1 row"
	case 1:
		return "1 row"
	default:
		return fmt.Sprintf("%d rows", int(e))
	}
}

// met is the SQL condition under which n rows are what is expected.
func (e Expect) met(n string) string {
	if e == ExpectSome {
		return n + " > 0"
	}
	return fmt.Sprintf("%s = %d", n, int(e))
}

// Unguardable says why a statement needs the transaction plan.
type Unguardable struct{ Reason string }

func (u *Unguardable) Error() string { return u.Reason }

// Guard returns the guarded statement: marker, effect and check in one. Parameters are the marker's, then the
// statement's own. Label names the effect in the error that an unmet expectation raises. postgres is the oldest server
// major the statement must run on. The error is an *Unguardable when the statement can't be guarded; the text returned
// has been parsed again and its tree compared with the guarded form of the user's tree.
func (s *Statement) Guard(inbox Inbox, label string, expect Expect, postgres int) (string, error) {
	if reason := s.unguardable(postgres); reason != "" {
		return "", &Unguardable{reason}
	}
	if !s.isTakenApart() {
		return "", &Unguardable{"its WITH can't be told from the rest"}
	}
	c := composition{
		s: s, label: label, expect: expect, first: inbox.Columns() + 1,
		marker: inbox.guard(), seen: inbox.seen(),
	}
	return c.text()
}

// Check returns the statement for use behind a marker of its own: as written when any number of rows will do, otherwise
// wrapped so that an unmet expectation raises an error. ok is false when the number of rows can only be taken from the
// command tag of the statement as written.
func (s *Statement) Check(label string, expect Expect, postgres int) (sql string, ok bool, err error) {
	if expect == ExpectAny {
		return s.SQL(), true, nil
	}
	if s.Kind == Call || s.Kind == Merge && postgres < 17 || !s.isTakenApart() {
		return s.SQL(), false, nil
	}
	c := composition{s: s, label: label, expect: expect, first: 1}
	sql, err = c.text()
	return sql, true, err
}

// composition builds a statement around the user's: with a marker it guards, without one it only checks the expectation.
type composition struct {
	s      *Statement
	label  string
	expect Expect
	first  int    // number of the statement's first parameter
	marker string // "" without a guard
	seen   string // reads the stored fingerprint; "" when reuse is not detected
}

func (c *composition) text() (string, error) {
	edits := c.s.numbering(c.first)
	if c.marker != "" {
		guards, err := c.s.guardEdits()
		if err != nil {
			return "", err
		}
		edits = append(edits, guards...)
	}
	if !c.s.returning && c.s.Kind != Select {
		end := c.s.end()
		edits = append(edits, edit{end, end, "\nRETURNING 1"})
	}
	p := c.s.split(edits)
	if err := c.prove(p); err != nil {
		return "", err
	}
	return c.assemble(p), nil
}

// parts is the user's statement taken apart, with the edits in place.
type parts struct {
	lead      string // comments, where hints are
	recursive bool
	queries   string // of its WITH, or ""
	gap       string // comments behind those
	main      string // the statement proper, with the comments behind it
}

func (p parts) with() string {
	if p.recursive {
		return "WITH RECURSIVE " + p.queries
	}
	return "WITH " + p.queries
}

func (s *Statement) split(edits []edit) parts {
	with := s.withParts()
	p := parts{
		lead:      strings.TrimSpace(s.Source[:s.tokens[0].start]),
		recursive: with.recursive,
		main:      splice(s.Source, with.main, s.end(), edits) + s.trailer(),
	}
	if with.present {
		p.queries = strings.TrimSpace(splice(s.Source, with.start, with.end, edits))
		p.gap = strings.TrimRight(s.Source[with.end:with.main], " \t\n")
	}
	return p
}

// assemble lays out the whole statement: leading comments (hints stay in front), marker, the user's WITH queries,
// the effect, and the final SELECT.
func (c *composition) assemble(p parts) string {
	var b strings.Builder
	if p.lead != "" {
		b.WriteString(p.lead + "\n")
	}
	b.WriteString("WITH ")
	if p.recursive {
		b.WriteString("RECURSIVE ")
	}
	if c.marker != "" {
		b.WriteString(markerQuery(c.marker))
	}
	if p.queries != "" {
		b.WriteString(p.queries + "," + p.gap + "\n")
	}
	b.WriteString(effectName + " AS ")
	if c.s.Kind == Select {
		b.WriteString("MATERIALIZED ")
	}
	b.WriteString("(\n" + p.main + "\n)\n")
	b.WriteString(c.finalSelect())
	return b.String()
}

const effectCount = "(SELECT count(*) AS n FROM " + effectName + ") AS effect"

// finalSelect reports what happened. An unmet expectation is raised by casting its message to bigint (22P02), which
// rolls the marker back with everything else and needs no function in the database.
func (c *composition) finalSelect() string {
	failure := "(" + quoteLiteral(c.label+": expected "+c.expect.String()+", affected ") + " || effect.n)::bigint"
	if c.marker == "" {
		return "SELECT CASE WHEN " + c.expect.met("effect.n") + " THEN effect.n ELSE " + failure + " END AS affected\nFROM " + effectCount
	}
	affected := "effect.n"
	if c.expect != ExpectAny {
		affected = "CASE\n    WHEN marker.n = 0 OR " + c.expect.met("effect.n") + " THEN effect.n\n    ELSE " + failure + "\n  END"
	}
	return "SELECT\n  marker.n AS fresh,\n  " + affected + " AS affected" + outcomeTail(c.seen)
}

// markerQuery is the WITH query of the marker.
func markerQuery(marker string) string {
	return markerName + " AS (\n  " + strings.ReplaceAll(marker, "\n", "\n  ") + "\n), "
}

// outcomeTail ends the final SELECT of a guarded statement.
func outcomeTail(seen string) string {
	column := ""
	if seen != "" {
		column = ",\n  CASE WHEN marker.n = 0 THEN (\n    " + seen + "\n  ) END AS seen"
	}
	return column + "\nFROM (SELECT count(*) AS n FROM " + markerName + ") AS marker,\n  " + effectCount
}

// WithMarkerSQL is what guarded statements begin with, but for those with comments in front or a WITH RECURSIVE.
func (i Inbox) WithMarkerSQL() string { return "WITH " + markerQuery(i.guard()) }

// OutcomeSQL is what guarded statements end with.
func (i Inbox) OutcomeSQL() string { return outcomeTail(i.seen()) }

// guard inserts the marker and returns a row when it is fresh.
func (i Inbox) guard() string { return i.MarkerSQL() + "\nRETURNING 1" }

// seen reads the stored fingerprint; "" when reuse is not detected.
func (i Inbox) seen() string {
	if !i.DetectReuse {
		return ""
	}
	return i.SeenSQL()
}

// withParts is where the user's WITH stands: queries in [start,end), comments up to main, where the statement proper
// begins.
type withParts struct {
	present, recursive bool
	start, end, main   int
}

func (s *Statement) withParts() withParts {
	first, main := s.withTokens()
	if main == 0 {
		return withParts{main: s.tokens[0].start}
	}
	return withParts{
		present: true, recursive: withClause(s.node).Recursive,
		start: s.tokens[first-1].end, end: s.tokens[main-1].end, main: s.tokens[main].start,
	}
}

// withTokens returns the index of the first token of the WITH queries and of the one behind them, where the statement
// proper begins; 0 and 0 without WITH.
func (s *Statement) withTokens() (first, main int) {
	with := withClause(s.node)
	if with == nil {
		return 0, 0
	}
	first = 1
	if with.Recursive {
		first = 2
	}
	last := with.Ctes[len(with.Ctes)-1].GetCommonTableExpr()
	_, closing := s.cteBody(last)
	if last.SearchClause == nil && last.CycleClause == nil {
		return first, closing + 1
	}
	return first, s.find(closing+1, len(s.tokens), isVerb)
}

// isTakenApart reports whether the statement's WITH queries can be told from the rest.
func (s *Statement) isTakenApart() bool {
	_, main := s.withTokens()
	return main < len(s.tokens)
}

func isVerb(kind pg.Token) bool {
	switch kind {
	case pg.Token_SELECT, pg.Token_INSERT, pg.Token_UPDATE, pg.Token_DELETE_P, pg.Token_MERGE, pg.Token_VALUES:
		return true
	}
	return false
}

// PurgeSQL deletes one batch of old markers of a consumer: $1 its name, $2 the age in seconds, $3 the batch's size. The
// rows are found by ctid = ANY(ARRAY(…)), which the planner runs as a scan of those rows alone, where IN made it read
// the whole table; the age is checked again on the row that is deleted.
func (i Inbox) PurgeSQL() string {
	old := "consumer_name = $1::text AND processed_at < now() - make_interval(secs => $2::double precision)"
	return "DELETE FROM " + i.Name() + "\n" +
		"WHERE ctid = ANY (ARRAY(\n" +
		"    SELECT ctid FROM " + i.Name() + "\n" +
		"    WHERE " + old + "\n" +
		"    ORDER BY processed_at\n" +
		"    LIMIT $3::bigint\n" +
		"    FOR UPDATE SKIP LOCKED\n" +
		"  ))\n" +
		"  AND " + old
}
