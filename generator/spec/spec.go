// Package spec reads inboxgen.yaml, version 1, into a Spec in which every value knows where it was written.
package spec

import (
	"time"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// At is a value with the place it was written. For a default, Set is false and Pos is that of the enclosing mapping.
//
// A value that is written and can't be used is Broken: what is wrong with it is reported, Value is a default, Set is
// false, and whatever depends on it has to be silent. A name that is Broken still has the Value that was written.
type At[T any] struct {
	Value  T
	Pos    diag.Position
	Set    bool
	Broken bool
}

// Spec is a spec file, with defaults filled in. It is whole when Read reports no error.
type Spec struct {
	File       string // slash path, as in positions
	Postgres   At[int]
	Output     Output
	Inbox      Inbox
	Migrations *Migrations // nil when absent
	Schema     []At[string]
	Jobs       []At[string]
	Metrics    At[string]
	Tests      At[bool]
	Consumers  []*Consumer // in the order written
}

// Output says where the Go code goes.
type Output struct {
	Package At[string] // "" when not given: the directory's name
	Dir     At[string] // slash path relative to the spec
}

// Inbox describes the ledger table.
type Inbox struct {
	Pos         diag.Position
	Schema      At[string] // "" when not given
	Table       At[string]
	MessageID   At[string] // text | uuid
	Retention   At[time.Duration]
	DetectReuse At[string] // content | off
	Partition   *Partition // nil: one plain table
}

// Partition describes a partitioned inbox.
type Partition struct {
	Pos       diag.Position
	By        At[string] // message_id | event_time | processed_at
	EventTime At[string]
	Every     At[time.Duration]
	Ahead     At[int]
}

// Migrations names the team's migration tool and its directory.
type Migrations struct {
	Pos  diag.Position
	Tool At[string]
	Dir  At[string] // slash path relative to the spec
}

// Consumer is one reader of a topic or queue, with a ledger of its own.
type Consumer struct {
	Key        At[string] // the mapping's key
	Name       At[string] // the ledger's key, default Key
	Source     *Source    // nil when the consumer is called without a broker
	TypeFrom   *TypeFrom  // nil when there is one message
	OnUnknown  At[string] // dead_letter | skip | stop
	Duplicates *Duplicates
	Messages   []*Message // in the order written
}

// Source is what a consumer reads from; exactly one of its parts is set.
type Source struct {
	Pos       diag.Position
	Kafka     *Kafka
	RabbitMQ  *RabbitMQ
	Watermill *Watermill
}

// Watermill is a router of Watermill's, which is set up in Go.
type Watermill struct {
	Pos diag.Position
}

// Kafka is a source on a Kafka cluster.
type Kafka struct {
	Pos        diag.Position
	Topics     []At[string]
	Group      At[string]
	DeadLetter At[string]
}

// RabbitMQ is a source on a RabbitMQ queue.
type RabbitMQ struct {
	Pos      diag.Position
	Queue    At[string]
	Prefetch At[int]
}

// TypeFrom says where the wire type of a message stands.
type TypeFrom struct {
	Pos  diag.Position
	From string // header | field | property
	Name string // header's name, field's path, or "type"
}

// Duplicates are the windows in which a duplicate may still arrive.
type Duplicates struct {
	Pos         diag.Position
	Redelivery  At[time.Duration]
	RelayOutage At[time.Duration]
	Replay      At[time.Duration]
}

// Message is one message type of a consumer.
type Message struct {
	Key      At[string] // a Go identifier, exported
	Type     At[string] // the wire name, default Key
	Fields   []Field    // in the order written; nil when GoType is given
	GoType   At[string] // import/path.Name; "" when Fields are given
	Opaque   bool       // neither or both of them are given, or what is given can't be read: any field may exist
	ID       ID
	Dedupe   At[string] // inbox | natural | versioned | downstream
	Plan     At[string] // transaction; "" when not given: as the effects allow
	Because  At[string] // why Plan was given
	Version  *Version
	Call     At[string]
	Effects  []*Effect
	Examples []*Example
}

// Field is one inline field.
type Field struct {
	Name At[string]
	Type At[string]
}

// ID says where the producer's message id stands.
type ID struct {
	Pos  diag.Position
	From string // field | header | property | cloudevents; "" when it is missing or can't be read
	Name string // field's path, header's name, "message_id"; "" for cloudevents
}

// Version configures dedupe: versioned.
type Version struct {
	Pos      diag.Position
	Table    At[string]
	Key      []KeyColumn
	Column   At[string]
	Expected At[string]
}

// KeyColumn pairs a column of the versioned table with the field that holds its value.
type KeyColumn struct {
	Column At[string]
	Field  At[string]
}

// Expect is how many rows an effect must touch.
type Expect struct {
	Kind ExpectKind
	N    int // for ExpectExactly; "one" is ExpectExactly 1
}

// ExpectKind is the kind of an expectation.
type ExpectKind int

// The kinds of expectation. ExpectDefault is settled when the statement is known: some, or any for SELECT, CALL and
// ON CONFLICT DO NOTHING.
const (
	ExpectDefault ExpectKind = iota
	ExpectSome
	ExpectAny
	ExpectExactly
)

// Effect is one thing a fresh message does; exactly one of SQL, Go and Outbox is set.
type Effect struct {
	Pos     diag.Position
	SQL     *Text // from sql: or file:
	Go      At[string]
	Outbox  *Outbox
	Expect  At[Expect]
	Assume  At[string] // transactional; "" when not given: only what the statement shows
	Because At[string] // why Assume holds
}

// Outbox publishes a message through the outbox table.
type Outbox struct {
	Pos     diag.Position
	Topic   At[string]
	Key     At[string]
	Payload []Field // payload name → field path
}

// Example is a worked case, run by the generated tests and by prove.
//
// Message and Want hold nil, bool, int64, json.Number (a fraction, or beyond int64), string, []any and map[string]any.
type Example struct {
	Pos        diag.Position
	Given      *Text // nil when absent
	Message    map[string]any
	MessagePos diag.Position
	Query      *Text // nil when absent; Want belongs to it
	Want       any
}
