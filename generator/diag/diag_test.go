package diag

import (
	"bytes"
	"strings"
	"testing"
)

const source = "one: größe\n" +
	"\ttab:\tx\n" +
	"世界: 日本語 x\n" +
	"😀「full」：x\n" +
	"e\u0301a\u0300: x\n" +
	"bidi: \u202eevil\u202c \x1b[31m x\n" +
	"\n" +
	"last: x\r\n" +
	"no end"

// files has what the diagnostics of the tests point into.
func files(file string) []byte {
	switch file {
	case "a.yaml":
		return []byte("\ufeff" + source)
	case "long.yaml":
		return []byte(strings.Repeat("x", 300) + "\n" + strings.Repeat("ä", 100) + "\xff" + strings.Repeat("y", 30))
	default:
		return nil
	}
}

func at(file string, line, column int, message string) Diagnostic {
	return Diagnostic{Pos: Position{File: file, Line: line, Column: column}, Severity: Error, Rule: "rule", Message: message}
}

func written(t *testing.T, ds []Diagnostic, format Format, color bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, ds, format, files, color); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func compare(t *testing.T, name, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, want)
	}
}

// TestCaret points at characters behind those that take no column, or two, or as many as the next tab stop says.
func TestCaret(t *testing.T) {
	long, cut := strings.Repeat("x", 120), strings.Repeat(" ", 60)
	for _, test := range []struct {
		name         string
		file         string
		line, column int
		want         string
	}{
		{"first", "a.yaml", 1, 1, "    one: größe\n    ^\n"},
		{"behind umlauts", "a.yaml", 1, 10, "    one: größe\n             ^\n"},
		{"behind the line", "a.yaml", 1, 11, "    one: größe\n              ^\n"},
		{"far behind the line", "a.yaml", 1, 99, "    one: größe\n              ^\n"},
		{"behind tabs", "a.yaml", 2, 7, "    \ttab:\tx\n    \t    \t^\n"},
		{"behind wide letters", "a.yaml", 3, 9, "    世界: 日本語 x\n                 ^\n"},
		{"behind emoji and full-width forms", "a.yaml", 4, 9, "    😀「full」：x\n                ^\n"},
		{"behind combining accents", "a.yaml", 5, 7, "    e\u0301a\u0300: x\n        ^\n"},
		{"behind what could move the cursor", "a.yaml", 6, 20, "    bidi: \ufffdevil\ufffd \ufffd[31m x\n                       ^\n"},
		{"in an empty line", "a.yaml", 7, 1, ""},
		{"before CRLF", "a.yaml", 8, 7, "    last: x\n          ^\n"},
		{"without a last line end", "a.yaml", 9, 7, "    no end\n          ^\n"},
		{"behind the file", "a.yaml", 10, 1, ""},
		{"without a column", "a.yaml", 1, 0, ""},
		{"without a line", "a.yaml", 0, 0, ""},
		{"in a file that is not known", "b.yaml", 1, 1, ""},
		{"at the start of a long line", "long.yaml", 1, 1, "    " + long + "…\n    ^\n"},
		{"amid a long line", "long.yaml", 1, 151, "    …" + long + "…\n     " + cut + "^\n"},
		{"at the end of a long line", "long.yaml", 1, 300, "    …" + long + "\n     " + strings.Repeat(" ", 119) + "^\n"},
		{"behind what is not UTF-8", "long.yaml", 2, 102, "    …" + strings.Repeat("ä", 89) + "\ufffd" + strings.Repeat("y", 30) + "\n     " + strings.Repeat(" ", 90) + "^\n"},
	} {
		d := at(test.file, test.line, test.column, "wrong")
		compare(t, test.name, written(t, []Diagnostic{d}, Text, false), d.Pos.String()+": error: wrong [rule]\n"+test.want)
	}
}

var several = []Diagnostic{
	at("a.yaml", 1, 6, `größe is "100%", not <x> & y`),
	{Pos: Position{File: "dir,a:b/\u202ea.yaml", Line: 3}, Severity: Warning, Rule: "other", Message: "two\nlines,\ttab \x1b[31m :: 50%"},
	{Pos: Position{File: "c.yaml"}, Severity: Error, Rule: "file", Message: "c.yaml does not exist"},
}

func TestFormats(t *testing.T) {
	for _, test := range []struct {
		name   string
		ds     []Diagnostic
		format Format
		color  bool
		want   string
	}{
		{"text", several, Text, false, `a.yaml:1:6: error: größe is "100%", not <x> & y [rule]
    one: größe
         ^
dir,a:b/` + "\ufffd" + `a.yaml:3: warning: two lines, tab ` + "\ufffd" + `[31m :: 50% [other]
c.yaml: error: c.yaml does not exist [file]
`},
		{"colour", several, Text, true, "\x1b[1ma.yaml:1:6\x1b[0m: \x1b[1m\x1b[31merror\x1b[0m: größe is \"100%\", not <x> & y [rule]\n" +
			"    one: größe\n         \x1b[32m^\x1b[0m\n" +
			"\x1b[1mdir,a:b/\ufffda.yaml:3\x1b[0m: \x1b[1m\x1b[33mwarning\x1b[0m: two lines, tab \ufffd[31m :: 50% [other]\n" +
			"\x1b[1mc.yaml\x1b[0m: \x1b[1m\x1b[31merror\x1b[0m: c.yaml does not exist [file]\n"},
		{"json", several, JSON, true, `[
  {"file":"a.yaml","line":1,"column":6,"severity":"error","rule":"rule","message":"größe is \"100%\", not <x> & y"},
  {"file":"dir,a:b/` + "\ufffd" + `a.yaml","line":3,"column":0,"severity":"warning","rule":"other","message":"two lines, tab ` + "\ufffd" + `[31m :: 50%"},
  {"file":"c.yaml","line":0,"column":0,"severity":"error","rule":"file","message":"c.yaml does not exist"}
]
`},
		{"github", several, GitHub, true, `::error file=a.yaml,line=1,col=6,title=rule::größe is "100%25", not <x> & y
::warning file=dir%2Ca%3Ab/` + "\ufffd" + `a.yaml,line=3,title=other::two lines, tab ` + "\ufffd" + `[31m :: 50%25
::error file=c.yaml,title=file::c.yaml does not exist
`},
		{"text of nothing", nil, Text, false, ""},
		{"json of nothing", nil, JSON, false, "[]\n"},
		{"github of nothing", nil, GitHub, false, ""},
	} {
		compare(t, test.name, written(t, test.ds, test.format, test.color), test.want)
	}
	err := Write(&bytes.Buffer{}, several, "xml", nil, false)
	if err == nil || err.Error() != `unknown format "xml": write text, json or github` {
		t.Error(err)
	}
	var out bytes.Buffer
	if err := Write(&out, several[:1], Text, nil, false); err != nil || out.String() != several[0].String()+"\n" {
		t.Errorf("without sources: %v\n%s", err, out.String())
	}
}

func TestSorted(t *testing.T) {
	var l List
	if l.HasErrors() || len(l.Sorted()) != 0 {
		t.Error("an empty list has something")
	}
	pos := func(file string, line, column int) Position { return Position{File: file, Line: line, Column: column} }
	l.Warnf(pos("b.yaml", 1, 1), "w", "warning")
	if l.HasErrors() {
		t.Error("a warning is an error")
	}
	l.Errorf(pos("a.yaml", 10, 1), "e", "line 10")
	l.Errorf(pos("a.yaml", 9, 12), "e", "column 12")
	l.Errorf(pos("a.yaml", 9, 2), "e", "second of two")
	l.Errorf(pos("a.yaml", 9, 2), "e", "as %s says", pos("b.yaml", 1, 2))
	l.Errorf(pos("a.yaml", 9, 2), "e", "second of two")
	l.Errorf(pos("a.yaml", 0, 0), "e", "of the file")
	var got strings.Builder
	for _, d := range l.Sorted() {
		got.WriteString(d.String() + "\n")
	}
	compare(t, "sorted", got.String(), `a.yaml: error: of the file [e]
a.yaml:9:2: error: second of two [e]
a.yaml:9:2: error: as b.yaml:1:2 says [e]
a.yaml:9:12: error: column 12 [e]
a.yaml:10:1: error: line 10 [e]
b.yaml:1:1: warning: warning [w]
`)
	if mentions := l.Sorted()[2].Mentions; len(mentions) != 1 || mentions[0] != pos("b.yaml", 1, 2) {
		t.Errorf("mentions %v", mentions)
	}
	if !l.HasErrors() {
		t.Error("an error is none")
	}
}

func TestNearest(t *testing.T) {
	words := []string{"retention", "table", "id", "go", "go_type", "message_id", "größe"}
	for misspelled, want := range map[string]string{
		"retenton": "retention", "retnetion": "retention", "Retention": "retention", "ret_ent_ion": "retention", "tabel": "table",
		"goType": "go_type", "go-type": "go_type", "messageid": "message_id", "grösse": "größe", "di": "id", "ids": "id",
		"x": "", "": "", "table_name": "", "ab": "", "consumer": "", strings.Repeat("table", 20): "",
	} {
		if got := Nearest(misspelled, words); got != want {
			t.Errorf("%q means %q, want %q", misspelled, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("%q of no words", got)
	}
}
