package pgsql

import (
	pg "github.com/sqlc-dev/oliphant"
)

const guardCondition = "EXISTS (SELECT 1 FROM " + markerName + ")"

// guardEdits returns the edits that make the statement, and each of its WITH queries that modifies data, act only when
// the marker was written. What they do to the tree is guardNode; composition.prove compares the two.
func (s *Statement) guardEdits() ([]edit, error) {
	var edits []edit
	for _, n := range withClause(s.node).GetCtes() {
		cte := n.GetCommonTableExpr()
		if !modifies(cte.Ctequery) {
			continue
		}
		from, to := s.cteBody(cte)
		guards, err := s.guardRange(cte.Ctequery, from, to)
		if err != nil {
			return nil, err
		}
		edits = append(edits, guards...)
	}
	main := s.tokenAt(s.withParts().main)
	guards, err := s.guardRange(s.node, main, len(s.tokens))
	return append(edits, guards...), err
}

// guardRange guards the statement whose tokens are [from,to).
func (s *Statement) guardRange(n *pg.Node, from, to int) ([]edit, error) {
	if from >= to || !isVerb(s.tokens[from].kind) {
		return nil, &Unguardable{"it is not written as a plain SELECT"}
	}
	switch n := n.Node.(type) {
	case *pg.Node_InsertStmt:
		return s.guardInsert(n.InsertStmt, from, to)
	case *pg.Node_MergeStmt:
		return s.guardMerge(n.MergeStmt, from, to), nil
	case *pg.Node_SelectStmt:
		if len(n.SelectStmt.FromClause) == 0 {
			at := s.find(from, to, endsFrom)
			return []edit{s.insertAfter(at-1, "\nFROM "+markerName)}, nil
		}
		return s.guardWhere(from, to, endsWhere), nil
	default:
		return s.guardWhere(from, to, func(k pg.Token) bool { return k == pg.Token_RETURNING }), nil
	}
}

// guardWhere adds the guard to the WHERE between from and to, or writes one before the clause that ends it.
func (s *Statement) guardWhere(from, to int, ends func(pg.Token) bool) []edit {
	where := s.find(from, to, func(k pg.Token) bool { return k == pg.Token_WHERE })
	end := s.clauseEnd(from, to, ends)
	if where >= end {
		return []edit{s.insertAfter(end-1, "\nWHERE "+guardCondition)}
	}
	open := s.tokens[where+1].start
	return []edit{
		{open, open, "("},
		s.insertAfter(end-1, ") AND "+guardCondition),
	}
}

func (s *Statement) guardInsert(n *pg.InsertStmt, from, to int) ([]edit, error) {
	source := n.SelectStmt.GetSelectStmt()
	if len(source.ValuesLists) > 0 {
		return s.guardValues(from, to)
	}
	start := s.find(from, to, func(k pg.Token) bool { return k == pg.Token_SELECT })
	if start == to {
		return nil, &Unguardable{"its rows are not written as a plain SELECT"}
	}
	return s.guardWhere(start, to, endsWhere), nil
}

// guardValues turns VALUES (a, b) into SELECT a, b FROM the marker.
func (s *Statement) guardValues(from, to int) ([]edit, error) {
	values := s.find(from, to, func(k pg.Token) bool { return k == pg.Token_VALUES })
	if values == to {
		return nil, &Unguardable{"its rows are not written as plain VALUES"}
	}
	keyword, open := s.tokens[values], s.tokens[values+1]
	last := s.tokens[s.closing(values+1)]
	space := ""
	if open.start == keyword.end {
		space = " "
	}
	return []edit{
		{keyword.start, keyword.end, "SELECT"},
		{open.start, open.end, space},
		{last.start, last.end, " FROM " + markerName},
	}, nil
}

// guardMerge adds the guard to every WHEN, so that no branch acts, whatever matched.
func (s *Statement) guardMerge(n *pg.MergeStmt, from, to int) []edit {
	var edits []edit
	at := from
	for _, w := range n.MergeWhenClauses {
		at = s.find(at, to, func(k pg.Token) bool { return k == pg.Token_WHEN })
		then := s.find(at, to, func(k pg.Token) bool { return k == pg.Token_THEN })
		if w.GetMergeWhenClause().Condition != nil {
			and := s.find(at, then, func(k pg.Token) bool { return k == pg.Token_AND })
			open := s.tokens[and+1].start
			edits = append(edits, edit{open, open, "("}, s.insertAfter(then-1, ") AND "+guardCondition))
		} else {
			edits = append(edits, s.insertAfter(then-1, " AND "+guardCondition))
		}
		at = then
	}
	return edits
}

func (s *Statement) insertAfter(i int, text string) edit {
	return edit{s.tokens[i].end, s.tokens[i].end, text}
}

// find returns the index of the first token in [from,to) that matches outside parentheses and CASE and is not a name
// after a dot or AS, or to.
func (s *Statement) find(from, to int, match func(pg.Token) bool) int {
	depth := 0
	for i := from; i < to; i++ {
		switch k := s.tokens[i].kind; {
		case k == pg.Token_ASCII_40, k == pg.Token_ASCII_91, k == pg.Token_CASE && !s.isLabel(i):
			depth++
		case k == pg.Token_ASCII_41, k == pg.Token_ASCII_93, k == pg.Token_END_P && depth > 0 && !s.isLabel(i):
			depth--
		case depth == 0 && match(k) && !s.isLabel(i):
			return i
		}
	}
	return to
}

// isLabel reports whether the token is used as a name, which a keyword may be after a dot or AS.
func (s *Statement) isLabel(i int) bool {
	if i == 0 {
		return false
	}
	k := s.tokens[i-1].kind
	return k == pg.Token_ASCII_46 || k == pg.Token_AS
}

// clauseEnd returns the index of the first token that ends the WHERE clause's place, or to.
func (s *Statement) clauseEnd(from, to int, ends func(pg.Token) bool) int {
	for at := from; ; at++ {
		at = s.find(at, to, ends)
		if at == to || !s.isAmbiguous(at) {
			return at
		}
	}
}

// isAmbiguous reports whether the token only looks like the start of a clause: GROUP of WITHIN GROUP, ON of a join.
func (s *Statement) isAmbiguous(i int) bool {
	next := pg.Token_NUL
	if i+1 < len(s.tokens) {
		next = s.tokens[i+1].kind
	}
	switch s.tokens[i].kind {
	case pg.Token_GROUP_P:
		return next != pg.Token_BY
	case pg.Token_ON:
		return next != pg.Token_CONFLICT
	}
	return false
}

func endsWhere(k pg.Token) bool {
	switch k {
	case pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_WINDOW, pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT,
		pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH, pg.Token_FOR, pg.Token_ON, pg.Token_RETURNING:
		return true
	}
	return false
}

func endsFrom(k pg.Token) bool { return k == pg.Token_WHERE || endsWhere(k) }

// closing returns the index of the parenthesis that closes the one at i.
func (s *Statement) closing(i int) int {
	depth := 0
	for ; i < len(s.tokens); i++ {
		switch s.tokens[i].kind {
		case pg.Token_ASCII_40:
			depth++
		case pg.Token_ASCII_41:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s.tokens) - 1
}

// tokenAt returns the index of the token that starts at offset.
func (s *Statement) tokenAt(offset int) int {
	for i, t := range s.tokens {
		if t.start == offset {
			return i
		}
	}
	return len(s.tokens)
}

// cteBody returns the tokens between the parentheses of a WITH query.
func (s *Statement) cteBody(cte *pg.CommonTableExpr) (from, to int) {
	name := s.tokenAt(int(cte.Location))
	as := s.find(name+1, len(s.tokens), func(k pg.Token) bool { return k == pg.Token_AS })
	open := as
	for open < len(s.tokens)-1 && s.tokens[open].kind != pg.Token_ASCII_40 {
		open++
	}
	return open + 1, s.closing(open)
}
