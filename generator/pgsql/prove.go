package pgsql

import (
	"fmt"
	"reflect"
	"sync"

	pg "github.com/sqlc-dev/oliphant"
)

// prove parses the parts of the user's statement as they are spliced, and compares their trees with what guardNode makes of
// the user's tree. The two are reached by different ways, bytes and nodes, so that a splice at a wrong place can't go
// unnoticed. A statement whose trees differ is treated as one that can't be guarded. What stands around the parts is the
// same for every statement; each part ends before what follows it, since it is whole by itself.
func (c *composition) prove(p parts) error {
	user, err := parseOne(splice(c.s.Source, 0, c.s.end(), c.s.numbering(c.first)))
	if err != nil {
		return err
	}
	with := withClause(user)
	setWithClause(user, nil)
	guarded := c.marker != ""
	if guarded {
		guardNode(user)
	}
	if !c.s.returning && c.s.Kind != Select {
		setReturningOne(user)
	}
	if err := mustBe(p.main, user); err != nil || with == nil {
		return err
	}
	for _, cte := range with.Ctes {
		if query := cte.GetCommonTableExpr().Ctequery; guarded && modifies(query) {
			guardNode(query)
		}
	}
	return mustBe(p.with()+" SELECT", &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		WithClause: with, LimitOption: emptySelect().LimitOption, Op: emptySelect().Op,
	}}})
}

// mustBe parses text and compares its tree with the one that it must have.
func mustBe(text string, want *pg.Node) error {
	actual, err := parseOne(text)
	if err != nil {
		return err
	}
	if !same(reflect.ValueOf(actual), reflect.ValueOf(want)) {
		return &Unguardable{"its guard could not be proven in place"}
	}
	return nil
}

// guardNode makes the statement act only when the marker was written.
func guardNode(n *pg.Node) {
	switch n := n.Node.(type) {
	case *pg.Node_UpdateStmt:
		n.UpdateStmt.WhereClause = guarded(n.UpdateStmt.WhereClause)
	case *pg.Node_DeleteStmt:
		n.DeleteStmt.WhereClause = guarded(n.DeleteStmt.WhereClause)
	case *pg.Node_InsertStmt:
		source := n.InsertStmt.SelectStmt.GetSelectStmt()
		if len(source.ValuesLists) == 0 {
			source.WhereClause = guarded(source.WhereClause)
			return
		}
		for _, v := range source.ValuesLists[0].GetList().Items {
			source.TargetList = append(source.TargetList, pg.MakeResTargetNodeWithVal(v, 0))
		}
		source.ValuesLists = nil
		source.FromClause = []*pg.Node{markerRange()}
	case *pg.Node_MergeStmt:
		for _, w := range n.MergeStmt.MergeWhenClauses {
			clause := w.GetMergeWhenClause()
			clause.Condition = guarded(clause.Condition)
		}
	case *pg.Node_SelectStmt:
		if len(n.SelectStmt.FromClause) == 0 {
			n.SelectStmt.FromClause = []*pg.Node{markerRange()}
			return
		}
		n.SelectStmt.WhereClause = guarded(n.SelectStmt.WhereClause)
	}
}

// guarded returns condition AND the guard, as the grammar builds it: AND of an AND is one list.
func guarded(condition *pg.Node) *pg.Node {
	guard := existsMarker().GetSelectStmt().WhereClause
	if condition == nil {
		return guard
	}
	if and := condition.GetBoolExpr(); and.GetBoolop() == pg.BoolExprType_AND_EXPR {
		and.Args = append(and.Args, guard)
		return condition
	}
	return pg.MakeBoolExprNode(pg.BoolExprType_AND_EXPR, []*pg.Node{condition, guard}, 0)
}

func markerRange() *pg.Node {
	return fromMarker().GetSelectStmt().FromClause[0]
}

func setReturningOne(n *pg.Node) {
	one := returningOne().GetDeleteStmt().ReturningClause
	switch n := n.Node.(type) {
	case *pg.Node_InsertStmt:
		n.InsertStmt.ReturningClause = one
	case *pg.Node_UpdateStmt:
		n.UpdateStmt.ReturningClause = one
	case *pg.Node_DeleteStmt:
		n.DeleteStmt.ReturningClause = one
	case *pg.Node_MergeStmt:
		n.MergeStmt.ReturningClause = one
	}
}

func parseOne(sql string) (*pg.Node, error) {
	result, err := pg.Parse(sql)
	if err != nil {
		return nil, &Unguardable{fmt.Sprintf("its guarded form does not parse (%v)", err)}
	}
	if len(result.Stmts) != 1 {
		return nil, &Unguardable{"its guarded form is not one statement"}
	}
	return result.Stmts[0].Stmt, nil
}

// Pieces of tree that are hung into others; they are read, never changed.
var (
	existsMarker = sync.OnceValue(func() *pg.Node { return parsed("SELECT WHERE " + guardCondition) })
	fromMarker   = sync.OnceValue(func() *pg.Node { return parsed("SELECT FROM " + markerName) })
	emptySelect  = sync.OnceValue(func() *pg.SelectStmt { return parsed("SELECT").GetSelectStmt() })
	returningOne = sync.OnceValue(func() *pg.Node { return parsed("DELETE FROM t RETURNING 1") })
)

// parsed parses a fixed text of ours.
func parsed(sql string) *pg.Node {
	n, err := parseOne(sql)
	if err != nil {
		panic("pgsql: " + sql + ": " + err.Error())
	}
	return n
}
