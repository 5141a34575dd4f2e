package pgsql

import (
	"slices"

	pg "github.com/sqlc-dev/oliphant"
)

// parameter is one $n: the occurrences that share a number.
type parameter struct {
	name        string
	cast        string // the type that all of its occurrences stand in a cast to, or ""
	occurrences []int  // indexes into Statement.params
}

// groupParameters decides which occurrences of a name share a number, counting from where they first stand.
func (s *Statement) groupParameters() []parameter {
	n := numbers{names: map[int]string{}, of: map[int]int{}, shared: map[string]int{}, kept: map[string]bool{}}
	for _, o := range s.params {
		n.names[o.start] = o.name
	}
	n.statement(s.node)
	casts := castsOf(s.node)
	var out []parameter
	at := map[int]int{}
	for i, o := range s.params {
		number := n.of[o.start]
		if _, ok := at[number]; !ok {
			at[number] = len(out)
			out = append(out, parameter{name: o.name, cast: casts[o.start]})
		}
		p := &out[at[number]]
		p.occurrences = append(p.occurrences, i)
		if casts[o.start] != p.cast {
			p.cast = ""
		}
	}
	return out
}

// castsOf returns the types of the casts that parameters stand in, by offset.
func castsOf(node *pg.Node) map[int]string {
	casts := map[int]string{}
	walk(node, func(n any) bool {
		if c, ok := n.(*pg.TypeCast); ok {
			if p := c.Arg.GetParamRef(); p != nil {
				casts[int(p.Location)] = typeName(c.TypeName)
			}
		}
		return true
	})
	return casts
}

// typeName returns a type as pg_type has it, with the schema when it is not pg_catalog and [] for an array.
func typeName(t *pg.TypeName) string {
	name := catalogName(t.Names)
	if len(t.ArrayBounds) > 0 {
		name += "[]"
	}
	return name
}

// numbers follows the server through a statement. A number has one type, that of the place which first needs one, so
// occurrences of a name share theirs, as they would by hand.
//
// Only a value that is assigned as it is may have a number of its own, and only where the server meets it before the
// name has a type. All values of a list are read before the first gets its column's type: by hand, columns of other types
// would be an error (42P08), and for columns of one type a number for each changes nothing.
type numbers struct {
	names   map[int]string  // by offset
	of      map[int]int     // by offset
	shared  map[string]int  // what later occurrences of a name share
	kept    map[string]bool // names that share only with casts to text, which is assigned like the value itself
	last    int
	ordered bool // false where the server's order is not known: then no number is an occurrence's own
}

// statement goes through a statement that may modify data, in the server's order.
func (n *numbers) statement(node *pg.Node) {
	with := withClause(node)
	n.ordered = !with.GetRecursive()
	for _, cte := range with.GetCtes() {
		query := cte.GetCommonTableExpr().Ctequery
		n.modifying(query)
		n.read(query)
	}
	n.ordered = true
	n.modifying(node)
	n.read(node)
}

func (n *numbers) modifying(node *pg.Node) {
	switch m := node.Node.(type) {
	case *pg.Node_InsertStmt:
		n.insert(m.InsertStmt)
	case *pg.Node_UpdateStmt:
		n.read(m.UpdateStmt.WithClause)
		n.read(m.UpdateStmt.FromClause)
		n.read(m.UpdateStmt.WhereClause)
		n.read(m.UpdateStmt.ReturningClause)
		n.assign(assigned(m.UpdateStmt.TargetList), map[column]int{})
	case *pg.Node_MergeStmt:
		n.merge(m.MergeStmt)
	}
}

func (n *numbers) insert(m *pg.InsertStmt) {
	n.read(m.WithClause)
	source := m.SelectStmt.GetSelectStmt()
	columns := map[column]int{}
	switch {
	case isGeneral(source):
	case len(source.GetValuesLists()) > 0:
		for _, row := range source.ValuesLists {
			n.assign(row.GetList().GetItems(), columns)
		}
	case source != nil:
		n.read(source.FromClause)
		n.assign(assigned(source.TargetList), columns, source)
	}
	n.read(m.SelectStmt)
	if c := m.OnConflictClause; c != nil {
		n.read(c.Infer)
		n.assign(assigned(c.TargetList), map[column]int{})
	}
}

// isGeneral reports whether an INSERT's source is a query whose columns have their types before the table's are looked at.
func isGeneral(n *pg.SelectStmt) bool {
	return n.GetWithClause() != nil || len(n.GetValuesLists()) > 0 &&
		(n.SortClause != nil || n.LimitCount != nil || n.LimitOffset != nil || n.LockingClause != nil)
}

func (n *numbers) merge(m *pg.MergeStmt) {
	n.read(m.WithClause)
	n.read(m.SourceRelation)
	n.read(m.JoinCondition)
	for _, w := range m.MergeWhenClauses {
		n.read(w.GetMergeWhenClause().Condition)
	}
	for _, w := range m.MergeWhenClauses {
		n.assign(slices.Concat(assigned(w.GetMergeWhenClause().TargetList), w.GetMergeWhenClause().Values), map[column]int{})
	}
}

// column is where in a list a name is assigned.
type column struct {
	name string
	at   int
}

// assign goes through a list of values for columns, and through what the server reads before they get their types. Several
// rows of an INSERT have their columns in common.
func (n *numbers) assign(values []*pg.Node, columns map[column]int, rest ...any) {
	first := map[string]int{}
	for i, v := range values {
		p := v.GetParamRef()
		if p == nil || !n.ordered {
			n.read(v)
			continue
		}
		name := n.names[int(p.Location)]
		number, ok := columns[column{name, i}]
		if _, typed := n.shared[name]; !ok && (!typed || n.kept[name]) {
			n.last++
			number, ok = n.last, true
			columns[column{name, i}] = number
		}
		if !ok {
			n.read(v)
			continue
		}
		n.of[int(p.Location)] = number
		if _, ok := first[name]; !ok {
			first[name] = number
		}
	}
	for _, r := range rest {
		n.read(r)
	}
	for name, number := range first {
		if _, typed := n.shared[name]; !typed {
			n.shared[name] = number
		}
	}
}

// read has every occurrence below a node that has no number yet share that of its name.
func (n *numbers) read(node any) {
	text := map[int]bool{}
	walk(node, func(m any) bool {
		switch m := m.(type) {
		case *pg.TypeCast:
			if p := m.Arg.GetParamRef(); p != nil {
				text[int(p.Location)] = typeName(m.TypeName) == "text" || typeName(m.TypeName) == "varchar"
			}
		case *pg.ParamRef:
			at := int(m.Location)
			if n.of[at] > 0 {
				return true
			}
			name := n.names[at]
			if _, ok := n.shared[name]; !ok {
				n.last++
				n.shared[name] = n.last
				n.kept[name] = true
			}
			n.kept[name] = n.kept[name] && text[at]
			n.of[at] = n.shared[name]
		}
		return true
	})
}

// assigned returns the values of a SET or a SELECT's columns. Those of (a, b) = (x, y) all stand at the first column.
func assigned(targets []*pg.Node) []*pg.Node {
	var out []*pg.Node
	for _, t := range targets {
		v := t.GetResTarget().GetVal()
		m := v.GetMultiAssignRef()
		switch row := m.GetSource().GetRowExpr(); {
		case m == nil:
			out = append(out, v)
		case row != nil && m.Colno == 1:
			out = append(out, row.Args...)
		case row == nil:
			out = append(out, m.Source)
		}
	}
	return out
}
