package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/parallel"
)

// A kind is what a scalar may be. Parse gets the text as written, so that no value is reinterpreted on the way: 010
// stays 010 and off stays off. It returns errForm when the text is not of this kind at all; any other error continues
// a sentence that starts with the key.
type kind[T any] struct {
	what  string
	parse func(string) (T, error)
}

var errForm = errors.New("wrong form")

// optional is a key with a scalar, with what it means to leave it out.
func optional[T any](name string, into *At[T], absent T, k kind[T]) key {
	return key{
		name:  name,
		unset: func(pos diag.Position) { *into = At[T]{Value: absent, Pos: pos} },
		read: func(d *decoder, v value) {
			at, ok := scalar(d, v, k)
			if !ok {
				at.Value = absent
			}
			*into = at
		},
	}
}

// required is a key with a scalar that can't be left out.
func required[T any](name string, into *At[T], k kind[T]) key {
	var zero T
	r := optional(name, into, zero, k)
	r.needs = k.what
	return r
}

// scalar reads one value, which is broken when the result is false.
func scalar[T any](d *decoder, v value, k kind[T]) (At[T], bool) {
	pos := d.pos(v.node)
	broken := At[T]{Pos: pos, Broken: true}
	text, ok := d.text(v, k.what)
	if !ok {
		return broken, false
	}
	parsed, err := k.parse(text)
	switch {
	case errors.Is(err, errForm):
		d.Errorf(pos, "invalid-value", "%s must be %s, not %s", v.name, k.what, quoteShort(text))
	case err != nil:
		d.Errorf(pos, "invalid-value", "%s %v", v.name, err)
	default:
		return At[T]{Value: parsed, Pos: pos, Set: true}, true
	}
	return broken, false
}

// text returns a scalar as it was written.
func (d *decoder) text(v value, what string) (string, bool) {
	if isNull(v.node) {
		d.Errorf(v.at, "wrong-kind", "%s has no value: write %s", v.name, what)
		return "", false
	}
	if !d.is(v, yaml.ScalarNode, what) {
		return "", false
	}
	text := showBreaks.Replace(v.node.Value)
	if text != v.node.Value && strings.Contains(text, "\r") {
		d.Errorf(d.pos(v.node), "encoding", "%s has a carriage return without a line feed: end lines with one or both", v.name)
		return "", false
	}
	return text, true
}

// relativePath is an optional key with a path that starts at the spec's directory.
func relativePath(name string, into *At[string], absent string) key {
	return key{
		name:  name,
		unset: func(pos diag.Position) { *into = At[string]{Value: absent, Pos: pos} },
		read: func(d *decoder, v value) {
			at, ok := d.path(v)
			if !ok {
				at.Value = absent
			}
			*into = at
		},
	}
}

// path reads a path and cleans it.
func (d *decoder) path(v value) (At[string], bool) {
	at, ok := scalar(d, v, slashPath)
	if !ok {
		return at, false
	}
	if !fs.ValidPath(d.resolve(at.Value)) {
		d.Errorf(at.Pos, "path", "%s %s leads out of the project: write a path inside it", v.name, quoteShort(at.Value))
		return At[string]{Pos: at.Pos, Broken: true}, false
	}
	at.Value = path.Clean(at.Value)
	return at, true
}

// existingPath reads a path of a file or directory that is there.
func (d *decoder) existingPath(v value) (At[string], bool) {
	at, ok := d.path(v)
	if !ok {
		return at, false
	}
	if _, err := fs.Stat(d.fsys, d.resolve(at.Value)); err != nil {
		d.Errorf(at.Pos, "file", "%s %v", d.resolve(at.Value), readError(err))
		return at, false
	}
	return at, true
}

// inline is a mapping that always has its struct, given or not.
func inline[T any](name string, into *T, build func(diag.Position) (*T, form)) key {
	return key{
		name: name,
		unset: func(pos diag.Position) {
			t, f := build(pos)
			f.defaults(pos)
			*into = *t
		},
		read: func(d *decoder, v value) {
			t, f := build(v.at)
			d.mapping(v, f)
			*into = *t
		},
	}
}

// nested is a mapping that may be absent.
func nested[T any](name string, into **T, build func(diag.Position) (*T, form)) key {
	return key{
		name:  name,
		unset: func(diag.Position) {},
		read: func(d *decoder, v value) {
			t, f := build(v.at)
			if d.mapping(v, f) {
				*into = t
			}
		},
	}
}

// list is a key with a list of at least one item.
func list[T any](name string, into *[]T, what string, item func(d *decoder, v value) (T, bool)) key {
	return key{
		name:  name,
		unset: func(diag.Position) {},
		read: func(d *decoder, v value) {
			if !d.is(v, yaml.SequenceNode, what) {
				return
			}
			if len(v.node.Content) == 0 {
				d.Errorf(d.pos(v.node), "invalid-value", "%s is empty: write %s", v.name, what)
			}
			for _, n := range v.node.Content {
				if t, ok := item(d, value{name: "an item of " + name, at: d.pos(n), node: n}); ok {
					*into = append(*into, t)
				}
			}
		},
	}
}

// set is a list of scalars in which none stands twice.
func set(name string, into *[]At[string], what string, k kind[string]) key {
	return distinct(list(name, into, what, func(d *decoder, v value) (At[string], bool) { return scalar(d, v, k) }), into)
}

func distinct(k key, into *[]At[string]) key {
	read := k.read
	k.read = func(d *decoder, v value) {
		read(d, v)
		first := map[string]diag.Position{}
		for _, at := range *into {
			if pos, ok := first[at.Value]; ok {
				d.Errorf(at.Pos, "duplicate-value", "%s of %s is written twice, first at %s: keep one", quoteShort(at.Value), v.name, pos)
				continue
			}
			first[at.Value] = at.Pos
		}
	}
	return k
}

// named is a mapping whose keys are names that the user chooses, at least one.
func named[T any](name string, into *[]T, what string, names kind[string], item func(d *decoder, name At[string], v value) (T, bool)) key {
	return key{
		name:  name,
		unset: func(diag.Position) {},
		read: func(d *decoder, v value) {
			entries, ok := d.entries(v, what)
			if ok && len(v.node.Content) == 0 {
				d.Errorf(d.pos(v.node), "invalid-value", "%s is empty: write %s", v.name, what)
			}
			read := make([]*T, len(entries))
			d.share(len(entries), func(d *decoder, i int) {
				e := entries[i]
				_, err := names.parse(e.name)
				switch {
				case e.broken && e.name == "":
					e.node = refused(e.node)
				case err != nil && !e.broken:
					d.Errorf(e.at, "invalid-name", "%s", nameProblem(e.name, names, err))
					e.broken = true
				}
				if t, ok := item(d, At[string]{Value: e.name, Pos: e.at, Set: !e.broken, Broken: e.broken}, e); ok {
					read[i] = &t
				}
			})
			for _, t := range read {
				if t != nil {
					*into = append(*into, *t)
				}
			}
		},
	}
}

// share calls read with 0 to n-1: side by side when there are many, each part with a decoder of its own.
func (d *decoder) share(n int, read func(d *decoder, i int)) {
	const together = 64
	if n <= together {
		for i := range n {
			read(d, i)
		}
		return
	}
	parts := make([]decoder, (n+together-1)/together)
	parallel.Do(len(parts), func(p int) {
		parts[p] = decoder{fsys: d.fsys, file: d.file, lines: d.lines}
		for i := p * together; i < min(n, (p+1)*together); i++ {
			read(&parts[p], i)
		}
	})
	for p := range parts {
		d.Add(parts[p].Sorted()...)
	}
}

func nameProblem(name string, names kind[string], err error) string {
	if errors.Is(err, errForm) {
		return fmt.Sprintf("%s is not %s", quoteShort(name), names.what)
	}
	return fmt.Sprintf("%s %v", quoteShort(name), err)
}

func (k key) orElse(write string) key {
	k.needs = write
	return k
}
