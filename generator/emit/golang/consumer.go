package golang

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/plan"
	"github.com/inboxgen/inboxgen/generator/spec"
)

const (
	pgxPath    = "github.com/jackc/pgx/v5"
	pgtypePath = "github.com/jackc/pgx/v5/pgtype"
	jsonPath   = "encoding/json"
	protoPath  = "google.golang.org/protobuf/proto"
	kgoPath    = "github.com/twmb/franz-go/pkg/kgo"

	watermillPath = "github.com/ThreeDotsLabs/watermill/message"
)

// consumer prints one consumer: its type, the dispatcher, and per message the methods, the decoder and the SQL.
func (e *emitter) consumer(c *plan.Consumer) *printer {
	p := e.newPrinter()
	consumerType(p, c)
	dispatcher(p, c)
	source(p, c)
	for _, m := range c.Messages {
		handlers(p, c, m)
		messageDecoder(p, m)
		e.delivery(p, c, m)
		statements(p, m)
	}
	return p
}

func consumerType(p *printer, c *plan.Consumer) {
	p.comment(fmt.Sprintf("%s applies the messages of the consumer %q, each exactly once. Its methods may be called from\nseveral goroutines.", c.GoName, c.Ledger))
	p.P("type ", c.GoName, " struct {")
	p.P("\tinbox *inbox")
	p.P("}")
	p.comment(fmt.Sprintf("New%s returns the consumer %q on db.", c.GoName, c.Ledger))
	p.P("func New", c.GoName, "(db DB, options ...Option) *", c.GoName, " {")
	p.P("\treturn &", c.GoName, "{inbox: newInbox(db, ", strconv.Quote(c.Ledger), ", options)}")
	p.P("}")
}

// dispatcher prints Handle, HandleTx and the switch over wire types.
func dispatcher(p *printer, c *plan.Consumer) {
	method(p, c, "Handle", "decodes a message by its wire type and applies it in a transaction of its own.",
		[]string{"d Delivery"}, "c.inbox.handle(ctx, d, "+c.DecodeFunc()+")")
	methodTx(p, c, "HandleTx", "decodes a message by its wire type and applies it inside tx. After an error tx must be rolled back.",
		[]string{"d Delivery"}, "c.inbox.handleTx(ctx, tx, d, "+c.DecodeFunc()+")")
	methodBatch(p, c, "HandleBatch", "decodes messages by their wire types and applies them in their order, as many as possible in\none transaction. It returns what became of each.",
		"Delivery", "c.inbox.handleBatch(ctx, batch, "+c.DecodeFunc()+")")
	p.comment(c.DecodeFunc() + " decodes a message by its wire type.")
	p.P("func ", c.DecodeFunc(), "(d Delivery) (delivery, error) {")
	if c.Spec.TypeFrom == nil {
		p.P("\treturn ", c.Messages[0].DecodeFunc(), "(d)")
	} else {
		p.P("\tswitch wireType := ", wireType(p, c), "; wireType {")
		for _, m := range c.Messages {
			p.P("\tcase ", strconv.Quote(m.WireType), ":")
			p.P("\t\treturn ", m.DecodeFunc(), "(d)")
		}
		p.P("\tdefault:")
		p.P("\t\treturn unknownType(wireType, ", strconv.Quote(c.Spec.OnUnknown.Value), ")")
		p.P("\t}")
	}
	p.P("}")
}

// source prints the methods that read from the consumer's broker.
func source(p *printer, c *plan.Consumer) {
	if c.Spec.Source == nil {
		return
	}
	if c.Spec.Source.Watermill != nil {
		p.comment("Watermill returns a handler for a Watermill router, which applies each message in a transaction of its own.")
		p.P("func (c *", c.GoName, ") Watermill() ", p.qualified(watermillPath, "NoPublishHandlerFunc"), " {")
		p.P("\treturn c.inbox.", p.support("watermill", "watermill"), "(", c.DecodeFunc(), ")")
		p.P("}")
		return
	}
	p.support("consume", "Consuming")
	if kafka := c.Spec.Source.Kafka; kafka != nil {
		kafkaMethods(p, c, kafka)
	}
	if rabbitmq := c.Spec.Source.RabbitMQ; rabbitmq != nil {
		rabbitmqMethods(p, c, rabbitmq)
	}
}

func kafkaMethods(p *printer, c *plan.Consumer, kafka *spec.Kafka) {
	topics := make([]string, len(kafka.Topics))
	for i, t := range kafka.Topics {
		topics[i] = strconv.Quote(t.Value)
	}
	p.comment("KafkaClientOptions are what the client for ConsumeKafka must be made with, beside where its brokers are and how to log in.")
	p.P("func (c *", c.GoName, ") KafkaClientOptions() []", p.qualified(kgoPath, "Opt"), " {")
	p.P("\treturn kafkaClientOptions(", strconv.Quote(kafka.Group.Value), ", []string{", strings.Join(topics, ", "), "})")
	p.P("}")
	p.comment("ConsumeKafka applies the messages of " + names(kafka.Topics) + " until ctx is done, and then returns nil. Offsets are committed\n" +
		"behind the database. An error means that a message must not be passed over; it was not acknowledged.")
	p.P("func (c *", c.GoName, ") ConsumeKafka(ctx ", p.qualified("context", "Context"), ", client *", p.qualified(kgoPath, "Client"), ", options ", p.support("kafka", "KafkaOptions"), ") error {")
	p.P("\treturn c.inbox.consumeKafka(ctx, client, ", strconv.Quote(kafka.DeadLetter.Value), ", ", c.DecodeFunc(), ", options)")
	p.P("}")
	p.comment("RedriveKafka sends the messages that choose picks of a topic of dead letters back to where they came from, and returns how\n" +
		"many. They stay in that topic, too: sent back once more, what was applied meanwhile is a duplicate. The options say where\nthe brokers are.")
	p.P("func (c *", c.GoName, ") RedriveKafka(ctx ", p.qualified("context", "Context"), ", options []", p.qualified(kgoPath, "Opt"), ", deadLetters string, choose func(DeadLetter) bool) (int, error) {")
	p.P("\treturn ", p.support("kafka_redrive", "redriveKafka"), "(ctx, options, deadLetters, choose)")
	p.P("}")
}

func rabbitmqMethods(p *printer, c *plan.Consumer, rabbitmq *spec.RabbitMQ) {
	queue := strconv.Quote(rabbitmq.Queue.Value)
	p.comment("ConsumeRabbitMQ applies the messages of the queue " + rabbitmq.Queue.Value + " until ctx is done, and then returns nil. They are\n" +
		"acknowledged behind the database. An error means that a message must not be passed over; it was not acknowledged.")
	p.P("func (c *", c.GoName, ") ConsumeRabbitMQ(ctx ", p.qualified("context", "Context"), ", dial ", p.support("rabbitmq", "DialRabbitMQ"), ", options RabbitMQOptions) error {")
	p.P("\treturn c.inbox.consumeRabbitMQ(ctx, dial, ", queue, ", ", strconv.Itoa(rabbitmq.Prefetch.Value), ", ", c.DecodeFunc(), ", options)")
	p.P("}")
	p.comment("RedriveRabbitMQ moves the messages that choose picks of a queue of dead letters back to where they came from, and returns\nhow many.")
	p.P("func (c *", c.GoName, ") RedriveRabbitMQ(ctx ", p.qualified("context", "Context"), ", dial DialRabbitMQ, deadLetters string, choose func(DeadLetter) bool) (int, error) {")
	p.P("\treturn ", p.support("rabbitmq_redrive", "redriveRabbitMQ"), "(ctx, dial, deadLetters, choose)")
	p.P("}")
}

func names(list []spec.At[string]) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.Value
	}
	return strings.Join(out, ", ")
}

func wireType(p *printer, c *plan.Consumer) string {
	switch from := c.Spec.TypeFrom; from.From {
	case "header":
		return "d.Headers[" + strconv.Quote(from.Name) + "]"
	case "property":
		return "d.Type"
	default:
		var path []string
		for name := range strings.SplitSeq(from.Name, ".") {
			path = append(path, strconv.Quote(name))
		}
		return p.support("field", "jsonField") + "(d.Body, " + strings.Join(path, ", ") + ")"
	}
}

// handlers prints the two methods of a message.
func handlers(p *printer, c *plan.Consumer, m *plan.Message) {
	name := "Handle" + m.Name
	params := append(idParams(m), "m "+messageType(p, m))
	call := m.FuncName + "(" + strings.Join(append(idNames(m), "m"), ", ") + ")"
	method(p, c, name, "applies one "+m.Name+" in a transaction of its own.", params, "c.inbox.apply(ctx, "+call+")")
	methodTx(p, c, name+"Tx", "applies one "+m.Name+" inside tx. After an error tx must be rolled back.", params, "c.inbox.applyTx(ctx, tx, "+call+")")
	element, of := batchElement(p, m)
	methodBatch(p, c, name+"Batch", "applies messages in their order, as many as possible in one transaction. It returns\nwhat became of each.",
		element, "c.inbox.applyBatch(ctx, deliveries(batch, "+of+"))")
}

// batchElement returns the type that a batch of a message has, and the function that makes a delivery of one.
func batchElement(p *printer, m *plan.Message) (element, of string) {
	element = messageType(p, m)
	switch m.ID.From {
	case "field":
		return element, m.FuncName
	case "cloudevents":
		element = p.support("cloudevents", "CloudEvent") + "[" + element + "]"
		return element, "func(e " + element + ") delivery { return " + m.FuncName + "(e.Source, e.ID, e.Message) }"
	default:
		element = p.support("identified", "Identified") + "[" + element + "]"
		return element, "func(e " + element + ") delivery { return " + m.FuncName + "(e.ID, e.Message) }"
	}
}

// method prints a method that returns what body does in a transaction of its own.
func method(p *printer, c *plan.Consumer, name, doc string, params []string, body string) {
	p.comment(name + " " + doc)
	p.P("func (c *", c.GoName, ") ", name, "(ctx ", p.qualified("context", "Context"), ", ", strings.Join(params, ", "), ") (Outcome, error) {")
	p.P("\treturn ", body)
	p.P("}")
}

// methodTx prints a method that returns what body does inside the caller's transaction.
func methodTx(p *printer, c *plan.Consumer, name, doc string, params []string, body string) {
	method(p, c, name, doc, append([]string{"tx " + p.qualified(pgxPath, "Tx")}, params...), body)
}

// methodBatch prints a method that returns what body makes of a batch.
func methodBatch(p *printer, c *plan.Consumer, name, doc, element, body string) {
	p.comment(name + " " + doc)
	p.P("func (c *", c.GoName, ") ", name, "(ctx ", p.qualified("context", "Context"), ", batch []", element, ") []Result {")
	p.P("\treturn ", body)
	p.P("}")
}

// messageDecoder prints the function that makes a delivery of what the broker handed over.
func messageDecoder(p *printer, m *plan.Message) {
	variable, failure := "m", "err"
	decode := "decodeJSON(" + strings.Join(append([]string{"d.Body", "&m"}, required(m)...), ", ") + ")"
	if m.Go.Proto {
		decode = p.qualified(protoPath, "Unmarshal") + "(d.Body, &m)"
		variable, failure = "&m", p.qualified("fmt", "Errorf")+`("%w: %w", ErrDecode, err)`
	}
	p.comment(m.DecodeFunc() + " decodes one " + m.Name + ".")
	p.P("func ", m.DecodeFunc(), "(d Delivery) (delivery, error) {")
	p.P("\tvar m ", structType(p, m))
	p.P("\tif err := ", decode, "; err != nil {")
	p.P("\t\treturn delivery{message: ", strconv.Quote(m.Name), "}, ", failure)
	p.P("\t}")
	p.P("\treturn ", m.FuncName, "(", strings.Join(append(idFromDelivery(p, m), variable), ", "), "), nil")
	p.P("}")
}

// delivery prints the function that lays out what a message does.
func (e *emitter) delivery(p *printer, c *plan.Consumer, m *plan.Message) {
	v := newValues(p, m)
	rows := [][]string{
		{"message:", strconv.Quote(m.Name) + ","},
		{"id:", v.id() + ","},
	}
	if e.model.Inbox.DetectReuse {
		content := []string{strconv.Quote(m.WireType), strconv.Quote(m.Shape)}
		for _, field := range m.Content {
			content = append(content, v.field(field))
		}
		rows = append(rows, []string{"fingerprint:", p.support("fingerprint", "contentFingerprint") + "(" + strings.Join(content, ", ") + "),"})
	}
	if m.Plan == plan.Guarded {
		rows = append(rows, []string{"guarded:", m.GuardedName() + ","})
	}
	effects := []string{"effects: []statement{"} // laid out before the locals they need are printed
	for _, s := range m.Effects {
		effects = append(effects, "\t{")
		effects = append(effects, indented(indented(statement(c, v, s)))...)
		effects = append(effects, "\t},")
	}
	effects = append(effects, "},")

	p.comment(m.FuncName + " is what one " + m.Name + " does.")
	p.P("func ", m.FuncName, "(", strings.Join(append(idParams(m), "m "+messageType(p, m)), ", "), ") delivery {")
	for _, line := range v.lines {
		p.P("\t", line)
	}
	p.P("\treturn delivery{")
	for _, line := range append(align(rows), effects...) {
		p.P("\t\t", line)
	}
	p.P("\t}")
	p.P("}")
}

// statement returns the lines of a statement's fields.
func statement(c *plan.Consumer, v *values, s *plan.Statement) []string {
	rows := [][]string{{"sql:", s.ConstName + ","}}
	if len(s.Args) > 0 {
		args := make([]string, len(s.Args))
		for i, a := range s.Args {
			args[i] = v.arg(c, a)
		}
		rows = append(rows, []string{"args:", "[]any{" + strings.Join(args, ", ") + "},"})
	}
	if s.ByTag && s.Expect != pgsql.ExpectAny {
		rows = append(rows, []string{"expect:", expectation(s.Expect) + ","})
	}
	return align(rows)
}

func expectation(e pgsql.Expect) string {
	if e == pgsql.ExpectSome {
		return "someRows"
	}
	return strconv.Itoa(int(e))
}

// statements prints the SQL: what reviewers of the generated code read.
func statements(p *printer, m *plan.Message) {
	for _, s := range m.Effects {
		p.P()
		p.P("const ", s.ConstName, " = ", rawString(s.SQL))
	}
	if m.Plan == plan.Guarded {
		p.comment(m.GuardedName() + " is the same behind its marker, in one statement.")
		p.P("const ", m.GuardedName(), " = ", rawString(m.Guarded))
	}
}

func indented(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = "\t" + line
	}
	return out
}

// messageType is the type a handler takes; structType the one a decoder fills.
func messageType(p *printer, m *plan.Message) string {
	if m.Go.Pointer {
		return "*" + structType(p, m)
	}
	return structType(p, m)
}

func structType(p *printer, m *plan.Message) string { return p.qualified(m.Go.ImportPath, m.Go.Name) }

// idParams are the parameters that carry an id which is not a field of the message.
func idParams(m *plan.Message) []string {
	switch m.ID.From {
	case "field":
		return nil
	case "cloudevents":
		return []string{"source, id string"}
	default:
		return []string{"id string"}
	}
}

func idNames(m *plan.Message) []string {
	switch m.ID.From {
	case "field":
		return nil
	case "cloudevents":
		return []string{"source", "id"}
	default:
		return []string{"id"}
	}
}

func idFromDelivery(p *printer, m *plan.Message) []string {
	switch m.ID.From {
	case "field":
		return nil
	case "header":
		return []string{"d.Headers[" + strconv.Quote(m.ID.Name) + "]"}
	case "property":
		return []string{"d.ID"}
	default:
		attribute := p.support("cloudevents", "cloudEvent")
		return []string{attribute + `(d, "source")`, attribute + `(d, "id")`}
	}
}

// required lists the fields a message must have: those of an inline message that are not pointers.
func required(m *plan.Message) []string {
	var names []string
	for _, f := range m.Go.Fields {
		if f.Type.Kind != gotype.Pointer {
			names = append(names, strconv.Quote(f.JSONName))
		}
	}
	return names
}
