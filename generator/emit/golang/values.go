package golang

import (
	"slices"
	"strconv"
	"strings"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// values prints the expressions that take values out of a message m. A value behind a pointer that may be nil needs a
// variable; those are declared by lines, in the order of their first use.
type values struct {
	printer *printer
	message *plan.Message
	lines   []string
	locals  map[string]string // by name, what it is set to
}

func newValues(p *printer, m *plan.Message) *values {
	return &values{printer: p, message: m, locals: map[string]string{}}
}

// arg is the value of a parameter.
func (v *values) arg(c *plan.Consumer, a plan.Arg) string {
	switch a.Builtin {
	case "consumer_name":
		return strconv.Quote(c.Ledger)
	case "message_id":
		return v.id()
	default:
		return v.field(a.Field)
	}
}

// id is the message's id as a string.
func (v *values) id() string {
	switch v.message.ID.From {
	case "cloudevents":
		return v.printer.support("cloudevents", "cloudEventID") + "(source, id)"
	case "field":
	default:
		return "id"
	}
	f := v.message.ID.Field
	if !mayBeNil(f.Steps) {
		return v.idText(f)
	}
	return v.local("id", "string", notNil(f.Steps), v.idText(f))
}

// idText converts a field that is not nil to a string.
func (v *values) idText(f gotype.Field) string {
	value := selector(f.Steps)
	plain := value
	if f.Steps[len(f.Steps)-1].Pointer {
		plain = "*" + value
	}
	switch f.Type.IDKind() {
	case gotype.IDString:
		return plain
	case gotype.IDConverted:
		return "string(" + plain + ")"
	case gotype.IDInteger:
		return v.printer.qualified("strconv", "FormatInt") + "(int64(" + plain + "), 10)"
	case gotype.IDUnsigned:
		return v.printer.qualified("strconv", "FormatUint") + "(uint64(" + plain + "), 10)"
	default:
		return value + ".String()"
	}
}

// field is the value of a field, ready to be a parameter: nil when it, or anything on the way to it, is nil.
func (v *values) field(f gotype.Field) string {
	last := len(f.Steps) - 1
	through := f.Steps[:last]
	if f.Type.Use != gotype.AsIs {
		through = f.Steps // converting needs what a pointer points to
	}
	if !mayBeNil(through) {
		return v.converted(f)
	}
	return v.local(localName(f), "any", notNil(through), v.converted(f))
}

// local declares a variable that has value when condition holds, once, and returns its name: the one given, or with a
// number where that is another value's.
func (v *values) local(name, typ, condition, value string) string {
	base := name
	for n := 2; ; n++ {
		switch v.locals[name] {
		case value:
			return name
		case "":
			v.locals[name] = value
			v.lines = append(v.lines, "var "+name+" "+typ, "if "+condition+" {", "\t"+name+" = "+value, "}")
			return name
		}
		name = base + strconv.Itoa(n)
	}
}

// converted applies what the field's type needs before pgx can encode it in every mode.
func (v *values) converted(f gotype.Field) string {
	value := selector(f.Steps)
	plain := value
	if f.Steps[len(f.Steps)-1].Pointer {
		plain = "*" + value
	}
	switch f.Type.Use {
	case gotype.AsJSON:
		return v.printer.support("values", "jsonText") + "(" + value + ")"
	case gotype.AsStrings:
		return v.printer.support("values", "stringList") + "(" + plain + ")"
	case gotype.AsTexts:
		return v.printer.support("values", "textList") + "(" + plain + ")"
	case gotype.AsList:
		return "[]" + typeText(v.printer, elem(f.Type)) + "(" + plain + ")"
	case gotype.AsTime:
		return value + ".AsTime()"
	case gotype.AsUUID:
		return v.printer.qualified(pgtypePath, "UUID") + "{Bytes: " + plain + ", Valid: true}"
	default:
		return value
	}
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

func selector(steps []gotype.Step) string {
	var b strings.Builder
	b.WriteString("m")
	for _, s := range steps {
		b.WriteString("." + s.Name)
	}
	return b.String()
}

func mayBeNil(steps []gotype.Step) bool {
	return slices.ContainsFunc(steps, func(s gotype.Step) bool { return s.Pointer })
}

// notNil is the condition that every pointer among steps is set.
func notNil(steps []gotype.Step) string {
	var conditions []string
	for i, s := range steps {
		if s.Pointer {
			conditions = append(conditions, selector(steps[:i+1])+" != nil")
		}
	}
	return strings.Join(conditions, " && ")
}
