package spec

import (
	"slices"
	"time"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// The functions of this file check what no single value can tell.

func contains(words []string, word string) bool { return slices.Contains(words, word) }

// checkWindows compares the retention with the longest time after which a duplicate may come.
func (d *decoder) checkWindows(s *Spec) {
	longest, name := At[time.Duration]{}, ""
	for _, c := range s.Consumers {
		if w := c.Duplicates; w != nil {
			for _, window := range []struct {
				name string
				at   At[time.Duration]
			}{{"redelivery", w.Redelivery}, {"relay_outage", w.RelayOutage}, {"replay", w.Replay}} {
				if window.at.Value > longest.Value {
					longest, name = window.at, window.name
				}
			}
		}
	}
	if r := s.Inbox.Retention; r.Set && r.Value <= longest.Value {
		d.Errorf(r.Pos, "retention", "retention must be longer than the %s of %s at %s, or a late duplicate is applied again: write more than that",
			name, FormatDuration(longest.Value), longest.Pos)
	}
}

// checkLedgers finds consumers that share a ledger: the second one would take every message for a duplicate.
func (d *decoder) checkLedgers(s *Spec) {
	first := map[string]diag.Position{}
	for _, c := range s.Consumers {
		if c.Name.Broken || !c.Name.Set && c.Key.Broken {
			continue
		}
		at := orKey(c.Name, c.Key)
		if pos, ok := first[c.Name.Value]; ok {
			d.Errorf(at, "shared-ledger", "the consumers at %s and here have one name, %s: the second would take every message for a duplicate, write another name",
				pos, quoteShort(c.Name.Value))
			continue
		}
		first[c.Name.Value] = at
	}
}

// orKey is where a value that defaults to its mapping's key stands.
func orKey(v, key At[string]) diag.Position {
	if v.Set {
		return v.Pos
	}
	return key.Pos
}

func (d *decoder) checkConsumer(c *Consumer, m written) {
	keys := map[string]bool{}
	for _, message := range c.Messages {
		keys[message.Key.Value] = true
	}
	delete(keys, "")
	m.needs(d, "type_from", len(keys) > 1,
		"where the wire type stands, which tells the messages apart: header:NAME, field:PATH or property:type")
	first := map[string]diag.Position{}
	for _, message := range c.Messages {
		if message.Type.Broken || !message.Type.Set && message.Key.Broken {
			continue
		}
		at := orKey(message.Type, message.Key)
		if pos, ok := first[message.Type.Value]; ok {
			d.Errorf(at, "shared-type", "the messages at %s and here have one type on the wire, %s: write type: with another one",
				pos, quoteShort(message.Type.Value))
			continue
		}
		first[message.Type.Value] = at
	}
	d.checkProperties(c)
}

// checkProperties refuses AMQP's properties where there is no AMQP.
func (d *decoder) checkProperties(c *Consumer) {
	const text = "%s can't be property:%s with a %s source, whose messages have no properties: write header:NAME or field:PATH"
	var source string
	switch {
	case c.Source == nil, c.Source.RabbitMQ != nil: // a second source beside it is reported as such
		return
	case c.Source.Kafka != nil:
		source = "kafka"
	case c.Source.Watermill != nil:
		source = "watermill"
	default:
		return
	}
	if c.TypeFrom != nil && c.TypeFrom.From == "property" {
		d.Errorf(c.TypeFrom.Pos, "source", text, "type_from", c.TypeFrom.Name, source)
	}
	for _, m := range c.Messages {
		if m.ID.From == "property" {
			d.Errorf(m.ID.Pos, "source", text, "id", m.ID.Name, source)
		}
	}
}

func (d *decoder) checkMessage(m *Message, w written) {
	m.Opaque = !w.exactlyOne(d, "fields", "go_type") || w.has("fields") && len(m.Fields) == 0 || m.GoType.Broken
	w.reasoned(d, "plan")
	if w.has("dedupe") && !m.Dedupe.Set {
		return
	}
	dedupe := m.Dedupe.Value
	versioned, downstream := dedupe == "versioned", dedupe == "downstream"
	w.needs(d, "version", versioned, "version: {table: …, key: {…}, column: …, expected: …}")
	w.only(d, "version", versioned, "it goes with dedupe: versioned")
	w.needs(d, "call", downstream, "call: with the name of the method to implement, such as ChargeCard")
	w.only(d, "call", downstream, "it goes with dedupe: downstream")
	w.needs(d, "effects", !downstream, "effects: with the SQL that a message brings about")
	w.only(d, "effects", !downstream, "with dedupe: downstream the effect is the call")
}
