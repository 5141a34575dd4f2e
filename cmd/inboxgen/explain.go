package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/inboxgen/inboxgen/generator"
	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/plan"
	"github.com/inboxgen/inboxgen/generator/spec"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CONSUMER[.MESSAGE]]",
		Short: "Show each message's plan, why it is that plan, and the exact SQL",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.open()
			if err != nil {
				return err
			}
			result := generator.Resolve(os.DirFS(p.root), p.spec, p.options())
			if err := a.report(p, result.Diagnostics); err != nil {
				return err
			}
			return explain(a.stdout, result.Model, args)
		},
	}
}

// explain prints the messages that the argument selects; all without one.
func explain(w io.Writer, m *plan.Model, args []string) error {
	consumer, message := "", ""
	if len(args) == 1 {
		consumer, message, _ = strings.Cut(args[0], ".")
	}
	var known []string
	found := false
	for _, c := range m.Consumers {
		for _, msg := range c.Messages {
			key := c.Spec.Key.Value
			known = append(known, key+"."+msg.Name)
			if consumer != "" && consumer != key || message != "" && message != msg.Name {
				continue
			}
			if found {
				fmt.Fprintln(w)
			}
			found = true
			explainMessage(w, m, c, msg)
		}
	}
	if !found {
		return unknownName(args[0], m, known)
	}
	return nil
}

// unknownName says what the argument may have meant.
func unknownName(name string, m *plan.Model, messages []string) error {
	known := slices.Clone(messages)
	for _, c := range m.Consumers {
		known = append(known, c.Spec.Key.Value)
	}
	if best := diag.Nearest(name, known); best != "" {
		return fmt.Errorf("there is no %s in the spec; did you mean %s?", name, best)
	}
	return fmt.Errorf("there is no %s in the spec; it has %s", name, strings.Join(messages, ", "))
}

func explainMessage(w io.Writer, model *plan.Model, c *plan.Consumer, m *plan.Message) {
	fmt.Fprintf(w, "%s.%s\n", c.Spec.Key.Value, m.Name)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("plan", "%s", m.Plan)
	line("because", "%s", m.Reason)
	line("wire type", "%s", m.WireType)
	line("key", "(consumer_name %q, message_id from %s)", c.Ledger, idSource(m.ID))
	line("kept for", "%s", spec.FormatDuration(model.Retention))
	if model.Inbox.DetectReuse {
		line("content", "%s", orNothing(m.Shape))
	}
	if m.Plan == plan.Guarded {
		marker := []string{"consumer_name", "message_id", "fingerprint"}[:model.Inbox.Columns()]
		explainStatement(w, "statement", m.Guarded, m.Effects[0], marker)
		fmt.Fprintf(w, "\n  in a batch, behind the markers of all its messages in one statement:\n\n%s\n", indent(m.Effects[0].SQL))
		return
	}
	fmt.Fprintf(w, "\n  marker, with BEGIN in one round trip:\n\n%s\n", indent(model.Inbox.MarkerSQL()))
	for i, s := range m.Effects {
		explainStatement(w, fmt.Sprintf("effect %d", i+1), s.SQL, s, nil)
	}
	after := "COMMIT travels with the effects"
	if slices.ContainsFunc(m.Effects, func(s *plan.Statement) bool { return s.ByTag && s.Expect != 0 }) {
		after = "COMMIT follows in a round trip of its own, once the number of rows is checked"
	}
	fmt.Fprintf(w, "\n  %s; in a batch the effects run as they are here, behind the markers of all its messages in one statement\n", after)
}

func explainStatement(w io.Writer, title, sql string, s *plan.Statement, marker []string) {
	args := slices.Clone(marker)
	for _, a := range s.Args {
		args = append(args, a.String())
	}
	for i := range args {
		args[i] = fmt.Sprintf("$%d %s", i+1, args[i])
	}
	fmt.Fprintf(w, "\n  %s, expecting %s", title, s.Expect)
	if len(args) > 0 {
		fmt.Fprintf(w, ", with %s", strings.Join(args, ", "))
	}
	fmt.Fprintf(w, ":\n\n%s\n", indent(sql))
}

func indent(sql string) string { return "    " + strings.ReplaceAll(sql, "\n", "\n    ") }

func idSource(id plan.ID) string {
	if id.Name == "" {
		return id.From
	}
	return id.From + " " + id.Name
}

func orNothing(shape string) string {
	if shape == "" {
		return "nothing of the message is used"
	}
	return shape
}
