package spec

import (
	"fmt"
	"strings"

	"github.com/inboxgen/inboxgen/generator/diag"
)

const (
	idForms  = "field:PATH, header:NAME, property:message_id or cloudevents"
	idAdvice = "an id is made by the producer and is the same in every delivery: write " + idForms
)

// notAnID says, for names that brokers and client libraries give to a delivery, why they don't identify a message.
// The names are folded (see foldSpelling).
var notAnID = map[string]string{
	"offset":                 "the offset changes when the topic is replayed or moved",
	"kafkaoffset":            "the offset changes when the topic is replayed or moved",
	"partitionoffset":        "the offset changes when the topic is replayed or moved",
	"topicpartitionoffset":   "the offset changes when the topic is replayed or moved",
	"partition":              "a partition holds many messages",
	"kafkapartition":         "a partition holds many messages",
	"kafkareceivedpartition": "a partition holds many messages",
	"kafkareceivedtimestamp": "two messages may have one timestamp",
	"timestamp":              "two messages may have one timestamp",
	"deliverytag":            "the delivery tag is counted anew on every channel",
	"amqpdeliverytag":        "the delivery tag is counted anew on every channel",
	"consumertag":            "the consumer tag names the consumer, not the message",
	"amqpconsumertag":        "the consumer tag names the consumer, not the message",
	"redelivered":            "redelivered is a hint, and false for a message published twice",
	"amqpredelivered":        "redelivered is a hint, and false for a message published twice",
	"deliverycount":          "the delivery count changes with every delivery",
	"xdeliverycount":         "the delivery count changes with every delivery",
	"correlationid":          "the correlation id names the request, and its replies may share it",
	"uuid":                   "an id made by the consumer is another one in every delivery",
	"random":                 "an id made by the consumer is another one in every delivery",
	"generate":               "an id made by the consumer is another one in every delivery",
	"generated":              "an id made by the consumer is another one in every delivery",
	"auto":                   "an id made by the consumer is another one in every delivery",
}

var headerName = textUpTo("the name of a header, such as event-id", 255)

var idKind = kind[ID]{what: idForms, parse: func(s string) (ID, error) {
	if s == "cloudevents" {
		return ID{From: "cloudevents"}, nil
	}
	from, name, _ := strings.Cut(s, ":")
	// A field is the producer's own, whatever its name.
	if why, ok := notAnID[diag.FoldSpelling(name)]; ok && (from == "header" || from == "property") {
		return ID{}, fmt.Errorf("can't be %s, since %s; %s", s, why, idAdvice)
	}
	if why, ok := notAnID[diag.FoldSpelling(s)]; ok {
		return ID{}, fmt.Errorf("can't be %s, since %s; %s", s, why, idAdvice)
	}
	if from == "property" && name != "message_id" {
		return ID{}, fmt.Errorf("can't be %s, since only the property message_id is meant to identify a message; %s", quoteShort(s), idAdvice)
	}
	name, err := reference(s, "field", "header", "property")
	return ID{From: from, Name: name}, err
}}

var typeFromKind = kind[TypeFrom]{what: "header:NAME, field:PATH or property:type", parse: func(s string) (TypeFrom, error) {
	from, name, _ := strings.Cut(s, ":")
	if from == "property" && name != "type" {
		return TypeFrom{}, errForm
	}
	name, err := reference(s, "field", "header", "property")
	return TypeFrom{From: from, Name: name}, err
}}

// reference returns the name in FROM:NAME.
func reference(s string, places ...string) (string, error) {
	from, name, _ := strings.Cut(s, ":")
	if _, err := oneOf(places...).parse(from); err != nil || name == "" {
		return "", errForm
	}
	if from == "field" {
		if _, err := fieldPath.parse(name); err != nil {
			return "", fmt.Errorf("names %s, which is not %s", quoteShort(name), fieldPath.what)
		}
		return name, nil
	}
	if name != strings.TrimSpace(name) {
		return "", fmt.Errorf("has a blank around the name: write %s:%s", from, strings.TrimSpace(name))
	}
	return headerName.parse(name)
}

func messageID(into *ID) key {
	var at At[ID]
	k := required("id", &at, idKind).orElse("where the producer's id stands: " + idForms)
	return then(k, func() {
		*into = at.Value
		into.Pos = at.Pos
	})
}

func typeFrom(into **TypeFrom) key {
	var at At[TypeFrom]
	return then(optional("type_from", &at, TypeFrom{}, typeFromKind), func() {
		if at.Set {
			at.Value.Pos = at.Pos
			*into = &at.Value
		}
	})
}

// then adds a step after a key is set or left out.
func then(k key, step func()) key {
	unset, read := k.unset, k.read
	k.unset = func(pos diag.Position) { unset(pos); step() }
	k.read = func(d *decoder, v value) { read(d, v); step() }
	return k
}
