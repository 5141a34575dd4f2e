package golang

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/plan"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// source has the methods that read from the consumer's broker.
func (f *file) source(c *plan.Consumer) {
	switch s := c.Spec.Source; {
	case s == nil:
	case s.Watermill != nil:
		f.watermill(c)
	case s.Kafka != nil:
		f.support("consume", "Consuming")
		f.kafka(c, s.Kafka)
	case s.RabbitMQ != nil:
		f.support("consume", "Consuming")
		f.rabbitmq(c, s.RabbitMQ)
	}
}

func (f *file) watermill(c *plan.Consumer) {
	f.support("watermill", "watermill")
	f.declare(receive(c, "Watermill", "returns a handler for a Watermill router, which applies each message in a transaction of its own.").
		Params().Add(f.qualified(watermillPath, "NoPublishHandlerFunc")).Block(
		jen.Return(inbox("watermill", jen.Id(c.DecodeFunc())))))
}

func (f *file) kafka(c *plan.Consumer, kafka *spec.Kafka) {
	topics := make([]jen.Code, len(kafka.Topics))
	names := make([]string, len(kafka.Topics))
	for i, t := range kafka.Topics {
		topics[i], names[i] = jen.Lit(t.Value), t.Value
	}
	f.declare(receive(c, "KafkaClientOptions", "are what the client for ConsumeKafka must be made with, beside where its brokers are and how to log in.").
		Params().Index().Add(f.qualified(kgoPath, "Opt")).Block(
		jen.Return(jen.Id("kafkaClientOptions").Call(jen.Lit(kafka.Group.Value), jen.Index().String().Values(topics...)))))
	f.declare(receive(c, "ConsumeKafka", "applies the messages of "+strings.Join(names, ", ")+" until ctx is done, and then returns nil. Offsets are committed\n"+
		"behind the database. An error means that a message must not be passed over; it was not acknowledged.").
		Params(ctxParam, jen.Id("client").Op("*").Add(f.qualified(kgoPath, "Client")), jen.Id("options").Add(f.support("kafka", "KafkaOptions"))).
		Error().Block(jen.Return(inbox("consumeKafka",
		jen.Id("ctx"), jen.Id("client"), jen.Lit(kafka.DeadLetter.Value), jen.Id(c.DecodeFunc()), jen.Id("options")))))
	f.declare(receive(c, "RedriveKafka", "sends the messages that choose picks of a topic of dead letters back to where they came from, and returns how\n"+
		"many. They stay in that topic, too: sent back once more, what was applied meanwhile is a duplicate. The options say where\nthe brokers are.").
		Params(ctxParam, jen.Id("options").Index().Add(f.qualified(kgoPath, "Opt")), deadLetters(), choose()).
		Params(jen.Int(), jen.Error()).Block(
		jen.Return(f.support("kafka_redrive", "redriveKafka").Call(jen.Id("ctx"), jen.Id("options"), jen.Id("deadLetters"), jen.Id("choose")))))
}

func (f *file) rabbitmq(c *plan.Consumer, rabbitmq *spec.RabbitMQ) {
	dial := func() jen.Code { return jen.Id("dial").Add(f.support("rabbitmq", "DialRabbitMQ")) }
	f.declare(receive(c, "ConsumeRabbitMQ", "applies the messages of the queue "+rabbitmq.Queue.Value+" until ctx is done, and then returns nil. They are\n"+
		"acknowledged behind the database. An error means that a message must not be passed over; it was not acknowledged.").
		Params(ctxParam, dial(), jen.Id("options").Id("RabbitMQOptions")).
		Error().Block(jen.Return(inbox("consumeRabbitMQ",
		jen.Id("ctx"), jen.Id("dial"), jen.Lit(rabbitmq.Queue.Value), jen.Lit(rabbitmq.Prefetch.Value), jen.Id(c.DecodeFunc()), jen.Id("options")))))
	f.declare(receive(c, "RedriveRabbitMQ", "moves the messages that choose picks of a queue of dead letters back to where they came from, and returns\nhow many.").
		Params(ctxParam, dial(), deadLetters(), choose()).
		Params(jen.Int(), jen.Error()).Block(
		jen.Return(f.support("rabbitmq_redrive", "redriveRabbitMQ").Call(jen.Id("ctx"), jen.Id("dial"), jen.Id("deadLetters"), jen.Id("choose")))))
}

func deadLetters() jen.Code { return jen.Id("deadLetters").String() }

func choose() jen.Code { return jen.Id("choose").Func().Params(jen.Id("DeadLetter")).Bool() }
