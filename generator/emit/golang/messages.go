package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/gotype"
)

// messages prints the structs of the messages whose fields the spec lists.
func (e *emitter) messages() ([]byte, error) {
	f := e.newFile()
	for _, m := range e.model.Structs {
		f.Line().Add(comment(fmt.Sprintf("%s is a message. A field that is no pointer must be there; a pointer is nil when it is missing or null.", m.Name)))
		f.Type().Id(m.Name).StructFunc(func(g *jen.Group) {
			for _, field := range m.Fields {
				g.Id(field.GoName).Add(typeCode(field.Type)).Tag(map[string]string{"json": field.JSONName})
			}
		})
	}
	return e.render(f)
}

func typeCode(t *gotype.Type) *jen.Statement {
	switch t.Kind {
	case gotype.Pointer:
		return jen.Op("*").Add(typeCode(t.Elem))
	case gotype.Slice:
		return jen.Index().Add(typeCode(t.Elem))
	case gotype.Named:
		return jen.Qual(t.ImportPath, t.Name)
	default:
		return jen.Id(t.Name)
	}
}

// imports lists the packages that the printed types come from, with their names.
func (e *emitter) imports() map[string]string {
	out := map[string]string{}
	var add func(t *gotype.Type)
	add = func(t *gotype.Type) {
		if t.Elem != nil {
			add(t.Elem)
		}
		if t.ImportPath != "" {
			out[t.ImportPath] = t.PkgName
		}
	}
	for _, m := range e.model.Structs {
		for _, field := range m.Fields {
			add(field.Type)
		}
	}
	for _, c := range e.model.Consumers {
		for _, m := range c.Messages {
			if m.Go.ImportPath != "" {
				out[m.Go.ImportPath] = m.Go.PkgName
			}
		}
	}
	return out
}
