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
		p.imported(t.ImportPath, t.PkgName)
		return p.qualified(t.ImportPath, t.Name)
	}
}

// imports lists the packages that messages come from, with their names.
func (e *emitter) imports() map[string]string {
	out := map[string]string{}
	for _, c := range e.model.Consumers {
		for _, m := range c.Messages {
			if _, ours := ourPackages[m.Go.ImportPath]; !ours {
				out[m.Go.ImportPath] = m.Go.PkgName
			}
		}
	}
	return out
}
