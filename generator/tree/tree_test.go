package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inboxgen/inboxgen/generator/emit"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func contains(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "same"), "same")
	write(t, filepath.Join(root, "gone"), "gone")
	write(t, filepath.Join(root, "sub/.inboxgen-1.tmp"), "left by a run that was killed")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, "same"), old, old); err != nil {
		t.Fatal(err)
	}
	files := []emit.File{{Path: "same", Text: []byte("same")}, {Path: "sub/new", Text: []byte("new")}}
	changes, err := Apply(root, files, []string{"gone"})
	if err != nil || strings.Join(changes.Written, " ") != "sub/new" || strings.Join(changes.Removed, " ") != "gone" {
		t.Errorf("%+v, %v", changes, err)
	}
	contains(t, filepath.Join(root, "sub/new"), "new")
	if info, err := os.Stat(filepath.Join(root, "same")); err != nil || !info.ModTime().Equal(old) {
		t.Error("a file that was right was touched")
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*", ".inboxgen-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if diff, err := Diff(root, files, nil); err != nil || len(diff) > 0 {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestApplyGoesOn has files that can't be written: each is named, and the others are written all the same.
func TestApplyGoesOn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "file"), "")
	write(t, filepath.Join(root, "readonly"), "mine")
	if err := os.Chmod(filepath.Join(root, "readonly"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	changes, err := Apply(root, []emit.File{
		{Path: "file/below", Text: []byte("x")}, {Path: "dir", Text: []byte("x")}, {Path: "readonly", Text: []byte("x")}, {Path: "good", Text: []byte("x")},
	}, []string{"missing"})
	if err == nil || strings.Join(changes.Written, " ") != "good" {
		t.Fatalf("%+v, %v", changes, err)
	}
	for _, text := range []string{"file/below: ", "dir: is a directory", "readonly: is read-only", "missing"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %s", err, text)
		}
	}
	contains(t, filepath.Join(root, "readonly"), "mine")
}

func TestApplyThroughLink(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "target"), "old")
	if err := os.Symlink("target", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(root, []emit.File{{Path: "link", Text: []byte("new")}}, nil); err != nil {
		t.Fatal(err)
	}
	contains(t, filepath.Join(root, "target"), "new")
	if info, err := os.Lstat(filepath.Join(root, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is no link any more")
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "changed"), "a\nb\n")
	write(t, filepath.Join(root, "orphan"), "x\n")
	got, err := Diff(root, []emit.File{{Path: "changed", Text: []byte("a\nc\n")}, {Path: "missing", Text: []byte("y\n")}}, []string{"orphan"})
	want := []Difference{
		{"changed", "--- changed\n+++ changed\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		{"missing", "--- /dev/null\n+++ missing\n@@ -0,0 +1 @@\n+y\n"},
		{"orphan", "--- orphan\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%v", err, got)
	}
}
