package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// Read reads the spec in the slash path file. Relative paths in it start at the file's directory and can't leave fsys.
// It returns all problems of the file, sorted. The Spec has defaults for what is absent, and marks for what is Broken;
// it is nil when the file can't be read at all.
func Read(fsys fs.FS, file string) (*Spec, []diag.Diagnostic) {
	d := &decoder{fsys: fsys, file: file}
	s, form := newSpec(file)
	root, ok := d.document()
	if !ok {
		return nil, d.Sorted()
	}
	d.refuseFeatures(root)
	d.mapping(value{name: "the spec", at: d.pos(root), node: root}, form)
	return s, d.Sorted()
}

// A decoder reads the YAML tree of one file and collects what is wrong with it.
type decoder struct {
	diag.List
	fsys  fs.FS
	file  string
	lines []string
}

// A value is a node of the tree, the name that messages give it, and the place to report what it lacks.
type value struct {
	name   string
	at     diag.Position
	node   *yaml.Node
	broken bool // its key can't be used: a key written before, or, with the name "", none that can be read
}

// document returns the root of the only document of the file, and whether it can be read as version 1.
func (d *decoder) document() (*yaml.Node, bool) {
	text, ok := d.load(d.file, diag.Position{File: d.file}, allowedInSpec)
	if !ok {
		return nil, false
	}
	d.lines = strings.Split(text, "\n")
	start := diag.Position{File: d.file, Line: 1, Column: 1}
	first, second, err := parseWithAliases(text)
	switch {
	case errors.Is(err, io.EOF):
		d.Errorf(start, "empty-file", "the spec is empty: start it with version: 1")
		return nil, false
	case err != nil:
		d.Add(newSyntaxError(text, err).diagnostic(d.file))
		return nil, false
	}
	if second != nil {
		d.Errorf(d.pos(second), "second-document", "a spec is one YAML document: put a second spec in a file of its own")
	}
	root := first.Content[0]
	if root.Tag == "!!null" {
		d.Errorf(start, "empty-file", "the spec is empty: start it with version: 1")
		return nil, false
	}
	return root, d.readable(root)
}

// readable refuses another version of the format before the rest of it is misunderstood.
func (d *decoder) readable(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		if k.Value == "version" && v.Kind == yaml.ScalarNode && v.Tag == "!!int" && v.Value != "1" {
			d.Errorf(d.pos(v), "version", "version %s of the format is not known: this inboxgen reads version 1", v.Value)
			return false
		}
	}
	return true
}

// refuseFeatures reports what YAML can do and a spec does without: whatever makes a value depend on another place.
func (d *decoder) refuseFeatures(n *yaml.Node) {
	const rule = "yaml-feature"
	if n.Kind == yaml.AliasNode {
		d.Errorf(d.pos(n), rule, "%s", aliasAdvice(n.Value))
		return
	}
	if n.Anchor != "" {
		d.Errorf(d.pos(n), rule, "&%s is a YAML anchor, which a spec can't use: write the value out where it is needed", n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.Errorf(d.pos(n), rule, "%s is a YAML tag, which a spec can't use: leave it out, and quote a value to make it text", n.Tag)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && isMerge(child) {
			d.Errorf(d.pos(child), rule, "<< is a YAML merge key, which a spec can't use: write the keys out")
		}
		if n.Kind == yaml.MappingNode && i%2 == 1 && isMerge(n.Content[i-1]) && child.Kind == yaml.AliasNode {
			continue // it goes with the <<
		}
		d.refuseFeatures(child)
	}
}

func aliasAdvice(name string) string {
	return fmt.Sprintf("*%s is a YAML alias, which a spec can't use: write the value out, or quote it if the * is part of it", name)
}

func isMerge(n *yaml.Node) bool { return n.Tag == "!!merge" }

func (d *decoder) pos(n *yaml.Node) diag.Position {
	return diag.Position{File: d.file, Line: n.Line, Column: n.Column}
}

// resolve turns a path of the spec into one of fsys.
func (d *decoder) resolve(p string) string { return path.Join(path.Dir(d.file), p) }
