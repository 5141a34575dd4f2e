// Package e2e runs the code that inboxgen generates, on real PostgreSQL servers. Each directory of testdata is a spec
// with the code generated from it; `go test -run TestGolden . -update` writes that anew.
package e2e

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/imports"

	"github.com/inboxgen/inboxgen/generator"
	"github.com/inboxgen/inboxgen/generator/emit"
	"github.com/inboxgen/inboxgen/generator/tree"
)

var update = flag.Bool("update", false, "write what is generated, instead of comparing it with what is there")

func TestGolden(t *testing.T) {
	specs, err := filepath.Glob("../testdata/*/inboxgen.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, spec := range specs {
		dir := filepath.Dir(spec)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			result := generate(t, dir)
			if *update {
				if _, err := tree.Apply(dir, result.Files, result.Remove); err != nil {
					t.Fatal(err)
				}
				result = generate(t, dir)
			}
			if diff, err := tree.Diff(dir, result.Files, result.Remove); err != nil || len(diff) > 0 {
				t.Fatalf("not what is generated; after a look at this, run with -update: %v\n%v", err, diff)
			}
			again := generate(t, dir)
			if changes, err := tree.Apply(dir, again.Files, again.Remove); err != nil || len(changes.Written)+len(changes.Removed) > 0 {
				t.Errorf("a second run wrote %v: %v", changes, err)
			}
			formatted(t, dir, result.Files)
			repeatable(t, dir, again.Files)
		})
	}
}

func generate(t *testing.T, dir string) *generator.Result {
	t.Helper()
	root, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	result := generator.Generate(os.DirFS(root), "inboxgen.yaml", generator.Options{Dir: root, Now: now})
	for _, d := range result.Diagnostics {
		t.Errorf("%s: %s: %s", dir, d.Pos, d.Message)
	}
	if t.Failed() {
		t.FailNow()
	}
	return result
}

// formatted checks that goimports, and so gofmt, leaves the code as it is.
func formatted(t *testing.T, dir string, files []emit.File) {
	t.Helper()
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".go") {
			continue
		}
		want, err := imports.Process(filepath.Join(dir, f.Path), f.Text, nil)
		if err != nil || !bytes.Equal(want, f.Text) {
			t.Errorf("goimports would change %s: %v", f.Path, err)
		}
	}
}

// repeatable checks that many runs give the same bytes. Loading Go packages takes a second, so that where a spec names
// one there are few.
func repeatable(t *testing.T, dir string, files []emit.File) {
	t.Helper()
	spec, err := os.ReadFile(filepath.Join(dir, "inboxgen.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	runs := 50
	if bytes.Contains(spec, []byte("github.com/")) {
		runs = 3
	}
	for range runs {
		for i, f := range generate(t, dir).Files {
			if f.Path != files[i].Path || !bytes.Equal(f.Text, files[i].Text) {
				t.Fatalf("another run gives another %s", f.Path)
			}
		}
	}
}
