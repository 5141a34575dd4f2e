package plan

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/spec"
)

var update = flag.Bool("update", false, "write what the tests got into testdata")

// TestCases plans every .yaml file of the archives; the .want file beside it has the diagnostics or, without any, what
// was planned. A .yaml file uses the schema.sql of its archive.
func TestCases(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range archives {
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
				want := &archive.Files[i+1]
				if want.Name != name+".want" {
					t.Fatalf("%s does not follow %s", name+".want", f.Name)
				}
				got := planned(t, fsys, f.Name)
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
}

func planned(t *testing.T, fsys fs.FS, file string) string {
	t.Helper()
	s, diags := spec.Read(fsys, file)
	for _, d := range diags {
		t.Errorf("not for this package to find: %s", d)
	}
	types, diags := gotype.Load(s, gotype.Options{})
	for _, d := range diags {
		t.Errorf("not for this package to find: %s", d)
	}
	schema := &pgsql.Schema{}
	if text, err := fs.ReadFile(fsys, "schema.sql"); err == nil {
		schema.Add(string(text))
	}
	model, diags := Build(s, "out", types, schema)
	var out strings.Builder
	for _, d := range diags {
		fmt.Fprintln(&out, d)
		checkPosition(t, fsys, d)
	}
	if len(diags) > 0 {
		return out.String()
	}
	for _, c := range model.Consumers {
		for _, m := range c.Messages {
			fmt.Fprintf(&out, "%s.%s: %s, %s\n", c.GoName, m.Name, m.Plan, m.Reason)
			fmt.Fprintf(&out, "  content: %s\n", m.Shape)
			for _, e := range m.Effects {
				fmt.Fprintf(&out, "  %s%v expects %s, by tag: %t\n", e.ConstName, e.Args, e.Expect, e.ByTag)
			}
		}
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

// TestOwnTypes has messages that the user wrote beside the generated code.
func TestOwnTypes(t *testing.T) {
	const text = `version: 1
inbox: {retention: 8d}
consumers:
  order_paid:
    type_from: header:type
    messages:
      Own: {go_type: example.com/out.OrderPaid, id: header:id, effects: [sql: "UPDATE t SET a = 1"]}
      Helper: {go_type: example.com/out.Outcome, id: header:id, effects: [sql: "UPDATE t SET a = 1"]}
      Sent: {go_type: example.com/out.Lost, id: header:id, effects: [sql: "UPDATE t SET a = 1"]}
      Again: {go_type: example.com/out.Lost, id: header:id, effects: [sql: "UPDATE t SET a = 1"]}
      Lost: {fields: {n: int64}, id: header:id, effects: [sql: "UPDATE t SET a = 1"]}
      Outcome: {go_type: example.com/other.Outcome, id: header:id, effects: [sql: "UPDATE t SET a = 1"]}
`
	s, diags := spec.Read(fstest.MapFS{"inboxgen.yaml": &fstest.MapFile{Data: []byte(text)}}, "inboxgen.yaml")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	types := map[*spec.Message]*gotype.Message{}
	for _, m := range s.Consumers[0].Messages {
		path, name, _ := strings.Cut(strings.TrimPrefix(m.GoType.Value, "example.com/"), ".")
		if path == "out" {
			path = ""
		}
		types[m] = &gotype.Message{Name: name, ImportPath: path, PkgName: path}
		if !m.GoType.Set {
			types[m] = &gotype.Message{Name: m.Key.Value, Inline: true}
		}
	}
	model, diags := Build(s, "out", types, &pgsql.Schema{})
	var got strings.Builder
	for _, d := range diags {
		fmt.Fprintln(&got, d)
	}
	const want = `inboxgen.yaml:7:22: error: go_type example.com/out.OrderPaid would be the Go name OrderPaid, as is consumer order_paid (inboxgen.yaml:4:3); rename one of them [go-name]
inboxgen.yaml:8:25: error: go_type example.com/out.Outcome would be the Go name Outcome, which is a name of the generated support code; give it another name [go-name]
inboxgen.yaml:11:7: error: message Lost would be the Go type Lost, as is message Sent (inboxgen.yaml:9:7); rename one of them [go-name]
`
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
	for _, name := range []string{"any", "nil", "context", "ctx", "OrderPaid", "orderPaidOwn", "Outcome", "newInbox", "pgx"} {
		if !model.Reserved[name] {
			t.Errorf("an import may be called %s", name)
		}
	}
}

func TestLowerFirst(t *testing.T) {
	for name, want := range map[string]string{
		"Accounting": "accounting", "ID": "id", "APIUser": "apiUser", "A": "a", "URL2": "url2", "ABc": "aBc", "": "",
	} {
		if got := lowerFirst(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestDefaultPackage(t *testing.T) {
	for dir, want := range map[string]string{
		"accounting": "accounting", "Go-Foo": "gofoo", "a_b.c": "a_bc", "x/y2": "y2", "-": "", "größe": "gre",
	} {
		if got := DefaultPackage(dir); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
