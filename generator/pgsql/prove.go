package pgsql

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	pg "github.com/sqlc-dev/oliphant"
)

// prove parses text and compares its tree with the one that guardNode makes of the user's tree. The two are reached by
// different ways, bytes and nodes, so that a splice at a wrong place can't go unnoticed. A statement whose trees differ
// is treated as one that can't be guarded.
func (c *composition) prove(text string) error {
	actual, err := parseOne(text)
	if err != nil {
		return err
	}
	want, err := c.tree()
	if err != nil {
		return err
	}
	if !(comparison{c.label}).same(reflect.ValueOf(actual), reflect.ValueOf(want)) {
		return &Unguardable{"its guard could not be proven in place"}
	}
	return nil
}

// tree builds the expected tree, but for the label: a parsed skeleton with the user's guarded statement hung into it.
func (c *composition) tree() (*pg.Node, error) {
	s := c.s
	user, err := parseOne(splice(s.Source, 0, s.end(), s.numbering(c.first)))
	if err != nil {
		return nil, err
	}
	with := withClause(user)
	setWithClause(user, nil)
	guarded := c.marker != ""
	if guarded {
		guardNode(user)
	}
	if !s.returning && s.Kind != Select {
		setReturningOne(user)
	}
	skeleton, err := c.skeleton()
	if err != nil {
		return nil, err
	}
	ours := withClause(skeleton).Ctes
	effect := ours[len(ours)-1].GetCommonTableExpr()
	ctes := slices.Clone(ours[:len(ours)-1])
	for _, cte := range with.GetCtes() {
		if query := cte.GetCommonTableExpr().Ctequery; guarded && modifies(query) {
			guardNode(query)
		}
		ctes = append(ctes, cte)
	}
	ctes = append(ctes, &pg.Node{Node: &pg.Node_CommonTableExpr{CommonTableExpr: &pg.CommonTableExpr{
		Ctename: effect.Ctename, Ctematerialized: effect.Ctematerialized, Ctequery: user,
	}}})
	final := skeleton.GetSelectStmt()
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		WithClause: &pg.WithClause{Ctes: ctes, Recursive: with.GetRecursive()},
		TargetList: final.TargetList, FromClause: final.FromClause, LimitOption: final.LimitOption, Op: final.Op,
	}}}, nil
}

// anyLabel stands for a message's label in a skeleton. Nothing that a label is made of contains a line break.
const anyLabel = "\n"

// skeletons are the generated statements with nothing of the user's in them, by their text. There are few, and each is
// shared by many messages: they are read, never changed.
var skeletons sync.Map // string → *pg.Node

func (c *composition) skeleton() (*pg.Node, error) {
	materialized := ""
	if c.s.Kind == Select {
		materialized = "MATERIALIZED "
	}
	marker := ""
	if c.marker != "" {
		marker = markerName + " AS (" + c.marker + "), "
	}
	same := *c
	same.label = anyLabel
	text := "WITH " + marker + effectName + " AS " + materialized + "(SELECT 1) " + same.finalSelect()
	if n, ok := skeletons.Load(text); ok {
		return n.(*pg.Node), nil
	}
	n, err := parseOne(text)
	if err == nil {
		skeletons.Store(text, n)
	}
	return n, err
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
