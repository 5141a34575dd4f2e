package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// project writes a spec with many files to generate.
func manyConsumers(t *testing.T, dir, change string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: 1\noutput: {dir: gen}\ninbox: {retention: 8d}\nmigrations: {tool: goose, dir: migrations}\nconsumers:\n")
	for c := range 40 {
		fmt.Fprintf(&b, "  consumer%d:\n    type_from: header:type\n    messages:\n", c)
		for m := range 5 {
			fmt.Fprintf(&b, `      C%dM%d:
        fields: {event_id: string, amount: int64}
        id: field:event_id
        effects:
          - sql: |
              UPDATE t SET a = a + %s @amount
`, c, m, change)
		}
	}
	for name, text := range map[string]string{"inboxgen.yaml": b.String(), "go.mod": "module example.com/shop\n\ngo 1.25\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// contents reads all files below dir but the temporary ones, by name; migrations by what follows their version.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".inboxgen-") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		if rest, ok := strings.CutPrefix(name, "migrations"); ok {
			_, rest, _ = strings.Cut(rest, "_")
			if name = "migrations/" + rest; out[name] != "" {
				t.Errorf("%s is there twice", name)
			}
		}
		if name == "inboxgen.lock" {
			text = nil // has the version of the migration
		}
		out[name] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKilled kills generate while it writes, at many moments: each file is whole, and the next run makes up for the rest.
func TestKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it generates some hundred times; run without -short")
	}
	bin := filepath.Join(t.TempDir(), "inboxgen")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	generate := func(dir string) {
		t.Helper()
		if out, err := exec.Command(bin, "generate", "-C", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	whole := func(change string) map[string]string {
		dir := t.TempDir()
		manyConsumers(t, dir, change)
		generate(dir)
		return contents(t, dir)
	}
	before, after := whole(""), whole("2 *")
	var written []string // in the order in which it happens
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] != before[name] && strings.HasSuffix(name, ".gen.go") {
			written = append(written, name)
		}
	}
	killed := 0
	for round := range 60 {
		dir := t.TempDir()
		first := round%2 == 0 // into an empty directory, or over an older state
		if !first {
			manyConsumers(t, dir, "")
			generate(dir)
		}
		manyConsumers(t, dir, "2 *")
		target := filepath.Join(dir, written[round%len(written)])
		old, _ := os.Stat(target)
		cmd := exec.Command(bin, "generate", "-C", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() { _ = cmd.Wait(); close(gone) }()
		for isNew := false; !isNew; { // a file is replaced by another
			info, err := os.Stat(target)
			isNew = err == nil && (old == nil || !os.SameFile(old, info))
			select {
			case <-gone:
				isNew = true
			default:
			}
		}
		_ = cmd.Process.Kill()
		<-gone
		if !cmd.ProcessState.Success() {
			killed++
		}
		for name, text := range contents(t, dir) {
			if text != after[name] && (first || text != before[name]) {
				t.Errorf("round %d: %s is neither as before nor as it must be: %d bytes", round, name, len(text))
			}
		}
		generate(dir)
		got := contents(t, dir)
		for name, text := range after {
			if got[name] != text {
				t.Errorf("round %d: the next run leaves %s wrong", round, name)
			}
		}
		if len(got) != len(after) {
			t.Errorf("round %d: %d files, want %d", round, len(got), len(after))
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*", ".inboxgen-*")); len(left) > 0 {
			t.Errorf("round %d: the next run leaves %v", round, left)
		}
		if out, err := exec.Command(bin, "check", "-C", dir).CombinedOutput(); err != nil {
			t.Errorf("round %d: %v\n%s", round, err, out)
		}
	}
	t.Logf("%d of 60 runs were killed while they wrote", killed)
	if killed < 20 {
		t.Errorf("only %d of 60 runs were killed while they wrote", killed)
	}
}
