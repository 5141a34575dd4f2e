package pgsql

import (
	"errors"
	"fmt"

	pg "github.com/sqlc-dev/oliphant"
)

// provenGuarded checks a guarded statement by rules of its own, which know nothing of how the guard came there: in the tree
// of sql, nothing may write unless a row of the marker is there.
func provenGuarded(sql string) error {
	result, err := pg.Parse(sql)
	if err != nil {
		return fmt.Errorf("does not parse: %w", err)
	}
	if len(result.Stmts) != 1 {
		return fmt.Errorf("%d statements", len(result.Stmts))
	}
	final := result.Stmts[0].Stmt.GetSelectStmt()
	if final == nil {
		return errors.New("it does not end in a SELECT")
	}
	ctes := final.WithClause.GetCtes()
	if len(ctes) < 2 || ctes[0].GetCommonTableExpr().Ctename != markerName {
		return errors.New("the marker is not the first WITH query")
	}
	marker := ctes[0].GetCommonTableExpr().Ctequery.GetInsertStmt()
	if marker == nil || marker.OnConflictClause.GetAction() != pg.OnConflictAction_ONCONFLICT_NOTHING {
		return errors.New("the marker is no INSERT that does nothing on conflict")
	}
	for _, n := range ctes[1:] {
		cte := n.GetCommonTableExpr()
		if cte.Ctename == markerName {
			return errors.New("the marker is hidden by another query of its name")
		}
		if err := guardedQuery(cte.Ctequery); err != nil {
			return fmt.Errorf("%s: %w", cte.Ctename, err)
		}
	}
	return nil
}

// guardedQuery checks one WITH query.
func guardedQuery(n *pg.Node) error {
	var nested error
	walk(n, func(m any) bool {
		if node, ok := m.(*pg.Node); ok && node != n && modifies(node) {
			nested = errors.New("a statement inside it writes")
		}
		return true
	})
	if nested != nil {
		return nested
	}
	switch n := n.Node.(type) {
	case *pg.Node_UpdateStmt:
		return needsMarker(n.UpdateStmt.WhereClause)
	case *pg.Node_DeleteStmt:
		return needsMarker(n.DeleteStmt.WhereClause)
	case *pg.Node_InsertStmt:
		return guardedSource(n.InsertStmt.SelectStmt.GetSelectStmt(), true)
	case *pg.Node_MergeStmt:
		for _, w := range n.MergeStmt.MergeWhenClauses {
			if err := needsMarker(w.GetMergeWhenClause().Condition); err != nil {
				return err
			}
		}
		return nil
	case *pg.Node_SelectStmt:
		if !writingCall(n.SelectStmt) {
			return nil
		}
		return guardedSource(n.SelectStmt, false)
	}
	return fmt.Errorf("it is %T", n.Node)
}

func writingCall(n any) bool {
	found := false
	walk(n, func(m any) bool {
		if call, ok := m.(*pg.FuncCall); ok && !isHarmless(functionName(call)) {
			found = true
		}
		return true
	})
	return found
}

// guardedSource checks that a SELECT gives no row without the marker.
func guardedSource(n *pg.SelectStmt, insert bool) error {
	switch {
	case n == nil, n.Op != pg.SetOperation_SETOP_NONE, len(n.ValuesLists) > 0:
		return errors.New("it is no simple SELECT")
	case len(n.GroupClause) == 0 && n.HavingClause != nil:
		return errors.New("HAVING alone gives a row")
	}
	for _, g := range n.GroupClause {
		if g.GetGroupingSet() != nil {
			return errors.New("a grouping set gives a row")
		}
	}
	if len(n.GroupClause) == 0 {
		aggregates, own := 0, 0
		for _, call := range outputCalls(n) {
			switch class := builtinClass()[functionName(call)]; {
			case call.Over != nil:
			case class == 'a':
				aggregates++
			case class == 0:
				own++
			}
		}
		if aggregates > 0 || insert && own > 0 || own > 1 {
			return errors.New("an aggregate gives a row")
		}
	}
	if len(n.FromClause) == 1 && n.FromClause[0].GetRangeVar().GetRelname() == markerName {
		return nil
	}
	return needsMarker(n.WhereClause)
}

// needsMarker checks that a condition is false without a row of the marker: it is the guard, or an AND with it.
func needsMarker(n *pg.Node) error {
	if and := n.GetBoolExpr(); and.GetBoolop() == pg.BoolExprType_AND_EXPR {
		for _, arg := range and.Args {
			if needsMarker(arg) == nil {
				return nil
			}
		}
	}
	link := n.GetSubLink()
	if link.GetSubLinkType() != pg.SubLinkType_EXISTS_SUBLINK {
		return errors.New("its condition does not need the marker")
	}
	inner := link.Subselect.GetSelectStmt()
	if len(inner.GetFromClause()) != 1 || inner.FromClause[0].GetRangeVar().GetRelname() != markerName || inner.FromClause[0].GetRangeVar().Schemaname != "" ||
		inner.WithClause != nil || inner.HavingClause != nil || len(outputCalls(inner)) > 0 {
		return errors.New("its EXISTS does not ask for the marker")
	}
	return nil
}
