// Package runtime is the part of the generated code that does not change with the spec. It is compiled and tested here
// and emitted file by file, with the package clause changed. This file stands in for the settings that are generated
// from the spec, and is not emitted.
package runtime

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	detectReuse   = true
	messageIDType = "text"
)

const markerSQL = `INSERT INTO "inbox" (consumer_name, message_id, fingerprint)
VALUES ($1::text, $2::text, $3::bigint)
ON CONFLICT (consumer_name, message_id) DO NOTHING`

const withMarkerSQL = `WITH inboxgen_marker AS (
  INSERT INTO "inbox" (consumer_name, message_id, fingerprint)
  VALUES ($1::text, $2::text, $3::bigint)
  ON CONFLICT (consumer_name, message_id) DO NOTHING
  RETURNING 1
), `

const outcomeSQL = `
FROM (SELECT count(*) AS n FROM inboxgen_marker) AS marker,
  (SELECT count(*) AS n FROM inboxgen_effect) AS effect`

const seenSQL = `SELECT fingerprint FROM "inbox" WHERE consumer_name = $1::text AND message_id = $2::text`

const batchMarkerSQL = `INSERT INTO "inbox" (consumer_name, message_id, fingerprint)
SELECT $1::text, m.id::text, m.fingerprint FROM unnest($2::text[], $3::bigint[]) AS m(id, fingerprint)
ON CONFLICT (consumer_name, message_id) DO NOTHING
RETURNING message_id::text`

const batchSeenSQL = `SELECT message_id::text, fingerprint FROM "inbox"
WHERE consumer_name = $1::text AND message_id = ANY ($2::text[])`

const purgeSQL = `DELETE FROM "inbox"
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM "inbox"
    WHERE consumer_name = $1::text AND processed_at < now() - make_interval(secs => $2::double precision)
    ORDER BY processed_at
    LIMIT $3::bigint
    FOR UPDATE SKIP LOCKED
  ))
  AND consumer_name = $1::text AND processed_at < now() - make_interval(secs => $2::double precision)`

func defaultMeter() meter {
	_ = knownMessage(Event{})
	return noMeter{}
}

var windows = []window{{"accounting", 8 * 24 * time.Hour}}

// Consumer stands in for a generated consumer: it uses all that generated code does.
type Consumer struct{ inbox *inbox }

// NewConsumer returns a consumer on db.
func NewConsumer(db DB, options ...Option) *Consumer {
	return &Consumer{newInbox(db, "accounting", options)}
}

// Handle decodes a message and applies it in a transaction of its own.
func (c *Consumer) Handle(ctx context.Context, d Delivery) (Outcome, error) {
	return c.inbox.handle(ctx, d, decodeConsumer)
}

// HandleTx decodes a message and applies it inside tx.
func (c *Consumer) HandleTx(ctx context.Context, tx pgx.Tx, d Delivery) (Outcome, error) {
	return c.inbox.handleTx(ctx, tx, d, decodeConsumer)
}

// HandleBatch decodes messages and applies them in their order.
func (c *Consumer) HandleBatch(ctx context.Context, batch []Delivery) []Result {
	return c.inbox.handleBatch(ctx, batch, decodeConsumer)
}

// HandleNotedBatch applies messages in their order.
func (c *Consumer) HandleNotedBatch(ctx context.Context, batch []CloudEvent[noted]) []Result {
	return c.inbox.applyBatch(ctx, deliveries(batch, func(m CloudEvent[noted]) delivery {
		return consumerNoted(cloudEventID(m.Source, m.ID), m.Message)
	}))
}

func decodeConsumer(d Delivery) (delivery, error) {
	switch wireType := jsonField(d.Body, "meta", "type"); wireType {
	case "noted":
		return decodeJSON(d.identified(cloudEventID(cloudEvent(d, "source"), cloudEvent(d, "id"))), "Noted", func(m noted) delivery {
			return consumerNoted(cloudEventID(cloudEvent(d, "source"), cloudEvent(d, "id")), m)
		}, "note")
	case "counted":
		return decodeProtobuf(d, "Counted", func(m *wrapperspb.Int64Value) delivery {
			return delivery{message: "Counted", id: d.Headers["id"], effects: []statement{{sql: "SELECT count($1)", args: []any{m.Value}}}}
		})
	default:
		return unknownType(wireType, "dead_letter")
	}
}

type noted struct {
	Note  string            `json:"note"`
	Tags  []label           `json:"tags"`
	Attrs map[string]string `json:"attrs"`
	At    []pgtype.Timestamp

	Weight float64 `json:"weight"`
}

type label string

func consumerNoted(id string, m noted) delivery {
	d := delivery{message: "Noted", id: id}
	d.fingerprint = contentFingerprint("noted", "note string", m.Note)
	d.guarded = withMarkerSQL + "inboxgen_effect AS (SELECT 1) SELECT marker.n AS fresh, effect.n AS affected" + outcomeSQL
	d.effect("SELECT note($1, $2, $3, $4, $5)", someRows, m.Note, stringList(m.Tags), textList(m.At), jsonText(m.Attrs), float(m.Weight))
	return d
}
