package gotype

import (
	"errors"
	"fmt"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// Options is what loading Go packages depends on.
type Options struct {
	Root      string                 // directory that the spec's paths start from
	OutputDir string                 // slash path from Root: a type in its package is not imported
	Package   string                 // the output package's name
	Generated func(text []byte) bool // recognizes our own outputs, which may be missing, old or broken
}

// Load resolves the Go type of every message of s. Packages are loaded in one go, and only when the spec names one.
// They need not compile: the package that uses the generated code does not until it is generated.
func Load(s *spec.Spec, o Options) (map[*spec.Message]*Message, []diag.Diagnostic) {
	l := &loader{options: o}
	l.load(importPaths(s))
	out := map[*spec.Message]*Message{}
	for _, c := range s.Consumers {
		for _, m := range c.Messages {
			t := inline(m, l.named, &l.diags)
			if m.GoType.Set {
				t = l.message(m.GoType)
			}
			t.opaque = t.opaque || m.Opaque
			out[m] = t
		}
	}
	return out, l.diags.Sorted()
}

// importPaths returns the packages that the spec names, each with the first place that does.
func importPaths(s *spec.Spec) map[string]diag.Position {
	paths := map[string]diag.Position{}
	add := func(at spec.At[string]) {
		text := strings.TrimLeft(at.Value, "*[]")
		path, _, ok := splitGoType(text)
		if _, known := paths[path]; ok && !known && spelled[text] == nil {
			paths[path] = at.Pos
		}
	}
	for _, c := range s.Consumers {
		for _, m := range c.Messages {
			for _, f := range m.Fields {
				add(f.Type)
			}
			add(m.GoType)
		}
	}
	return paths
}

type loader struct {
	options  Options
	packages map[string]*packages.Package
	around   []string // the packages of the module that the spec is in, once they are needed
	failed   bool     // no package could be loaded, as is reported
	diags    diag.List
}

func (l *loader) load(paths map[string]diag.Position) {
	if len(paths) == 0 {
		return
	}
	config := &packages.Config{
		Mode:    packages.LoadSyntax | packages.NeedModule,
		Dir:     l.options.Root,
		Overlay: l.overlay(),
	}
	sorted := slices.Sorted(maps.Keys(paths))
	loaded, err := packages.Load(config, sorted...)
	if _, noGo := exec.LookPath("go"); err != nil && noGo != nil {
		err = errors.New("the go command is not in the PATH")
	}
	if err != nil {
		l.failed = true
		l.diags.Errorf(paths[sorted[0]], "go-type", "the package %s can't be loaded: %s", sorted[0], err)
		return
	}
	l.packages = map[string]*packages.Package{}
	for _, p := range loaded {
		l.packages[p.PkgPath] = p
	}
}

// overlay empties our own outputs: an old or broken one must not stand in the way of its replacement.
func (l *loader) overlay() map[string][]byte {
	overlay := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(l.outputDir(), "*.gen.go"))
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && (len(text) == 0 || l.options.Generated(text)) {
			overlay[name] = []byte("package " + l.options.Package + "\n")
		}
	}
	return overlay
}

func (l *loader) outputDir() string {
	return filepath.Join(l.options.Root, filepath.FromSlash(l.options.OutputDir))
}

// find returns a named type of a loaded package.
func (l *loader) find(path, name string) (*types.Named, error) {
	if l.failed {
		return nil, ErrReported
	}
	p := l.packages[path]
	if p == nil || p.Types == nil || len(p.Syntax) == 0 {
		return nil, l.notAPackage(path, p)
	}
	obj := p.Types.Scope().Lookup(name)
	typeName, ok := obj.(*types.TypeName)
	if !ok {
		return nil, notAType(p, name, obj != nil)
	}
	t, ok := types.Unalias(typeName.Type()).(*types.Named)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s.%s is an alias of a type without a name; name the type itself", p.Name, name)
	case t.TypeParams().Len() > 0:
		return nil, fmt.Errorf("%s.%s is generic; declare a type for the instance you need and name that", p.Name, name)
	case !typeName.Exported() && !l.isOutput(p):
		return nil, fmt.Errorf("%s.%s is not exported", p.Name, name)
	case !l.mayImport(p):
		return nil, fmt.Errorf("%s is internal to another part of the code, so the output can't import it; move %s to a package outside internal", path, name)
	case p.Name == "main" && !l.isOutput(p):
		return nil, fmt.Errorf("%s is a program, which can't be imported; move %s to a package of its own", path, name)
	}
	return t, nil
}

// mayImport reports whether the output is where an internal package may be imported. Others may be anywhere.
func (l *loader) mayImport(p *packages.Package) bool {
	elements := strings.Split(p.PkgPath, "/")
	last := len(elements) - 1
	for last >= 0 && elements[last] != "internal" {
		last--
	}
	if last < 0 || len(p.GoFiles) == 0 {
		return true
	}
	parent := filepath.Dir(p.GoFiles[0])
	for range len(elements) - last {
		parent = filepath.Dir(parent)
	}
	for dir := l.outputDir(); ; dir = filepath.Dir(dir) {
		if sameDir(dir, parent) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// notAPackage says what there is instead of a package that has no types.
func (l *loader) notAPackage(path string, p *packages.Package) error {
	if l.around == nil {
		found, err := packages.Load(&packages.Config{Mode: packages.NeedName, Dir: l.options.Root}, "./...")
		if err != nil {
			found = nil // then there is nothing to suggest
		}
		l.around = []string{}
		for _, p := range found {
			l.around = append(l.around, p.PkgPath)
		}
	}
	switch meant := diag.Nearest(path, l.around); meant {
	case "":
		return fmt.Errorf("there is no package %s%s", path, packageError(p))
	case path:
		return fmt.Errorf("the package %s has no code outside its tests", path)
	default:
		return fmt.Errorf("there is no package %s; did you mean %s?", path, meant)
	}
}

// packageError returns what the go command says about a package, on one line.
func packageError(p *packages.Package) string {
	if p == nil || len(p.Errors) == 0 {
		return ""
	}
	return ": " + strings.Join(strings.Fields(p.Errors[0].Msg), " ")
}

func notAType(p *packages.Package, name string, exists bool) error {
	if exists {
		return fmt.Errorf("%s.%s is not a type", p.Name, name)
	}
	var names []string
	for _, n := range p.Types.Scope().Names() {
		if _, ok := p.Types.Scope().Lookup(n).(*types.TypeName); ok {
			names = append(names, n)
		}
	}
	if best := diag.Nearest(name, names); best != "" {
		return fmt.Errorf("there is no type %s in %s; did you mean %s?", name, p.PkgPath, best)
	}
	return fmt.Errorf("there is no type %s in %s", name, p.PkgPath)
}

// isOutput reports whether p is the package that the generated code goes into.
func (l *loader) isOutput(p *packages.Package) bool {
	return len(p.GoFiles) > 0 && sameDir(filepath.Dir(p.GoFiles[0]), l.outputDir())
}

func sameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errors.Join(errA, errB) == nil && os.SameFile(infoA, infoB)
}

// named resolves a field's type that has an import path.
func (l *loader) named(path, name string) (*Type, error) {
	t, err := l.find(path, name)
	if err != nil {
		return nil, err
	}
	out := newType(t)
	if l.isOutput(l.packages[path]) {
		out.notImported(path)
	}
	return out, nil
}

// message resolves go_type.
func (l *loader) message(at spec.At[string]) *Message {
	path, name, _ := splitGoType(at.Value)
	unknown := &Message{Name: name, ImportPath: path, opaque: true}
	t, err := l.find(path, name)
	if err != nil {
		if !errors.Is(err, ErrReported) {
			l.diags.Errorf(at.Pos, "go-type", "%s", err)
		}
		return unknown
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		l.diags.Errorf(at.Pos, "go-type", "%s is not a struct; its fields are the effects' parameters", at.Value)
		return unknown
	}
	p := l.packages[path]
	proto := hasMethod(t, "ProtoReflect")
	m := &Message{Name: name, ImportPath: path, PkgName: p.Name, Proto: proto, Pointer: proto, members: structMembers(s)}
	if l.isOutput(p) {
		m.ImportPath, m.output = "", path
	}
	return m
}
