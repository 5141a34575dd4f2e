// Package gotype makes one thing of a message's fields, whether the spec lists them or a Go struct has them.
package gotype

import (
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// Kind is how a type is spelled.
type Kind int

// The kinds of type.
const (
	Basic   Kind = iota // Name alone
	Named               // Name of a package
	Pointer             // to Elem
	Slice               // of Elem
	Other               // anything else; only String is of use
)

// Type is a Go type.
type Type struct {
	Kind       Kind
	Name       string
	ImportPath string
	PkgName    string
	Elem       *Type
	Use        Use
	Support    string     // the part of the support code that declares it, or ""
	text       string     // for Other
	goType     types.Type // nil for a type that is spelled in the spec and needs no package
}

// String returns the type as Go source spells it.
func (t *Type) String() string {
	switch t.Kind {
	case Pointer:
		return "*" + t.Elem.String()
	case Slice:
		return "[]" + t.Elem.String()
	case Named:
		return t.PkgName + "." + t.Name
	case Other:
		return t.text
	default:
		return t.Name
	}
}

// notImported makes t one of the output package at path, whose types go by their names alone.
func (t *Type) notImported(path string) {
	for ; t != nil; t = t.Elem {
		if t.ImportPath == path {
			t.ImportPath = ""
		}
	}
}

// Use is what to do with a value of a type before it is a parameter.
type Use int

// The uses. A pointer has that of what it points to.
const (
	AsIs      Use = iota // pgx encodes it
	AsJSON               // a struct, a map, or a list of such: as JSON text
	AsStrings            // a list of a named string type: as []string
	AsTime               // a protobuf timestamp: as time.Time
	AsUUID               // sixteen bytes: as pgtype.UUID
	AsTexts              // a list of a driver.Valuer: as []*string
	AsList               // a named type of list: as []Elem
	Unusable             // a function, a channel, an interface, an array of bytes that is no UUID
)

// IDKind is how a value becomes a message id.
type IDKind int

// The kinds of id.
const (
	NotID       IDKind = iota
	IDString           // a string
	IDConverted        // a named string type
	IDInteger          // a signed integer
	IDUnsigned         // an unsigned integer
	IDStringer         // a UUID type with a String method
)

// Step is one Go selector on the way to a field.
type Step struct {
	Name    string
	Pointer bool // the field that it selects is a pointer
}

// Field is a field of a message, found by its path.
type Field struct {
	Path  string // as the spec writes it
	Steps []Step
	Type  *Type // of the last step
}

// Message is the Go type of a message.
type Message struct {
	Name       string
	ImportPath string // "" for a type of the output package
	PkgName    string
	Inline     bool
	Fields     []InlineField // of an inline message, to be declared
	Proto      bool          // decoded by protobuf
	Pointer    bool          // handled as a pointer
	members    []member
	output     string // import path of the output package when the type is one of it
	opaque     bool   // any field may exist
}

// InlineField is a field that the generated struct has.
type InlineField struct {
	GoName, JSONName string
	Type             *Type
}

// member is a field as paths see it.
type member struct {
	name   string // in paths
	steps  []Step
	typ    *Type
	reason string // why it can't be used, or ""
	broken bool   // what is wrong with it is reported where it is declared
}

// ErrReported is what a look-up gives that came upon something whose fault is reported already.
var ErrReported = errors.New("reported already")

// Whole reports whether all fields of the message are known.
func (m *Message) Whole() bool {
	return !m.opaque && !slices.ContainsFunc(m.members, func(f member) bool { return f.broken })
}

// SameFields reports whether two inline messages declare the same struct.
func (m *Message) SameFields(other *Message) bool {
	return slices.EqualFunc(m.Fields, other.Fields, func(a, b InlineField) bool {
		return a.GoName == b.GoName && a.JSONName == b.JSONName && a.Type.String() == b.Type.String() && a.Type.ImportPath == b.Type.ImportPath
	})
}

// Lookup finds a field by its path, such as merchant_id or payment.amount. The error is for the user, or ErrReported.
func (m *Message) Lookup(path string) (Field, error) {
	if m.opaque {
		return Field{}, ErrReported
	}
	members := m.members
	field := Field{Path: path}
	names := strings.Split(path, ".")
	for i, name := range names {
		at := slices.IndexFunc(members, func(f member) bool {
			return f.name == name || f.broken && diag.FoldSpelling(f.name) == diag.FoldSpelling(name)
		})
		if at < 0 {
			return Field{}, &unknownField{strings.Join(names[:i+1], "."), m.Name, name, members}
		}
		found := members[at]
		if found.broken {
			return Field{}, ErrReported
		}
		if found.reason != "" {
			return Field{}, &unusableField{strings.Join(names[:i+1], "."), found.reason}
		}
		field.Steps = append(field.Steps, found.steps...)
		field.Type = found.typ
		members = membersOf(found.typ)
	}
	if field.Type.Use == Unusable {
		return Field{}, &unusableField{path, "it is " + field.Type.String() + ", which is no value for SQL"}
	}
	if m.output != "" {
		field.Type.notImported(m.output)
	}
	return field, nil
}

type unknownField struct {
	path, message, name string
	members             []member
}

func (e *unknownField) Error() string {
	text := "there is no field " + e.path + " in " + e.message
	var names []string
	for _, m := range e.members {
		if m.steps[len(m.steps)-1].Name == e.name { // the Go name of a field that JSON calls otherwise
			return text + "; did you mean " + m.name + "?"
		}
		if m.reason == "" {
			names = append(names, m.name)
		}
	}
	if best := diag.Nearest(e.name, names); best != "" {
		return text + "; did you mean " + best + "?"
	}
	const most = 20
	switch {
	case len(names) == 0:
		return text
	case len(names) > most:
		return fmt.Sprintf("%s; it has %s and %d more", text, strings.Join(names[:most], ", "), len(names)-most)
	}
	return text + "; it has " + strings.Join(names, ", ")
}

type unusableField struct{ path, reason string }

func (e *unusableField) Error() string { return "the field " + e.path + " can't be used: " + e.reason }
