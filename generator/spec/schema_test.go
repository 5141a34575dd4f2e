package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// TestSchemaKeys compares the keys that the reader knows, and those it asks for, with the schema's.
func TestSchemaKeys(t *testing.T) {
	_, top := newSpec("inboxgen.yaml")
	at := diag.Position{}
	forms := map[string]form{
		"": top, "consumer": consumerForm(new(Consumer)), "message": messageForm(new(Message)), "effect": effectForm(new(Effect)),
		"example": exampleForm(new(Example), new(Message), nil),
	}
	_, forms["output"] = newOutput(at)
	_, forms["inbox"] = newInbox(at)
	_, forms["partition"] = newPartition(at)
	_, forms["migrations"] = newMigrations(at)
	_, forms["source"] = newSource(at)
	_, forms["kafka"] = newKafka(at)
	_, forms["rabbitmq"] = newRabbitMQ(at)
	_, forms["watermill"] = newWatermill(at)
	_, forms["duplicates"] = newDuplicates(at)
	_, forms["version"] = newVersion(at)
	_, forms["outbox"] = newOutbox(at)

	type object struct {
		Description string
		Required    []string
		Properties  map[string]struct {
			Description string
			Ref         string `json:"$ref"`
		}
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(JSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	schema.Defs[""] = schema.object
	for name, o := range schema.Defs {
		if o.Properties == nil {
			continue
		}
		f, ok := forms[name]
		if !ok {
			t.Errorf("no form for %q", name)
			continue
		}
		delete(forms, name)
		var keys, required []string
		for _, k := range f.keys {
			keys = append(keys, k.name)
			if k.needs != "" {
				required = append(required, k.name)
			}
		}
		slices.Sort(keys)
		if want := slices.Sorted(maps.Keys(o.Properties)); !slices.Equal(keys, want) {
			t.Errorf("%q: the reader knows %q, the schema %q", name, keys, want)
		}
		slices.Sort(required)
		slices.Sort(o.Required)
		if !slices.Equal(required, o.Required) {
			t.Errorf("%q: the reader asks for %q, the schema for %q", name, required, o.Required)
		}
		for key, p := range o.Properties {
			if p.Description == "" && schema.Defs[strings.TrimPrefix(p.Ref, "#/$defs/")].Description == "" {
				t.Errorf("%q: %s has no description, which editors show", name, key)
			}
		}
	}
	for name := range forms {
		t.Errorf("nothing in the schema for %q", name)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	id := document.(map[string]any)["$id"].(string)
	if err := compiler.AddResource(id, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// decode reads YAML as an editor that knows the schema does. Keys are words, even null and true.
func decode(t *testing.T, text string) any {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(plainValue(t, document.Content[0]))
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func plainValue(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = plainValue(t, n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, plainValue(t, item))
		}
		return out
	default:
		var out any
		if err := n.Decode(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// TestSchemaAcceptsSpecs validates every spec of the repository that the reader takes.
func TestSchemaAcceptsSpecs(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	count := 0
	for name, text := range specs(t) {
		if _, ds := Read(around(text), "inboxgen.yaml"); len(ds) > 0 {
			continue
		}
		count++
		if err := schema.Validate(decode(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if count < 5 {
		t.Errorf("only %d specs", count)
	}
}

// TestSchemaAgrees makes a spec wrong in thousands of ways, and compares what the schema and the reader say. The reader
// may be the stricter one where a rule spans values or looks at files; the schema never.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(everyKey)
	if err != nil {
		t.Fatal(err)
	}
	document := oneLine(decode(t, string(text)))
	schema := compileSchema(t)
	values := []any{
		nil,
		[]any{},
		map[string]any{},
		"", " ", "zzz", "Zzz", "a.b", "a b", "/x", "../x", `x\y`, "1d", "8", "1e3", "0", json.Number("0"),
		json.Number("-1"), json.Number("1"), json.Number("2"), json.Number("15"), json.Number("1.5"), json.Number("99999999999"), true, false,
		strings.Repeat("x", 64), strings.Repeat("X", 101), strings.Repeat("x", 201), strings.Repeat("x", 256), "field:a.b", "field:", "header:x", "header:", "property:type", "property:message_id",
		"example.com/a.B",
		[]any{"a", "a"},
		[]any{"a"},
		[]any{json.Number("1")},
		map[string]any{"a": "b"},
		"a\tb",
	}
	for word := range strings.SplitSeq("text uuid content off message_id event_time processed_at golang-migrate goose tern atlas dbmate flyway liquibase sql go pg_cron kubernetes otel prometheus none dead_letter skip stop inbox natural versioned downstream one some any cloudevents", " ") {
		values = append(values, word)
	}
	compare := func(what string, value any) {
		t.Helper()
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		problem := schema.Validate(document)
		_, ds := Read(around(string(text)), "inboxgen.yaml")
		switch {
		case problem != nil && len(ds) == 0 && !unquoted(value):
			t.Errorf("%s: only the schema refuses it: %v", what, problem)
		case problem == nil && slices.ContainsFunc(ds, func(d diag.Diagnostic) bool { return !readerKnows(d) }):
			t.Errorf("%s: only the reader refuses it: %s", what, ds[0])
		}
	}
	compare("unchanged", nil)
	mutate(document, "", values, compare)
}

// unquoted reports whether the reader takes a value with or without quotes, where the schema insists on one of them.
func unquoted(v any) bool {
	switch v := v.(type) {
	case bool, json.Number:
		return true
	case []any:
		return slices.ContainsFunc(v, unquoted)
	case string:
		_, err := strconv.ParseFloat(v, 64)
		return err == nil
	}
	return false
}

// readerKnows reports whether a diagnostic is of a rule that spans values, looks at files or takes more than a pattern.
func readerKnows(d diag.Diagnostic) bool {
	rules := []string{"file", "path", "retention", "shared-ledger", "shared-type", "source"}
	texts := []string{"in the example's message", "is empty: write a path", "is a Go keyword", "PostgreSQL cuts names"}
	return slices.Contains(rules, d.Rule) || slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(d.Message, text) })
}

// oneLine makes one line of each text: JSON, in which the test writes a spec, has no blocks.
func oneLine(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = oneLine(v[k])
		}
	case []any:
		for i := range v {
			v[i] = oneLine(v[i])
		}
	case string:
		return strings.ReplaceAll(v, "\n", " ")
	}
	return v
}

// mutate changes each part of v in turn, calls compare, and restores it.
func mutate(v any, path string, values []any, compare func(what string, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			at, old := path+"."+k, v[k]
			for _, value := range values {
				v[k] = value
				compare(fmt.Sprintf("%s = %#v", at, value), value)
			}
			delete(v, k)
			compare(at+" deleted", nil)
			for _, other := range []string{k + "_", "Zzz", "zzz", "1z", "z-z", "z z", "", strings.Repeat("z", 128)} {
				v[other] = old
				compare(fmt.Sprintf("%s is %q", at, other), nil)
				v[k] = old
				compare(fmt.Sprintf("%s and %q", at, other), nil)
				delete(v, other)
				delete(v, k)
			}
			v[k] = old
			mutate(old, at, values, compare)
		}
	case []any:
		for i, old := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			for _, value := range values {
				v[i] = value
				compare(fmt.Sprintf("%s = %#v", at, value), value)
			}
			v[i] = old
			mutate(old, at, values, compare)
		}
	}
}
