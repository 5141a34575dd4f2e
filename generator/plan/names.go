package plan

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/inboxgen/inboxgen/templates"
)

// supportNames lists the package-level names of the support code, which stands beside what a spec declares.
var supportNames = sync.OnceValue(func() []string {
	return append(namesIn(templates.Runtime, "runtime/*.go"), namesIn(templates.Brokers, "brokers/*.go")...)
})

func namesIn(fsys fs.FS, pattern string) []string {
	var out []string
	files, err := fs.Glob(fsys, pattern)
	if err != nil {
		panic(err) // only a malformed pattern
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			panic(err) // the file is embedded
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), text, parser.SkipObjectResolution)
		if err != nil {
			panic(err) // the file is compiled with us
		}
		for _, d := range file.Decls {
			out = append(out, declaredNames(d)...)
		}
	}
	return out
}

func declaredNames(d ast.Decl) []string {
	var out []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			out = append(out, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					out = append(out, n.Name)
				}
			}
		}
	}
	return out
}

// origins returns what the generated names come from, but for those of the support code.
func (b *builder) origins() map[string]Origin {
	out := map[string]Origin{}
	for name, o := range b.names {
		if o.Pos.Line > 0 && !b.own[name] {
			out[name] = o
		}
	}
	for _, m := range b.model.Structs {
		if o, named := out[m.Name]; named {
			for _, f := range m.Fields {
				out[m.Name+"."+f.GoName] = o
			}
		}
	}
	for _, c := range b.model.Consumers {
		if _, named := out[c.GoName]; !named {
			continue
		}
		for _, suffix := range suffixes {
			out[c.GoName+".Handle"+suffix] = Origin{"the dispatcher of consumer " + c.Spec.Key.Value, c.Spec.Key.Pos}
			for _, m := range c.Messages {
				if !m.Spec.Key.Broken {
					out[c.GoName+".Handle"+m.Name+suffix] = Origin{fmt.Sprintf("message %s of consumer %s", m.Name, c.Spec.Key.Value), m.Spec.Key.Pos}
				}
			}
		}
	}
	return out
}

// localNames are the variables that generated functions declare.
var localNames = []string{"batch", "c", "choose", "client", "ctx", "d", "db", "deadLetters", "dial", "e", "err", "id", "m", "n", "options", "source", "tx", "wireType"}

// reserved lists the names that an import must not have: it would be shadowed, or shadow what the code means.
func (b *builder) reserved() map[string]bool {
	out := map[string]bool{"context": true, "fmt": true, "json": true, "kgo": true, "message": true, "pgtype": true, "pgx": true, "proto": true, "strconv": true, "time": true}
	for _, name := range types.Universe.Names() {
		out[name] = true
	}
	for _, name := range localNames {
		out[name] = true
	}
	for name := range b.names {
		out[name] = true
	}
	return out
}
