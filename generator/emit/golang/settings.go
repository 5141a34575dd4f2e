package golang

import (
	"time"

	"github.com/dave/jennifer/jen"
)

// settings prints what the support code needs to know of the spec.
func (e *emitter) settings() ([]byte, error) {
	f := e.newFile()
	inbox := e.model.Inbox
	f.Const().Defs(
		jen.Id("detectReuse").Op("=").Lit(inbox.DetectReuse),
		jen.Id("messageIDType").Op("=").Lit(inbox.MessageIDType),
	)
	f.Line().Add(comment("markerSQL inserts the marker; no row affected means that the message was applied before."))
	f.Const().Id("markerSQL").Op("=").Add(rawString(inbox.MarkerSQL()))
	f.Line().Add(comment("seenSQL reads what a message with this id contained when it was applied."))
	f.Const().Id("seenSQL").Op("=").Add(rawString(inbox.SeenSQL()))
	f.Line().Add(comment("purgeSQL deletes one batch of a consumer's markers, oldest first, by the server's clock."))
	f.Const().Id("purgeSQL").Op("=").Add(rawString(inbox.PurgeSQL()))
	f.Line().Add(comment("windows has how long each consumer's markers are kept."))
	windows := make([]jen.Code, len(e.model.Consumers))
	for i, c := range e.model.Consumers {
		windows[i] = jen.Values(jen.Lit(c.Ledger), duration(e.model.Retention))
	}
	f.Var().Id("windows").Op("=").Index().Id("window").Add(multiline(windows))
	return e.render(f)
}

// duration prints d in the largest unit that divides it.
func duration(d time.Duration) *jen.Statement {
	units := []struct {
		unit time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}}
	if day := 24 * time.Hour; d%day == 0 {
		return jen.Lit(int(d/day)).Op("*").Lit(24).Op("*").Qual("time", "Hour")
	}
	for _, u := range units {
		if d%u.unit == 0 {
			return jen.Lit(int(d/u.unit)).Op("*").Qual("time", u.name)
		}
	}
	return jen.Lit(int(d)).Op("*").Qual("time", "Nanosecond")
}
