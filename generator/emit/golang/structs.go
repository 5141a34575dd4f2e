package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// structs has the messages whose fields the spec lists.
func structs(m *plan.Model) *file {
	f := newFile(m)
	for _, message := range m.Structs {
		fields := make([]jen.Code, len(message.Fields))
		for i, field := range message.Fields {
			fields[i] = jen.Id(field.GoName).Add(f.typeOf(field.Type)).Tag(map[string]string{"json": field.JSONName})
		}
		f.declare(documented(message.Name + " is a message.").
			Type().Id(message.Name).Struct(fields...))
	}
	return f
}

func (f *file) typeOf(t *gotype.Type) *jen.Statement {
	switch t.Kind {
	case gotype.Pointer:
		return jen.Op("*").Add(f.typeOf(t.Elem))
	case gotype.Slice:
		return jen.Index().Add(f.typeOf(t.Elem))
	default:
		if t.Support != "" {
			return f.support(t.Support, t.Name)
		}
		return f.named(t.ImportPath, t.PkgName, t.Name)
	}
}
