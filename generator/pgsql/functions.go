package pgsql

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	pg "github.com/sqlc-dev/oliphant"
)

// builtins lists PostgreSQL's own functions and operators, a line each: a class and the name.
//
//go:embed builtins.txt
var builtins string

// The classes of functions. A name in no line is the user's: it may write, and it may be an aggregate.
const (
	harmless  = 'h' // no overload is volatile or an aggregate
	unstable  = 'n' // writes nothing, but gives another value each time
	writing   = 'v' // an overload is volatile or runs SQL that it is given: it may write
	session   = 's' // writing: what it does lasts as long as the session
	outside   = 'o' // writing: what it does is not undone by a ROLLBACK
	aggregate = 'a' // an overload is an aggregate, none may write
	unknown   = 0
)

var builtinClass = sync.OnceValue(func() map[string]byte {
	classes := map[string]byte{}
	for line := range strings.Lines(builtins) {
		classes[strings.TrimSpace(line[2:])] = line[0]
	}
	return classes
})

// call is a place where a function is called, by name or by an operator.
type call struct {
	node   any
	name   string
	class  byte
	window bool // it has an OVER: it is no aggregate of the query
}

func (c call) mayWrite() bool {
	switch c.class {
	case writing, session, outside, unknown:
		return true
	}
	return false
}

func (c call) mayAggregate() bool {
	return !c.window && (c.class == aggregate || c.class == unknown)
}

// calls returns the calls below n, without those below a node that skip reports.
func calls(n *pg.Node, skip func(any) bool) []call {
	var out []call
	walk(n, func(m any) bool {
		if skip != nil && skip(m) {
			return false
		}
		switch m := m.(type) {
		case *pg.FuncCall:
			name := catalogName(m.Funcname)
			out = append(out, call{m, name, builtinClass()[name], m.Over != nil})
		case *pg.JsonArrayAgg:
			out = append(out, call{m, "json_arrayagg", aggregate, m.Constructor.GetOver() != nil})
		case *pg.JsonObjectAgg:
			out = append(out, call{m, "json_objectagg", aggregate, m.Constructor.GetOver() != nil})
		case *pg.A_Expr:
			if !isBetween(m.Kind) {
				out = append(out, operatorCalls(m, m.Name)...)
			}
		case *pg.SubLink:
			out = append(out, operatorCalls(m, m.OperName)...)
		case *pg.SortBy:
			out = append(out, operatorCalls(m, m.UseOp)...)
		}
		return true
	})
	return out
}

// operatorCalls returns the call that an operator is. A function of the user's own stands behind a name that PostgreSQL
// does not have; one that adds to a name it has can't be told.
func operatorCalls(node any, operator []*pg.Node) []call {
	if len(operator) == 0 {
		return nil
	}
	name := catalogName(operator)
	if class, ok := builtinClass()[name]; ok {
		return []call{{node, name, class, false}}
	}
	return []call{{node, "the operator " + name, writing, false}}
}

// isBetween reports whether the expression's name is no operator's but a word.
func isBetween(kind pg.A_Expr_Kind) bool {
	return kind >= pg.A_Expr_Kind_AEXPR_BETWEEN && kind <= pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM
}

// catalogName returns a name as builtins has it, with the schema when it is not pg_catalog.
func catalogName(name []*pg.Node) string {
	parts := make([]string, len(name))
	for i, n := range name {
		parts[i] = n.GetString_().GetSval()
	}
	if len(parts) == 2 && parts[0] == "pg_catalog" {
		return parts[1]
	}
	return strings.Join(parts, ".")
}

// writingCall returns the name of a function that is called below n and may write, or "".
func writingCall(n *pg.Node) string {
	all := calls(n, nil)
	if i := slices.IndexFunc(all, call.mayWrite); i >= 0 {
		return all[i].name
	}
	return ""
}

// CallsFunction reports whether the statement calls any function that may write.
func (s *Statement) CallsFunction() bool { return writingCall(s.node) != "" }
