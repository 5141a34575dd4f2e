package pgsql

import (
	"maps"

	pg "github.com/sqlc-dev/oliphant"
)

// Names the generated statement uses for its own WITH queries.
const (
	markerName = "inboxgen_marker"
	effectName = "inboxgen_effect"
)

// CheckInbox refuses a statement that reads or writes the inbox, or that uses a name the generated statement needs.
func (s *Statement) CheckInbox(inbox Inbox) []Problem {
	c := inboxCheck{s: s, inbox: inbox, written: map[int32]bool{}}
	for _, t := range s.Writes {
		if inbox.is(t.Schema, t.Name) {
			c.written[int32(t.Offset)] = true
			c.add(int32(t.Offset), "writes-inbox",
				"the inbox is written by the generated code alone: a marker that an effect adds, changes or removes breaks exactly-once")
		}
	}
	c.names(s.node, nil)
	return c.problems
}

// is reports whether a table that is written with this name and schema may be the inbox.
func (i Inbox) is(schema, name string) bool {
	return name == i.Table && (schema == "" || i.Schema == "" || schema == i.Schema)
}

type inboxCheck struct {
	s        *Statement
	inbox    Inbox
	written  map[int32]bool // places of tables that are reported as written
	problems []Problem
}

func (c *inboxCheck) add(offset int32, rule, message string) {
	c.problems = append(c.problems, c.s.problemAt(offset, rule, message))
}

// names checks the tables below n, and the WITH queries. scope has the names of WITH queries that n sees.
func (c *inboxCheck) names(n *pg.Node, scope map[string]bool) {
	with := withClause(n)
	if with != nil {
		scope = c.queries(with, scope)
	}
	walk(n, func(m any) bool {
		switch m := m.(type) {
		case *pg.WithClause:
			return m != with
		case *pg.Node:
			if m != n && withClause(m) != nil {
				c.names(m, scope)
				return false
			}
		case *pg.RangeVar:
			c.table(m, scope)
		}
		return true
	})
}

// queries checks WITH queries and returns the scope of what stands behind them. Without RECURSIVE a query sees those before it.
func (c *inboxCheck) queries(with *pg.WithClause, scope map[string]bool) map[string]bool {
	scope = maps.Clone(scope)
	if scope == nil {
		scope = map[string]bool{}
	}
	if with.Recursive {
		for _, n := range with.Ctes {
			scope[n.GetCommonTableExpr().Ctename] = true
		}
	}
	for _, n := range with.Ctes {
		cte := n.GetCommonTableExpr()
		if cte.Ctename == markerName || cte.Ctename == effectName || c.inbox.Schema == "" && cte.Ctename == c.inbox.Table {
			c.add(cte.Location, "reserved-name", cte.Ctename+" is a name the generated statement uses for itself; give this WITH query another name")
		}
		c.names(cte.Ctequery, scope)
		scope[cte.Ctename] = true
	}
	return scope
}

func (c *inboxCheck) table(t *pg.RangeVar, scope map[string]bool) {
	switch {
	case t.Schemaname == "" && scope[t.Relname], c.written[t.Location]:
	case t.Schemaname == "" && (t.Relname == markerName || t.Relname == effectName):
		c.add(t.Location, "reserved-name", t.Relname+" is a name the generated statement uses for itself; qualify the table with its schema")
	case c.inbox.is(t.Schemaname, t.Relname):
		c.add(t.Location, "reads-inbox",
			"the inbox reads differently in a batch, whose markers are all written before its effects; keep what the effect must know in a table of the team's own")
	}
}
