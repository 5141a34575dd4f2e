package plan

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/parallel"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// Build resolves s. types has the Go type of each message. What is wrong with a part of s or of types and was reported
// is passed over; the model has every consumer and message all the same, and is complete only when nothing is wrong.
func Build(s *spec.Spec, packageName string, types map[*spec.Message]*gotype.Message, schema *pgsql.Schema) (*Model, []diag.Diagnostic) {
	b := &builder{
		model: &Model{
			Spec:      s,
			Package:   packageName,
			Retention: s.Inbox.Retention.Value,
			Inbox: pgsql.Inbox{
				Schema:        s.Inbox.Schema.Value,
				Table:         s.Inbox.Table.Value,
				MessageIDType: s.Inbox.MessageID.Value,
				DetectReuse:   s.Inbox.DetectReuse.Value == "content",
			},
		},
		types:  types,
		schema: schema,
		names:  map[string]Origin{},
		own:    map[string]bool{},
		files:  map[string]Origin{},
	}
	for _, name := range supportNames() {
		b.names[name] = Origin{What: "a name of the generated support code"}
	}
	for _, c := range s.Consumers {
		b.consumer(c)
	}
	b.resolveEffects()
	b.structs()
	b.model.Reserved = b.reserved()
	b.model.origins, b.model.own = sync.OnceValue(b.origins), b.own
	return b.model, b.diags.Sorted()
}

type builder struct {
	model  *Model
	types  map[*spec.Message]*gotype.Message
	schema *pgsql.Schema
	names  map[string]Origin
	files  map[string]Origin // by name in lower case
	own    map[string]bool   // names of types that the user declares
	diags  diag.List
}

// declare registers a package-level Go name, or says which two things would both be called so.
func (b *builder) declare(name, what string, pos diag.Position) bool {
	old, taken := b.names[name]
	switch {
	case !taken:
		b.names[name] = Origin{What: what, Pos: pos}
	case old.Pos.Line == 0:
		b.diags.Errorf(pos, "go-name", "%s would be the Go name %s, which is %s; give it another name", what, name, old.What)
	default:
		b.diags.Errorf(pos, "go-name", "%s would be the Go name %s, as is %s (%s); rename one of them", what, name, old.What, old.Pos)
	}
	return !taken
}

// declareFile registers a file's name. Names that differ in case alone are one file on macOS and Windows.
func (b *builder) declareFile(name, what string, pos diag.Position) {
	folded := strings.ToLower(name)
	if old, taken := b.files[folded]; taken {
		b.diags.Errorf(pos, "file-name", "%s would be written to %s, the file of %s (%s) where case makes no difference; rename one of them", what, name, old.What, old.Pos)
		return
	}
	b.files[folded] = Origin{What: what, Pos: pos}
}

func (b *builder) consumer(s *spec.Consumer) {
	c := &Consumer{Spec: s, Ledger: s.Name.Value, FileName: s.Key.Value + "_inbox.gen.go"}
	b.model.Consumers = append(b.model.Consumers, c)
	named := b.consumerNames(c)
	methods := map[string]string{"Tx": "the dispatcher", "Batch": "the dispatcher"}
	for _, sm := range s.Messages {
		m := &Message{
			Spec: sm, Name: sm.Key.Value, WireType: sm.Type.Value, Go: b.types[sm],
			FuncName: lowerFirst(c.GoName) + sm.Key.Value,
			ID:       ID{From: sm.ID.From, Name: sm.ID.Name},
		}
		c.Messages = append(c.Messages, m)
		if named && !sm.Key.Broken {
			b.messageNames(c, methods, m)
		}
		if m.ID.From == "field" {
			b.idField(m)
		}
	}
}

// consumerNames declares the names of a consumer, and reports whether it has one to begin with: or all that it gives a
// name to would be reported.
func (b *builder) consumerNames(c *Consumer) bool {
	s := c.Spec
	if s.Key.Broken {
		return false
	}
	goName, err := gotype.GoName(s.Key.Value)
	if err != nil {
		b.diags.Errorf(s.Key.Pos, "go-name", "consumer %s: %s", s.Key.Value, err)
		return false
	}
	c.GoName = goName
	what := "consumer " + s.Key.Value
	if !b.declare(goName, what, s.Key.Pos) {
		return false
	}
	b.declare("New"+goName, "the constructor of "+what, s.Key.Pos)
	b.declare(c.DecodeFunc(), "the decoder of "+what, s.Key.Pos)
	b.declareFile(c.FileName, what, s.Key.Pos)
	return true
}

func (b *builder) messageNames(c *Consumer, methods map[string]string, m *Message) {
	s := m.Spec
	what := fmt.Sprintf("message %s of consumer %s", m.Name, c.Spec.Key.Value)
	if b.declare(m.FuncName, what, s.Key.Pos) {
		b.declare(m.GuardedName(), "the guarded SQL of "+what, s.Key.Pos)
		n := len(sqlEffects(s))
		for i := range n {
			b.declare(m.constName(i, n), "the SQL of "+what, s.Key.Pos)
		}
	}
	if other := methodClash(methods, m.Name); other != "" {
		b.diags.Errorf(s.Key.Pos, "go-name", "%s and %s would give the consumer two methods of one name; rename one and keep its wire name with type:", what, other)
	}
}

// suffixes are of the names of the methods that a message, and the dispatcher, have.
var suffixes = []string{"", "Tx", "Batch"}

// methodClash says what of a consumer would have a method of one name with those of the message, or returns "". methods
// has, by what follows Handle, whose method it is.
func methodClash(methods map[string]string, name string) string {
	for _, suffix := range suffixes {
		if owner := methods[name+suffix]; owner != "" {
			return owner
		}
	}
	for _, suffix := range suffixes {
		methods[name+suffix] = "message " + name
	}
	return ""
}

func (b *builder) idField(m *Message) {
	field, err := m.Go.Lookup(m.ID.Name)
	if err != nil {
		if !errors.Is(err, gotype.ErrReported) {
			b.diags.Errorf(m.Spec.ID.Pos, "unknown-field", "id: %s", err)
		}
		m.ID = ID{} // it may be any field
		return
	}
	if field.Type.IDKind() == gotype.NotID {
		b.diags.Errorf(m.Spec.ID.Pos, "id-type", "id: %s is %s; an id is a string, an integer or a UUID", field.Path, field.Type)
		return
	}
	if b.model.Inbox.MessageIDType == "uuid" && (field.Type.IDKind() == gotype.IDInteger || field.Type.IDKind() == gotype.IDUnsigned) {
		b.diags.Errorf(m.Spec.ID.Pos, "id-type", "id: %s is %s, which is no UUID; write inbox.message_id: text, or give the message another id", field.Path, field.Type)
	}
	m.ID.Field = field
}

// resolveEffects parses and plans the effects of all messages. Messages do not depend on one another, so they are
// shared out to the processors; the results are kept in the spec's order.
func (b *builder) resolveEffects() {
	type task struct {
		c     *Consumer
		m     *Message
		diags diag.List
	}
	var tasks []*task
	for _, c := range b.model.Consumers {
		for _, m := range c.Messages {
			tasks = append(tasks, &task{c: c, m: m})
		}
	}
	parallel.Do(len(tasks), func(i int) {
		t := tasks[i]
		r := effectResolver{inbox: b.model.Inbox, postgres: b.model.Spec.Postgres.Value, schema: b.schema, consumer: t.c, message: t.m, diags: &t.diags}
		r.resolve()
	})
	for _, t := range tasks {
		b.diags.Add(t.diags.Sorted()...)
	}
}

// structs collects the messages that are types of the output package: inline ones, of which one that several consumers
// handle is declared once if its fields are the same, and those that the user wrote there.
func (b *builder) structs() {
	first := map[string]*Message{}
	for _, c := range b.model.Consumers {
		for _, m := range c.Messages {
			if m.Go.ImportPath != "" || m.Go.Inline && m.Spec.Key.Broken {
				continue
			}
			other, ok := first[m.Go.Name]
			switch {
			case !ok && m.Go.Inline:
				first[m.Go.Name] = m
				b.declare(m.Go.Name, "message "+m.Name, m.Spec.Key.Pos)
				b.model.Structs = append(b.model.Structs, m.Go)
			case !ok:
				first[m.Go.Name] = m
				b.declare(m.Go.Name, "go_type "+m.Spec.GoType.Value, m.Spec.GoType.Pos)
				b.own[m.Go.Name] = true
			case m.Go.Inline != other.Go.Inline:
				b.diags.Errorf(m.Spec.Key.Pos, "go-name", "message %s would be the Go type %s, as is message %s (%s); rename one of them", m.Name, m.Go.Name, other.Name, other.Spec.Key.Pos)
			case m.Go.Whole() && other.Go.Whole() && !m.Go.SameFields(other.Go):
				b.diags.Errorf(m.Spec.Key.Pos, "go-name", "message %s has other fields here than at %s; rename one and keep its wire name with type:", m.Name, other.Spec.Key.Pos)
			}
		}
	}
	slices.SortFunc(b.model.Structs, func(x, y *gotype.Message) int { return cmp.Compare(x.Name, y.Name) })
}

func lowerFirst(s string) string {
	upper := 0
	for upper < len(s) && s[upper] >= 'A' && s[upper] <= 'Z' {
		upper++
	}
	switch {
	case upper <= 1 || upper == len(s) || s[upper] < 'a': // UTF8 → utf8
		return strings.ToLower(s[:upper]) + s[upper:]
	default: // APIUser → apiUser
		return strings.ToLower(s[:upper-1]) + s[upper-1:]
	}
}

// DefaultPackage returns the package name for an output directory called base.
func DefaultPackage(base string) string {
	name := strings.ToLower(path.Base(base))
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
}
