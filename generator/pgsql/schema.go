package pgsql

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/sqlc-dev/oliphant"
)

// Schema is what the team's DDL says about its tables, as far as plans depend on it. A nil Schema knows nothing.
type Schema struct {
	triggers  []trigger
	rules     []rule
	links     []link
	views     []view
	operators map[string]bool // that the team's DDL makes
}

// trigger is one that fires FOR EACH STATEMENT: also for a statement that touches no row.
type trigger struct {
	name  string
	table Table
}

// rule is one that rewrites INSERT, UPDATE or DELETE.
type rule struct {
	name        string
	table       Table
	event       Kind
	instead     bool
	conditional bool
	actions     []*pg.Node
}

// view is one that calls a function which may write, or "", and what it reads.
type view struct {
	table Table
	calls string
	reads []Table
}

// link says that to write to one table may be to write to another: a view's by the same kind of statement, or one that a
// rule writes to.
type link struct{ from, to Table }

// Add reads DDL. Statements that do not matter here are passed over.
func (s *Schema) Add(ddl string) []Problem {
	result, err := pg.Parse(ddl)
	if err != nil {
		return []Problem{syntaxProblem(ddl, nil, err)}
	}
	for _, raw := range result.Stmts {
		switch n := raw.Stmt.Node.(type) {
		case *pg.Node_CreateTrigStmt:
			if !n.CreateTrigStmt.Row {
				s.triggers = append(s.triggers, trigger{n.CreateTrigStmt.Trigname, tableOf(n.CreateTrigStmt.Relation)})
			}
		case *pg.Node_DefineStmt:
			if d := n.DefineStmt; d.Kind == pg.ObjectType_OBJECT_OPERATOR {
				s.addOperator(d.Defnames[len(d.Defnames)-1].GetString_().GetSval())
			}
		case *pg.Node_RuleStmt:
			s.addRule(n.RuleStmt)
		case *pg.Node_ViewStmt:
			s.addView(n.ViewStmt)
			for _, from := range n.ViewStmt.Query.GetSelectStmt().GetFromClause() {
				if r := from.GetRangeVar(); r != nil {
					s.links = append(s.links, link{tableOf(n.ViewStmt.View), tableOf(r)})
				}
			}
		}
	}
	return nil
}

func (s *Schema) addRule(n *pg.RuleStmt) {
	events := map[pg.CmdType]Kind{pg.CmdType_CMD_INSERT: Insert, pg.CmdType_CMD_UPDATE: Update, pg.CmdType_CMD_DELETE: Delete}
	r := rule{n.Rulename, tableOf(n.Relation), events[n.Event], n.Instead, n.WhereClause != nil, n.Actions}
	if r.event == "" || !r.instead && len(r.actions) == 0 {
		return
	}
	s.rules = append(s.rules, r)
	for _, action := range r.actions {
		for _, t := range writes(action) {
			s.links = append(s.links, link{Table{Schema: r.table.Schema, Name: r.table.Name, By: r.event}, t})
		}
	}
}

func (s *Schema) addView(n *pg.ViewStmt) {
	v := view{table: tableOf(n.View), calls: writingCall(n.Query)}
	tables(n.Query, func(r *pg.RangeVar) { v.reads = append(v.reads, tableOf(r)) })
	s.views = append(s.views, v)
}

// CallingView returns a view that the statement reads and a function it calls that may write, or "" and "". Where the guard
// lets nothing pass, such a view may be read all the same.
func (s *Schema) CallingView(st *Statement) (name, function string) {
	if s == nil {
		return "", ""
	}
	var read []Table
	tables(st.node, func(r *pg.RangeVar) { read = append(read, tableOf(r)) })
	for i := 0; i < len(read); i++ {
		for _, v := range s.views {
			if !v.table.isSame(read[i]) {
				continue
			}
			if v.calls != "" {
				return v.table.Name, v.calls
			}
			for _, t := range v.reads {
				if !slices.ContainsFunc(read, t.isSame) {
					read = append(read, t)
				}
			}
		}
	}
	return "", ""
}

func tableOf(r *pg.RangeVar) Table { return Table{Schema: r.Schemaname, Name: r.Relname} }

// isSame reports whether two names can be of one table.
func (t Table) isSame(other Table) bool {
	return t.Name == other.Name && (t.Schema == other.Schema || t.Schema == "" || other.Schema == "")
}

// reached returns t and what else may be written to when t is, each with the kind of statement.
func (s *Schema) reached(t Table) []Table {
	out := []Table{t}
	for i := 0; i < len(out); i++ {
		for _, l := range s.links {
			if !out[i].isSame(l.from) || l.from.By != "" && l.from.By != out[i].By {
				continue
			}
			to := l.to
			to.By = cmp.Or(to.By, out[i].By)
			if !slices.ContainsFunc(out, func(o Table) bool { return o.isSame(to) && o.By == to.By }) {
				out = append(out, to)
			}
		}
	}
	return out
}

// StatementTrigger returns a trigger that would fire for a duplicate too if a statement with these writes were guarded,
// or "".
func (s *Schema) StatementTrigger(writes []Table) string {
	if s == nil {
		return ""
	}
	for _, w := range writes {
		for _, table := range s.reached(w) {
			if i := slices.IndexFunc(s.triggers, func(t trigger) bool { return table.isSame(t.table) }); i >= 0 {
				return s.triggers[i].name
			}
		}
	}
	return ""
}

func (s *Schema) addOperator(name string) {
	if s.operators == nil {
		s.operators = map[string]bool{}
	}
	s.operators[name] = true
}

// hasOperator reports whether name can only be one operator, or stand for one before a sign: PostgreSQL's lexer ends a name
// at a last + or - unless it has one of the characters below.
func (s *Schema) hasOperator(name string) bool {
	if name == "!=" || name == "=>" { // the parser's own
		return true
	}
	if _, ok := builtinClass()[name]; ok || s != nil && s.operators[name] {
		return true
	}
	signed := strings.TrimRight(name, "+-")
	return signed != name && !strings.ContainsAny(name, "~!@#%^&|`?") && (signed == "" || s.hasOperator(signed))
}

// Rule returns a rule by which a statement with these writes fails in a WITH query (0A000), or "". There PostgreSQL takes
// only one that is for every row and one statement with RETURNING instead.
func (s *Schema) Rule(writes []Table) string {
	if s == nil {
		return ""
	}
	for _, w := range writes {
		for _, table := range s.reached(w) {
			if found := s.rulesOf(table, table.By); len(found) > 1 || len(found) == 1 && !found[0].isOneForAnother() {
				return found[0].name
			}
		}
	}
	return ""
}

// UncountedRule returns a rule by which the command tag of the statement says 0 rows whatever was done, or "".
func (s *Schema) UncountedRule(st *Statement) string {
	if s == nil || !modifies(st.node) {
		return ""
	}
	name := ""
	for _, r := range s.rulesOf(st.Writes[len(st.Writes)-1], st.Kind) {
		if r.instead && slices.ContainsFunc(r.actions, func(n *pg.Node) bool { return kindOf(n) == st.Kind }) {
			return ""
		}
		if r.instead && !r.conditional {
			name = r.name
		}
	}
	return name
}

func (s *Schema) rulesOf(t Table, event Kind) []rule {
	var out []rule
	for _, r := range s.rules {
		if t.isSame(r.table) && (r.event == event || event == Merge) {
			out = append(out, r)
		}
	}
	return out
}

func (r rule) isOneForAnother() bool {
	return r.instead && !r.conditional && len(r.actions) == 1 && returns(r.actions[0])
}
