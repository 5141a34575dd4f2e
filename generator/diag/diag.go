// Package diag holds the one kind of diagnostic that every part of inboxgen reports: where, which rule, what is
// wrong and what to write instead.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Position is a place in a file the user wrote. Line and Column start at 1; a column counts characters, as editors
// show them. A zero Line means the file as a whole.
type Position struct {
	File   string // slash path, relative to the directory inboxgen was started for
	Line   int
	Column int
}

// String formats the position as file:line:col, leaving out what is unknown.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Severity says whether a diagnostic stops generation.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one problem. Message says what is wrong and what to write instead, in the spec's words; Rule is its
// stable, kebab-case name.
type Diagnostic struct {
	Pos      Position
	Severity Severity
	Rule     string
	Message  string
	Mentions []Position // other places that Message has, as their String
}

// String is the one-line text form.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s: %s: %s [%s]", d.Pos, d.Severity, d.Message, d.Rule)
}

// List collects the diagnostics of a run. The zero value is ready to use.
type List struct {
	items []Diagnostic
}

// Errorf adds an error.
func (l *List) Errorf(pos Position, rule, format string, args ...any) {
	l.add(pos, Error, rule, format, args)
}

// Warnf adds a warning.
func (l *List) Warnf(pos Position, rule, format string, args ...any) {
	l.add(pos, Warning, rule, format, args)
}

func (l *List) add(pos Position, severity Severity, rule, format string, args []any) {
	d := Diagnostic{Pos: pos, Severity: severity, Rule: rule, Message: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if p, ok := a.(Position); ok {
			d.Mentions = append(d.Mentions, p)
		}
	}
	l.Add(d)
}

// Add appends diagnostics.
func (l *List) Add(ds ...Diagnostic) { l.items = append(l.items, ds...) }

// HasErrors reports whether any diagnostic is an error.
func (l *List) HasErrors() bool {
	return slices.ContainsFunc(l.items, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sorted returns the diagnostics by position, each once.
func (l *List) Sorted() []Diagnostic {
	out := slices.Clone(l.items)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(d Diagnostic) bool {
		text := d.String()
		again := seen[text]
		seen[text] = true
		return again
	})
}
