package spec

import (
	"time"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// The functions of this file are the format: each returns the form of one mapping, bound to the struct it fills.

func newSpec(file string) (*Spec, form) {
	s := &Spec{File: file}
	return s, form{
		keys: []key{
			required("version", new(At[int]), number("1", 1, 1)).orElse("version: 1"),
			optional("postgres", &s.Postgres, 14, postgresMajor),
			inline("output", &s.Output, newOutput),
			inline("inbox", &s.Inbox, newInbox).orElse("inbox: {retention: 8d}, with how long a duplicate can still come"),
			nested("migrations", &s.Migrations, newMigrations),
			distinct(list("schema", &s.Schema, "a list of DDL files or directories, such as [schema.sql]", (*decoder).existingPath), &s.Schema),
			jobs(&s.Jobs),
			optional("metrics", &s.Metrics, "none", oneOf("otel", "prometheus", "none")),
			optional("tests", &s.Tests, false, boolean),
			named("consumers", &s.Consumers, "a mapping of consumers, such as accounting: {messages: …}", consumerKey, readConsumer).
				orElse("consumers: with one entry per reader of a topic or queue"),
		},
		check: func(d *decoder, _ written) {
			d.checkWindows(s)
			d.checkLedgers(s)
		},
	}
}

func newOutput(diag.Position) (*Output, form) {
	o := new(Output)
	return o, form{keys: []key{
		optional("package", &o.Package, "", goPackage),
		relativePath("dir", &o.Dir, "."),
	}}
}

func newInbox(pos diag.Position) (*Inbox, form) {
	in := &Inbox{Pos: pos}
	return in, form{
		keys: []key{
			optional("schema", &in.Schema, "", identifier("a schema's name such as public")),
			optional("table", &in.Table, "inbox", tableName),
			optional("message_id", &in.MessageID, "text", oneOf("text", "uuid")),
			required("retention", &in.Retention, duration("a duration such as 8d", "1s")).orElse("retention: 8d, with how long a duplicate can still come"),
			optional("detect_reuse", &in.DetectReuse, "content", oneOf("content", "off")),
			nested("partition", &in.Partition, newPartition),
		},
		check: func(d *decoder, _ written) {
			if p := in.Partition; p != nil && p.By.Value == "message_id" && in.MessageID.Value != "uuid" && !in.MessageID.Broken {
				d.Errorf(p.By.Pos, "partition", "by: message_id needs UUIDv7 ids: write message_id: uuid in inbox, or partition by event_time or processed_at")
			}
		},
	}
}

func newPartition(pos diag.Position) (*Partition, form) {
	p := &Partition{Pos: pos}
	return p, form{
		keys: []key{
			required("by", &p.By, oneOf("message_id", "event_time", "processed_at")),
			optional("event_time", &p.EventTime, "", fieldPath),
			optional("every", &p.Every, 24*time.Hour, duration("a duration such as 1d", "1h")),
			optional("ahead", &p.Ahead, 7, number("a number of partitions such as 7", 1, 1000)),
		},
		check: func(d *decoder, m written) {
			if !p.By.Set {
				return
			}
			byTime := p.By.Value == "event_time"
			m.needs(d, "event_time", byTime, "the field with the time the producer gave the event, such as event_time: occurred_at")
			m.only(d, "event_time", byTime, "it goes with by: event_time")
		},
	}
}

func newMigrations(pos diag.Position) (*Migrations, form) {
	m := &Migrations{Pos: pos}
	return m, form{keys: []key{
		required("tool", &m.Tool, oneOf("golang-migrate", "goose", "tern", "atlas", "dbmate", "flyway", "liquibase", "sql")),
		relativePath("dir", &m.Dir, "migrations"),
	}}
}

// jobs defaults to the Go job: an inbox that nothing purges grows for ever.
func jobs(into *[]At[string]) key {
	k := set("jobs", into, "a list such as [go]", oneOf("go", "pg_cron", "kubernetes"))
	k.unset = func(pos diag.Position) { *into = []At[string]{{Value: "go", Pos: pos}} }
	read := k.read
	k.read = func(d *decoder, v value) {
		*into = nil
		read(d, v)
	}
	return k
}

func readConsumer(d *decoder, name At[string], v value) (*Consumer, bool) {
	c := &Consumer{Key: name}
	v.name = "consumer " + name.Value
	d.mapping(v, consumerForm(c))
	return c, true
}

func consumerForm(c *Consumer) form {
	return form{
		keys: []key{
			optional("name", &c.Name, c.Key.Value, ledgerName),
			nested("source", &c.Source, newSource),
			typeFrom(&c.TypeFrom),
			optional("on_unknown", &c.OnUnknown, "dead_letter", oneOf("dead_letter", "skip", "stop")),
			nested("duplicates", &c.Duplicates, newDuplicates),
			named("messages", &c.Messages, "a mapping of message types, such as OrderPaid: {…}",
				exported("a message's name, which names Go code: write a word that starts with a capital letter, such as OrderPaid"), readMessage).
				orElse("messages: with one entry per message type"),
		},
		check: func(d *decoder, m written) { d.checkConsumer(c, m) },
	}
}

func newSource(pos diag.Position) (*Source, form) {
	s := &Source{Pos: pos}
	return s, form{
		keys: []key{
			nested("kafka", &s.Kafka, newKafka),
			nested("rabbitmq", &s.RabbitMQ, newRabbitMQ),
			nested("watermill", &s.Watermill, newWatermill),
		},
		check: func(d *decoder, m written) { m.exactlyOne(d, "kafka", "rabbitmq", "watermill") },
	}
}

func newKafka(pos diag.Position) (*Kafka, form) {
	k := &Kafka{Pos: pos}
	return k, form{
		keys: []key{
			set("topics", &k.Topics, "a list of topics, such as [payments]", kafkaTopic).orElse("topics: [payments], with the topics to read"),
			required("group", &k.Group, kafkaGroup),
			optional("dead_letter", &k.DeadLetter, "", kafkaTopic),
		},
		check: func(d *decoder, _ written) {
			for _, topic := range k.Topics {
				if k.DeadLetter.Set && topic.Value == k.DeadLetter.Value {
					d.Errorf(k.DeadLetter.Pos, "dead-letter", "dead_letter %s is a topic this consumer reads: write another topic, or dead letters come round again", quoteShort(topic.Value))
				}
			}
		},
	}
}

func newWatermill(pos diag.Position) (*Watermill, form) {
	return &Watermill{Pos: pos}, form{}
}

func newRabbitMQ(pos diag.Position) (*RabbitMQ, form) {
	r := &RabbitMQ{Pos: pos}
	return r, form{keys: []key{
		required("queue", &r.Queue, queueName),
		optional("prefetch", &r.Prefetch, 200, number("a number of messages such as 200", 1, 65535)),
	}}
}

func newDuplicates(pos diag.Position) (*Duplicates, form) {
	w := &Duplicates{Pos: pos}
	window := duration("a duration such as 1d", "0")
	return w, form{keys: []key{
		optional("redelivery", &w.Redelivery, 0, window),
		optional("relay_outage", &w.RelayOutage, 0, window),
		optional("replay", &w.Replay, 0, window),
	}}
}

func readMessage(d *decoder, name At[string], v value) (*Message, bool) {
	m := &Message{Key: name, Opaque: true} // unless it is found to be whole
	v.name = "message " + name.Value
	d.mapping(v, messageForm(m))
	return m, true
}

func messageForm(m *Message) form {
	return form{
		keys: []key{
			optional("type", &m.Type, m.Key.Value, wireType),
			fields("fields", &m.Fields, "a mapping of fields to types, such as {order_id: int64}", fieldName, fieldType),
			optional("go_type", &m.GoType, "", goType),
			messageID(&m.ID),
			optional("dedupe", &m.Dedupe, "inbox", oneOf("inbox", "natural", "versioned", "downstream")),
			optional("plan", &m.Plan, "", oneOf("transaction")),
			optional("because", &m.Because, "", reason),
			nested("version", &m.Version, newVersion),
			optional("call", &m.Call, "", exported("the name of a method to implement, such as ChargeCard")),
			list("effects", &m.Effects, "a list of effects, each with sql, file, go or outbox", readEffect),
			list("examples", &m.Examples, "a list of examples, each with a message", readExample(m)),
		},
		check: func(d *decoder, w written) { d.checkMessage(m, w) },
	}
}

// fields is a mapping of names to scalars.
func fields(name string, into *[]Field, what string, names, values kind[string]) key {
	return named(name, into, what, names, func(d *decoder, name At[string], v value) (Field, bool) {
		at, _ := scalar(d, v, values)
		return Field{Name: name, Type: at}, true
	})
}

func newVersion(pos diag.Position) (*Version, form) {
	v := &Version{Pos: pos}
	column := identifier("a column's name")
	return v, form{keys: []key{
		required("table", &v.Table, qualifiedTable),
		named("key", &v.Key, "a mapping of key columns to fields, such as {id: account_id}", column, readKeyColumn).
			orElse("key: {id: account_id}, with the table's key columns and the fields that hold them"),
		required("column", &v.Column, column),
		required("expected", &v.Expected, fieldPath),
	}}
}

func readKeyColumn(d *decoder, name At[string], v value) (KeyColumn, bool) {
	field, ok := scalar(d, v, fieldPath)
	return KeyColumn{Column: name, Field: field}, ok
}

func readEffect(d *decoder, v value) (*Effect, bool) {
	e := &Effect{Pos: v.at}
	v.name = "the effect"
	d.mapping(v, effectForm(e))
	return e, true
}

func effectForm(e *Effect) form {
	return form{
		keys: []key{
			sqlBlock("sql", &e.SQL),
			sqlFile("file", &e.SQL),
			optional("go", &e.Go, "", exported("the name of a method to implement, such as UpdateSearch")),
			nested("outbox", &e.Outbox, newOutbox),
			optional("expect", &e.Expect, Expect{}, expectation),
			optional("assume", &e.Assume, "", oneOf("transactional")),
			optional("because", &e.Because, "", reason),
		},
		check: func(d *decoder, m written) {
			if m.exactlyOne(d, "sql", "file", "go", "outbox") {
				isSQL := m.has("sql") || m.has("file")
				m.only(d, "expect", isSQL, "it counts the rows of an SQL effect")
				m.only(d, "assume", isSQL, "it is about what the SQL of an effect does")
			}
			m.reasoned(d, "assume")
		},
	}
}

func newOutbox(pos diag.Position) (*Outbox, form) {
	o := &Outbox{Pos: pos}
	return o, form{keys: []key{
		required("topic", &o.Topic, kafkaTopic),
		optional("key", &o.Key, "", fieldPath),
		fields("payload", &o.Payload, "a mapping of payload names to fields, such as {paid: amount}", fieldName, fieldPath).
			orElse("payload: {paid: amount}, with the fields to publish"),
	}}
}
