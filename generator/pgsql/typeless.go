package pgsql

import (
	"slices"

	pg "github.com/sqlc-dev/oliphant"
)

// Integers lists the parameters without a cast that PostgreSQL takes for integers, because they stand among nothing but
// whole numbers: of @x > 1 or COALESCE(@x, 0).
func (s *Statement) Integers() []Reference {
	var at []int32
	walk(s.node, func(n any) bool {
		var params []int32
		whole := false
		for _, o := range operands(n) {
			switch {
			case o.GetParamRef() != nil:
				params = append(params, o.GetParamRef().Location)
			case isWholeNumber(o):
				whole = true
			default:
				return true
			}
		}
		if whole {
			at = append(at, params...)
		}
		return true
	})
	return s.referencesAt(at)
}

// Typeless lists the parameters whose type PostgreSQL can't tell, since none of their places has one: of - @x, @x + @y,
// @x IS NULL and concat(@x).
func (s *Statement) Typeless() []Reference {
	typeless := map[int32]bool{}
	walk(s.node, func(n any) bool {
		args := operands(n)
		switch n := n.(type) {
		case *pg.NullTest:
			args = []*pg.Node{n.Arg}
		case *pg.FuncCall:
			for _, a := range anyArguments(n) {
				if p := a.GetParamRef(); p != nil {
					typeless[p.Location] = true
				}
			}
			return true
		}
		if slices.ContainsFunc(args, func(a *pg.Node) bool { return a.GetParamRef() == nil }) {
			return true
		}
		for _, a := range args {
			typeless[a.GetParamRef().Location] = true
		}
		return true
	})
	var at []int32
	for _, p := range s.parameters {
		if !slices.ContainsFunc(p.occurrences, func(o int) bool { return !typeless[int32(s.params[o].start)] }) {
			at = append(at, int32(s.params[p.occurrences[0]].start))
		}
	}
	return s.referencesAt(at)
}

// operands returns the expressions that get one type with one another.
func operands(n any) []*pg.Node {
	switch n := n.(type) {
	case *pg.A_Expr:
		return operatorOperands(n)
	case *pg.CoalesceExpr:
		return n.Args
	case *pg.MinMaxExpr:
		return n.Args
	case *pg.CaseExpr:
		var out []*pg.Node
		for _, w := range n.Args {
			out = append(out, w.GetCaseWhen().GetResult())
		}
		if n.Defresult != nil {
			out = append(out, n.Defresult)
		}
		return out
	}
	return nil
}

func operatorOperands(n *pg.A_Expr) []*pg.Node {
	switch n.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT, pg.A_Expr_Kind_AEXPR_NULLIF:
		if n.Lexpr == nil {
			return []*pg.Node{n.Rexpr}
		}
		return []*pg.Node{n.Lexpr, n.Rexpr}
	case pg.A_Expr_Kind_AEXPR_IN, pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return append([]*pg.Node{n.Lexpr}, n.Rexpr.GetList().GetItems()...)
	}
	return nil
}

// isWholeNumber reports whether n is an integer as it is written, with or without a sign.
func isWholeNumber(n *pg.Node) bool {
	if e := n.GetAExpr(); e != nil && e.Kind == pg.A_Expr_Kind_AEXPR_OP && e.Lexpr == nil {
		return isWholeNumber(e.Rexpr)
	}
	_, ok := n.GetAConst().GetVal().(*pg.A_Const_Ival)
	return ok
}

// anyArguments returns the arguments of a function that may be of any type: it gives a parameter there none.
func anyArguments(f *pg.FuncCall) []*pg.Node {
	switch catalogName(f.Funcname) {
	case "concat_ws", "format":
		return f.Args[min(1, len(f.Args)):]
	case "concat", "json_build_array", "json_build_object", "jsonb_build_array", "jsonb_build_object",
		"num_nonnulls", "num_nulls", "to_json", "to_jsonb":
		return f.Args
	}
	return nil
}

// referencesAt names the parameters at places, in the order of the text.
func (s *Statement) referencesAt(at []int32) []Reference {
	var out []Reference
	for _, p := range s.params {
		if slices.Contains(at, int32(p.start)) {
			out = append(out, Reference{p.name, p.start})
		}
	}
	return out
}
