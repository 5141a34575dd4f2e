package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/testdata/ids"
	"github.com/inboxgen/inboxgen/testdata/uuids"
)

// handler is what the consumers of the case ids have in common.
type handler interface {
	Handle(ctx context.Context, d ids.Delivery) (ids.Outcome, error)
}

func note(headers map[string]string, body string) ids.Delivery {
	return ids.Delivery{Headers: headers, Body: []byte(body)}
}

// TestWhereIDsComeFrom delivers twice by every kind of id and type, and looks at the marker.
func TestWhereIDsComeFrom(t *testing.T) {
	t.Parallel()
	const body = `{"note": "n", "tag": null}`
	type cases []struct {
		name     string
		consumer func(db ids.DB) handler
		ledger   string
		id       string
		d        ids.Delivery
	}
	header := func(db ids.DB) handler { return ids.NewByHeader(db) }
	field := func(db ids.DB) handler { return ids.NewByField(db) }
	property := func(db ids.DB) handler { return ids.NewByProperty(db) }
	cloud := func(db ids.DB) handler { return ids.NewCloud(db) }
	tests := cases{
		{"header", header, "by_header", "x 1", note(map[string]string{"X-Type": "note.made", "X-Event-ID": "x 1"}, body)},
		{"integer", header, "by_header", "-9223372036854775808", note(map[string]string{"X-Type": "note.numbered"}, `{"number": -9223372036854775808, "note": "n"}`)},
		{"pointer", header, "by_header", "p", note(map[string]string{"X-Type": "note.optional"}, `{"event_id": "p", "note": "n"}`)},
		{
			"uuid", header, "by_header", "0190b8a4-7b6a-7c3e-8f00-0123456789ab",
			note(map[string]string{"X-Type": "note.unique"}, `{"event_id": "0190B8A4-7B6A-7C3E-8F00-0123456789AB", "note": "n"}`),
		},
		{"type in a field", field, `The reader "by field"`, "f", note(map[string]string{"X-Event-ID": "f"}, `{"meta": {"type": "note.made"}, "note": "n"}`)},
		{"two effects", field, `The reader "by field"`, "t", note(nil, `{"meta": {"type": "Tagged"}, "event_id": "t", "note": "n", "tag": "g"}`)},
		{"property", property, "by_property", "m", ids.Delivery{Type: "note.made", ID: "m", Body: []byte(body)}},
		{"kafka", cloud, "cloud", "/shop 7", note(map[string]string{"ce_source": "/shop", "ce_id": "7"}, body)},
		{"http", cloud, "cloud", "/shop 8", note(map[string]string{"ce-source": "/shop", "ce-id": "8"}, body)},
		{"amqp", cloud, "cloud", "/shop 9", note(map[string]string{"cloudEvents:source": "/shop", "cloudEvents:id": "9"}, body)},
		{"amqp for jms", cloud, "cloud", "/shop 10", note(map[string]string{"cloudEvents_source": "/shop", "cloudEvents_id": "10"}, body)},
	}
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		for _, test := range tests {
			for _, want := range []ids.Outcome{ids.Applied, ids.Duplicate} {
				outcome, err := test.consumer(pool).Handle(t.Context(), test.d)
				became(t, want, outcome, err)
			}
			holds(t, pool, 1, "SELECT count(*) FROM inbox WHERE consumer_name = $1 AND message_id = $2", test.ledger, test.id)
			holds(t, pool, 1, "SELECT count(*) FROM noted WHERE consumer = $1 AND message_id = $2", test.ledger, test.id)
		}
		holds(t, pool, int64(len(tests)), "SELECT count(*) FROM inbox")
	})
}

// TestRefusedIDs has ids that are refused before the database would have to.
func TestRefusedIDs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		header, cloud := ids.NewByHeader(pool), ids.NewCloud(pool)
		refuse := func(want string, outcome ids.Outcome, err error) {
			t.Helper()
			failed(t, err, ids.Poison, ids.Classify, ids.ErrInvalidID)
			if outcome != 0 || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v, %v; want %s", outcome, err, want)
			}
		}
		for want, id := range map[string]string{
			"it is empty": "", "it has 513 bytes, more than 512": strings.Repeat("i", 513),
			"it is not valid UTF-8": "a\xff", "it contains a NUL": "a\x00b",
		} {
			outcome, err := header.HandleNoted(t.Context(), id, ids.Noted{Note: "n"})
			refuse(want, outcome, err)
			tx := begin(t, pool)
			outcome, err = header.HandleNotedTx(t.Context(), tx, id, ids.Noted{Note: "n"})
			refuse(want, outcome, err)
			outcome, err = header.HandleNotedTx(t.Context(), tx, "the transaction is still good", ids.Noted{Note: "n"})
			became(t, ids.Applied, outcome, err)
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}
		for _, headers := range []map[string]string{nil, {"ce_id": "1"}, {"ce_source": "/s"}, {"ce_source": "/a b", "ce_id": "1"}} {
			outcome, err := cloud.Handle(t.Context(), note(headers, `{"note": "n"}`))
			refuse("it is empty", outcome, err)
		}
		outcome, err := header.Handle(t.Context(), note(map[string]string{"X-Type": "note.optional"}, `{"note": "n"}`))
		refuse("it is empty", outcome, err)
		holds(t, pool, 0, "SELECT count(*) FROM inbox")
		holds(t, pool, 0, "SELECT count(*) FROM noted")
	})
}

// TestDifferentIDs has ids that look alike and are not the same.
func TestDifferentIDs(t *testing.T) {
	t.Parallel()
	alike := []string{"a", "A", "a ", " a", "a\t", "á", "a\u0301", "ａ", strings.Repeat("a", 512), "a'", `a"`, "a\n", "%", "\\"}
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		inEveryMode(t, db, func(t *testing.T, pool *pgxpool.Pool) {
			c := ids.NewByHeader(pool)
			for _, want := range []ids.Outcome{ids.Applied, ids.Duplicate} {
				for _, id := range alike {
					outcome, err := c.HandleNoted(t.Context(), id, ids.Noted{Note: "n"})
					became(t, want, outcome, err)
				}
			}
			run(t, pool, "DELETE FROM inbox")
		})
		holds(t, pool, int64(len(execModes)*len(alike)), "SELECT count(*) FROM noted")
	})
}

// TestSeparateLedgers has the same ids come to two consumers, to each of which they are new.
func TestSeparateLedgers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		outcome, err := ids.NewByHeader(pool).HandleNoted(t.Context(), "a", ids.Noted{Note: "n"})
		became(t, ids.Applied, outcome, err)
		outcome, err = ids.NewByProperty(pool).HandleNoted(t.Context(), "a", ids.Noted{Note: "n"})
		became(t, ids.Applied, outcome, err)
		_, err = ids.NewByProperty(pool).HandleOther(t.Context(), "a", ids.Other{Note: "n"}) // another type, the same content
		failed(t, err, ids.Poison, ids.Classify, ids.ErrReusedID)
	})
}

func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		_, err := ids.NewByHeader(pool).Handle(t.Context(), note(map[string]string{"X-Type": "note.lost"}, "not JSON"))
		failed(t, err, ids.Poison, ids.Classify, ids.ErrUnknownType)
		var named *ids.MessageError
		if !errors.As(err, &named) || named.Consumer != "by_header" || named.Message != "note.lost" {
			t.Errorf("%v does not name the consumer and the type", err)
		}
		_, err = ids.NewByProperty(pool).Handle(t.Context(), ids.Delivery{})
		failed(t, err, ids.Deployment, ids.Classify, ids.ErrUnknownType)
		for _, body := range []string{`{"meta": {"type": "note.lost"}}`, `{"meta": 1}`, `[]`, `{`, ``} {
			outcome, err := ids.NewByField(pool).Handle(t.Context(), note(nil, body))
			became(t, ids.Skipped, outcome, err)
		}
		holds(t, pool, 0, "SELECT count(*) FROM inbox")
	})
}

// TestUndecodable has bodies that are no message: each is poison, names what is missing, and leaves nothing.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		c := ids.NewByHeader(pool)
		for body, want := range map[string]string{
			``:                                "unexpected end of JSON input",
			`{"note": "n"`:                    "unexpected end of JSON input",
			`null`:                            "missing number, note",
			`[]`:                              "cannot unmarshal array",
			`{}`:                              "missing number, note",
			`{"number": null, "note": "n"}`:   "missing number",
			`{"number": 1.5, "note": "n"}`:    "cannot unmarshal number 1.5",
			`{"number": 9223372036854775808}`: "cannot unmarshal number 9223372036854775808",
			`{"number": "1", "note": "n"}`:    "cannot unmarshal string",
			`{"number": 1, "note": "n"} {"number": 2}`: "invalid character '{' after top-level value",
		} {
			_, err := c.Handle(t.Context(), note(map[string]string{"X-Type": "note.numbered"}, body))
			failed(t, err, ids.Poison, ids.Classify, ids.ErrDecode)
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		}
		holds(t, pool, 0, "SELECT count(*) FROM inbox")
	})
}

// TestUndecodableID has the id of a message that can't be decoded in the error, where it stands outside of the body.
func TestUndecodableID(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "ids")
		for want, handle := range map[string]func() (ids.Outcome, error){
			"h-1": func() (ids.Outcome, error) {
				return ids.NewByHeader(pool).Handle(t.Context(), note(map[string]string{"X-Type": "note.made", "X-Event-ID": "h-1"}, `{}`))
			},
			"p-1": func() (ids.Outcome, error) {
				return ids.NewByProperty(pool).Handle(t.Context(), ids.Delivery{Type: "note.made", ID: "p-1", Body: []byte(`{}`)})
			},
			"": func() (ids.Outcome, error) { // it stands in the body
				return ids.NewByHeader(pool).Handle(t.Context(), note(map[string]string{"X-Type": "note.unique", "X-Event-ID": "h-1"}, `{}`))
			},
		} {
			_, err := handle()
			failed(t, err, ids.Poison, ids.Classify, ids.ErrDecode)
			var message *ids.MessageError
			if !errors.As(err, &message) || message.ID != want {
				t.Errorf("%v, want the id %q", err, want)
			}
		}
	})
}

// TestUUIDInbox has an inbox of type uuid with a hostile name: another spelling of an id is the same id.
func TestUUIDInbox(t *testing.T) {
	t.Parallel()
	const lower, upper = "0190b8a4-7b6a-7c3e-8f00-0123456789ab", "0190B8A4-7B6A-7C3E-8F00-0123456789AB"
	onServers(t, func(t *testing.T, db *database) {
		admin := db.with(t, "uuids")
		inEveryMode(t, db, func(t *testing.T, pool *pgxpool.Pool) {
			c := uuids.NewSum(pool)
			outcome, err := c.HandleAdded(t.Context(), uuids.Added{EventID: lower, Amount: 1})
			became(t, uuids.Applied, outcome, err)
			outcome, err = c.HandleAdded(t.Context(), uuids.Added{EventID: upper, Amount: 5}) // detect_reuse is off
			became(t, uuids.Duplicate, outcome, err)
			for _, id := range []string{"", "x", lower[1:], lower + "0", "{" + lower + "}", strings.ReplaceAll(lower, "-", ""), strings.Replace(lower, "a", "g", 1)} {
				_, err := c.HandleAdded(t.Context(), uuids.Added{EventID: id, Amount: 1})
				failed(t, err, uuids.Poison, uuids.Classify, uuids.ErrInvalidID)
			}
			d := uuids.Delivery{Headers: map[string]string{"type": "AddedTwice"}, Body: []byte(`{"event_id": "0190b8a4-7b6a-7c3e-8f00-000000000002", "amount": 10}`)}
			for _, want := range []uuids.Outcome{uuids.Applied, uuids.Duplicate} {
				outcome, err := c.Handle(t.Context(), d)
				became(t, want, outcome, err)
			}
			holds(t, pool, 21, `SELECT total FROM "My Schema"."Sum"`)
			holds(t, pool, 2, `SELECT count(*) FROM "My Schema"."In""box" WHERE fingerprint IS NULL`)
			run(t, admin, `DELETE FROM "My Schema"."In""box"; UPDATE "My Schema"."Sum" SET total = 0`)
		})
	})
}
