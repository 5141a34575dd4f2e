package golang

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// values prints the expressions that take values out of a message m. A value behind a pointer that may be nil needs a
// variable; those stand in locals, in the order of their first use.
type values struct {
	message *plan.Message
	locals  []jen.Code
	byPath  map[string]string
}

func newValues(m *plan.Message) *values {
	return &values{message: m, byPath: map[string]string{}}
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
func (v *values) id() *jen.Statement {
	switch v.message.ID.From {
	case "cloudevents":
		return jen.Id("cloudEventID").Call(jen.Id("source"), jen.Id("id"))
	case "field":
	default:
		return jen.Id("id")
	}
	f := v.message.ID.Field
	if mayBeNil(f.Steps) {
		if _, ok := v.byPath["id"]; !ok {
			v.byPath["id"] = "id"
			v.locals = append(v.locals,
				jen.Var().Id("id").String(),
				jen.If(notNil(f.Steps)).Block(jen.Id("id").Op("=").Add(idText(f))),
			)
		}
		return jen.Id("id")
	}
	return idText(f)
}

// idText converts a field that is not nil to a string.
func idText(f gotype.Field) *jen.Statement {
	value := selector(f.Steps)
	pointer := f.Steps[len(f.Steps)-1].Pointer
	plain := value
	if pointer {
		plain = jen.Op("*").Add(value)
	}
	switch f.Type.IDKind() {
	case gotype.IDString:
		return plain
	case gotype.IDConverted:
		return jen.String().Call(plain)
	case gotype.IDInteger:
		return jen.Qual("strconv", "FormatInt").Call(jen.Int64().Call(plain), jen.Lit(10))
	case gotype.IDUnsigned:
		return jen.Qual("strconv", "FormatUint").Call(jen.Uint64().Call(plain), jen.Lit(10))
	default:
		return value.Dot("String").Call()
	}
}

// field is the value of a field, ready to be a parameter: nil when it, or anything on the way to it, is nil.
func (v *values) field(f gotype.Field) *jen.Statement {
	last := f.Steps[len(f.Steps)-1]
	convert := f.Type.Use != gotype.AsIs
	if !mayBeNil(f.Steps[:len(f.Steps)-1]) && !(last.Pointer && convert) {
		return converted(f, selector(f.Steps))
	}
	name, ok := v.byPath[f.Path]
	if !ok {
		name = localName(f)
		v.byPath[f.Path] = name
		steps := f.Steps
		if !convert {
			steps = steps[:len(steps)-1]
		}
		v.locals = append(v.locals,
			jen.Var().Id(name).Any(),
			jen.If(notNil(steps)).Block(jen.Id(name).Op("=").Add(converted(f, selector(f.Steps)))),
		)
	}
	return jen.Id(name)
}

// converted applies what the field's type needs before pgx can encode it in every mode.
func converted(f gotype.Field, value *jen.Statement) *jen.Statement {
	switch f.Type.Use {
	case gotype.AsJSON:
		return jen.Id("jsonText").Call(value)
	case gotype.AsStrings:
		return jen.Id("stringList").Call(value)
	case gotype.AsTime:
		return value.Dot("AsTime").Call()
	default:
		return value
	}
}

// localName is unlike every other local: no parameter begins with field.
func localName(f gotype.Field) string {
	var b strings.Builder
	b.WriteString("field")
	for _, s := range f.Steps {
		b.WriteString(s.Name)
	}
	return b.String()
}

func selector(steps []gotype.Step) *jen.Statement {
	s := jen.Id("m")
	for _, step := range steps {
		s.Dot(step.Name)
	}
	return s
}

func mayBeNil(steps []gotype.Step) bool {
	return slices.ContainsFunc(steps, func(s gotype.Step) bool { return s.Pointer })
}

// notNil is the condition that every pointer among steps is set.
func notNil(steps []gotype.Step) *jen.Statement {
	var condition *jen.Statement
	for i, step := range steps {
		if !step.Pointer {
			continue
		}
		check := selector(steps[:i+1]).Op("!=").Nil()
		if condition == nil {
			condition = check
		} else {
			condition.Op("&&").Add(check)
		}
	}
	return condition
}
