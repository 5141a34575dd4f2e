package pgsql

import (
	"slices"

	pg "github.com/sqlc-dev/oliphant"
)

// unguardable says why the statement can't stand behind the marker in one statement, or returns "". What is allowed is
// listed, so that a form nobody thought of falls to the transaction plan.
//
// What a name hides is not seen here: a view that calls a function, a domain's check, a cast or an operator that the user
// added to a name of PostgreSQL's, a function called as if it were a column.
func (s *Statement) unguardable(postgres int) string {
	if s.Kind == Call {
		return "CALL can't stand in a WITH query"
	}
	with := withClause(s.node)
	for _, n := range with.GetCtes() {
		cte := n.GetCommonTableExpr()
		if !modifies(cte.Ctequery) {
			if name := writingCall(cte.Ctequery); name != "" {
				return "its WITH query " + cte.Ctename + " calls " + name + ", which may write"
			}
			continue
		}
		if withClause(cte.Ctequery) != nil {
			return "its WITH query " + cte.Ctename + " has a WITH of its own"
		}
		if reason := unguardableNode(cte.Ctequery, postgres); reason != "" {
			return "in its WITH query " + cte.Ctename + ": " + reason
		}
	}
	return unguardableNode(s.node, postgres)
}

// unguardableNode is unguardable for one statement, leaving out its WITH queries.
func unguardableNode(n *pg.Node, postgres int) string {
	reason := ""
	switch n := n.Node.(type) {
	case *pg.Node_InsertStmt:
		reason = unguardableInsert(n.InsertStmt)
	case *pg.Node_MergeStmt:
		if postgres < 17 {
			reason = "MERGE can't stand in a WITH query before PostgreSQL 17"
		}
	case *pg.Node_SelectStmt:
		reason = unguardableSelect(n.SelectStmt)
	}
	if reason != "" {
		return reason
	}
	if name := ungatedCall(n, withClause(n)); name != "" {
		return "it calls " + name + ", which may write, where the guard does not keep it from being called"
	}
	return ""
}

func unguardableInsert(n *pg.InsertStmt) string {
	source := n.SelectStmt.GetSelectStmt()
	switch {
	case source == nil:
		return "INSERT … DEFAULT VALUES has no SELECT to guard"
	case len(source.ValuesLists) > 1:
		return "several VALUES rows in a SELECT would lose the types of their columns"
	case len(source.ValuesLists) == 1:
		for _, v := range source.ValuesLists[0].GetList().Items {
			if v.GetSetToDefault() != nil {
				return "DEFAULT is not allowed in a SELECT"
			}
			if v.GetRowExpr() != nil {
				return "a ROW in a SELECT would lose the type of its column; cast it"
			}
			if v.GetCollateClause() != nil && isUntyped(v) {
				return "a value with COLLATE in a SELECT would lose the type of its column; cast it"
			}
		}
		if isGeneral(source) {
			return "its VALUES has clauses of its own"
		}
	}
	if reason := unguardableSource(source); reason != "" {
		return reason
	}
	return aggregates(source, call.mayAggregate)
}

// isUntyped reports whether a value is a parameter or a literal, COLLATE aside, which gets its type from where it is used.
func isUntyped(n *pg.Node) bool {
	for n.GetCollateClause() != nil {
		n = n.GetCollateClause().Arg
	}
	return n.GetParamRef() != nil || n.GetAConst() != nil
}

func unguardableSelect(n *pg.SelectStmt) string {
	if len(n.ValuesLists) > 0 {
		return "VALUES has no FROM to guard"
	}
	if reason := unguardableSource(n); reason != "" {
		return reason
	}
	// A lone function of the user's own may be an aggregate: for no rows it then has nothing to do. Beside another that may
	// write, that one would be called on what it makes of no rows.
	writers := slices.DeleteFunc(outputCalls(n), func(c call) bool { return !c.mayWrite() })
	if len(writers) == 1 {
		return aggregates(n, func(c call) bool { return c.class == aggregate && !c.window })
	}
	return aggregates(n, call.mayAggregate)
}

// unguardableSource says why a SELECT may give a row although none passes the guard in its WHERE.
func unguardableSource(n *pg.SelectStmt) string {
	if n.Op != pg.SetOperation_SETOP_NONE {
		return "its SELECT is a UNION, INTERSECT or EXCEPT"
	}
	if n.HavingClause != nil && n.GroupClause == nil {
		return "its SELECT gives a row even when no row passes the guard"
	}
	for _, g := range n.GroupClause {
		if g.GetGroupingSet() != nil {
			return "its GROUP BY may give a row even when no row passes the guard"
		}
	}
	return ""
}

// aggregates says why VALUES or a SELECT gives a row without input: an aggregate without GROUP BY does.
func aggregates(n *pg.SelectStmt, is func(call) bool) string {
	if len(n.GroupClause) > 0 {
		return ""
	}
	all := outputCalls(n)
	if i := slices.IndexFunc(all, is); i >= 0 {
		return "its SELECT calls " + all[i].name + ", which may be an aggregate and give a row even when no row passes the guard"
	}
	return ""
}

// outputCalls returns the calls of VALUES or a SELECT that can be aggregates of its own: those behind its FROM. A subquery
// there has some when it takes their argument from that FROM.
func outputCalls(n *pg.SelectStmt) []call {
	skip := isSubquery
	if len(n.FromClause) > 0 {
		skip = nil
	}
	var out []call
	for _, part := range slices.Concat(n.TargetList, n.ValuesLists, n.SortClause, n.DistinctClause, n.WindowClause) {
		out = append(out, calls(part, skip)...)
	}
	return out
}

// ungatedCall returns the name of a function that may write and may be called although the guard does not hold, or "".
// What is computed for a row that passed the guard is called for such rows only: values, SET, RETURNING, a SELECT's
// columns. Everything else (conditions, sources, subqueries, a window's frame) must call harmless functions alone.
func ungatedCall(n *pg.Node, with *pg.WithClause) string {
	gated := map[any]bool{}
	for _, row := range gatedExpressions(n) {
		for _, c := range calls(row, isUngated) {
			gated[c.node] = true
		}
	}
	for _, c := range calls(n, func(m any) bool { return with != nil && m == any(with) }) {
		if c.mayWrite() && !gated[c.node] {
			return c.name
		}
	}
	return ""
}

// gatedExpressions returns the expressions that are computed once for each row that passed the guard.
func gatedExpressions(n *pg.Node) []*pg.Node {
	switch n := n.Node.(type) {
	case *pg.Node_InsertStmt:
		source := n.InsertStmt.SelectStmt.GetSelectStmt()
		return slices.Concat(source.GetTargetList(), source.GetValuesLists(),
			n.InsertStmt.OnConflictClause.GetTargetList(), n.InsertStmt.ReturningClause.GetExprs())
	case *pg.Node_UpdateStmt:
		return slices.Concat(n.UpdateStmt.TargetList, n.UpdateStmt.ReturningClause.GetExprs())
	case *pg.Node_DeleteStmt:
		return n.DeleteStmt.ReturningClause.GetExprs()
	case *pg.Node_MergeStmt:
		out := slices.Clone(n.MergeStmt.ReturningClause.GetExprs())
		for _, w := range n.MergeStmt.MergeWhenClauses {
			out = slices.Concat(out, w.GetMergeWhenClause().TargetList, w.GetMergeWhenClause().Values)
		}
		return out
	case *pg.Node_SelectStmt:
		return n.SelectStmt.TargetList
	}
	return nil
}

func isSubquery(m any) bool {
	_, ok := m.(*pg.SubLink)
	return ok
}

// isUngated reports whether what is below may be computed before any row has come: a subquery, and the frame of a window,
// which PostgreSQL computes before it asks for the first row.
func isUngated(m any) bool {
	_, window := m.(*pg.WindowDef)
	return window || isSubquery(m)
}
