// Package plan resolves a spec: every Go name, every SQL text and the plan of every message are settled here, so that
// emitters only print.
package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// Model is a resolved spec.
type Model struct {
	Spec      *spec.Spec
	Package   string
	Inbox     pgsql.Inbox
	Retention time.Duration
	Consumers []*Consumer
	Structs   []*gotype.Message // inline messages, declared once each, by name
	Reserved  map[string]bool   // names that an import must not have

	origins func() map[string]Origin // not all runs need them
	own     map[string]bool
}

// Origin is what in the spec a Go name comes from.
type Origin struct {
	What string
	Pos  diag.Position
}

// Origin returns what a name of the generated code comes from; a method or a field is named as Type.Member. Names of the
// support code come from nothing in the spec.
func (m *Model) Origin(name string) (Origin, bool) {
	o, ok := m.origins()[name]
	return o, ok
}

// IsOwn reports whether a name is that of a message that the user declares in the output package; what else would have
// it is reported.
func (m *Model) IsOwn(name string) bool { return m.own[name] }

// Names lists the names that have an Origin, sorted.
func (m *Model) Names() []string { return slices.Sorted(maps.Keys(m.origins())) }

// Consumer is one generated type.
type Consumer struct {
	Spec     *spec.Consumer
	Ledger   string // consumer_name in the inbox
	GoName   string
	FileName string
	Messages []*Message
}

// Kind is the plan of a message.
type Kind string

// The plans.
const (
	Guarded     Kind = "guarded"     // marker, effect and check are one statement
	Transaction Kind = "transaction" // the effects run behind a marker of their own
)

// Message is one handler.
type Message struct {
	Spec     *spec.Message
	Name     string // as in the spec; part of the method names
	FuncName string // the unexported function that makes a delivery of a message
	WireType string
	Go       *gotype.Message
	ID       ID
	Plan     Kind
	Reason   string         // why that plan
	Guarded  string         // for Guarded, the one effect with its guard
	Effects  []*Statement   // in order, to run behind a marker of their own
	Content  []gotype.Field // what the effects use, for the fingerprint
	Shape    string         // names and types of Content
}

// ID is where the message id comes from.
type ID struct {
	From  string // field | header | property | cloudevents
	Name  string
	Field gotype.Field // for field
}

// Statement is SQL with its arguments.
type Statement struct {
	ConstName string
	SQL       string
	Args      []Arg
	Effect    string       // "effect 2", where there are several
	Expect    pgsql.Expect // settled
	ByTag     bool         // the expectation is checked against the command tag, not by the SQL
}

// Arg is the value of one parameter: a built-in or a field.
type Arg struct {
	Builtin string // message_id, consumer_name, or ""
	Field   gotype.Field
}

// DecodeFunc is the name of the function that decodes the consumer's messages by wire type.
func (c *Consumer) DecodeFunc() string { return "decode" + c.GoName }

// GuardedName is the name of the constant that holds Guarded.
func (m *Message) GuardedName() string { return m.FuncName + "GuardedSQL" }

// String names the argument as the spec does.
func (a Arg) String() string {
	if a.Builtin != "" {
		return a.Builtin
	}
	return a.Field.Path
}
