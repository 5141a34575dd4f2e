package gotype

import (
	"errors"
	"fmt"
	"go/types"
	"strings"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// spelled are the types that a spec can name without an import path.
var spelled = map[string]*Type{
	"string": basic("string"), "bool": basic("bool"),
	"int": basic("int"), "int16": basic("int16"), "int32": basic("int32"), "int64": basic("int64"),
	"float32": basic("float32"), "float64": basic("float64"),
	"bytes":           {Kind: Slice, Elem: basic("byte")},
	"time":            named("time", "time", "Time"),
	"time.Time":       named("time", "time", "Time"),
	"json":            named("encoding/json", "json", "RawMessage"),
	"json.RawMessage": named("encoding/json", "json", "RawMessage"),
	"decimal":         named("encoding/json", "json", "Number"), // a number's digits as they came, never a float
	"json.Number":     named("encoding/json", "json", "Number"),
	"uuid":            named("github.com/jackc/pgx/v5/pgtype", "pgtype", "UUID"),
	"date":            named("github.com/jackc/pgx/v5/pgtype", "pgtype", "Date"),
	"interval":        {Kind: Basic, Name: "Interval", Support: "interval"}, // a text, which the server reads
}

// spelledNames is what a message about an unknown type offers.
var spelledNames = []string{
	"string", "bool", "int", "int16", "int32", "int64", "float32", "float64", "bytes", "time", "date", "interval", "uuid", "decimal", "json",
}

// otherWords are what SQL, JSON and other languages call these types.
var otherWords = map[string]string{
	"text": "string", "varchar": "string", "char": "string", "enum": "string",
	"boolean": "bool", "smallint": "int16", "int2": "int16", "int4": "int32", "integer": "int64", "bigint": "int64", "int8": "int64", "long": "int64",
	"real": "float32", "float4": "float32", "float": "float64", "float8": "float64", "double": "float64",
	"numeric": "decimal", "money": "decimal", "number": "decimal", "bytea": "bytes", "blob": "bytes", "binary": "bytes",
	"timestamp": "time", "timestamptz": "time", "datetime": "time", "duration": "interval", "guid": "uuid",
	"jsonb": "json", "object": "json", "any": "json", "map": "json", "struct": "json",
}

func basic(name string) *Type { return &Type{Kind: Basic, Name: name} }

func named(path, pkg, name string) *Type {
	return &Type{Kind: Named, ImportPath: path, PkgName: pkg, Name: name}
}

// parseType reads a type as the spec writes it. A type with an import path is looked up in loaded.
func parseType(text string, loaded func(path, name string) (*Type, error)) (*Type, error) {
	if elem, ok := strings.CutPrefix(text, "*"); ok {
		if strings.HasPrefix(elem, "*") {
			return nil, fmt.Errorf("%s is a pointer to a pointer; one * says that the field may be missing", text)
		}
		t, err := parseType(elem, loaded)
		if err != nil {
			return nil, err
		}
		return &Type{Kind: Pointer, Elem: t, Use: t.Use}, nil
	}
	if elem, ok := strings.CutPrefix(text, "[]"); ok && elem == "byte" {
		return spelled["bytes"], nil
	} else if ok {
		t, err := parseType(elem, loaded)
		if err != nil {
			return nil, err
		}
		return &Type{Kind: Slice, Elem: t, Use: listUse(t)}, nil
	}
	if t, ok := spelled[text]; ok {
		return t, nil
	}
	if path, name, ok := splitGoType(text); ok {
		return loaded(path, name)
	}
	if meant, ok := otherWords[strings.ToLower(text)]; ok {
		return nil, fmt.Errorf("there is no type %s; did you mean %s?", text, meant)
	}
	if strings.HasPrefix(text, "map[") {
		return nil, fmt.Errorf("there is no type %s; a map is json, or a Go type of yours as import/path.Name", text)
	}
	if best := diag.Nearest(text, spelledNames); best != "" {
		return nil, fmt.Errorf("there is no type %s; did you mean %s?", text, best)
	}
	return nil, fmt.Errorf("there is no type %s; write one of %s, with * before it where it may be missing or [] for a list, or import/path.Name",
		text, strings.Join(spelledNames, ", "))
}

// listUse is how a list of a type that the spec spells becomes a parameter.
func listUse(elem *Type) Use {
	switch {
	case elem.goType != nil:
		return useOfList(elem.goType)
	case isText(elem):
		return AsStrings
	case elem.Kind == Pointer && elem.Elem.goType != nil:
		return useOfList(types.NewPointer(elem.Elem.goType))
	case elem.Kind == Pointer && isText(elem.Elem):
		return Unusable // pgx sends no list of pointers to a type that it doesn't know
	case elem.Kind == Slice && elem.Elem.Name != "byte", elem.Kind == Named && elem.Name == "RawMessage":
		return AsJSON
	default:
		return AsIs
	}
}

// isText reports whether a spelled type is of the kind of string, under a name that pgx doesn't know.
func isText(t *Type) bool { return t.Name == "Number" || t.Name == "Interval" }

// splitGoType splits import/path.Name.
func splitGoType(text string) (path, name string, ok bool) {
	dot := strings.LastIndexByte(text, '.')
	if dot <= strings.LastIndexByte(text, '/') || dot == len(text)-1 {
		return "", "", false
	}
	return text[:dot], text[dot+1:], dot > 0
}

// inline makes the message of fields that the spec lists.
func inline(s *spec.Message, loaded func(path, name string) (*Type, error), diags *diag.List) *Message {
	m := &Message{Name: s.Key.Value, Inline: true}
	first := map[string]spec.At[string]{}
	for _, f := range s.Fields {
		goName, named := inlineName(f.Name, first, diags)
		t, typed := inlineType(f.Type, loaded, diags)
		switch {
		case f.Name.Value == "":
			m.opaque = true // there is a field whose name can't be read
		case !named || !typed:
			m.members = append(m.members, member{name: f.Name.Value, steps: []Step{{Name: goName}}, broken: true})
		default:
			m.Fields = append(m.Fields, InlineField{GoName: goName, JSONName: f.Name.Value, Type: t})
			m.members = append(m.members, member{
				name: f.Name.Value, steps: []Step{{Name: goName, Pointer: t.Kind == Pointer}}, typ: t,
			})
		}
	}
	return m
}

// inlineName gives a field its Go name, which no other in first may have.
func inlineName(name spec.At[string], first map[string]spec.At[string], diags *diag.List) (goName string, ok bool) {
	if name.Broken {
		return "", false
	}
	goName, err := GoName(name.Value)
	if err != nil {
		diags.Errorf(name.Pos, "go-name", "%s", err)
		return "", false
	}
	if other, taken := first[goName]; taken {
		diags.Errorf(name.Pos, "go-name", "the fields %s (%s) and %s would both be the Go field %s; rename one of them", other.Value, other.Pos, name.Value, goName)
		return goName, false
	}
	first[goName] = name
	return goName, true
}

func inlineType(text spec.At[string], loaded func(path, name string) (*Type, error), diags *diag.List) (t *Type, ok bool) {
	if text.Broken {
		return nil, false
	}
	t, err := parseType(text.Value, loaded)
	if err != nil && !errors.Is(err, ErrReported) {
		diags.Errorf(text.Pos, "unknown-type", "%s", err)
	}
	return t, err == nil
}
