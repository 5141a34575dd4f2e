package spec

import (
	"strings"
	"unicode/utf8"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// Text is a piece of SQL that knows where each of its bytes stands in the user's file. Value has LF line ends and no BOM.
type Text struct {
	Value  string
	File   string
	Line   int  // line of the first byte
	Column int  // column of the first byte of each line (a block's indentation + 1; 1 in a file of its own)
	Broken bool // it is written and can't be read: why is reported, and Value is empty

	columns []int // of each character and of the end, for a quoted scalar, in which escapes shift them
}

// At returns the position of the byte at offset.
func (t *Text) At(offset int) diag.Position {
	offset = min(max(offset, 0), len(t.Value))
	before := t.Value[:offset]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	characters := utf8.RuneCountInString(before[lineStart:])
	pos := diag.Position{File: t.File, Line: t.Line + strings.Count(before, "\n"), Column: t.Column + characters}
	if characters < len(t.columns) {
		pos.Column = t.columns[characters]
	}
	return pos
}

// ByteOffset converts a 1-based character position, as the PostgreSQL parser and server count, to a byte offset.
func (t *Text) ByteOffset(character int) int {
	for offset := range t.Value {
		if character <= 1 {
			return offset
		}
		character--
	}
	return len(t.Value)
}

// NewText returns the text of a whole file.
func NewText(file string, text []byte) *Text {
	value := strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")
	return &Text{Value: value, File: file, Line: 1, Column: 1}
}
