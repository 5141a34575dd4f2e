package pgsql

import (
	"slices"
	"strings"

	pg "github.com/sqlc-dev/oliphant"
)

// token is a lexical token of the user's SQL, at byte offsets; comments are left out.
type token struct {
	start, end int
	kind       pg.Token
}

// occurrence is one place where a parameter stands, with its leading @.
type occurrence struct {
	start, end int
	name       string
}

// scan tokenizes sql with PostgreSQL's own lexer, so that strings, quoted identifiers, dollar quotes and comments hide
// what is in them, and joins @name and @name.path into parameter tokens.
//
// An operator that ends in @ right before a name is read as the rest of it before a parameter, unless that leaves a doubt.
func (s *Schema) scan(sql string) ([]token, []occurrence, []Problem) {
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return nil, nil, []Problem{{i, i + 1, "sql-syntax", "there is a NUL here, where PostgreSQL would end the statement; remove it"}}
	}
	result, err := pg.Scan(sql)
	if err != nil {
		return nil, nil, []Problem{syntaxProblem(sql, nil, err)}
	}
	raw := slices.DeleteFunc(result.Tokens, func(t *pg.ScanToken) bool {
		return t.Token == pg.Token_SQL_COMMENT || t.Token == pg.Token_C_COMMENT
	})
	var (
		tokens   []token
		params   []occurrence
		problems []Problem
	)
	for i := 0; i < len(raw); i++ {
		t := token{start: int(raw[i].Start), end: int(raw[i].End), kind: raw[i].Token}
		text := sql[t.start:t.end]
		switch {
		case t.kind == pg.Token_PARAM:
			problems = append(problems, Problem{
				t.start, t.end, "numbered-parameter",
				text + " is not a parameter here; write @ and the field's name, such as @amount",
			})
		case strings.HasSuffix(text, "@") && isOperator(t.kind, text) && i+1 < len(raw) && isName(sql, raw[i+1], t.end):
			last := pathEnd(sql, raw, i+1)
			name := sql[t.end:raw[last].End]
			switch {
			case text == "@":
			case s.hasOperator(text) || !s.hasOperator(text[:len(text)-1]):
				problems = append(problems, gluedOperator(t.start, int(raw[last].End), text, name))
			default:
				tokens = append(tokens, token{t.start, t.end - 1, t.kind})
				t.start = t.end - 1
			}
			if text == "@" && i > 0 && int(raw[i-1].End) == t.start && isWord(sql, raw[i-1]) {
				problems = append(problems, gluedWord(raw[i-1], int(raw[last].End), sql))
			}
			t.end, t.kind, i = int(raw[last].End), pg.Token_PARAM, last
			params = append(params, occurrence{t.end - len(name) - 1, t.end, name})
		}
		tokens = append(tokens, t)
	}
	return tokens, params, problems
}

func isOperator(kind pg.Token, text string) bool {
	return kind == pg.Token_Op || text == "@"
}

// isName reports whether t is an unquoted name that starts exactly at offset.
func isName(sql string, t *pg.ScanToken, offset int) bool {
	isWord := t.Token == pg.Token_IDENT || t.KeywordKind != pg.KeywordKind_NO_KEYWORD
	return isWord && int(t.Start) == offset && !strings.Contains(sql[t.Start:t.End], `"`)
}

// pathEnd returns the index of the last token of the dotted path that begins with the name at raw[i].
func pathEnd(sql string, raw []*pg.ScanToken, i int) int {
	for i+2 < len(raw) && sql[raw[i+1].Start:raw[i+1].End] == "." &&
		raw[i+1].Start == raw[i].End && isName(sql, raw[i+2], int(raw[i+1].End)) {
		i += 2
	}
	return i
}

func gluedOperator(start, end int, operator, name string) Problem {
	rest := strings.TrimSuffix(operator, "@")
	return Problem{
		start, end, "ambiguous-parameter",
		operator + name + " can be read as the operator " + operator + " before " + name + " or as " + rest +
			" before the parameter @" + name + "; write " + rest + " @" + name + " or " + operator + " " + name,
	}
}

// isWord reports whether what is written right behind t would become a part of it.
func isWord(sql string, t *pg.ScanToken) bool {
	last := sql[t.End-1]
	return last == '_' || last == '$' || last >= 0x80 || '0' <= last && last <= '9' || 'a' <= last|0x20 && last|0x20 <= 'z'
}

func gluedWord(word *pg.ScanToken, end int, sql string) Problem {
	left, right := sql[word.Start:word.End], sql[word.End:end]
	return Problem{
		int(word.Start), end, "ambiguous-parameter",
		left + right + " has no space before the parameter " + right + "; write " + left + " " + right,
	}
}

// isFused reports whether a problem is that a word runs into a parameter, which then is no parameter to the parser.
func isFused(sql string, p Problem) bool {
	return p.Rule == "ambiguous-parameter" && !strings.ContainsRune("+-*/<>=~!@#%^&|`?", rune(sql[p.Start]))
}

// masked returns sql with each parameter replaced by $1 and padded with spaces, so that the parser's offsets are those
// of the user's text.
func masked(sql string, params []occurrence) string {
	if len(params) == 0 {
		return sql
	}
	out := []byte(sql)
	for _, p := range params {
		copy(out[p.start:], "$1"+strings.Repeat(" ", p.end-p.start-2))
	}
	return string(out)
}
