package pgsql

import (
	"slices"

	pg "github.com/sqlc-dev/oliphant"
)

// Names the generated statement uses for its own WITH queries.
const (
	markerName = "inboxgen_marker"
	effectName = "inboxgen_effect"
)

// CheckInbox refuses a statement that reads or writes the inbox, or that uses a name the generated statement needs. What is
// wrong with a name is told once.
func (s *Statement) CheckInbox(inbox Inbox) []Problem {
	var problems []Problem
	add := func(offset int32, rule, message string) {
		problems = append(problems, s.problemAt(offset, rule, message))
	}
	told := map[string]bool{}
	for _, t := range s.Writes {
		if inbox.is(t.Schema, t.Name) {
			told[t.Name] = true
			add(int32(t.Offset), "writes-inbox",
				"the inbox is written by the generated code alone: a marker that an effect adds, changes or removes breaks exactly-once")
		}
	}
	walk(s.node, func(n any) bool {
		cte, ok := n.(*pg.CommonTableExpr)
		if ok && (isOurs(cte.Ctename) || inbox.Schema == "" && cte.Ctename == inbox.Table) {
			add(cte.Location, "reserved-name", cte.Ctename+" is a name the generated statement uses for itself; give this WITH query another name")
		}
		return true
	})
	tables(s.node, func(t *pg.RangeVar) {
		switch {
		case told[t.Relname]:
		case t.Schemaname == "" && isOurs(t.Relname):
			told[t.Relname] = true
			add(t.Location, "reserved-name", t.Relname+" is a name the generated statement uses for itself; qualify the table with its schema")
		case inbox.is(t.Schemaname, t.Relname):
			told[t.Relname] = true
			add(t.Location, "reads-inbox",
				"the inbox reads differently in a batch, whose markers are all written before its effects; keep what the effect must know in a table of the team's own")
		}
	})
	return problems
}

func isOurs(name string) bool { return name == markerName || name == effectName }

// is reports whether a table that is written with this name and schema may be the inbox.
func (i Inbox) is(schema, name string) bool {
	return name == i.Table && (schema == "" || i.Schema == "" || schema == i.Schema)
}

// tables calls found for every name of a table below n. A name that stands for a WITH query, or in a FOR UPDATE OF for what
// the FROM names, is none.
func tables(n *pg.Node, found func(*pg.RangeVar)) { tablesBelow(n, nil, nil, found) }

// tablesBelow is tables below the statement that done is the WITH of, where queries can be named.
func tablesBelow(n any, done *pg.WithClause, queries []string, found func(*pg.RangeVar)) {
	walk(n, func(m any) bool {
		switch m := m.(type) {
		case *pg.LockingClause:
			return false
		case *pg.WithClause:
			return m != done
		case *pg.RangeVar:
			if m.Schemaname != "" || !slices.Contains(queries, m.Relname) {
				found(m)
			}
		case interface{ GetWithClause() *pg.WithClause }:
			if with := m.GetWithClause(); with != nil && with != done {
				tablesBelow(m, with, tablesOfWith(with, queries, found), found)
				return false
			}
		}
		return true
	})
}

// tablesOfWith is tables below WITH queries. It returns the queries that can be named behind them; without RECURSIVE a query
// sees those before it.
func tablesOfWith(with *pg.WithClause, queries []string, found func(*pg.RangeVar)) []string {
	queries = slices.Clone(queries)
	for _, n := range with.Ctes {
		if with.Recursive {
			queries = append(queries, n.GetCommonTableExpr().Ctename)
		}
	}
	for _, n := range with.Ctes {
		tablesBelow(n.GetCommonTableExpr().Ctequery, nil, queries, found)
		queries = append(queries, n.GetCommonTableExpr().Ctename)
	}
	return queries
}
