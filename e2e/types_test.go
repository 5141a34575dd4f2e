package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/types"
)

const spelled = `{
	"event_id": "ID", "text": "naïve 'quoted' \\ $1 @x ☃", "flag": true, "count": -9007199254740993, "small": -32768,
	"medium": 2147483647, "big": 9223372036854775807, "single": 0.1, "double": 0.30000000000000004, "raw": "AP9cJw==",
	"at": "2026-01-02T05:04:05.123456+02:00", "uid": "0190B8A4-7B6A-7C3E-8F00-0123456789ab",
	"price": 12345678901234567890.1234567890, "doc": {"a": [1, null, "é"], "n": 1.10}, "plain": [1,  2],
	"texts": ["a,b", "{}", "", "\"", "NULL"], "numbers": [1, -2], "uids": ["0190b8a4-7b6a-7c3e-8f00-0123456789ab"],
	"prices": [0.1, 1e3], "times": ["2026-01-02T03:04:05Z"], "docs": [{"a": 1}, 2],
	"day": "2026-12-07", "never": "infinity", "days": ["2026-12-07", "0001-01-01"], "maybe_days": ["2026-12-07", null],
	"took": "P1Y2M3DT4H5M6.7S", "tooks": ["PT1H30M", "1 day 02:00:00", "1h30m0s", "-00:00:01", "250ms"]OPTIONAL
}`

const optional = `,
	"o_text": "t", "o_flag": false, "o_big": 0, "o_double": 0.5, "o_at": "2026-01-02T03:04:05Z",
	"o_uid": "0190b8a4-7b6a-7c3e-8f00-0123456789ab", "o_price": 0.10, "o_doc": {"b": 2}, "o_texts": ["x"],
	"o_day": "2026-02-28", "o_took": "PT0S"`

// spelledRow is what PostgreSQL then holds, as its to_jsonb shows it.
const spelledRow = `{
	"text": "naïve 'quoted' \\ $1 @x ☃", "flag": true, "count": -9007199254740993, "small": -32768,
	"medium": 2147483647, "big": 9223372036854775807, "single": 0.1, "double": 0.30000000000000004, "raw": "\\x00ff5c27",
	"at": "2026-01-02T03:04:05.123456+00:00", "uid": "0190b8a4-7b6a-7c3e-8f00-0123456789ab",
	"price": 12345678901234567890.1234567890, "doc": {"a": [1, null, "é"], "n": 1.10}, "plain": [1, 2],
	"texts": ["a,b", "{}", "", "\"", "NULL"], "numbers": [1, -2], "uids": ["0190b8a4-7b6a-7c3e-8f00-0123456789ab"],
	"prices": [0.1, 1000], "times": ["2026-01-02T03:04:05+00:00"], "docs": [{"a": 1}, 2],
	"day": "2026-12-07", "never": "infinity", "days": ["2026-12-07", "0001-01-01"], "maybe_days": ["2026-12-07", null],
	"took": "1 year 2 mons 3 days 04:05:06.7", "tooks": ["01:30:00", "1 day 02:00:00", "01:30:00", "-00:00:01", "00:00:00.25"]OPTIONAL
}`

const optionalRow = `,
	"o_text": "t", "o_flag": false, "o_big": 0, "o_double": 0.5, "o_at": "2026-01-02T03:04:05+00:00",
	"o_uid": "0190b8a4-7b6a-7c3e-8f00-0123456789ab", "o_price": 0.10, "o_doc": {"b": 2}, "o_texts": ["x"],
	"o_day": "2026-02-28", "o_took": "00:00:00"`

const noOptionalRow = `,
	"o_text": null, "o_flag": null, "o_big": null, "o_double": null, "o_at": null, "o_uid": null, "o_price": null,
	"o_doc": null, "o_texts": null, "o_day": null, "o_took": null`

const order = `{
	"event_id": "ID", "occurred_at": "2026-01-02T05:04:05+02:00", "buyer": "0190b8a4-7b6a-7c3e-8f00-000000000001",
	"seller": "0190b8a4-7b6a-7c3e-8f00-000000000002", "token": [1,144,184,164,123,106,124,62,143,0,1,35,69,103,137,171],
	"session": "0190b8a4-7b6a-7c3e-8f00-000000000003", "agents": ["0190b8a4-7b6a-7c3e-8f00-000000000004"],
	"steps": [1.5, 2], "words": ["a", null], "ports": [80, 65535], "tags": ["x", "y,z"], "docs": [1, {"a": 2}],
	"total": 12345678901234567890.1234567891, "discount": 0.10,
	"payment": {"amount": 1.5, "fee": 0.05, "card": {"holder": "A"}},
	"color": "red", "accent": "green", "colors": ["green", "red"], "labels": ["a,b", "c"], "level": -7, "levels": [1, 2],
	"lines": [{"item": "x", "count": 1}], "first": {"item": "y", "count": 2}, "last": {"item": "z", "count": 3},
	"attrs": {"b": 1, "a": "☃"}, "raw": {"z": [true]}, "photo": "AP8=", "paid_at": "2026-01-02T03:04:05Z",
	"sent_at": {"seconds": 1767323045, "nanos": 123456000}, "small": 65535, "ratio": 0.1, "Untagged": "u",
	"spare": [1,144,184,164,123,106,124,62,143,0,0,0,0,0,0,5], "payment_card_holder": {"item": "B", "count": 0},
	"day": "2026-12-07", "days": ["2026-12-07", "infinity"]
}`

const orderRow = `{
	"occurred_at": "2026-01-02T03:04:05+00:00", "buyer": "0190b8a4-7b6a-7c3e-8f00-000000000001",
	"seller": "0190b8a4-7b6a-7c3e-8f00-000000000002", "token": "0190b8a4-7b6a-7c3e-8f00-0123456789ab",
	"session": "0190b8a4-7b6a-7c3e-8f00-000000000003", "agents": ["0190b8a4-7b6a-7c3e-8f00-000000000004"],
	"steps": [1.5, 2], "words": ["a", null], "ports": [80, 65535], "tags": ["x", "y,z"], "docs": [1, {"a": 2}],
	"total": 12345678901234567890.1234567891, "discount": 0.10, "amount": 1.5, "fee": 0.05, "holder": "A",
	"color": "red", "accent": "green", "colors": ["green", "red"], "labels": ["a,b", "c"], "level": -7, "levels": [1, 2],
	"lines": [{"item": "x", "count": 1}], "first": {"item": "y", "count": 2}, "last": {"item": "z", "count": 3},
	"attrs": {"b": 1, "a": "☃"}, "raw": {"z": [true]}, "photo": "\\x00ff", "paid_at": "2026-01-02T03:04:05+00:00",
	"sent_at": "2026-01-02T03:04:05.123456+00:00", "small": 65535, "ratio": 0.1, "untagged": "u",
	"spare": "0190b8a4-7b6a-7c3e-8f00-000000000005", "taken": {"item": "B", "count": 0},
	"day": "2026-12-07", "days": ["2026-12-07", "infinity"]
}`

// bareOrder has nothing that may be missing.
const bareOrder = `{
	"event_id": "ID", "occurred_at": "2026-01-02T05:04:05+02:00", "buyer": "0190b8a4-7b6a-7c3e-8f00-000000000001",
	"session": "0190b8a4-7b6a-7c3e-8f00-000000000003", "total": "0", "discount": 0, "color": "red", "payment": {"card": null}
}`

const bareOrderRow = `{
	"occurred_at": "2026-01-02T03:04:05+00:00", "buyer": "0190b8a4-7b6a-7c3e-8f00-000000000001", "seller": null,
	"token": "00000000-0000-0000-0000-000000000000", "session": "0190b8a4-7b6a-7c3e-8f00-000000000003", "agents": null,
	"steps": null, "words": null, "ports": null, "tags": null, "docs": null,
	"total": 0, "discount": 0, "amount": 0, "fee": null, "holder": null, "color": "red", "accent": null, "colors": null,
	"labels": null, "level": 0, "levels": null, "lines": null, "first": {"item": "", "count": 0}, "last": null,
	"attrs": null, "raw": null, "photo": null, "paid_at": null, "sent_at": null, "small": 0, "ratio": 0, "untagged": null,
	"spare": null, "taken": null, "day": null, "days": null
}`

// TestFieldTypes sends a field of every type in each of pgx's modes, guarded and behind a marker of its own, and compares
// what PostgreSQL holds.
func TestFieldTypes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		all := db.with(t, "types")
		inEveryMode(t, db, func(t *testing.T, pool *pgxpool.Pool) {
			c := types.NewTypes(pool)
			for _, test := range []struct{ name, kind, body, table, row string }{
				{"spelled", "Spelled", strings.Replace(spelled, "OPTIONAL", optional, 1), "spelled", strings.Replace(spelledRow, "OPTIONAL", optionalRow, 1)},
				{"null", "Spelled", strings.Replace(spelled, "OPTIONAL", "", 1), "spelled", strings.Replace(spelledRow, "OPTIONAL", noOptionalRow, 1)},
				{"order", "Order", order, "ordered", orderRow},
				{"bare", "Order", bareOrder, "ordered", bareOrderRow},
			} {
				for _, kind := range []string{test.kind, test.kind + "Twice"} {
					id := t.Name() + test.name + kind
					d := types.Delivery{
						Headers: map[string]string{"type": kind},
						Body:    []byte(strings.Replace(test.body, `"ID"`, `"`+id+`"`, 1)),
					}
					for _, want := range []types.Outcome{types.Applied, types.Duplicate} {
						outcome, err := c.Handle(t.Context(), d)
						became(t, want, outcome, err)
					}
					if t.Failed() {
						continue
					}
					got := read[string](t, all, "SELECT (to_jsonb(t) - 'event_id')::text FROM "+test.table+" t WHERE event_id = $1", id)
					compareJSON(t, id, test.row, got)
					if test.name == "bare" { // in which to_jsonb shows no difference between NULL and a JSON null
						holds(t, all, 0, "SELECT num_nonnulls(levels, lines, last, attrs, raw, taken) FROM ordered WHERE event_id = $1", id)
					}
				}
			}
		})
	})
}

// compareJSON compares two objects field by field, numbers digit by digit.
func compareJSON(t *testing.T, name, want, got string) {
	t.Helper()
	decode := func(text string) map[string]any {
		var out map[string]any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&out); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return out
	}
	wantFields, gotFields := decode(want), decode(got)
	for field := range gotFields {
		w, _ := json.Marshal(wantFields[field])
		g, _ := json.Marshal(gotFields[field])
		if _, ok := wantFields[field]; !ok || string(w) != string(g) {
			t.Errorf("%s: %s is %s, want %s", name, field, g, w)
		}
	}
	if len(wantFields) != len(gotFields) {
		t.Errorf("%s: %d fields, want %d", name, len(gotFields), len(wantFields))
	}
}
