package pgsql

import (
	"reflect"
	"strings"
	"sync"

	pg "github.com/sqlc-dev/oliphant"
)

// shape is what of a node's Go type the tree is made of: not positions, not the protobuf runtime's own fields.
type shape struct {
	fields []int
	below  []int // those of fields that messages can stand in
}

var shapes sync.Map // reflect.Type → *shape

// shapeOf is reflection over Go structs because protobuf's own visits all of the 270 kinds a node can be, for each node.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := new(shape)
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Type.Kind() == reflect.Int32 && isLocation(f.Name) {
			continue
		}
		s.fields = append(s.fields, i)
		switch f.Type.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Slice:
			s.below = append(s.below, i)
		}
	}
	shapes.Store(t, s)
	return s
}

func isLocation(field string) bool {
	return strings.HasSuffix(field, "Location") || strings.HasSuffix(field, "ListStart") ||
		strings.HasSuffix(field, "ListEnd") || field == "StmtLen"
}

// walk calls visit for every message of the tree below n, parents first; visit returns false to leave out what is
// below. Messages are pointers to the parser's structs.
func walk(n any, visit func(any) bool) { walkValue(reflect.ValueOf(n), visit) }

func walkValue(v reflect.Value, visit func(any) bool) {
	switch v.Kind() {
	case reflect.Interface:
		walkValue(v.Elem(), visit)
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct || !visit(v.Interface()) {
			return
		}
		if n, ok := v.Interface().(*pg.Node); ok {
			walkValue(content(n), visit)
			return
		}
		for _, i := range shapeOf(v.Type().Elem()).below {
			walkValue(v.Elem().Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkValue(v.Index(i), visit)
		}
	}
}

// content returns what a node is of, past the wrapper that protobuf has for each of the 270 kinds.
func content(n *pg.Node) reflect.Value {
	if n.Node == nil {
		return reflect.Value{}
	}
	return reflect.ValueOf(n.Node).Elem().Field(0)
}

// same reports whether two trees differ in nothing but positions.
func same(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return !a.IsValid() && !b.IsValid()
	}
	switch a.Kind() {
	case reflect.Interface:
		return same(a.Elem(), b.Elem())
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		if n, ok := a.Interface().(*pg.Node); ok {
			return same(content(n), content(b.Interface().(*pg.Node)))
		}
		return same(a.Elem(), b.Elem())
	case reflect.Struct:
		for _, i := range shapeOf(a.Type()).fields {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	default:
		return a.Equal(b)
	}
}

// withClause returns the statement's own WITH, or nil.
func withClause(n *pg.Node) *pg.WithClause {
	switch n := n.GetNode().(type) {
	case *pg.Node_InsertStmt:
		return n.InsertStmt.WithClause
	case *pg.Node_UpdateStmt:
		return n.UpdateStmt.WithClause
	case *pg.Node_DeleteStmt:
		return n.DeleteStmt.WithClause
	case *pg.Node_MergeStmt:
		return n.MergeStmt.WithClause
	case *pg.Node_SelectStmt:
		return n.SelectStmt.WithClause
	}
	return nil
}

// setWithClause sets the statement's own WITH.
func setWithClause(n *pg.Node, with *pg.WithClause) {
	switch n := n.GetNode().(type) {
	case *pg.Node_InsertStmt:
		n.InsertStmt.WithClause = with
	case *pg.Node_UpdateStmt:
		n.UpdateStmt.WithClause = with
	case *pg.Node_DeleteStmt:
		n.DeleteStmt.WithClause = with
	case *pg.Node_MergeStmt:
		n.MergeStmt.WithClause = with
	case *pg.Node_SelectStmt:
		n.SelectStmt.WithClause = with
	}
}

// target returns the table a data-modifying statement writes, or nil.
func target(n *pg.Node) *pg.RangeVar {
	switch n := n.GetNode().(type) {
	case *pg.Node_InsertStmt:
		return n.InsertStmt.Relation
	case *pg.Node_UpdateStmt:
		return n.UpdateStmt.Relation
	case *pg.Node_DeleteStmt:
		return n.DeleteStmt.Relation
	case *pg.Node_MergeStmt:
		return n.MergeStmt.Relation
	}
	return nil
}

func modifies(n *pg.Node) bool { return target(n) != nil }

// kindOf returns the kind of a statement that modifies data, or "".
func kindOf(n *pg.Node) Kind {
	switch n.GetNode().(type) {
	case *pg.Node_InsertStmt:
		return Insert
	case *pg.Node_UpdateStmt:
		return Update
	case *pg.Node_DeleteStmt:
		return Delete
	case *pg.Node_MergeStmt:
		return Merge
	}
	return ""
}

// returns reports whether a statement that modifies data has a RETURNING.
func returns(n *pg.Node) bool {
	return n.GetInsertStmt().GetReturningClause() != nil || n.GetUpdateStmt().GetReturningClause() != nil ||
		n.GetDeleteStmt().GetReturningClause() != nil || n.GetMergeStmt().GetReturningClause() != nil
}

// writes lists the tables that the statement and its WITH queries modify.
func writes(n *pg.Node) []Table {
	var out []Table
	for _, cte := range withClause(n).GetCtes() {
		out = append(out, writes(cte.GetCommonTableExpr().Ctequery)...)
	}
	if t := target(n); t != nil {
		out = append(out, Table{Schema: t.Schemaname, Name: t.Relname, By: kindOf(n), Offset: int(t.Location)})
	}
	return out
}
