package pgsql

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
	if stmt := reflect.ValueOf(n.Node).Elem().Field(0).Elem(); modifies(n) || hasMarker(n) {
		if name := strayCall(stmt); name != "" {
			return fmt.Errorf("%s is called where no row has come yet", name)
		}
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
		if !hasWriter(reflect.ValueOf(n.SelectStmt)) {
			return nil
		}
		return guardedSource(n.SelectStmt, false)
	}
	return fmt.Errorf("it is %T", n.Node)
}

// perRow are the fields of a statement that are computed once for each row it acts on.
var perRow = []string{"TargetList", "ReturningClause", "ValuesLists", "Values"}

// strayCall returns a function that may write and is called elsewhere, or "".
func strayCall(stmt reflect.Value) string {
	for i := range stmt.NumField() {
		field, v := stmt.Type().Field(i), stmt.Field(i)
		switch {
		case !field.IsExported():
			continue
		case field.Name == "MergeWhenClauses":
			for _, w := range v.Interface().([]*pg.Node) {
				if name := strayCall(reflect.ValueOf(w.GetMergeWhenClause()).Elem()); name != "" {
					return name
				}
			}
			continue
		case field.Name == "OnConflictClause" && !v.IsNil():
			if name := strayCall(v.Elem()); name != "" {
				return name
			}
			continue
		case field.Name == "SelectStmt" && !v.IsNil():
			if name := strayCall(reflect.ValueOf(v.Interface().(*pg.Node).GetSelectStmt()).Elem()); name != "" {
				return name
			}
			continue
		}
		if name := writerBelow(v, slices.Contains(perRow, field.Name)); name != "" {
			return name
		}
	}
	return ""
}

func hasWriter(v reflect.Value) bool { return writerBelow(v, false) != "" }

// writerBelow returns a function below v that may write and is not computed once for each row, or "".
func writerBelow(v reflect.Value, row bool) string {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return writerBelow(v.Elem(), row)
	case reflect.Slice:
		for i := range v.Len() {
			if name := writerBelow(v.Index(i), row); name != "" {
				return name
			}
		}
	case reflect.Struct:
		if name := calledBy(v.Addr().Interface()); name != "" && !row && !strings.Contains("han", classOf(name)) {
			return name
		}
		switch v.Addr().Interface().(type) {
		case *pg.SubLink, *pg.WindowDef:
			row = false
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if name := writerBelow(v.Field(i), row); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// calledBy returns what a node calls, as builtins.txt has it, or "".
func calledBy(n any) string {
	var names []*pg.Node
	switch n := n.(type) {
	case *pg.FuncCall:
		names = n.Funcname
	case *pg.SubLink:
		names = n.OperName
	case *pg.SortBy:
		names = n.UseOp
	case *pg.A_Expr:
		names = n.Name
		if strings.Contains(names[0].GetString_().Sval, "BETWEEN") {
			return "="
		}
	}
	switch {
	case len(names) == 1:
		return names[0].GetString_().Sval
	case len(names) == 2 && names[0].GetString_().Sval == "pg_catalog":
		return names[1].GetString_().Sval
	case len(names) > 1:
		return "a name with a schema"
	}
	return ""
}

func classOf(name string) string {
	i := strings.Index(builtins, " "+name+"\n")
	if i < 0 {
		return "unknown"
	}
	return builtins[i-1 : i]
}

// mayAggregate counts, below v, the aggregates, the functions that are not PostgreSQL's, and others that may write.
func mayAggregate(n any, subqueries bool) (known, own, writers int) {
	walk(n, func(m any) bool {
		switch m := m.(type) {
		case *pg.SubLink:
			return subqueries
		case *pg.JsonArrayAgg:
			if m.Constructor.GetOver() == nil {
				known++
			}
		case *pg.JsonObjectAgg:
			if m.Constructor.GetOver() == nil {
				known++
			}
		case *pg.FuncCall:
			switch class := classOf(calledBy(m)); {
			case class == "v":
				writers++
			case class == "a" && m.Over == nil:
				known++
			case class == "unknown" && m.Over == nil:
				own++
			}
		}
		return true
	})
	return known, own, writers
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
		outer := len(n.FromClause) > 0 && !isMarker(n.FromClause)
		known, own, writers := 0, 0, 0
		for _, part := range slices.Concat(n.TargetList, n.SortClause, n.DistinctClause, n.WindowClause) {
			k, o, w := mayAggregate(part, outer)
			known, own, writers = known+k, own+o, writers+w
		}
		if known > 0 || own > 0 && (insert || own+writers > 1) {
			return errors.New("an aggregate gives a row")
		}
	}
	if isMarker(n.FromClause) {
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
	if !isMarker(inner.GetFromClause()) || inner.WithClause != nil || inner.HavingClause != nil || inner.GroupClause != nil ||
		len(inner.TargetList) != 1 || inner.TargetList[0].GetResTarget().Val.GetAConst() == nil {
		return errors.New("its EXISTS does not ask for the marker")
	}
	return nil
}

func hasMarker(n *pg.Node) bool {
	s := n.GetSelectStmt()
	return isMarker(s.GetFromClause()) || needsMarker(s.GetWhereClause()) == nil
}

func isMarker(from []*pg.Node) bool {
	return len(from) == 1 && from[0].GetRangeVar().GetRelname() == markerName && from[0].GetRangeVar().Schemaname == ""
}
