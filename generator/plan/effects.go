package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// effectResolver plans the effects of one message.
type effectResolver struct {
	inbox    pgsql.Inbox
	postgres int
	schema   *pgsql.Schema
	consumer *Consumer
	message  *Message
	diags    *diag.List
}

func (r *effectResolver) resolve() {
	m := r.message
	effects := sqlEffects(m.Spec)
	statements := make([]*pgsql.Statement, len(effects))
	whole := m.Go.Whole()
	for i, e := range effects {
		if statements[i] = r.parse(e); statements[i] == nil {
			whole = false
			continue
		}
		r.checkCasts(e, statements[i])
		r.checkTypes(e, statements[i])
		m.Effects = append(m.Effects, r.effect(i, len(effects), e, statements[i]))
	}
	if !whole || r.diags.HasErrors() {
		return
	}
	r.content()
	switch {
	case m.Spec.Plan.Value == string(Transaction):
		m.Reason = "plan: transaction, because " + m.Spec.Because.Value
	case len(effects) != 1:
		m.Reason = fmt.Sprintf("%d effects: parts of one statement would not see each other's changes", len(effects))
	case r.guard(statements[0], m.Effects[0]):
		return
	}
	m.Plan = Transaction
	for i, e := range effects {
		r.check(e, statements[i], m.Effects[i])
	}
}

// parse reads an effect and reports what is wrong with its statement or its parameters. It returns nil when there is no
// statement.
func (r *effectResolver) parse(e *spec.Effect) *pgsql.Statement {
	if e.SQL.Broken {
		return nil
	}
	var references []pgsql.Reference
	s, problems := r.schema.Parse(e.SQL.Value)
	if s == nil {
		references = r.schema.References(e.SQL.Value)
	} else {
		references = s.References()
		problems = append(problems, s.CheckInbox(r.inbox)...)
		if e.Assume.Value != "transactional" && !e.Assume.Broken {
			problems = append(problems, s.Outliving()...)
		}
	}
	for _, p := range problems {
		// What is missing at the end of the input is missing after its last word.
		start := min(p.Start, len(strings.TrimSpace(e.SQL.Value)))
		r.diags.Errorf(e.SQL.At(start), p.Rule, "%s", p.Message)
	}
	for _, p := range references {
		r.reference(p.Name, e.SQL.At(p.Start))
	}
	return s
}

// reference checks that a parameter stands for one thing.
func (r *effectResolver) reference(name string, pos diag.Position) {
	_, err := r.message.Go.Lookup(name)
	switch {
	case errors.Is(err, gotype.ErrReported):
	case !isBuiltin(name) && err != nil:
		r.diags.Errorf(pos, "unknown-field", "@%s: %s", name, err)
	case name == "consumer_name" && err == nil, name == "message_id" && err == nil && !r.isID(name):
		r.diags.Errorf(pos, "ambiguous-parameter", "@%s is built in, and the message has a field of that name; rename the field, or give it another name in the struct's tag", name)
	}
}

func isBuiltin(parameter string) bool {
	return parameter == "message_id" || parameter == "consumer_name"
}

func sqlEffects(m *spec.Message) []*spec.Effect {
	return slices.DeleteFunc(slices.Clone(m.Effects), func(e *spec.Effect) bool { return e.SQL == nil })
}

// constName is the name of the constant that holds the i-th of n statements.
func (m *Message) constName(i, n int) string {
	if n == 1 {
		return m.FuncName + "SQL"
	}
	return fmt.Sprintf("%sSQL%d", m.FuncName, i+1)
}

// effect settles what an effect is called, expects and is given.
func (r *effectResolver) effect(i, n int, e *spec.Effect, s *pgsql.Statement) *Statement {
	out := &Statement{ConstName: r.message.constName(i, n), Expect: expect(e.Expect.Value, s), Args: r.args(s)}
	if n > 1 {
		out.Effect = fmt.Sprintf("effect %d", i+1)
	}
	if s.Kind == pgsql.Call && out.Expect != pgsql.ExpectAny {
		r.diags.Errorf(e.Expect.Pos, "expect-call", "CALL reports no number of rows; remove expect, or write SELECT of a function that raises an error")
	}
	if s.Kind == pgsql.Select && out.Expect == pgsql.ExpectAny && !e.Expect.Broken && !s.CallsFunction() && len(s.Writes) == 0 {
		r.diags.Errorf(e.SQL.At(0), "no-effect", "this SELECT changes nothing and expects nothing; call a function in it, or say what it must find with expect: some")
	}
	r.counted(e, s, out)
	return out
}

// label names the effect in the error that the server raises.
func (r *effectResolver) label(s *Statement) string {
	label := r.consumer.Spec.Key.Value + "." + r.message.Name
	if s.Effect != "" {
		label += ", " + s.Effect
	}
	return label
}

// alone says why a statement can't be a WITH query, or returns "".
func (r *effectResolver) alone(s *pgsql.Statement) string {
	if rule := r.schema.Rule(s.Writes); rule != "" {
		return "the rule " + rule + " keeps it from standing in a WITH query"
	}
	if r.message.Spec.Plan.Set {
		return "the message has plan: transaction"
	}
	return ""
}

// guard makes the message guarded if its one statement can be, or says why it can't.
func (r *effectResolver) guard(s *pgsql.Statement, e *Statement) bool {
	m := r.message
	if reason := r.alone(s); reason != "" {
		m.Reason = reason
		return false
	}
	if trigger := r.schema.StatementTrigger(s.Writes); trigger != "" {
		m.Reason = "the trigger " + trigger + " is FOR EACH STATEMENT: it would fire for a guarded duplicate too"
		return false
	}
	if rule := r.schema.UncountedRule(s); rule != "" && e.Expect != pgsql.ExpectAny {
		m.Reason = "the rule " + rule + " does something else instead, which the command tag in a batch does not count"
		return false
	}
	if view, function := r.schema.CallingView(s); view != "" {
		m.Reason = "the view " + view + " calls " + function + ", which may write, where the guard does not keep it from being called"
		return false
	}
	sql, err := s.Guard(r.inbox, r.label(e), e.Expect, r.postgres)
	if err != nil {
		m.Reason = err.Error()
		return false
	}
	m.Plan = Guarded
	m.Reason = "one " + string(s.Kind) + " that the marker can guard: one statement, one round trip"
	m.Guarded = sql
	e.SQL, e.ByTag = s.SQL(), true
	return true
}

// check lays out an effect for use behind a marker of its own.
func (r *effectResolver) check(e *spec.Effect, s *pgsql.Statement, out *Statement) {
	if r.alone(s) != "" {
		out.SQL, out.ByTag = s.SQL(), out.Expect != pgsql.ExpectAny
		return
	}
	sql, bySQL, err := s.Check(r.label(out), out.Expect, r.postgres)
	if err != nil {
		r.diags.Errorf(e.SQL.At(0), "unprovable", "this statement can't be wrapped to check expect: %s; please report it, and write expect: any meanwhile", err)
	}
	out.SQL, out.ByTag = sql, !bySQL
}

// counted refuses an expectation that the command tag, where that is all there is, can't meet.
func (r *effectResolver) counted(e *spec.Effect, s *pgsql.Statement, out *Statement) {
	if r.alone(s) == "" || out.Expect == pgsql.ExpectAny || e.Expect.Broken {
		return
	}
	pos := e.Expect.Pos
	if !e.Expect.Set {
		pos = e.SQL.At(0)
	}
	if rule := r.schema.UncountedRule(s); rule != "" {
		r.diags.Errorf(pos, "rule-expect", "the rule %s does something else instead of the %s, for which PostgreSQL counts 0 rows; write expect: any, or write what the rule does", rule, s.Kind)
	}
}

// args returns what the parameters of one effect, which are checked, stand for.
func (r *effectResolver) args(s *pgsql.Statement) []Arg {
	var args []Arg
	for _, name := range s.Parameters() {
		field, err := r.message.Go.Lookup(name)
		switch {
		case err == nil:
			args = append(args, Arg{Field: field})
		case isBuiltin(name):
			args = append(args, Arg{Builtin: name})
		}
	}
	return args
}

// isID reports whether the field is the message's id, so that @message_id means the same either way. An id that can't be
// read may be any field.
func (r *effectResolver) isID(field string) bool {
	id := r.message.ID
	return id.From == "" && field == "message_id" || id.From == "field" && id.Name == field
}

// content collects what the effects use, for the fingerprint. The id is left out: it is the key.
func (r *effectResolver) content() {
	byPath := map[string]gotype.Field{}
	var paths []string
	for _, e := range r.message.Effects {
		for _, a := range e.Args {
			if _, ok := byPath[a.Field.Path]; ok || a.Builtin != "" || r.isID(a.Field.Path) {
				continue
			}
			byPath[a.Field.Path] = a.Field
			paths = append(paths, a.Field.Path)
		}
	}
	slices.Sort(paths)
	shape := make([]string, len(paths))
	for i, p := range paths {
		r.message.Content = append(r.message.Content, byPath[p])
		shape[i] = p + " " + byPath[p].Type.String()
	}
	r.message.Shape = strings.Join(shape, ", ")
}

func expect(e spec.Expect, s *pgsql.Statement) pgsql.Expect {
	switch e.Kind {
	case spec.ExpectSome:
		return pgsql.ExpectSome
	case spec.ExpectAny:
		return pgsql.ExpectAny
	case spec.ExpectExactly:
		return pgsql.Expect(e.N)
	default:
		return s.DefaultExpect()
	}
}
