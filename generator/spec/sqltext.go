package spec

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/inboxgen/inboxgen/generator/diag"
)

const (
	sqlRule   = "sql-scalar"
	sqlAdvice = ": write | after the key and the statement below it, indented"
)

// sqlBlock is a statement that changes data: as a block, where nothing of it can get lost.
func sqlBlock(name string, into **Text) key {
	return sqlKey(name, into, func(d *decoder, v value) (*Text, bool) {
		if v.node.Style == 0 {
			d.Errorf(d.pos(v.node), sqlRule, `%s can't be a plain value, which YAML cuts at " #"`+sqlAdvice, v.name)
			if d.restOfLine(v.node) != v.node.Value {
				return nil, false
			}
		}
		return d.sql(v)
	})
}

// sqlLine is a statement of an example, which may also be a plain value when all of the line belongs to it.
func sqlLine(name string, into **Text) key {
	return sqlKey(name, into, func(d *decoder, v value) (*Text, bool) {
		if v.node.Style == 0 && d.restOfLine(v.node) != v.node.Value {
			d.Errorf(d.pos(v.node), sqlRule, `%s can't be a plain value with a " #" or a line break in it, or with something behind it`+sqlAdvice, v.name)
			return nil, false
		}
		return d.sql(v)
	})
}

func sqlKey(name string, into **Text, read func(*decoder, value) (*Text, bool)) key {
	return key{
		name:  name,
		unset: func(diag.Position) {},
		read: func(d *decoder, v value) {
			if isNull(v.node) || !d.is(v, yaml.ScalarNode, "an SQL statement") {
				if isNull(v.node) {
					d.Errorf(v.at, "wrong-kind", "%s has no value: write an SQL statement", v.name)
				}
				*into = brokenText
				return
			}
			*into = brokenText
			if n := v.node; (n.Anchor != "" || n.Style&yaml.TaggedStyle != 0) && n.Style&yaml.LiteralStyle == 0 {
				return // refused already, and stands before the text
			}
			if t, ok := read(d, v); ok {
				*into = t
			}
		},
	}
}

var brokenText = &Text{Broken: true}

// sqlFile is a statement in a file of its own.
func sqlFile(name string, into **Text) key {
	return key{
		name:  name,
		unset: func(diag.Position) {},
		read: func(d *decoder, v value) {
			*into = brokenText
			at, ok := d.path(v)
			if !ok {
				return
			}
			file := d.resolve(at.Value)
			text, ok := d.load(file, at.Pos, allowedInSQL)
			if !ok {
				return
			}
			if strings.TrimSpace(text) == "" {
				d.Errorf(at.Pos, "empty-sql", "%s is empty: write the statement in it", file)
				return
			}
			*into = &Text{Value: text, File: file, Line: 1, Column: 1}
		},
	}
}

// sql reads a block or a quoted line.
func (d *decoder) sql(v value) (*Text, bool) {
	n := v.node
	text := &Text{Value: showBreaks.Replace(n.Value), File: d.file, Line: n.Line, Column: n.Column}
	if strings.TrimSpace(text.Value) == "" {
		d.Errorf(d.pos(n), "empty-sql", "%s is empty: write a statement", v.name)
		return nil, false
	}
	switch {
	case n.Style&yaml.FoldedStyle != 0:
		d.Errorf(d.pos(n), sqlRule, `%s can't be folded (>), which joins lines so that a "--" comment swallows the next one`+sqlAdvice, v.name)
		return nil, false
	case n.Style&yaml.LiteralStyle != 0:
		text.Line = n.Line + 1
		text.Column = d.blockColumn(n.Line, text.Value)
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		if text.columns = quotedColumns(d.restOfLine(n), n.Column); text.columns == nil || strings.ContainsAny(text.Value, "\n\r") {
			d.Errorf(d.pos(n), sqlRule, "%s over several lines can't be quoted, since YAML joins the lines"+sqlAdvice, v.name)
			return nil, false
		}
	}
	return text, true
}

// blockColumn returns the column at which the lines of a block start whose | stands in the given line. The first line
// with text tells: what it has more in the file than in the value is indentation.
func (d *decoder) blockColumn(line int, value string) int {
	for i, inValue := range strings.Split(value, "\n") {
		if strings.TrimSpace(inValue) != "" && line+i < len(d.lines) {
			return max(len(d.lines[line+i])-len(inValue), 0) + 1
		}
	}
	return 1
}

// restOfLine returns the line from a node on, without blanks at its end.
func (d *decoder) restOfLine(n *yaml.Node) string {
	if n.Line < 1 || n.Line > len(d.lines) {
		return ""
	}
	line := d.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return strings.TrimRight(line, " \t")
}

// quotedColumns returns the column of each character of a quoted scalar that starts source, and of its end; nil when it
// does not end in the line.
func quotedColumns(source string, column int) []int {
	runes := []rune(source)
	var columns []int
	for i := 1; i < len(runes); i++ {
		columns = append(columns, column+i)
		switch {
		case runes[0] == '\'' && runes[i] == '\'':
			if i+1 == len(runes) || runes[i+1] != '\'' {
				return columns
			}
			i++
		case runes[0] == '"' && runes[i] == '"':
			return columns
		case runes[0] == '"' && runes[i] == '\\':
			i += escapeLength(runes[i+1:])
		}
	}
	return nil
}

// escapeLength returns how many characters follow the backslash of an escape.
func escapeLength(after []rune) int {
	if len(after) == 0 {
		return 1
	}
	switch after[0] {
	case 'x':
		return 3
	case 'u':
		return 5
	case 'U':
		return 9
	default:
		return 1
	}
}
