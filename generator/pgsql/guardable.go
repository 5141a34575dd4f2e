package pgsql

import (
	"slices"

	pg "github.com/sqlc-dev/oliphant"
)

// unguardable says why the statement can't stand behind the marker in one statement, or returns "". What is allowed is
// listed, so that a form nobody thought of falls to the transaction plan.
func (s *Statement) unguardable(postgres int) string {
	if s.Kind == Call {
		return "CALL can't stand in a WITH query"
	}
	with := withClause(s.node)
	for _, n := range with.GetCtes() {
		cte := n.GetCommonTableExpr()
		if !modifies(cte.Ctequery) {
			for _, call := range calls(cte.Ctequery, nil) {
				if name := functionName(call); !isHarmless(name) {
					return "its WITH query " + cte.Ctename + " calls " + name + ", which may write"
				}
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
		}
		if source.SortClause != nil || source.LimitCount != nil || source.LimitOffset != nil || source.WithClause != nil {
			return "its VALUES has clauses of its own"
		}
		return rowWithoutInput(source.ValuesLists, nil, mayAggregate)
	}
	return unguardableSource(source, mayAggregate)
}

// unguardableSelect lets one function of the user's own be called: were that an aggregate, nothing would be called for rows
// that do not pass the guard. Of two, one could be called on what the other makes of no rows.
func unguardableSelect(n *pg.SelectStmt) string {
	if len(n.ValuesLists) > 0 {
		return "VALUES has no FROM to guard"
	}
	unknown := 0
	for _, call := range outputCalls(n) {
		if call.Over == nil && builtinClass()[functionName(call)] == 0 {
			unknown++
		}
	}
	if unknown == 1 {
		return unguardableSource(n, isAggregate)
	}
	return unguardableSource(n, mayAggregate)
}

// unguardableSource says why a SELECT may give a row although none passes the guard in its WHERE.
func unguardableSource(n *pg.SelectStmt, aggregates func(name string) bool) string {
	switch {
	case n.Op != pg.SetOperation_SETOP_NONE:
		return "its SELECT is a UNION, INTERSECT or EXCEPT"
	case n.HavingClause != nil && n.GroupClause == nil:
		return "its SELECT gives a row even when no row passes the guard"
	}
	return rowWithoutInput(nil, n, aggregates)
}

// rowWithoutInput says why VALUES or a SELECT may give a row without input: an aggregate without GROUP BY does, wherever it
// stands behind the FROM, also in a subquery that takes its argument from outside; and so do grouping sets, which may
// contain the empty one.
func rowWithoutInput(values []*pg.Node, n *pg.SelectStmt, aggregates func(name string) bool) string {
	for _, g := range n.GetGroupClause() {
		if g.GetGroupingSet() != nil {
			return "its GROUP BY may give a row even when no row passes the guard"
		}
	}
	if len(n.GetGroupClause()) > 0 {
		return ""
	}
	output := outputCalls(n)
	for _, v := range values {
		output = append(output, calls(v, nil)...)
	}
	for _, call := range output {
		if name := functionName(call); call.Over == nil && aggregates(name) {
			return "its SELECT calls " + name + ", which may be an aggregate and give a row even when no row passes the guard"
		}
	}
	return ""
}

// outputCalls returns the function calls of a SELECT that can be aggregates of its own.
func outputCalls(n *pg.SelectStmt) []*pg.FuncCall {
	var out []*pg.FuncCall
	for _, part := range slices.Concat(n.GetTargetList(), n.GetSortClause(), n.GetDistinctClause(), n.GetWindowClause()) {
		out = append(out, calls(part, nil)...)
	}
	return out
}

// ungatedCall returns the name of a function that may write and may be called although the guard does not hold, or "".
// What is computed for a row that passed the guard is called for such rows only: values, SET, RETURNING, a SELECT's
// columns. Everything else (conditions, sources, subqueries) must call harmless functions alone.
func ungatedCall(n *pg.Node, with *pg.WithClause) string {
	gated := map[*pg.FuncCall]bool{}
	for _, row := range gatedExpressions(n) {
		for _, call := range calls(row, isSubquery) {
			gated[call] = true
		}
	}
	for _, call := range calls(n, func(m any) bool { return with != nil && m == any(with) }) {
		if name := functionName(call); !gated[call] && !isHarmless(name) {
			return name
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
