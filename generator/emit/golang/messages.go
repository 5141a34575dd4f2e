package golang

import (
	"fmt"

	"github.com/inboxgen/inboxgen/generator/gotype"
)

// messages prints the structs of the messages whose fields the spec lists.
func (e *emitter) messages() *printer {
	p := e.newPrinter()
	for _, m := range e.model.Structs {
		p.comment(m.Name + " is a message. A field that is no pointer must be there; a pointer is nil when it is missing or null.")
		if len(m.Fields) == 0 {
			p.P("type ", m.Name, " struct{}")
			continue
		}
		rows := make([][]string, len(m.Fields))
		for i, f := range m.Fields {
			rows[i] = []string{f.GoName, typeText(p, f.Type), fmt.Sprintf("`json:%q`", f.JSONName)}
		}
		p.P("type ", m.Name, " struct {")
		for _, line := range align(rows) {
			p.P("\t", line)
		}
		p.P("}")
	}
	return p
}

func typeText(p *printer, t *gotype.Type) string {
	switch t.Kind {
	case gotype.Pointer:
		return "*" + typeText(p, t.Elem)
	case gotype.Slice:
		return "[]" + typeText(p, t.Elem)
	default:
		return p.qualified(t.ImportPath, t.Name)
	}
}

// imports lists the packages that the spec's types come from, with their names.
func (e *emitter) imports() map[string]string {
	out := map[string]string{}
	add := func(path, name string) {
		if _, ours := ourPackages[path]; path != "" && !ours {
			out[path] = name
		}
	}
	for _, m := range e.model.Structs {
		for _, field := range m.Fields {
			t := field.Type
			for t.Elem != nil {
				t = t.Elem
			}
			add(t.ImportPath, t.PkgName)
		}
	}
	for _, c := range e.model.Consumers {
		for _, m := range c.Messages {
			add(m.Go.ImportPath, m.Go.PkgName)
		}
	}
	return out
}
