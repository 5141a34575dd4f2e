package pgsql

import (
	_ "embed"
	"strings"
	"sync"

	pg "github.com/sqlc-dev/oliphant"
)

// builtins lists PostgreSQL's own functions, a line each: a letter and the name. h: no overload is volatile or an
// aggregate; v: one is volatile; a: one is an aggregate.
//
//go:embed builtins.txt
var builtins string

var builtinClass = sync.OnceValue(func() map[string]byte {
	classes := map[string]byte{}
	for line := range strings.Lines(builtins) {
		classes[strings.TrimSpace(line[2:])] = line[0]
	}
	return classes
})

// isHarmless reports whether every overload of the function only computes.
func isHarmless(name string) bool { return builtinClass()[name] == 'h' || builtinClass()[name] == 'a' }

// isAggregate reports whether the function is one of PostgreSQL's aggregates.
func isAggregate(name string) bool { return builtinClass()[name] == 'a' }

// mayAggregate reports whether the function is an aggregate, or one of the user's own, which nothing here tells.
func mayAggregate(name string) bool {
	class := builtinClass()[name]
	return class == 'a' || class == 0
}

// functionName returns the function's name as the catalog has it, with its schema when it is not pg_catalog.
func functionName(call *pg.FuncCall) string {
	parts := make([]string, len(call.Funcname))
	for i, n := range call.Funcname {
		parts[i] = n.GetString_().GetSval()
	}
	return strings.TrimPrefix(strings.Join(parts, "."), "pg_catalog.")
}

// calls returns the function calls below n, without those below a node that skip reports.
func calls(n *pg.Node, skip func(any) bool) []*pg.FuncCall {
	var out []*pg.FuncCall
	walk(n, func(m any) bool {
		if skip != nil && skip(m) {
			return false
		}
		if call, ok := m.(*pg.FuncCall); ok {
			out = append(out, call)
		}
		return true
	})
	return out
}

// CallsFunction reports whether the statement calls any function that may write.
func (s *Statement) CallsFunction() bool {
	for _, call := range calls(s.node, nil) {
		if !isHarmless(functionName(call)) {
			return true
		}
	}
	return false
}
