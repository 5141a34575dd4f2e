//go:build ignore

package brokers

import (
	"context"
	"maps"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// redriveRabbitMQ moves what choose picks of a queue of dead letters back to where it came from. It looks at each message
// once; those that it leaves are in the queue again when it returns.
func redriveRabbitMQ(ctx context.Context, dial DialRabbitMQ, queue string, choose func(DeadLetter) bool) (sent int, err error) {
	conn, err := dial(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.CloseDeadline(time.Now().Add(5 * time.Second)) }() // gives back what was left
	channel, err := openChannel(ctx, conn)
	if err != nil {
		return 0, err
	}
	publisher, err := openPublisher(ctx, dial)
	if err != nil {
		return 0, err
	}
	defer publisher.close()
	state, err := channel.QueueDeclarePassive(queue, false, false, false, false, nil)
	if err != nil {
		return 0, err
	}
	for range state.Messages {
		d, ok, err := channel.Get(queue, false)
		if err != nil || !ok {
			return sent, err
		}
		letter := readLetter(rabbitmqDelivery(d))
		origin := originQueue(d)
		if origin == "" || !choose(letter) {
			continue // not acknowledged: it goes back when the channel closes
		}
		if err := publisher.publish(ctx, "", origin, resent(d)); err != nil {
			return sent, err
		}
		if err := d.Ack(false); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// originQueue is the queue that a dead letter was in, as told by this package's headers or, for one that was rejected, by
// the broker's.
func originQueue(d amqp.Delivery) string {
	for _, name := range []string{letterPrefix + "queue", "x-first-death-queue"} {
		if queue, ok := d.Headers[name].(string); ok {
			return queue
		}
	}
	return ""
}

// resent is a message as it was before it was moved.
func resent(d amqp.Delivery) amqp.Publishing {
	headers := maps.Clone(d.Headers)
	maps.DeleteFunc(headers, func(name string, _ any) bool {
		return strings.HasPrefix(name, letterPrefix) || name == "x-death" || strings.HasPrefix(name, "x-first-death-")
	})
	return amqp.Publishing{
		Headers: headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: amqp.Persistent,
		Priority: d.Priority, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, MessageId: d.MessageId, Timestamp: d.Timestamp,
		Type: d.Type, AppId: d.AppId, Body: d.Body,
	}
}
