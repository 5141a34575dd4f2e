package spec

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/inboxgen/inboxgen/generator/diag"
)

var update = flag.Bool("update", false, "write what the tests got into testdata")

// TestCases reads every .yaml file of the archives; the .want file beside it has the diagnostics.
func TestCases(t *testing.T) {
	archives, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testArchive(t, file) })
	}
}

func testArchive(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, f := range archive.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	for i, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".yaml")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, ds := Read(fsys, f.Name)
			checkPositions(t, fsys, ds)
			want := &archive.Files[i+1]
			if want.Name != name+".want" {
				t.Fatalf("%s does not follow %s", name+".want", f.Name)
			}
			got := lines(ds)
			if *update {
				want.Data = []byte(got)
			} else if got != string(want.Data) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want.Data)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lines formats diagnostics one per line.
func lines(ds []diag.Diagnostic) string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// checkPositions checks that every diagnostic points into its file.
func checkPositions(t *testing.T, fsys fstest.MapFS, ds []diag.Diagnostic) {
	t.Helper()
	lengths := map[string][]int{} // of the lines of each file
	for _, d := range ds {
		if d.Pos.Line == 0 && d.Pos.Column == 0 && d.Rule == "file" {
			continue // the file as a whole
		}
		f, ok := fsys[d.Pos.File]
		if !ok {
			t.Errorf("%s: no such file", d)
			continue
		}
		if lengths[d.Pos.File] == nil {
			for _, line := range bytes.Split(f.Data, []byte("\n")) {
				lengths[d.Pos.File] = append(lengths[d.Pos.File], utf8.RuneCount(line))
			}
		}
		lines := lengths[d.Pos.File]
		if d.Pos.Line < 1 || d.Pos.Line > len(lines) {
			t.Errorf("%s: the file has %d lines", d, len(lines))
			continue
		}
		if length := lines[d.Pos.Line-1]; d.Pos.Column < 1 || d.Pos.Column > length+1 {
			t.Errorf("%s: the line has %d characters", d, length)
		}
	}
}
