package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// everyKey is a spec with every key of the format.
const everyKey = "../../testdata/diagnostics/every-key/inboxgen.yaml"

func readFull(t *testing.T) *Spec {
	t.Helper()
	text, err := os.ReadFile(everyKey)
	if err != nil {
		t.Fatal(err)
	}
	s, ds := Read(around(string(text)), "inboxgen.yaml")
	if len(ds) > 0 {
		t.Fatal(lines(ds))
	}
	return s
}

// TestFull reads a spec with every key, and checks what each became.
func TestFull(t *testing.T) {
	s := readFull(t)
	paid, moved, charged := s.Consumers[0].Messages[0], s.Consumers[0].Messages[1], s.Consumers[1].Messages[0]
	accounting, billing := s.Consumers[0], s.Consumers[1]
	for _, test := range []struct {
		key       string
		got, want any
	}{
		{"postgres", s.Postgres.Value, 15},
		{"output.package", s.Output.Package.Value, "accounting"},
		{"output.dir", s.Output.Dir.Value, "."},
		{"inbox.schema", s.Inbox.Schema.Value, "public"},
		{"inbox.message_id", s.Inbox.MessageID.Value, "uuid"},
		{"inbox.retention", s.Inbox.Retention.Value, 8 * 24 * time.Hour},
		{"inbox.partition", []any{s.Inbox.Partition.By.Value, s.Inbox.Partition.EventTime.Value, s.Inbox.Partition.Every.Value, s.Inbox.Partition.Ahead.Value}, []any{"event_time", "occurred_at", 24 * time.Hour, 7}},
		{"migrations", []string{s.Migrations.Tool.Value, s.Migrations.Dir.Value}, []string{"goose", "migrations"}},
		{"schema", values(s.Schema), []string{"schema.sql"}},
		{"jobs", values(s.Jobs), []string{"go", "pg_cron", "kubernetes"}},
		{"metrics", s.Metrics.Value, "otel"},
		{"tests", s.Tests.Value, true},
		{"name", []string{accounting.Name.Value, billing.Name.Value}, []string{"accounting", "billing"}},
		{"kafka", []any{values(accounting.Source.Kafka.Topics), accounting.Source.Kafka.Group.Value, accounting.Source.Kafka.DeadLetter.Value}, []any{[]string{"payments"}, "accounting", "payments.dlq"}},
		{"rabbitmq", []any{billing.Source.RabbitMQ.Queue.Value, billing.Source.RabbitMQ.Prefetch.Value}, []any{"accounting.payments", 200}},
		{"type_from", []any{accounting.TypeFrom.From, accounting.TypeFrom.Name, billing.TypeFrom == nil}, []any{"header", "event-type", true}},
		{"duplicates", []time.Duration{accounting.Duplicates.Redelivery.Value, accounting.Duplicates.RelayOutage.Value, accounting.Duplicates.Replay.Value}, []time.Duration{6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}},
		{"type", []string{paid.Type.Value, moved.Type.Value}, []string{"order.paid", "OrderMoved"}},
		{"id", []ID{paid.ID, moved.ID, charged.ID}, []ID{{paid.ID.Pos, "field", "event_id"}, {moved.ID.Pos, "cloudevents", ""}, {charged.ID.Pos, "property", "message_id"}}},
		{"dedupe", []string{paid.Dedupe.Value, moved.Dedupe.Value, charged.Dedupe.Value}, []string{"inbox", "versioned", "downstream"}},
		{"version", []string{moved.Version.Table.Value, moved.Version.Key[0].Column.Value, moved.Version.Key[0].Field.Value, moved.Version.Column.Value, moved.Version.Expected.Value}, []string{"accounts", "id", "account_id", "version", "prev_version"}},
		{"call", charged.Call.Value, "ChargeCard"},
		{"sql", []any{paid.Effects[0].SQL.Value, paid.Effects[0].SQL.Line, paid.Effects[0].SQL.Column}, []any{"UPDATE ledger SET balance = balance + @amount\nWHERE merchant_id = @merchant_id\n", 43, 15}},
		{"expect", []Expect{paid.Effects[0].Expect.Value, paid.Effects[1].Expect.Value}, []Expect{{ExpectExactly, 1}, {}}},
		{"file", paid.Effects[1].SQL.At(3), diag.Position{File: "effects/receipt.sql", Line: 1, Column: 4}},
		{"go", paid.Effects[2].Go.Value, "UpdateSearch"},
		{"outbox", []any{paid.Effects[3].Outbox.Topic.Value, paid.Effects[3].Outbox.Key.Value, len(paid.Effects[3].Outbox.Payload)}, []any{"receipts", "merchant_id", 2}},
		{"examples", []any{paid.Examples[0].Message, paid.Examples[0].Want}, []any{map[string]any{"event_id": "event-42", "merchant_id": int64(1), "amount": int64(12500)}, int64(12500)}},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("%s: %v, want %v", test.key, test.got, test.want)
		}
	}
}

func values(list []At[string]) []string {
	var out []string
	for _, at := range list {
		out = append(out, at.Value)
	}
	return out
}

const minimal = `version: 1
inbox: {retention: 8d}
consumers:
  a:
    messages:
      A:
        go_type: a.A
        id: header:id
        effects: [file: effect.sql]
        examples:
          - message: `

// TestExampleValues has every kind of value that an example's message may hold.
func TestExampleValues(t *testing.T) {
	s, ds := Read(around(minimal+`{none: ~, yes: true, No: False, n: -7, big: 18446744073709551616, part: 0.10, e: 1e3, text: "1", word: yes,
              day: 2026-01-02, at: 2026-01-02T03:04:05Z, list: [1, [x], {a: null}], map: {a: {b: []}}, empty: ""}`), "inboxgen.yaml")
	if len(ds) > 0 {
		t.Fatal(lines(ds))
	}
	want := map[string]any{
		"none": nil, "yes": true, "No": false, "n": int64(-7), "big": json.Number("18446744073709551616"), "part": json.Number("0.10"),
		"e": json.Number("1e3"), "text": "1", "word": "yes", "day": "2026-01-02", "at": "2026-01-02T03:04:05Z",
		"list": []any{int64(1), []any{"x"}, map[string]any{"a": nil}}, "map": map[string]any{"a": map[string]any{"b": []any{}}}, "empty": "",
	}
	if got := s.Consumers[0].Messages[0].Examples[0].Message; !reflect.DeepEqual(got, want) {
		t.Errorf("%#v\nwant %#v", got, want)
	}
}

// TestManyFields suggests no name where the list of names is no help.
func TestManyFields(t *testing.T) {
	var fields strings.Builder
	for i := range 101 {
		fmt.Fprintf(&fields, "f%d: string, ", i)
	}
	text := strings.Replace(minimal, "go_type: a.A", "fields: {"+fields.String()+"}", 1) + "{g: 1}"
	_, ds := Read(around(text), "inboxgen.yaml")
	const want = `inboxgen.yaml:11:23: error: unknown field "g" in the example's message: A has 101 other fields [unknown-key]` + "\n"
	if got := lines(ds); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestBytes has what is wrong below the level of YAML.
func TestBytes(t *testing.T) {
	const good = "version: 1\ninbox: {retention: 8d}\nconsumers: {a: {messages: {A: {go_type: a.A, id: header:id, effects: [file: effect.sql]}}}}\n"
	for name, test := range map[string]struct{ text, want string }{
		"LF":             {good, ""},
		"CRLF":           {strings.ReplaceAll(good, "\n", "\r\n"), ""},
		"CRCRLF":         {strings.ReplaceAll(good, "\n", "\r\r\n"), ""},
		"BOM":            {"\ufeff" + good, ""},
		"BOM and CRLF":   {"\ufeff" + strings.ReplaceAll(good, "\n", "\r\n"), ""},
		"no last LF":     {strings.TrimSpace(good), ""},
		"two BOMs":       {"\ufeff\ufeff" + good, "inboxgen.yaml:1:1: error: the character U+FEFF can't be part of this file: remove it [encoding]\n"},
		"NUL":            {"version: 1\nä\x00", "inboxgen.yaml:2:2: error: the character U+0000 can't be part of this file: remove it [encoding]\n"},
		"Latin 1":        {"version: 1\n# gr\xfc\xdf", "inboxgen.yaml:2:5: error: the file is not UTF-8: save it as UTF-8 [encoding]\n"},
		"UTF-16":         {"\xff\xfev\x00", "inboxgen.yaml:1:1: error: the file is not UTF-8: save it as UTF-8 [encoding]\n"},
		"escape":         {"a: \x1b[0m", "inboxgen.yaml:1:4: error: the character U+001B can't be part of this file: remove it [encoding]\n"},
		"noncharacter":   {"a: \ufffe", "inboxgen.yaml:1:4: error: the character U+FFFE can't be part of this file: remove it [encoding]\n"},
		"replacement":    {"# \ufffd\n" + good, ""},
		"NEL in comment": {"# a\u0085b\u2028c\n" + good, ""},
		"CR in a value":  {strings.Replace(good, "id: header:id", "id: \"header:i\rd\"", 1), "inboxgen.yaml:3:50: error: id has a carriage return without a line feed: end lines with one or both [encoding]\n"},
		"empty":          {"", "inboxgen.yaml:1:1: error: the spec is empty: start it with version: 1 [empty-file]\n"},
		"comment":        {"# nothing\n", "inboxgen.yaml:1:1: error: the spec is empty: start it with version: 1 [empty-file]\n"},
		"null":           {"~\n", "inboxgen.yaml:1:1: error: the spec is empty: start it with version: 1 [empty-file]\n"},
		"too large":      {strings.Repeat("#", maxSize+1), "inboxgen.yaml: error: inboxgen.yaml is larger than 16 MiB [file]\n"},
	} {
		if _, ds := Read(around(test.text), "inboxgen.yaml"); lines(ds) != test.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, lines(ds), test.want)
		}
	}
}

// brokenFS fails as a disk or a lack of permission does.
type brokenFS struct{ err error }

func (b brokenFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: "/somewhere/" + name, Err: b.err}
}

func TestUnreadable(t *testing.T) {
	for want, read := range map[string]func() (*Spec, []diag.Diagnostic){
		"x.yaml: error: x.yaml does not exist [file]\n":                         func() (*Spec, []diag.Diagnostic) { return Read(fstest.MapFS{}, "x.yaml") },
		"../x.yaml: error: ../x.yaml is not a path inside the project [file]\n": func() (*Spec, []diag.Diagnostic) { return Read(fstest.MapFS{}, "../x.yaml") },
		"x.yaml: error: x.yaml can't be read: permission denied [file]\n": func() (*Spec, []diag.Diagnostic) {
			return Read(brokenFS{fs.ErrPermission}, "x.yaml")
		},
		"x.yaml: error: x.yaml can't be read: broken disk [file]\n": func() (*Spec, []diag.Diagnostic) {
			return Read(brokenFS{errors.New("broken disk")}, "x.yaml")
		},
		"x: error: x is a directory: name a file [file]\n": func() (*Spec, []diag.Diagnostic) {
			return Read(fstest.MapFS{"x/y": {}}, "x")
		},
	} {
		s, ds := read()
		if got := lines(ds); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if s != nil {
			t.Errorf("a spec after %q", want)
		}
	}
}

// TestTextPositions finds the place of a parameter in SQL, however that is written.
func TestTextPositions(t *testing.T) {
	for name, effect := range map[string]string{
		"block":              "sql: |\n              SELECT 'ä',\n                @x\n",
		"block indented by":  "sql: |2\n              SELECT 1,\n              @x\n",
		"blank first line":   "sql: |\n\n              SELECT @x\n",
		"stripped block":     "sql: |-\n              SELECT\n              @x",
		"single quotes":      "sql: 'SELECT ''ä'', @x'\n",
		"double quotes":      `sql: "SELECT \"\u00e4\", '\x41\U0001F600\t', @x"` + "\n",
		"flow":               "{expect: one, sql: 'SELECT @x'}\n",
		"flow after letters": "{expect: one, sql: \"SELECT 'é😀', @x\"}\n",
	} {
		source := strings.Replace(minimal, "effects: [file: effect.sql]", "effects:\n          - "+effect, 1) + "{}"
		s, ds := Read(around(source), "inboxgen.yaml")
		if len(ds) > 0 {
			t.Errorf("%s: %s", name, lines(ds))
			continue
		}
		sql := s.Consumers[0].Messages[0].Effects[0].SQL
		got := sql.At(strings.Index(sql.Value, "@x"))
		if want := positionIn("inboxgen.yaml", source, strings.Index(source, "@x")); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		end := sql.At(len(strings.TrimRight(sql.Value, "\n")))
		if strings.HasSuffix(sql.Value, "@x") && end != (diag.Position{File: got.File, Line: got.Line, Column: got.Column + 2}) {
			t.Errorf("%s ends at %s, after %s", name, end, got)
		}
	}
	text := NewText("x.sql", []byte("\ufeffSELECT 'ä',\r\n @x"))
	if got, want := text.At(strings.Index(text.Value, "@x")), (diag.Position{File: "x.sql", Line: 2, Column: 2}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for character, want := range map[int]int{0: 0, 1: 0, 9: 8, 10: 10, 11: 11, 16: 16, 99: len(text.Value)} {
		if got := text.ByteOffset(character); got != want {
			t.Errorf("character %d is byte %d, want %d", character, got, want)
		}
	}
}
