package golang

import (
	"strconv"
	"time"
)

// settings prints what the support code needs to know of the spec.
func (e *emitter) settings() *printer {
	p := e.newPrinter()
	inbox := e.model.Inbox
	p.P()
	p.P("const (")
	for _, line := range align([][]string{
		{"detectReuse", "= " + strconv.FormatBool(inbox.DetectReuse)},
		{"messageIDType", "= " + strconv.Quote(inbox.MessageIDType)},
	}) {
		p.P("\t", line)
	}
	p.P(")")
	p.comment("markerSQL inserts the marker; no row affected means that the message was applied before.")
	p.P("const markerSQL = ", rawString(inbox.MarkerSQL()))
	p.comment("seenSQL reads what a message with this id contained when it was applied.")
	p.P("const seenSQL = ", rawString(inbox.SeenSQL()))
	p.comment("batchMarkerSQL inserts the markers of a batch and returns the ids of the fresh ones.")
	p.P("const batchMarkerSQL = ", rawString(inbox.BatchMarkerSQL()))
	p.comment("batchSeenSQL reads what messages with these ids contained when they were applied.")
	p.P("const batchSeenSQL = ", rawString(inbox.BatchSeenSQL()))
	p.comment("purgeSQL deletes one batch of a consumer's markers, oldest first, by the server's clock.")
	p.P("const purgeSQL = ", rawString(inbox.PurgeSQL()))
	p.P()
	p.P("func defaultMeter() meter { return ", meterOf(p, e.model.Spec.Metrics.Value), " }")
	p.comment("windows has how long each consumer's markers are kept.")
	p.P("var windows = []window{")
	for _, c := range e.model.Consumers {
		p.P("\t{", strconv.Quote(c.Ledger), ", ", duration(p, e.model.Retention), "},")
	}
	p.P("}")
	return p
}

// meterOf is the expression that makes what counts for metrics.
func meterOf(p *printer, metrics string) string {
	if metrics == "none" {
		return p.support("nometer", "noMeter") + "{}"
	}
	p.support("metrics", "knownMessage")
	return p.support(metrics, metrics+"Meter") + "()"
}

// duration prints d in the largest unit that divides it.
func duration(p *printer, d time.Duration) string {
	units := []struct {
		unit   time.Duration
		prefix string
		name   string
	}{
		{24 * time.Hour, "24 * ", "Hour"},
		{time.Hour, "", "Hour"},
		{time.Minute, "", "Minute"},
		{time.Second, "", "Second"},
		{time.Millisecond, "", "Millisecond"},
		{time.Nanosecond, "", "Nanosecond"},
	}
	for _, u := range units {
		if d%u.unit == 0 {
			return strconv.Itoa(int(d/u.unit)) + " * " + u.prefix + p.qualified("time", u.name)
		}
	}
	return "0"
}
