package golang

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/parallel"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// file collects the declarations of one Go file.
type file struct {
	pkg      string // of the output
	decls    []*jen.Statement
	imports  []string          // paths, in the order of their first use
	packages map[string]string // import path → the package's own name
	reserved map[string]bool   // names that no import may have
	needs    map[string]bool   // files of the support code
}

func newFile(m *plan.Model) *file {
	return &file{
		pkg: m.Package, reserved: m.Reserved,
		packages: map[string]string{}, needs: map[string]bool{},
	}
}

// declare adds a declaration.
func (f *file) declare(code *jen.Statement) { f.decls = append(f.decls, code) }

// add takes over what another file has.
func (f *file) add(other *file) {
	f.decls = append(f.decls, other.decls...)
	for _, importPath := range other.imports {
		f.uses(importPath)
	}
	maps.Copy(f.packages, other.packages)
	maps.Copy(f.needs, other.needs)
}

// uses notes that the file imports a package.
func (f *file) uses(importPath string) {
	if !slices.Contains(f.imports, importPath) {
		f.imports = append(f.imports, importPath)
	}
}

// documented begins a declaration with its doc comment.
func documented(text string) *jen.Statement {
	doc := &jen.Statement{}
	for line := range strings.SplitSeq(text, "\n") {
		doc.Comment("// " + printable(line)).Line()
	}
	return doc
}

// printable replaces what could end a comment in the middle of text from the spec.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

// support returns a name of the support code that not every spec needs, and notes which file of it has that name.
func (f *file) support(base, name string) *jen.Statement {
	f.needs[base+".go"] = true
	return jen.Id(name)
}

// qualified returns name in the package at importPath, which is the output package when that is "".
func (f *file) qualified(importPath, name string) *jen.Statement {
	if importPath == "" {
		return jen.Id(name)
	}
	f.uses(importPath)
	return jen.Qual(importPath, name)
}

// named is a type that the spec names, in the package called pkg at importPath.
func (f *file) named(importPath, pkg, name string) *jen.Statement {
	if _, ours := ourPackages[importPath]; !ours {
		f.packages[importPath] = pkg
	}
	return f.qualified(importPath, name)
}

// ourPackages are the ones that the generated code itself uses.
var ourPackages = map[string]string{
	"context":  "context",
	"strconv":  "strconv",
	"time":     "time",
	pgxPath:    "pgx",
	pgtypePath: "pgtype",
	jsonPath:   "json",
	kgoPath:    "kgo",

	watermillPath: "message",
}

// localName picks the name that a package has in this file: its own, unless that would hide what the code means.
func (f *file) localName(importPath string, taken map[string]bool) string {
	own, ok := f.packages[importPath]
	if !ok { // one of ours, whose names are what their paths end in
		return ourPackages[importPath]
	}
	name := own
	if f.reserved[name] {
		name = own + "pkg"
	}
	for n := 2; taken[name] || f.reserved[name]; n++ {
		name = own + "pkg" + strconv.Itoa(n)
	}
	return name
}

// render returns the text of the file. The declarations are formatted side by side, each once: for a thousand messages that is most of
// the work of a run.
func (f *file) render(preamble string) ([]byte, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	var head bytes.Buffer
	if err := names.Render(&head); err != nil {
		return nil, err
	}
	const together = 8 // each call of go/format has a price
	parts := slices.Collect(slices.Chunk(f.decls, together))
	texts := make([]bytes.Buffer, len(parts))
	failures := make([]error, len(parts))
	parallel.Do(len(parts), func(i int) { failures[i] = apart(parts[i]).RenderWithFile(&texts[i], names) })
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	out := bytes.NewBufferString(preamble)
	out.Write(grouped(bytes.TrimSpace(head.Bytes())))
	out.WriteByte('\n')
	for i := range texts {
		out.WriteByte('\n')
		out.Write(texts[i].Bytes())
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// apart puts an empty line between declarations.
func apart(decls []*jen.Statement) *jen.Statement {
	out := jen.Add(decls[0])
	for _, d := range decls[1:] {
		out.Line().Line().Add(d)
	}
	return out
}

// names returns a file of jennifer's in which every import has its name already, so that rendering declarations with it
// changes nothing of it and can be done by several goroutines.
func (f *file) names() (*jen.File, error) {
	out := jen.NewFile(f.pkg)
	taken := map[string]bool{}
	for _, importPath := range f.imports {
		name := f.localName(importPath, taken)
		taken[name] = true
		if name == lastName(importPath) {
			out.ImportName(importPath, name)
		} else {
			out.ImportAlias(importPath, name)
		}
		if err := jen.Qual(importPath, "X").RenderWithFile(io.Discard, out); err != nil {
			return nil, fmt.Errorf("import %s: %w", importPath, err)
		}
	}
	return out, nil
}

// grouped sets the imports of the standard library apart from the others, as goimports and gofumpt do.
func grouped(head []byte) []byte {
	const open = "import (\n"
	before, list, ok := strings.Cut(string(head), open)
	if !ok {
		return head
	}
	var std, others strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(list, ")")) {
		_, quoted, _ := strings.Cut(line, `"`)
		if first, _, _ := strings.Cut(quoted, "/"); strings.Contains(first, ".") {
			others.WriteString(line)
		} else {
			std.WriteString(line)
		}
	}
	if std.Len() > 0 && others.Len() > 0 {
		std.WriteByte('\n')
	}
	return []byte(before + open + std.String() + others.String() + ")")
}

// lastName is the name that a reader, and goimports, take a package to have by its path.
func lastName(importPath string) string {
	base := path.Base(importPath)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && path.Dir(importPath) != "." {
		base = path.Base(path.Dir(importPath))
	}
	return base
}

// rawString is s as a raw string literal, leaving it only around what a raw string can't hold.
func rawString(s string) *jen.Statement {
	needsQuote := func(r rune) bool { return r == '`' || r == '\r' || r == '\ufeff' || r == 0xfffd }
	out := &jen.Statement{}
	add := func(part *jen.Statement) {
		if len(*out) > 0 {
			out.Op("+")
		}
		out.Add(part)
	}
	for s != "" {
		end := strings.IndexFunc(s, needsQuote)
		switch {
		case end < 0:
			end = len(s)
			fallthrough
		case end > 0:
			add(jen.Op("`" + s[:end] + "`"))
		default:
			end = strings.IndexFunc(s, func(r rune) bool { return !needsQuote(r) })
			if end < 0 {
				end = len(s)
			}
			add(jen.Lit(s[:end]))
		}
		s = s[end:]
	}
	if len(*out) == 0 {
		return jen.Op("``")
	}
	return out
}

// lines lays out what a composite literal holds, one item a line.
func lines(items ...jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, items...)
}

// pair is a field of a composite literal with its value.
func pair(field string, value jen.Code) *jen.Statement {
	return jen.Id(field).Op(":").Add(value)
}

// inline is the body of a function in one line.
func inline(statement jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{ ", Close: " }"}, statement)
}
