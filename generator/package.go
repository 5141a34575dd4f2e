package generator

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"

	"github.com/inboxgen/inboxgen/generator/plan"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// packageName returns the package of the output: what the spec says, what the Go files already there say, or the
// directory's name.
func (g *run) packageName(s *spec.Spec) string {
	const unknown = "inbox" // for what is generated only to be looked at
	if s.Output.Package.Broken || s.Output.Dir.Broken {
		return unknown
	}
	dir := outputDir(s)
	existing, file := g.existingPackage(dir)
	given := s.Output.Package
	switch {
	case given.Value != "" && existing != "" && given.Value != existing:
		g.diags.Errorf(given.Pos, "package", "output.package is %s, but %s is in package %s; a directory holds one package", given.Value, file, existing)
		return given.Value
	case given.Value != "":
		return given.Value
	case existing != "":
		return existing
	}
	base := path.Base(dir)
	if dir == "." {
		base = filepath.Base(g.options.Dir)
	}
	name := plan.DefaultPackage(base)
	if !token.IsIdentifier(name) {
		g.diags.Errorf(s.Output.Dir.Pos, "package", "the directory's name %q gives no package name; write one under output.package", base)
		return unknown
	}
	return name
}

// existingPackage returns the package clause of a Go file in dir that we did not generate.
func (g *run) existingPackage(dir string) (name, file string) {
	g.ownFiles(dir, func(at string, text []byte) bool {
		if strings.HasSuffix(at, "_test.go") {
			return true
		}
		clause, ok := packageClause(text)
		if ok {
			name, file = clause, at
		}
		return !ok
	})
	return name, file
}

func packageClause(text []byte) (name string, ok bool) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return "", false
	}
	return parsed.Name.Name, true
}

// isIgnored reports whether a file is left out of its package, as helper programs beside a package are.
func isIgnored(text []byte) bool { return strings.Contains(string(text), "//go:build ignore") }
