package spec

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// readExample reads an example of a message, whose fields it may use.
func readExample(m *Message) func(*decoder, value) (*Example, bool) {
	var known map[string]bool
	return func(d *decoder, v value) (*Example, bool) {
		if known == nil {
			known = knownFields(m)
		}
		e := &Example{Pos: v.at}
		v.name = "the example"
		d.mapping(v, exampleForm(e, m, known))
		return e, true
	}
}

// knownFields has the names of a message's fields; none when one can't be read. One that is no name may be meant by all
// that are spelled like it.
func knownFields(m *Message) map[string]bool {
	known := map[string]bool{}
	for _, f := range m.Fields {
		if f.Name.Value == "" {
			return map[string]bool{}
		}
		known[f.Name.Value] = true
		if f.Name.Broken {
			known[misspelled+diag.FoldSpelling(f.Name.Value)] = true
		}
	}
	return known
}

const misspelled = "\x00" // before what no field's name can begin with

func exampleForm(e *Example, m *Message, known map[string]bool) form {
	return form{
		keys: []key{
			sqlLine("given", &e.Given),
			{
				name:  "message",
				needs: "message: {…}, with the fields of a message",
				unset: func(diag.Position) {},
				read:  func(d *decoder, v value) { e.MessagePos = v.at; e.Message = d.exampleMessage(v, m, known) },
			},
			sqlLine("query", &e.Query),
			{
				name:  "want",
				unset: func(diag.Position) {},
				read:  func(d *decoder, v value) { e.Want = d.plain(v) },
			},
		},
		check: func(d *decoder, w written) {
			w.needs(d, "want", w.has("query"), "what the query must return")
			w.needs(d, "query", w.has("want"), "the statement that returns what is wanted")
		},
	}
}

// exampleMessage reads the message of an example. The fields of a go_type are not known here.
func (d *decoder) exampleMessage(v value, m *Message, known map[string]bool) map[string]any {
	entries, ok := d.entries(v, "a mapping of fields to values")
	if !ok {
		return nil
	}
	message := map[string]any{}
	for _, e := range entries {
		if e.broken {
			continue
		}
		if len(known) > 0 && !known[e.name] && !known[misspelled+diag.FoldSpelling(e.name)] {
			d.Errorf(e.at, "unknown-key", "unknown field %s in the example's message: %s", quoteShort(e.name), suggestField(e.name, m))
		}
		message[e.name] = d.plain(e)
	}
	return message
}

func suggestField(name string, m *Message) string {
	const most = 100 // beyond, a list is no help, and would be made for every field
	if len(m.Fields) > most {
		return fmt.Sprintf("%s has %d other fields", m.Key.Value, len(m.Fields))
	}
	known := make([]string, len(m.Fields))
	for i, f := range m.Fields {
		known[i] = f.Name.Value
	}
	if best := diag.Nearest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	return m.Key.Value + " has the fields " + join(known, "and")
}

var (
	jsonNumber  = regexp.MustCompile(`\A-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\z`)
	dateOrOther = map[string]bool{"!!str": true, "!!timestamp": true}
)

// plain turns a value of an example into nil, a bool, an int64, a json.Number (a fraction, or too large for an int64), a
// string, a []any or a map[string]any.
func (d *decoder) plain(v value) any {
	switch v.node.Kind {
	case yaml.MappingNode:
		return d.plainMapping(v)
	case yaml.SequenceNode:
		items := []any{}
		for _, n := range v.node.Content {
			items = append(items, d.plain(value{name: "an item of " + v.name, at: d.pos(n), node: n}))
		}
		return items
	case yaml.ScalarNode:
		return d.plainScalar(v)
	default:
		return nil
	}
}

func (d *decoder) plainMapping(v value) map[string]any {
	entries, _ := d.entries(v, "a mapping")
	m := map[string]any{}
	for _, e := range entries {
		if !e.broken {
			m[e.name] = d.plain(e)
		}
	}
	return m
}

func (d *decoder) plainScalar(v value) any {
	tag := v.node.Tag
	switch {
	case tag == "!!null":
		return nil
	case tag == "!!bool":
		return strings.EqualFold(v.node.Value, "true")
	case dateOrOther[tag] || v.node.Style != 0:
		return showBreaks.Replace(v.node.Value)
	case !jsonNumber.MatchString(v.node.Value):
		d.Errorf(d.pos(v.node), "invalid-value", "%s: %s is not a number as JSON writes it, such as 10 or 0.5: write it so, or quote it to make it text", v.name, v.node.Value)
		return nil
	}
	if n, err := strconv.ParseInt(v.node.Value, 10, 64); err == nil {
		return n
	}
	return json.Number(v.node.Value)
}
