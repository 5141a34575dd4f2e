package pgsql

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuardedText shows the whole text that typical statements become. Each file in testdata/guarded has the statement, a
// line, and the text; -update writes the text anew.
func TestGuardedText(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/guarded/*.sql")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	const line = "\n----------------------------------------\n"
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source, want, _ := strings.Cut(string(content), line)
		s, problems := Parse(source)
		if len(problems) > 0 {
			t.Errorf("%s: %v", file, problems)
			continue
		}
		inbox := Inbox{Schema: "My Schema", Table: "inbox", MessageIDType: "uuid"}
		got, err := s.Guard(inbox, "accounting.OrderPaid", s.DefaultExpect(), 17)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got += "\n"
		if *update {
			if err := os.WriteFile(file, []byte(source+line+got), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
}
