package diag

import (
	"bufio"
	"fmt"
	"strings"
	"unicode"
)

const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	reset  = "\x1b[0m"

	snippetIndent = "    "
)

// writeText writes each diagnostic as one line, and the faulty line with a caret below it.
func writeText(w *bufio.Writer, ds []Diagnostic, source func(string) []byte, color bool) {
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return code + s + reset
	}
	lines := sourceLines{source: source, files: map[string][]string{}}
	for _, d := range ds {
		severity := paint(severityColor(d.Severity), string(d.Severity))
		fmt.Fprintf(w, "%s: %s: %s [%s]\n", paint(bold, clean(d.Pos.String())), severity, clean(d.Message), d.Rule)
		if line, ok := lines.at(d.Pos); ok {
			text, caret := snippet(line, d.Pos.Column)
			fmt.Fprintf(w, "%s%s\n%s%s\n", snippetIndent, text, snippetIndent, strings.TrimSuffix(caret, "^")+paint(green, "^"))
		}
	}
}

func severityColor(s Severity) string {
	if s == Warning {
		return bold + yellow
	}
	return bold + red
}

// sourceLines splits each file once.
type sourceLines struct {
	source func(file string) []byte
	files  map[string][]string
}

// at returns the line of a position, when there is something in it to point at.
func (s sourceLines) at(p Position) (string, bool) {
	if s.source == nil || p.Line < 1 || p.Column < 1 {
		return "", false
	}
	lines, ok := s.files[p.File]
	if !ok {
		text := strings.TrimPrefix(string(s.source(p.File)), "\uFEFF")
		lines = strings.Split(text, "\n")
		s.files[p.File] = lines
	}
	if p.Line > len(lines) {
		return "", false
	}
	line := strings.TrimRight(lines[p.Line-1], "\r")
	return line, strings.TrimSpace(line) != ""
}

// snippet returns what to show of a line, and the line below it with a caret under the column. Tabs stand in both, so
// that the caret is right at any tab width.
func snippet(line string, column int) (text, caret string) {
	runes := []rune(strings.ToValidUTF8(line, string(unicode.ReplacementChar)))
	column = min(column-1, len(runes))
	from, to := window(len(runes), column)
	var shown, below strings.Builder
	if from > 0 {
		shown.WriteString("…")
		below.WriteString(" ")
	}
	for i, r := range runes[from:to] {
		if r != '\t' && unsafe(r) {
			r = unicode.ReplacementChar
		}
		shown.WriteRune(r)
		if from+i < column {
			below.WriteString(blank(r))
		}
	}
	if to < len(runes) {
		shown.WriteString("…")
	}
	return strings.TrimRight(shown.String(), " \t"), below.String() + "^"
}

// window bounds what is shown of a long line to the characters around the column.
func window(length, column int) (from, to int) {
	const most, before = 120, 60
	if length <= most {
		return 0, length
	}
	from = min(max(column-before, 0), length-most)
	return from, from + most
}

// wide has what takes two columns besides the letters of East Asia: their punctuation, full-width forms, emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3000, Hi: 0x303E, Stride: 1}, {Lo: 0xFF01, Hi: 0xFF60, Stride: 1}, {Lo: 0xFFE0, Hi: 0xFFE6, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1F300, Hi: 0x1F64F, Stride: 1}, {Lo: 0x1F680, Hi: 0x1F6FF, Stride: 1}, {Lo: 0x1F900, Hi: 0x1FAFF, Stride: 1}},
}

// blank is what takes as much room as r on a terminal.
func blank(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return ""
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana, wide):
		return "  "
	default:
		return " "
	}
}
