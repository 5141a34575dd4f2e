package spec

import "github.com/inboxgen/inboxgen/generator/diag"

// Unsupported lists what the format has and inboxgen can't generate yet. A feature that arrives deletes its line here.
func Unsupported(s *Spec) []diag.Diagnostic {
	u := new(unsupported)
	if p := s.Inbox.Partition; p != nil {
		u.add(p.Pos, "inbox.partition")
	}
	if m := s.Migrations; m != nil {
		u.allBut(m.Tool, "migrations.tool", "goose", "golang-migrate")
	}
	for _, job := range s.Jobs {
		u.allBut(job, "jobs", "go")
	}
	if s.Tests.Value {
		u.add(s.Tests.Pos, "tests: true")
	}
	for _, c := range s.Consumers {
		u.consumer(c)
	}
	return u.Sorted()
}

func (u *unsupported) consumer(c *Consumer) {
	for _, m := range c.Messages {
		u.allBut(m.Dedupe, "dedupe", "inbox")
		for _, e := range m.Effects {
			if e.Go.Set {
				u.add(e.Go.Pos, "effects of the kind go")
			}
			if e.Outbox != nil {
				u.add(e.Outbox.Pos, "effects of the kind outbox")
			}
		}
	}
}

// unsupported collects the diagnostics.
type unsupported struct{ diag.List }

func (u *unsupported) add(pos diag.Position, what string) {
	u.Errorf(pos, "not-supported", "%s: not supported yet", what)
}

// allBut refuses every value of a key that is not among the supported ones.
func (u *unsupported) allBut(v At[string], key string, supported ...string) {
	if v.Set && !contains(supported, v.Value) {
		u.add(v.Pos, key+": "+v.Value)
	}
}
