package generator_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/inboxgen/inboxgen/generator"
)

// sound is a project without a fault. Every mistake below is made on a line of its own, so that none moves another.
var sound = map[string]string{
	"shop/inboxgen.yaml": `version: 1
postgres: 15
output:
  package: shop
  dir: .
inbox:
  schema: public
  table: inbox
  message_id: text
  retention: 8d
  detect_reuse: content
migrations:
  tool: goose
  dir: migrations
schema:
  - schema.sql
  - tables/
  - rules.sql
jobs: [go]
metrics: none
tests: false
consumers:
  accounting:
    name: ledger # größe
    source:
      kafka:
        topics: [payments]
        group: accounting
        dead_letter: payments.dlq
    type_from: header:type
    on_unknown: skip
    duplicates:
      redelivery: 6h
      replay: 7d
    messages:
      Paid:
        type: order.paid
        fields:
          event_id: string
          merchant_id: int64
          amount: int64
          note: "*string"
          extra: int
        id: field:event_id
        dedupe: inbox
        effects:
          - sql: |
              UPDATE ledger SET balance = balance + @amount, "ä" = 'ü'
              WHERE merchant_id = @merchant_id
                AND note = @note
            expect: one
          - file: paid.sql
            expect: any
          - file: logged.sql
        examples:
          - given: DELETE FROM ledger
            message:
              event_id: x
              amount: 1
              extra: 1
            query: SELECT 1
            want: 1
      Refunded:
        fields:
          event_id: string
          amount: int64
          message_id: string
        id: field:message_id
        plan: transaction
        because: a reason
        effects:
          - sql: |
              UPDATE refunds SET n = @amount
              WHERE id = @message_id AND event = @event_id
      Sent:
        fields: {id: uuid, n: "[]int64"}
        id: field:id # sent
        effects:
          - sql: |
              SELECT f(@n)
          - sql: |
              CALL p(@id)
      Noted:
        fields: {id: int64}
        id: field:id
        effects:
          - sql: |
              DELETE FROM notes WHERE id = @id
      Kept:
        fields: {id: int64}
        id: field:id
        effects:
          - sql: |
              DELETE FROM kept WHERE id = @id
  billing:
    source:
      rabbitmq:
        queue: billing
        prefetch: 10
    messages:
      Charged:
        fields: {id: string, amount: decimal}
        id: property:message_id
        effects:
          - sql: |
              INSERT INTO charges (id, amount)
              VALUES (@id, @amount)
            assume: transactional
            because: it is
  selling:
    messages:
      Sold:
        fields: {id: int64}
        id: field:id
        effects:
          - sql: |
              DELETE FROM selling WHERE id = @id
          - sql: |
              UPDATE ruled SET n = 1
            expect: any # ruled
          - sql: |
              SELECT pg_notify('sold', 'x')
  stock:
    messages:
      Moved:
        fields: {id: int64}
        id: field:id
        effects:
          - sql: |
              DELETE FROM stock WHERE id = @id
`,
	"shop/paid.sql":       "-- größer\nINSERT INTO paid (id, amount)\nVALUES (@event_id, @amount)\n",
	"shop/schema.sql":     "CREATE TABLE ledger (merchant_id bigint, balance bigint, note text);\n",
	"shop/rules.sql":      "CREATE TABLE ruled (n bigint);\nCREATE RULE r AS ON UPDATE TO ruled DO INSTEAD NOTHING;\n",
	"shop/logged.sql":     "INSERT INTO log VALUES (@amount)\n",
	"shop/tables/log.sql": "CREATE TABLE log (amount bigint);\n",
	"shop/shop.go":        "package shop\n",
}

// withGoTypes has a third consumer at its end, whose messages are Go types.
const withGoTypes = `  moving:
    type_from: header:kind
    messages:
      Went:
        go_type: github.com/inboxgen/inboxgen/testdata/diagnostics/every-key/events.OrderMoved
        id: header:id
        effects:
          - sql: |
              UPDATE accounts SET name = 'x'
      Renamed:
        go_type: github.com/inboxgen/inboxgen/testdata/diagnostics/every-key/events.OrderMoved # again
        id: header:id
        effects:
          - sql: |
              UPDATE accounts SET name = @name
              WHERE id = @account_id
      Charge:
        go_type: github.com/inboxgen/inboxgen/testdata/diagnostics/every-key/events.CardCharged
        id: header:id
        effects:
          - sql: |
              INSERT INTO charges VALUES (@amount)
      Typed:
        fields:
          one: string
          moved: github.com/inboxgen/inboxgen/testdata/diagnostics/every-key/events.OrderMoved
        id: header:id
        effects:
          - sql: |
              INSERT INTO moves
              VALUES (@one)
`

// A mistake replaces a text that stands once in a file of a sound project, or a whole file.
type mistake struct{ file, old, mistaken string }

func inSpec(old, mistaken string) mistake { return mistake{"shop/inboxgen.yaml", old, mistaken} }

var mistakes = []mistake{
	inSpec("postgres: 15", "postgres: 9"),
	inSpec("package: shop", "package: func"),
	inSpec("  schema: public", "  schema: "+strings.Repeat("x", 64)),
	inSpec("table: inbox", "tabel: inbox"),
	inSpec("message_id: text", "message_id: txt"),
	inSpec("retention: 8d", "retention: 8"),
	inSpec("detect_reuse: content", "detect_reuse: [content]"),
	inSpec("tool: goose", "tool: gose"),
	inSpec("dir: migrations", "dir: /migrations"),
	inSpec("- tables/", "- table/"),
	inSpec("jobs: [go]", "jobs: [go, pg_cron]"),
	inSpec("metrics: none", "metrics: statsd"),
	inSpec("tests: false", "tests: true"),
	inSpec("  selling:\n", "  sell-ing:\n"),
	inSpec("name: ledger", "name: "),
	inSpec("topics: [payments]", "topics: [pay ments, payments.dlq]"),
	inSpec("group: accounting", "group: *accounting"),
	inSpec("type_from: header:type", "type_from: property:kind"),
	inSpec("on_unknown: skip", "on_unknown: ignore"),
	inSpec("redelivery: 6h", "redelivery: 6 hours"),
	inSpec("replay: 7d", "replay: 30"),
	inSpec("      Noted:\n", "      noted:\n"),
	inSpec("type: order.paid", "type: Refunded"),
	inSpec("extra: int", "ex-tra: int"),
	inSpec("merchant_id: int64", "merchant_id: int46"),
	inSpec("amount: int64\n          note", "amount: [int64]\n          note"),
	inSpec("note: \"*string\"", "note: \"**string\""),
	inSpec("id: field:event_id", "id: header:kafka_offset"),
	inSpec("dedupe: inbox", "dedupe: natural"),
	inSpec("balance + @amount", "balance + @amuont"),
	inSpec("WHERE merchant_id = @merchant_id", "WHERE WHERE merchant_id = @merchant"),
	inSpec("AND note = @note", "AND note <@note"),
	inSpec("expect: one", "expect: none"),
	inSpec("file: logged.sql", "file: loged.sql"),
	inSpec("expect: any\n", "expect: 0\n"),
	inSpec("- given: DELETE FROM ledger", "- given: DELETE FROM ledger # all"),
	inSpec("  event_id: x", "  evnt_id: x"),
	inSpec("want: 1", "want: 0x1"),
	inSpec("message_id: string", "message_id: "),
	inSpec("id: field:message_id", "id: field:mesage_id"),
	inSpec("plan: transaction", "plan: guarded"),
	inSpec("because: a reason", "reason: a reason"),
	inSpec("UPDATE refunds SET n", "VACUUM refunds SET n"),
	inSpec("AND event = @event_id", "AND event = @events"),
	inSpec(`fields: {id: uuid, n: "[]int64"}`, `fields: {id: uuid, n: "[]int65", order_id: int, orderId: int}`),
	inSpec("id: field:id # sent", "id: cloudevent # sent"),
	inSpec("SELECT f(@n)", "SELECT @n"),
	inSpec("CALL p(@id)", "CALL p($1)"),
	inSpec("rabbitmq:", "rabitmq:"),
	inSpec("prefetch: 10", "prefetch: 0"),
	inSpec("expect: any # ruled", "expect: one # ruled"),
	inSpec("SELECT pg_notify('sold', 'x')", "SELECT pg_advisory_lock(1)"),
	inSpec("  stock:\n", "  outcome:\n"),
	inSpec("      Kept:\n", "      Outcome:\n"),
	inSpec("fields: {id: string, amount: decimal}", "fields: {id: string, amount: decimal, id: int}"),
	inSpec("INSERT INTO charges (id, amount)", "INSERT INTO public.inbox (id, amount)"),
	inSpec("VALUES (@id, @amount)", "VALUES (@id, @amount.cents)"),
	inSpec("assume: transactional", "assume: harmless"),
	inSpec("because: it is", "assume: transactional"),
	{"shop/paid.sql", "(id, amount)", "(id, amount) amount"},
	{"shop/paid.sql", "@event_id", "@event"},
	{"shop/schema.sql", "balance bigint", "balance bigint,,"},
	{"shop/inboxgen.lock", "", "create-inbox:public.inbox:text migrations/1_gone.sql 0\n"},
	{"shop/inbox.gen.go", "", "package shop\n"},
	{"shop/billing_inbox.gen.go", "", "package shop\n"},
	{"shop/mine.go", "", "package shop\n\ntype Billing struct{}\n\nvar Outcome, Sent int\n\nfunc (a *Accounting) HandleRefundedTx() {}\n"},
}

var mistakenTypes = []mistake{
	inSpec("go_type: github.com/inboxgen/inboxgen/testdata/diagnostics/every-key/events.OrderMoved\n", "go_type: github.com/inboxgen/inboxgen/testdata/diagnostics/every-key/events.OrderMovd\n"),
	inSpec("every-key/events.CardCharged", "every-key/event.CardCharged"),
	inSpec("SET name = @name", "SET name = @Nam"),
	inSpec("WHERE id = @account_id", "WHERE id = @PrevVersion"),
	inSpec("moved: github.com/inboxgen/inboxgen/testdata/diagnostics/every-key/events.OrderMoved", "moved: nowhere/events.OrderMoved"),
	inSpec("VALUES (@one)", "VALUES (@two)"),
}

// project returns files with mistakes in them.
func project(t *testing.T, files map[string]string, made []mistake) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	at := func(m mistake) int { return strings.Index(files[m.file], m.old) }
	made = slices.SortedFunc(slices.Values(made), func(a, b mistake) int { return at(b) - at(a) })
	for _, m := range made { // from the end, so that none moves what comes
		if m.old == "" {
			out[m.file] = &fstest.MapFile{Data: []byte(m.mistaken)}
			continue
		}
		if n := strings.Count(files[m.file], m.old); n != 1 {
			t.Fatalf("%q stands %d times in %s", m.old, n, m.file)
		}
		text := string(out[m.file].Data)
		line, _, _ := strings.Cut(m.old, "\n") // what follows it only says which line
		mistaken, _, _ := strings.Cut(m.mistaken, "\n")
		out[m.file].Data = []byte(text[:at(m)] + mistaken + text[at(m)+len(line):])
	}
	return out
}

func diagnose(t *testing.T, files map[string]string, made ...mistake) []string {
	t.Helper()
	root, err := filepath.Abs("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range generator.Generate(project(t, files, made), "shop/inboxgen.yaml", generator.Options{Dir: root}).Diagnostics {
		out = append(out, d.String())
	}
	return out
}

// TestMistakesAddUp makes mistakes one by one and together: what is said of several is what is said of each, no less, so
// that none hides another, and no more, so that none has an echo.
func TestMistakesAddUp(t *testing.T) {
	alone := map[mistake][]string{}
	add := func(files map[string]string, m mistake) {
		alone[m] = diagnose(t, files, m)
		if len(alone[m]) == 0 {
			t.Errorf("nothing is said of %q", m.mistaken)
		}
	}
	check := func(files map[string]string, made ...mistake) {
		t.Helper()
		var want []string
		for _, m := range made {
			want = append(want, alone[m]...)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		got := diagnose(t, files, made...)
		slices.Sort(got)
		for _, d := range got {
			if !slices.Contains(want, d) {
				t.Errorf("%q has the echo\n%s", names(made), d)
			}
		}
		for _, d := range want {
			if !slices.Contains(got, d) {
				t.Errorf("%q hides\n%s", names(made), d)
			}
		}
	}
	if ds := diagnose(t, sound); len(ds) > 0 {
		t.Fatal(ds)
	}
	for _, m := range mistakes {
		add(sound, m)
	}
	for i, m := range mistakes {
		for _, other := range mistakes[:i] {
			check(sound, other, m)
		}
	}
	typed := maps.Clone(sound)
	typed["shop/inboxgen.yaml"] += withGoTypes
	if ds := diagnose(t, typed); len(ds) > 0 {
		t.Fatal(ds)
	}
	for _, m := range mistakenTypes {
		add(typed, m)
	}
	check(typed, mistakenTypes...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		made := slices.DeleteFunc(append(slices.Clone(mistakes), mistakenTypes...), func(mistake) bool { return random.IntN(2) == 0 })
		check(typed, made...)
	}
	check(typed, append(slices.Clone(mistakes), mistakenTypes...)...)
}

func names(made []mistake) string {
	var out []string
	for _, m := range made {
		out = append(out, m.mistaken)
	}
	return fmt.Sprint(out)
}
