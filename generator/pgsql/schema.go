package pgsql

import (
	"slices"
	"strings"

	pg "github.com/sqlc-dev/oliphant"
)

// Schema is what the team's DDL says about its tables, as far as plans depend on it. A nil Schema knows nothing.
type Schema struct {
	triggers  []trigger
	operators map[string]bool // that the team's DDL makes
}

// trigger is one that fires FOR EACH STATEMENT: also for a statement that touches no row.
type trigger struct {
	name  string
	table Table
}

// Add reads DDL. Statements that do not matter here are passed over.
func (s *Schema) Add(ddl string) []Problem {
	result, err := pg.Parse(ddl)
	if err != nil {
		return []Problem{syntaxProblem(ddl, nil, err)}
	}
	for _, raw := range result.Stmts {
		if t := raw.Stmt.GetCreateTrigStmt(); t != nil && !t.Row {
			s.triggers = append(s.triggers, trigger{t.Trigname, Table{Schema: t.Relation.Schemaname, Name: t.Relation.Relname}})
		}
		if d := raw.Stmt.GetDefineStmt(); d.GetKind() == pg.ObjectType_OBJECT_OPERATOR {
			s.addOperator(d.Defnames[len(d.Defnames)-1].GetString_().GetSval())
		}
	}
	return nil
}

// StatementTrigger returns a trigger that would fire for a duplicate too if a statement with these writes were guarded,
// or "".
func (s *Schema) StatementTrigger(writes []Table) string {
	if s == nil {
		return ""
	}
	for _, t := range s.triggers {
		if slices.ContainsFunc(writes, func(w Table) bool {
			return w.Name == t.table.Name && (w.Schema == t.table.Schema || w.Schema == "" || t.table.Schema == "")
		}) {
			return t.name
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
	if _, ok := builtinClass()[name]; ok || s != nil && s.operators[name] {
		return true
	}
	signed := strings.TrimRight(name, "+-")
	return signed != name && !strings.ContainsAny(name, "~!@#%^&|`?") && (signed == "" || s.hasOperator(signed))
}
