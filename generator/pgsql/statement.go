// Package pgsql understands one effect of a message: it finds the parameters, parses the statement with PostgreSQL's
// grammar, decides whether it can be guarded, and splices the guard into the user's bytes.
//
// The parser library is hidden here. Every offset is a byte offset into the user's text.
package pgsql

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	pg "github.com/sqlc-dev/oliphant"
	"github.com/sqlc-dev/oliphant/parser"
)

// Kind is the kind of a statement.
type Kind string

// The kinds of statement an effect can be.
const (
	Insert Kind = "INSERT"
	Update Kind = "UPDATE"
	Delete Kind = "DELETE"
	Merge  Kind = "MERGE"
	Select Kind = "SELECT"
	Call   Kind = "CALL"
)

// Problem is what is wrong with a statement, between two byte offsets of its text.
type Problem struct {
	Start, End int
	Rule       string
	Message    string
}

// Table names a table as the user wrote it, unquoted and folded.
type Table struct {
	Schema, Name string
	By           Kind // of the statement that modifies it
	Offset       int
}

// Statement is one parsed effect.
type Statement struct {
	Kind   Kind
	Source string  // the user's text
	Writes []Table // tables the statement itself modifies, in the order written

	tokens     []token
	params     []occurrence
	node       *pg.Node
	doNothing  bool
	returning  bool
	parameters []parameter
}

// Parse reads one effect and reports every problem that needs no knowledge of the inbox. The statement is nil where a
// problem leaves nothing to look at.
func Parse(source string) (*Statement, []Problem) { return (*Schema)(nil).Parse(source) }

// Parse is the function Parse for a statement on the schema, whose own operators it knows.
func (schema *Schema) Parse(source string) (*Statement, []Problem) {
	if nothing := strings.TrimSpace(source); nothing == `""` || nothing == `''` {
		return nil, []Problem{noStatement(source)}
	}
	tokens, params, problems := schema.scan(source)
	for len(tokens) > 0 && source[tokens[len(tokens)-1].start:tokens[len(tokens)-1].end] == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 && len(problems) > 0 {
		return nil, problems
	}
	if len(tokens) == 0 {
		return nil, []Problem{noStatement(source)}
	}
	result, err := pg.Parse(masked(source, params))
	switch {
	case err != nil && slices.ContainsFunc(problems, func(p Problem) bool { return isFused(source, p) }):
		return nil, problems // the error may be another sight of them
	case err != nil:
		return nil, append(problems, syntaxProblem(source, params, err))
	case len(result.Stmts) != 1:
		second := firstTokenFrom(tokens, int(result.Stmts[1].StmtLocation))
		return nil, append(problems, Problem{
			second.start, second.end, "several-statements",
			"an effect is one statement; give the second one an entry of its own under effects",
		})
	}
	s := &Statement{Source: source, tokens: tokens, params: params, node: result.Stmts[0].Stmt}
	if problem := s.classify(); problem != nil {
		return nil, append(problems, *problem)
	}
	s.parameters = s.groupParameters()
	return s, append(problems, s.checkWith()...)
}

func noStatement(source string) Problem {
	return Problem{0, len(source), "empty-sql", "there is no statement here; write the SQL that the message's effect is"}
}

// classify settles the kind of the statement, or says why it can't be an effect.
func (s *Statement) classify() *Problem {
	switch n := s.node.Node.(type) {
	case *pg.Node_InsertStmt:
		s.Kind = Insert
		s.returning = n.InsertStmt.ReturningClause != nil
		s.doNothing = n.InsertStmt.OnConflictClause.GetAction() == pg.OnConflictAction_ONCONFLICT_NOTHING
	case *pg.Node_UpdateStmt:
		s.Kind = Update
		s.returning = n.UpdateStmt.ReturningClause != nil
	case *pg.Node_DeleteStmt:
		s.Kind = Delete
		s.returning = n.DeleteStmt.ReturningClause != nil
	case *pg.Node_MergeStmt:
		s.Kind = Merge
		s.returning = n.MergeStmt.ReturningClause != nil
	case *pg.Node_SelectStmt:
		s.Kind = Select
		if makesTable(n.SelectStmt) {
			return s.refuse("SELECT INTO makes a table; tables belong in a migration")
		}
	case *pg.Node_CallStmt:
		s.Kind = Call
	default:
		return s.refuse(reasonRefused(s.node))
	}
	s.Writes = writes(s.node)
	return nil
}

// makesTable reports whether a SELECT has an INTO; of a UNION its first has it.
func makesTable(n *pg.SelectStmt) bool {
	for ; n != nil; n = n.Larg {
		if n.IntoClause != nil {
			return true
		}
	}
	return false
}

func (s *Statement) refuse(reason string) *Problem {
	return &Problem{s.tokens[0].start, s.tokens[len(s.tokens)-1].end, "not-an-effect", reason}
}

// reasonRefused says why a statement of another kind can't be an effect.
func reasonRefused(node *pg.Node) string {
	const transaction = "it must run inside the message's transaction, together with the marker"
	switch node.Node.(type) {
	case *pg.Node_TransactionStmt:
		return "BEGIN, COMMIT, ROLLBACK and savepoints are the generated code's: marker and effect commit together; remove this statement"
	case *pg.Node_CopyStmt:
		return "COPY can't be an effect: it moves a stream, not one message's values; write an INSERT"
	case *pg.Node_NotifyStmt:
		return "NOTIFY takes no parameters and can't be guarded; write SELECT pg_notify('channel', @field::text)"
	case *pg.Node_ListenStmt, *pg.Node_UnlistenStmt:
		return "LISTEN and UNLISTEN act on the session, not on the data; they can't be an effect"
	case *pg.Node_TruncateStmt:
		return "TRUNCATE locks out every reader and can't be guarded; write a DELETE"
	case *pg.Node_LockStmt:
		return "LOCK changes nothing by itself; lock the rows with SELECT … FOR UPDATE, or let the effect's own UPDATE do it"
	case *pg.Node_VariableSetStmt, *pg.Node_VariableShowStmt, *pg.Node_DiscardStmt:
		return "session settings are the connection's; for one transaction write SELECT set_config('name', 'value', true)"
	case *pg.Node_DoStmt:
		return "DO takes no parameters and can't be guarded; make it a function by a migration and write SELECT my_function(@field)"
	case *pg.Node_PrepareStmt, *pg.Node_ExecuteStmt, *pg.Node_DeallocateStmt:
		return "prepared statements are the driver's; write the statement itself"
	case *pg.Node_DeclareCursorStmt, *pg.Node_FetchStmt, *pg.Node_ClosePortalStmt:
		return "cursors can't be an effect; write the statement itself"
	case *pg.Node_VacuumStmt, *pg.Node_CheckPointStmt, *pg.Node_ClusterStmt, *pg.Node_ReindexStmt, *pg.Node_RefreshMatViewStmt, *pg.Node_ExplainStmt:
		return "maintenance can't be an effect; run it as a job: " + transaction
	default:
		return "an effect is INSERT, UPDATE, DELETE, MERGE, SELECT of a function, or CALL; a change of the schema belongs in a migration"
	}
}

// checkWith refuses data-modifying WITH where PostgreSQL does (0A000), and WHERE CURRENT OF.
func (s *Statement) checkWith() []Problem {
	var problems []Problem
	top := withClause(s.node)
	walk(s.node, func(n any) bool {
		switch n := n.(type) {
		case *pg.WithClause:
			if n == top {
				return true
			}
			for _, cte := range n.Ctes {
				if c := cte.GetCommonTableExpr(); modifies(c.Ctequery) {
					problems = append(problems, s.problemAt(c.Location, "nested-modifying-with",
						"PostgreSQL allows a WITH query that modifies data only in the statement's outermost WITH; move "+c.Ctename+" there"))
				}
			}
		case *pg.CurrentOfExpr:
			problems = append(problems, Problem{
				s.tokens[0].start, s.tokens[len(s.tokens)-1].end, "not-an-effect",
				"WHERE CURRENT OF needs a cursor, and an effect has none; name the row by its key",
			})
		}
		return true
	})
	return problems
}

func (s *Statement) problemAt(offset int32, rule, message string) Problem {
	t := firstTokenFrom(s.tokens, int(offset))
	return Problem{t.start, t.end, rule, message}
}

// DefaultExpect returns what an effect of this kind must touch when the spec does not say.
func (s *Statement) DefaultExpect() Expect {
	if s.Kind == Select || s.Kind == Call || s.doNothing {
		return ExpectAny
	}
	return ExpectSome
}

// Parameters returns the parameters' names in the order of their numbers; a name comes twice where two of its
// occurrences can have different types.
func (s *Statement) Parameters() []string {
	names := make([]string, len(s.parameters))
	for i, p := range s.parameters {
		names[i] = p.name
	}
	return names
}

// Cast returns the type, as pg_type has it, that a cast gives the i-th parameter, or "" where another place may give it.
func (s *Statement) Cast(i int) string { return s.parameters[i].cast }

// ParameterOffset returns where the i-th parameter first stands.
func (s *Statement) ParameterOffset(i int) (start, end int) {
	o := s.params[s.parameters[i].occurrences[0]]
	return o.start, o.end
}

// numbering returns the edits that replace each parameter by its $n, counting from first.
func (s *Statement) numbering(first int) []edit {
	var edits []edit
	for i, p := range s.parameters {
		for _, o := range p.occurrences {
			edits = append(edits, edit{s.params[o].start, s.params[o].end, fmt.Sprintf("$%d", first+i)})
		}
	}
	return edits
}

// SQL returns the statement as written, with parameters numbered from $1.
func (s *Statement) SQL() string {
	return strings.TrimSpace(splice(s.Source, 0, s.end(), s.numbering(1)) + s.trailer())
}

// end is the offset behind the last token; what follows is a semicolon or a comment.
func (s *Statement) end() int { return s.tokens[len(s.tokens)-1].end }

// trailer returns the comments behind the statement, without the semicolon.
func (s *Statement) trailer() string {
	rest := s.Source[s.end():]
	if strings.TrimSpace(rest) == "" {
		return ""
	}
	result, err := pg.Scan(rest)
	if err != nil {
		return ""
	}
	out := []byte(rest)
	for _, t := range result.Tokens {
		if rest[t.Start:t.End] == ";" {
			out[t.Start] = ' '
		}
	}
	return strings.TrimRight(string(out), " \t\n")
}

func firstTokenFrom(tokens []token, offset int) token {
	for _, t := range tokens {
		if t.start >= offset {
			return t
		}
	}
	return tokens[len(tokens)-1]
}

// syntaxProblem turns the parser's error into a problem. The parser counts characters from 1.
func syntaxProblem(sql string, params []occurrence, err error) Problem {
	var e *parser.Error
	if !errors.As(err, &e) {
		return Problem{0, len(sql), "sql-syntax", err.Error()}
	}
	start, end := len(sql), len(sql)
	character := 1
	for i := range sql {
		if character == e.Cursorpos {
			start, end = i, min(i+1, len(sql))
			break
		}
		character++
	}
	before, near, ok := strings.Cut(strings.TrimSuffix(e.Message, `"`), ` at or near "`)
	if !ok {
		return Problem{start, end, "sql-syntax", e.Message}
	}
	if i := slices.IndexFunc(params, func(o occurrence) bool { return o.start == start }); i >= 0 {
		near = sql[start:params[i].end]
	}
	if strings.HasPrefix(sql[start:], near) {
		end = start + len(near)
	}
	return Problem{start, end, "sql-syntax", before + ` at or near "` + near + `"`}
}

// splice returns source[from:to] with edits applied. At one offset, text is inserted before text is replaced.
func splice(source string, from, to int, edits []edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var b strings.Builder
	for _, e := range edits {
		if e.start < from || e.end > to {
			continue
		}
		b.WriteString(source[from:e.start])
		b.WriteString(e.text)
		from = e.end
	}
	b.WriteString(source[from:to])
	return b.String()
}

// edit replaces source[start:end] by text; start == end inserts.
type edit struct {
	start, end int
	text       string
}
