package plan

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/spec"
)

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
