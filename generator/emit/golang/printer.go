package golang

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// printer builds the text of one file. What is printed is laid out as gofmt would: formatting a thousand messages
// afterwards takes longer than everything else together, and the tests check that it changes nothing.
type printer struct {
	body     strings.Builder
	imports  map[string]string // import path → name in this file
	names    map[string]string // name in this file → import path
	packages map[string]string // import path → the package's own name
	reserved map[string]bool
	needs    map[string]bool // files of the support code
}

func (e *emitter) newPrinter() *printer {
	return &printer{
		imports: map[string]string{}, names: map[string]string{}, needs: map[string]bool{},
		packages: e.imports(), reserved: e.model.Reserved,
	}
}

// P prints its arguments, one after the other, and ends the line.
func (p *printer) P(parts ...string) {
	for _, s := range parts {
		p.body.WriteString(s)
	}
	p.body.WriteByte('\n')
}

// comment prints a doc comment after an empty line. Text from the spec must not end it or become a directive.
func (p *printer) comment(text string) {
	p.P()
	for line := range strings.SplitSeq(text, "\n") {
		p.P("// ", strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, line))
	}
}

// support returns a name of the support code that not every spec needs, and notes which file of it has that name.
func (p *printer) support(file, name string) string {
	p.needs[file+".go"] = true
	return name
}

// qualified returns name as this file refers to it in the package at importPath, and imports that.
func (p *printer) qualified(importPath, name string) string {
	if importPath == "" {
		return name
	}
	local, ok := p.imports[importPath]
	if !ok {
		local = p.localName(importPath)
		p.imports[importPath] = local
		p.names[local] = importPath
	}
	return local + "." + name
}

// imported notes the name of a package that the spec's types come from.
func (p *printer) imported(importPath, name string) {
	if _, ours := ourPackages[importPath]; !ours {
		p.packages[importPath] = name
	}
}

// localName picks the name that a package has in this file: its own, unless that would hide what the code means.
func (p *printer) localName(importPath string) string {
	own, ok := p.packages[importPath]
	if !ok { // one of ours, whose names are what their paths end in
		return ourPackages[importPath]
	}
	name := own
	if p.reserved[name] {
		name = own + "pkg"
	}
	for n := 2; p.names[name] != "" || p.reserved[name]; n++ {
		name = own + "pkg" + strconv.Itoa(n)
	}
	return name
}

// ourPackages are the ones that the generated code itself uses.
var ourPackages = map[string]string{
	"context":  "context",
	"fmt":      "fmt",
	"strconv":  "strconv",
	"time":     "time",
	pgxPath:    "pgx",
	pgtypePath: "pgtype",
	jsonPath:   "json",
	protoPath:  "proto",
	kgoPath:    "kgo",

	watermillPath: "message",
}

// source returns the whole file of p, its imports grouped as goimports and gofumpt leave them: the standard library first.
func (e *emitter) source(p *printer) []byte {
	var out strings.Builder
	out.WriteString(e.preamble + "package " + e.model.Package + "\n")
	var std, other []string
	for _, importPath := range slices.Sorted(maps.Keys(p.imports)) {
		line := "\t" + strconv.Quote(importPath) + "\n"
		if name := p.imports[importPath]; name != lastName(importPath) {
			line = "\t" + name + " " + strconv.Quote(importPath) + "\n"
		}
		if first, _, _ := strings.Cut(importPath, "/"); strings.Contains(first, ".") {
			other = append(other, line)
		} else {
			std = append(std, line)
		}
	}
	switch groups := strings.Join(std, ""); {
	case len(std)+len(other) == 1:
		out.WriteString("\nimport " + strings.TrimLeft(strings.Join(append(std, other...), ""), "\t"))
	case len(std)+len(other) > 1:
		if len(std) > 0 && len(other) > 0 {
			groups += "\n"
		}
		out.WriteString("\nimport (\n" + groups + strings.Join(other, "") + ")\n")
	}
	out.WriteString(p.body.String())
	return []byte(out.String())
}

// lastName is the name that a reader, and goimports, take a package to have by its path.
func lastName(importPath string) string {
	base := path.Base(importPath)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && path.Dir(importPath) != "." {
		base = path.Base(path.Dir(importPath))
	}
	return base
}

// align pads the cells of each row so that columns line up, with one blank between them.
func align(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	out := make([]string, len(rows))
	for r, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i < len(row)-1 {
				fmt.Fprintf(&b, "%-*s ", widths[i], cell)
			} else {
				b.WriteString(cell)
			}
		}
		out[r] = b.String()
	}
	return out
}

// rawString prints s as a raw string literal, leaving it only around what a raw string can't hold.
func rawString(s string) string {
	needsQuote := func(r rune) bool { return r == '`' || r == '\r' || r == '\ufeff' || r == 0xfffd }
	var parts []string
	for s != "" {
		end := strings.IndexFunc(s, needsQuote)
		switch {
		case end < 0:
			end = len(s)
			fallthrough
		case end > 0:
			parts = append(parts, "`"+s[:end]+"`")
		default:
			end = strings.IndexFunc(s, func(r rune) bool { return !needsQuote(r) })
			if end < 0 {
				end = len(s)
			}
			parts = append(parts, strconv.Quote(s[:end]))
		}
		s = s[end:]
	}
	if parts == nil {
		return "``"
	}
	return strings.Join(parts, " + ")
}
