package spec

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// A form is how a mapping is written: its keys in the order they are read, and what must hold between them.
type form struct {
	keys  []key
	check func(d *decoder, m written) // nil when every key stands for itself
}

// A key is one key of a mapping and what becomes of its value.
type key struct {
	name  string
	needs string // what to write when it is absent; "" when it may be
	unset func(mapping diag.Position)
	read  func(d *decoder, v value)
}

// written is where a mapping and each of its keys stand.
type written struct {
	name    string
	at      diag.Position
	keys    map[string]diag.Position
	partial bool // not all keys could be read: none can be said to be missing
}

func (m written) has(key string) bool {
	_, ok := m.keys[key]
	return ok
}

// mapping reads v by a form, and reports whether it is a mapping. Of what is none, every key is as one with a value that
// is refused already: broken.
func (d *decoder) mapping(v value, f form) bool {
	f.defaults(v.at)
	entries, ok := d.entries(v, "a mapping with the keys "+f.names())
	if !ok {
		for _, k := range f.keys {
			k.read(d, value{name: k.name, at: v.at, node: refused(v.node)})
		}
		return false
	}
	m, given := d.sortOut(v, entries, f)
	for _, k := range f.keys {
		if e, ok := given[k.name]; ok {
			k.read(d, e)
		} else {
			m.needs(d, k.name, k.needs != "", k.needs)
		}
	}
	if f.check != nil {
		f.check(d, m)
	}
	return true
}

// refused is in place of a value that nothing more is said of: as of an alias.
func refused(n *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.AliasNode, Line: n.Line, Column: n.Column}
}

// sortOut finds the value of each key that the form knows, and refuses the others.
func (d *decoder) sortOut(v value, entries []value, f form) (written, map[string]value) {
	given := map[string]value{}
	m := written{name: v.name, at: v.at, keys: map[string]diag.Position{}}
	var unknown []value
	for _, e := range entries {
		switch {
		case e.broken:
			m.partial = m.partial || e.name == ""
			continue
		case !f.knows(e.name):
			unknown = append(unknown, e)
			continue
		}
		given[e.name] = e
		m.keys[e.name] = e.at
	}
	for _, e := range unknown {
		meant := diag.Nearest(e.name, f.free(m))
		if meant == "" {
			d.Errorf(e.at, "unknown-key", "unknown key %s in %s: it has the keys %s", quoteShort(e.name), v.name, f.names())
			continue
		}
		d.Errorf(e.at, "unknown-key", "unknown key %s in %s: did you mean %s?", quoteShort(e.name), v.name, meant)
		// Read it as what was meant: its own problems are listed too, and the key is not missing on top.
		e.name = meant
		given[meant] = e
		m.keys[meant] = e.at
	}
	return m, given
}

// entries returns the values of a mapping, each named by its key, and whether v is a mapping.
func (d *decoder) entries(v value, what string) ([]value, bool) {
	if !d.is(v, yaml.MappingNode, what) {
		return nil, false
	}
	var entries []value
	first := map[string]diag.Position{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		k := v.node.Content[i]
		e := value{at: d.pos(k), node: v.node.Content[i+1]}
		switch {
		case k.Kind == yaml.AliasNode, isMerge(k): // refused already
			e.broken = true
		case k.Kind != yaml.ScalarNode:
			d.Errorf(e.at, "wrong-kind", "a key of %s must be a word, not %s", v.name, describe(k))
			e.broken = true
		default:
			e.name = showBreaks.Replace(k.Value)
			at, twice := first[e.name]
			if twice {
				d.Errorf(e.at, "duplicate-key", "the key %q of %s is written twice, first at %s: keep one", e.name, v.name, at)
			} else {
				first[e.name] = e.at
			}
			e.broken = twice
		}
		entries = append(entries, e)
	}
	return entries, true
}

// is reports whether v is of a kind, and complains if not.
func (d *decoder) is(v value, kind yaml.Kind, what string) bool {
	switch {
	case v.node.Kind == kind:
		return true
	case v.node.Kind == yaml.AliasNode: // refused already
	case isNull(v.node):
		d.Errorf(v.at, "wrong-kind", "%s has no value: write %s", v.name, what)
	default:
		d.Errorf(d.pos(v.node), "wrong-kind", "%s must be %s, not %s", v.name, what, describe(v.node))
	}
	return false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// describe names what the user wrote.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case isNull(n):
		return "nothing"
	default:
		return quoteShort(showBreaks.Replace(n.Value))
	}
}

// defaults sets what a mapping at pos leaves out.
func (f form) defaults(pos diag.Position) {
	for _, k := range f.keys {
		k.unset(pos)
	}
}

func (f form) knows(name string) bool {
	for _, k := range f.keys {
		if k.name == name {
			return true
		}
	}
	return false
}

// names lists the keys as a sentence does.
func (f form) names() string {
	names := make([]string, len(f.keys))
	for i, k := range f.keys {
		names[i] = k.name
	}
	return join(names, "and")
}

// free lists the keys that are not written.
func (f form) free(m written) []string {
	var free []string
	for _, k := range f.keys {
		if !m.has(k.name) {
			free = append(free, k.name)
		}
	}
	return free
}

// join writes a list as a sentence does: "a, b and c".
func join(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// exactlyOne reports whether the mapping has exactly one of the keys, and complains if not.
func (m written) exactlyOne(d *decoder, keys ...string) bool {
	var given []string
	for _, k := range keys {
		if m.has(k) {
			given = append(given, k)
		}
	}
	switch {
	case len(given) == 1:
		return true
	case len(given) == 0 && m.partial: // one of them may be in what can't be read
	case len(given) == 0:
		d.Errorf(m.at, "missing-key", "%s has none of %s: write one of them", m.name, join(keys, "and"))
	default:
		d.Errorf(m.keys[given[1]], "conflicting-keys", "%s has both %s: keep one of them", m.name, join(given, "and"))
	}
	return false
}

// only refuses a key where it has no meaning.
func (m written) only(d *decoder, key string, allowed bool, meaning string) {
	if at, ok := m.keys[key]; ok && !allowed {
		d.Errorf(at, "conflicting-keys", "%s has no meaning here: %s", key, meaning)
	}
}

// needs asks for a key that another one calls for.
func (m written) needs(d *decoder, key string, needed bool, write string) {
	if needed && !m.partial && !m.has(key) {
		d.Errorf(m.at, "missing-key", "%s has no %s: write %s", m.name, key, write)
	}
}

// reasoned asks for because: beside a key that overrides a judgement, and for nothing else.
func (m written) reasoned(d *decoder, key string) {
	m.needs(d, "because", m.has(key), "because: with the reason for "+key+", for those who review this")
	m.only(d, "because", m.has(key) || m.partial, "it gives the reason for "+key)
}
