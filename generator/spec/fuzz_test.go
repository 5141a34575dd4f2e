package spec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/tools/txtar"
)

// specs returns the text of every spec in the repository, by name: cases, examples and what the tests run.
func specs(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	archives, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				out[file+" "+f.Name] = string(f.Data)
			}
		}
	}
	for _, dir := range []string{"testdata", "../../examples", "../../testdata"} {
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(name)
			out[name] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d specs found", len(out))
	}
	return out
}

// around is a directory with one spec and the files that specs like to name.
func around(text string) fstest.MapFS {
	out := fstest.MapFS{"inboxgen.yaml": {Data: []byte(text)}}
	for _, name := range []string{"schema.sql", "effect.sql", "effects/receipt.sql", "note.sql"} {
		out[name] = &fstest.MapFile{Data: []byte("SELECT 1")}
	}
	return out
}

// readQuickly reads a spec and checks what holds for any text: an answer comes soon, and every diagnostic points into
// the file.
func readQuickly(t *testing.T, text string) {
	t.Helper()
	fsys := around(text)
	start := time.Now()
	s, ds := Read(fsys, "inboxgen.yaml")
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	if s == nil && len(ds) == 0 {
		t.Fatal("neither a Spec nor what is wrong")
	}
	size := 0
	for _, d := range ds {
		size += len(d.Message)
	}
	if size > 100*(len(text)+10_000) {
		t.Errorf("%d bytes of messages about %d bytes", size, len(text))
	}
	checkPositions(t, fsys, ds)
	if s != nil {
		Unsupported(s)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range specs(f) {
		f.Add(text, uint16(0))
		f.Add(text, uint16(len(text)/2))
	}
	for _, text := range []string{
		"a: &a [*a]", "a: &a {<<: *a}", "&a [*a, *a]: b", "version: 1\n---\n", "%YAML 1.1\n---\n", "? a\n: b", "- - - -", "[[[[", "{{{{",
		"a: \"\\u00", "a: |\n\tb", "a: !!binary x", "\ufeff\ufeffa: b", "a: b\r\rc: d", "\x00", "a: \u2028b", "a: '\n\n'", "a: >9\n b",
	} {
		f.Add(text, uint16(0))
	}
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		if len(text) > 1<<16 {
			return
		}
		readQuickly(t, text[min(int(cut), len(text)):])
		readQuickly(t, text[:min(int(cut), len(text))])
	})
}

// TestCutShort reads every spec cut after any of its characters, as an editor does that saves while one types.
func TestCutShort(t *testing.T) {
	t.Parallel()
	for name, text := range specs(t) {
		step := max(1, len(text)/200)
		for end := 0; end < len(text); end += step {
			readQuickly(t, text[:end])
			if t.Failed() {
				t.Fatalf("%s, cut after %d bytes", name, end)
			}
		}
	}
}

// TestHuge reads texts that make a careless reader slow or deep.
func TestHuge(t *testing.T) {
	t.Parallel()
	const size = 1 << 17
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-2000; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const head = "version: 1\ninbox: {retention: 8d}\nconsumers:\n  a:\n    messages:\n      X:\n        id: header:id\n        effects: [file: effect.sql]\n"
	half := func(s string) string { return s[:strings.LastIndexByte(s[:len(s)/2], '\n')+1] }
	for name, text := range map[string]string{
		"unknown keys":    numbered("key%d: 1\n"),
		"one key":         strings.Repeat("version: 1\n", size/11),
		"flow":            "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"too deep a flow": strings.Repeat("[", size),
		"too deep a map":  strings.Repeat("{a: ", size/4),
		"deep blocks":     strings.Repeat("- ", size/2),
		"deeper":          strings.Repeat("? ", size/2),
		"aliases":         "a: &a [1]\nb: [" + strings.Repeat("*a, ", size/5) + "]",
		"anchors":         "a: [" + numbered("&a%d x, ") + "]",
		"comments":        strings.Repeat("# x\n", size/4),
		"comments within": "a:\n" + strings.Repeat("  # x\n  - b\n", size/12),
		"a long line":     "a: " + strings.Repeat("x", size-10),
		"a long word":     strings.Repeat("x", size-10) + ": 1",
		"quotes":          strings.Repeat("'", size-10),
		"an open quote":   strings.Repeat("a: b\n", size/6) + "c: '",
		"an open list":    strings.Repeat("a: b\n", size/6) + "c: [",
		"a bad line":      strings.Repeat("a: b\n", size/6) + "\tc: d\n" + strings.Repeat("a: b\n", 100),
		"blanks":          strings.Repeat(" ", size-10) + "a",
		"line ends":       strings.Repeat("\n", size-10) + "a",
		"returns":         strings.Repeat("\r", size-10) + "\n",
		"merges":          strings.Repeat("<<: {a: b}\n", size/12),
		"consumers":       "version: 1\ninbox: {retention: 8d}\nconsumers:\n" + numbered("  c%d: {name: a}\n"),
		"messages":        strings.Replace(head, "      X:", numbered("      M%d: {type: a}\n")[:size/2]+"\n      X:", 1),
		"effects":         head[:strings.Index(head, "[file")] + "\n" + numbered("          - expect: %d\n"),
		"example fields":  head + "        fields:\n" + half(numbered("          f%d: string\n")) + "        examples:\n          - message:\n" + half(numbered("              g%d: 1\n")),
		"durations":       "version: 1\ninbox: {retention: " + strings.Repeat("1d", size/3) + "}\n",
		"a number":        "version: " + strings.Repeat("9", size-20),
		"a float":         "version: 1e" + strings.Repeat("9", size-20),
		"topics":          "version: 1\ninbox: {retention: 8d}\nconsumers:\n  a:\n    source:\n      kafka:\n        topics: [" + half(strings.ReplaceAll(numbered("x\n"), "\n", ",\n          ")) + "x]\n",
		"too large":       strings.Repeat("a", maxSize+1),
	} {
		t.Run(name, func(t *testing.T) { readQuickly(t, text) })
	}
}
