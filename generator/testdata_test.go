package generator_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inboxgen/inboxgen/generator"
	"github.com/inboxgen/inboxgen/generator/diag"
)

var update = flag.Bool("update", false, "write what the tests got into testdata")

// cases runs a test for each directory of a kind in testdata, and compares what it makes of the spec there with a file.
func cases(t *testing.T, kind, wantFile string, got func(t *testing.T, fsys fs.FS, o generator.Options) string) {
	specs, err := filepath.Glob(filepath.Join("../testdata", kind, "*", "inboxgen.yaml"))
	if err != nil || len(specs) == 0 {
		t.Fatal("no cases", err)
	}
	for _, spec := range specs {
		dir := filepath.Dir(spec)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			root, err := filepath.Abs(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := got(t, os.DirFS(root), generator.Options{Dir: root, Now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)})
			compare(t, filepath.Join(dir, wantFile), got)
		})
	}
}

// compare compares a text with a file, or writes it there.
func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, want)
	}
}

// TestDiagnostics compares what is said of specs that are wrong.
func TestDiagnostics(t *testing.T) {
	cases(t, "diagnostics", "diagnostics.txt", func(t *testing.T, fsys fs.FS, o generator.Options) string {
		result := generator.Generate(fsys, "inboxgen.yaml", o)
		for _, d := range result.Diagnostics {
			checkPosition(t, fsys, d)
		}
		return written(t, fsys, result.Diagnostics, diag.Text)
	})
}

// TestFortyMistakes has a spec with forty mistakes of all kinds, and writes them in the formats for machines.
func TestFortyMistakes(t *testing.T) {
	const dir = "../testdata/diagnostics/forty-mistakes"
	root, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	fsys := os.DirFS(root)
	ds := generator.Generate(fsys, "inboxgen.yaml", generator.Options{Dir: root}).Diagnostics
	if len(ds) != 40 {
		t.Errorf("%d diagnostics", len(ds))
	}
	compare(t, filepath.Join(dir, "diagnostics.json"), written(t, fsys, ds, diag.JSON))
	compare(t, filepath.Join(dir, "diagnostics.github"), written(t, fsys, ds, diag.GitHub))
}

// TestPlans compares what the effects of messages became.
func TestPlans(t *testing.T) {
	cases(t, "plans", "plans.txt", func(t *testing.T, fsys fs.FS, o generator.Options) string {
		result := generator.Resolve(fsys, "inboxgen.yaml", o)
		if len(result.Diagnostics) > 0 {
			t.Fatal(written(t, fsys, result.Diagnostics, diag.Text))
		}
		var out strings.Builder
		for _, c := range result.Model.Consumers {
			for _, m := range c.Messages {
				fmt.Fprintf(&out, "%s.%s: %s, %s\n", c.GoName, m.Name, m.Plan, m.Reason)
				fmt.Fprintf(&out, "  content: %s\n", m.Shape)
				for _, e := range m.Effects {
					fmt.Fprintf(&out, "  %s%v expects %s, by tag: %t\n", e.ConstName, e.Args, e.Expect, e.ByTag)
				}
			}
		}
		return out.String()
	})
}

// written returns diagnostics as the command line writes them.
func written(t *testing.T, fsys fs.FS, ds []diag.Diagnostic, format diag.Format) string {
	t.Helper()
	source := func(file string) []byte {
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil
		}
		return text
	}
	var out bytes.Buffer
	if err := diag.Write(&out, ds, format, source, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// checkPosition checks that a diagnostic points at a character of its file, or behind a line's last one.
func checkPosition(t *testing.T, fsys fs.FS, d diag.Diagnostic) {
	t.Helper()
	text, err := fs.ReadFile(fsys, d.Pos.File)
	if err != nil {
		t.Errorf("%s: %v", d, err)
		return
	}
	lines := strings.Split(string(text), "\n")
	if d.Pos.Line < 1 || d.Pos.Line > len(lines) || d.Pos.Column < 1 || d.Pos.Column > len([]rune(lines[d.Pos.Line-1]))+1 {
		t.Errorf("%s: there is nothing", d)
	}
}
