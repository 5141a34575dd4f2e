package golang

import (
	"slices"
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/plan"
)

// settings has what the support code needs to know of the spec.
func settings(m *plan.Model) *file {
	f := newFile(m)
	inbox := m.Inbox
	f.declare(jen.Const().Defs(
		jen.Id("detectReuse").Op("=").Lit(inbox.DetectReuse),
		jen.Id("messageIDType").Op("=").Lit(inbox.MessageIDType),
	))
	f.sqlConst("markerSQL", "inserts the marker; no row affected means that the message was applied before.", inbox.MarkerSQL())
	if hasGuarded(m) {
		f.sqlConst("withMarkerSQL", "begins most guarded statements.", inbox.WithMarkerSQL())
		f.sqlConst("outcomeSQL", "ends the guarded statements.", inbox.OutcomeSQL())
	}
	f.sqlConst("seenSQL", "reads what a message with this id contained when it was applied.", inbox.SeenSQL())
	f.sqlConst("batchMarkerSQL", "inserts the markers of a batch and returns the ids of the fresh ones.", inbox.BatchMarkerSQL())
	f.sqlConst("batchSeenSQL", "reads what messages with these ids contained when they were applied.", inbox.BatchSeenSQL())
	f.sqlConst("purgeSQL", "deletes one batch of a consumer's markers, oldest first, by the server's clock.", inbox.PurgeSQL())
	f.declare(jen.Func().Id("defaultMeter").Params().Id("meter").Add(inline(jen.Return(f.meter(m.Spec.Metrics.Value)))))
	windows := make([]jen.Code, len(m.Consumers))
	for i, c := range m.Consumers {
		windows[i] = jen.Values(jen.Lit(c.Ledger), f.duration(m.Retention))
	}
	f.declare(documented("windows has how long each consumer's markers are kept.").
		Var().Id("windows").Op("=").Index().Id("window").Add(lines(windows...)))
	return f
}

func hasGuarded(m *plan.Model) bool {
	return slices.ContainsFunc(m.Consumers, func(c *plan.Consumer) bool {
		return slices.ContainsFunc(c.Messages, func(m *plan.Message) bool { return m.Plan == plan.Guarded })
	})
}

// sqlConst declares a documented constant with a statement.
func (f *file) sqlConst(name, doc, sql string) {
	f.declare(documented(name + " " + doc).Const().Id(name).Op("=").Add(rawString(sql)))
}

// meter makes what counts for metrics.
func (f *file) meter(metrics string) jen.Code {
	if metrics == "none" {
		return f.support("nometer", "noMeter").Values()
	}
	f.support("metrics", "knownMessage")
	return f.support(metrics, metrics+"Meter").Call()
}

// duration is d in the largest unit that divides it.
func (f *file) duration(d time.Duration) jen.Code {
	const day = 24 * time.Hour
	if d%day == 0 {
		return jen.Lit(int(d / day)).Op("*").Lit(24).Op("*").Add(f.qualified("time", "Hour"))
	}
	units := []struct {
		unit time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"},
	}
	for _, u := range units {
		if d%u.unit == 0 {
			return jen.Lit(int(d / u.unit)).Op("*").Add(f.qualified("time", u.name))
		}
	}
	return jen.Lit(int(d)).Op("*").Add(f.qualified("time", "Nanosecond"))
}
