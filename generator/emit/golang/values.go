package golang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// values has the expressions that take values out of a message m. A value behind a pointer that may be nil needs a
// variable; those are declared by statements, in the order of their first use.
type values struct {
	file       *file
	message    *plan.Message
	statements []jen.Code
	fields     map[string]jen.Code // by path
	locals     map[string]string   // by name, the path of the field that it holds
}

func newValues(f *file, m *plan.Message) *values {
	return &values{file: f, message: m, fields: map[string]jen.Code{}, locals: map[string]string{}}
}

// arg is the value of a parameter.
func (v *values) arg(c *plan.Consumer, a plan.Arg) jen.Code {
	switch a.Builtin {
	case "consumer_name":
		return jen.Lit(c.Ledger)
	case "message_id":
		return v.id()
	default:
		return v.field(a.Field)
	}
}

// id is the message's id as a string.
func (v *values) id() jen.Code {
	switch v.message.ID.From {
	case "cloudevents":
		return v.file.support("cloudevents", "cloudEventID").Call(jen.Id("source"), jen.Id("id"))
	case "field":
	default:
		return jen.Id("id")
	}
	f := v.message.ID.Field
	if !mayBeNil(f.Steps) {
		return v.idText(f)
	}
	return v.local("id", "string", f.Steps, f.Path, v.idText(f))
}

// idText converts a field that is not nil to a string.
func (v *values) idText(f gotype.Field) jen.Code {
	switch f.Type.IDKind() {
	case gotype.IDString:
		return dereferenced(f)
	case gotype.IDConverted:
		return jen.String().Call(dereferenced(f))
	case gotype.IDInteger:
		return v.file.qualified("strconv", "FormatInt").Call(jen.Int64().Call(dereferenced(f)), jen.Lit(10))
	case gotype.IDUnsigned:
		return v.file.qualified("strconv", "FormatUint").Call(jen.Uint64().Call(dereferenced(f)), jen.Lit(10))
	default:
		return selector(f.Steps).Dot("String").Call()
	}
}

// field is the value of a field, ready to be a parameter: nil when it, or anything on the way to it, is nil.
func (v *values) field(f gotype.Field) jen.Code {
	value, known := v.fields[f.Path]
	if !known {
		value = v.take(f)
		v.fields[f.Path] = value
	}
	return value
}

func (v *values) take(f gotype.Field) jen.Code {
	through := f.Steps[:len(f.Steps)-1]
	if f.Type.Use != gotype.AsIs || f.Type.IsFloat() {
		through = f.Steps // converting needs what a pointer points to
	}
	if !mayBeNil(through) {
		return v.converted(f)
	}
	return v.local(localName(f), "any", through, f.Path, v.converted(f))
}

// local declares a variable that has value when every pointer among steps is set, once, and returns its name: the one
// given, or with a number where that holds another field.
func (v *values) local(name, typ string, steps []gotype.Step, path string, value jen.Code) jen.Code {
	base := name
	for n := 2; ; n++ {
		switch v.locals[name] {
		case path:
			return jen.Id(name)
		case "":
			v.locals[name] = path
			v.statements = append(v.statements,
				jen.Var().Id(name).Id(typ),
				jen.If(notNil(steps)).Block(jen.Id(name).Op("=").Add(value)))
			return jen.Id(name)
		}
		name = base + strconv.Itoa(n)
	}
}

// converted applies what the field's type needs before pgx can encode it in every mode.
func (v *values) converted(f gotype.Field) jen.Code {
	switch f.Type.Use {
	case gotype.AsJSON:
		return v.file.support("values", "jsonText").Call(selector(f.Steps))
	case gotype.AsStrings:
		return v.file.support("values", "stringList").Call(dereferenced(f))
	case gotype.AsTexts:
		return v.file.support("values", "textList").Call(dereferenced(f))
	case gotype.AsList:
		return jen.Index().Add(v.file.typeOf(elem(f.Type))).Call(dereferenced(f))
	case gotype.AsTime:
		return selector(f.Steps).Dot("AsTime").Call()
	case gotype.AsUUID:
		return v.file.qualified(pgtypePath, "UUID").Values(pair("Bytes", dereferenced(f)), pair("Valid", jen.True()))
	}
	if f.Type.IsFloat() {
		return v.file.support("float", "float").Call(dereferenced(f))
	}
	return selector(f.Steps)
}

// elem is the element of a list, or of the list that a pointer points to.
func elem(t *gotype.Type) *gotype.Type {
	if t.Kind == gotype.Pointer {
		t = t.Elem
	}
	return t.Elem
}

// localName is unlike every parameter: none begins with field.
func localName(f gotype.Field) string {
	var b strings.Builder
	b.WriteString("field")
	for _, s := range f.Steps {
		b.WriteString(s.Name)
	}
	return b.String()
}

func selector(steps []gotype.Step) *jen.Statement {
	out := jen.Id("m")
	for _, s := range steps {
		out.Dot(s.Name)
	}
	return out
}

// dereferenced is the field, or what it points to.
func dereferenced(f gotype.Field) *jen.Statement {
	if f.Steps[len(f.Steps)-1].Pointer {
		return jen.Op("*").Add(selector(f.Steps))
	}
	return selector(f.Steps)
}

func mayBeNil(steps []gotype.Step) bool {
	return slices.ContainsFunc(steps, func(s gotype.Step) bool { return s.Pointer })
}

// notNil is the condition that every pointer among steps is set.
func notNil(steps []gotype.Step) *jen.Statement {
	out := &jen.Statement{}
	for i, s := range steps {
		if !s.Pointer {
			continue
		}
		if len(*out) > 0 {
			out.Op("&&")
		}
		out.Add(selector(steps[:i+1])).Op("!=").Nil()
	}
	return out
}
