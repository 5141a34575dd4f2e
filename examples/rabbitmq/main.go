// Command rabbitmq shows a consumer on RabbitMQ: it sends payments, some of them twice, and applies each once.
//
//	go run ./rabbitmq                          all of it, on servers of its own
//	go run ./rabbitmq consume                  a consumer, until it is interrupted
//	go run ./rabbitmq produce -n 1000 -duplicates 30
//	go run ./rabbitmq dead -reason expectation looks at the dead letter; with -send sends back what it picks
//
// $RABBITMQ_URL and $DATABASE_URL name other servers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/inboxgen/inboxgen/examples/internal/local"
	"github.com/inboxgen/inboxgen/examples/rabbitmq/payments"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rabbitmq:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	command := "all"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	n, duplicates := flags.Int("n", 1000, "how many messages"), flags.Int("duplicates", 30, "percent of them that come twice")
	var filter local.Filter
	flags.StringVar(&filter.Type, "type", "", "only dead letters of this message")
	flags.StringVar(&filter.Reason, "reason", "", "only those with this reason: decode, expectation, id, reused-id, type, database")
	flags.DurationVar(&filter.Older, "older", 0, "only those that are older")
	send := flags.Bool("send", false, "send them back, instead of listing them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	url, stopBroker, err := local.RabbitMQ(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopBroker()) }()
	dial := func(context.Context) (*amqp.Connection, error) { return amqp.Dial(url) }
	if err := declareQueues(dial); err != nil {
		return err
	}
	switch command {
	case "produce":
		return produce(ctx, dial, *n, *duplicates)
	case "dead":
		_, err := dead(ctx, dial, filter, *send)
		return err
	case "consume", "all":
		pool, stopDatabase, err := local.Postgres(ctx, payments.Migrations)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopDatabase()) }()
		if command == "consume" {
			local.ServeMetrics(ctx, ":9464")
			return consume(ctx, dial, pool, slog.NewTextHandler(os.Stderr, nil))
		}
		return all(ctx, dial, pool, *n, *duplicates)
	default:
		return fmt.Errorf("there is no command %s; it has consume, produce and dead", command)
	}
}

// options have messages that can never be applied published to a queue of their own.
var options = payments.RabbitMQOptions{DeadLetterKey: "payments.dead"}

// declareQueues makes quorum queues. Consumers never declare any: what there is belongs to who operates the broker.
func declareQueues(dial payments.DialRabbitMQ) error {
	conn, err := dial(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	for _, queue := range []string{"payments", "payments.dead"} {
		if _, err := channel.QueueDeclare(queue, true, false, false, false, amqp.Table{amqp.QueueTypeArg: amqp.QueueTypeQuorum}); err != nil {
			return err
		}
	}
	return nil
}

// consume is what a service does.
func consume(ctx context.Context, dial payments.DialRabbitMQ, pool *pgxpool.Pool, log slog.Handler) error {
	consumer := payments.NewAccounting(pool, payments.WithLogger(slog.New(log)))
	return consumer.ConsumeRabbitMQ(ctx, dial, options)
}

func produce(ctx context.Context, dial payments.DialRabbitMQ, n, duplicates int) error {
	conn, err := dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := channel.Confirm(false); err != nil {
		return err
	}
	messages := local.Messages(n, duplicates)
	fmt.Printf("sending %d messages, %d of them for the second time\n", len(messages), len(messages)-n)
	var confirmations []*amqp.DeferredConfirmation
	for _, m := range messages {
		c, err := channel.PublishWithDeferredConfirmWithContext(ctx, "", "payments", true, false, amqp.Publishing{
			Type: m.Type, MessageId: m.ID, DeliveryMode: amqp.Persistent, Body: m.Body,
		})
		if err != nil {
			return err
		}
		confirmations = append(confirmations, c)
	}
	for _, c := range confirmations {
		if taken, err := c.WaitContext(ctx); err != nil || !taken {
			return errors.Join(err, errors.New("the broker did not take a message"))
		}
	}
	return nil
}

// dead lists what the filter picks of the dead letter, or sends it back.
func dead(ctx context.Context, dial payments.DialRabbitMQ, filter local.Filter, send bool) (int, error) {
	picked := 0
	sent, err := redrive(ctx, dial, func(l payments.DeadLetter) bool {
		if !filter.Picks(l.Message, l.Reason, l.Time) {
			return false
		}
		if picked++; !send {
			fmt.Printf("%s %s %s: %s\n", l.Time.Format(time.RFC3339), l.Message, l.ID, l.Error)
		}
		return send
	})
	fmt.Printf("%d dead letters picked, %d sent back\n", picked, sent)
	return sent, err
}

func redrive(ctx context.Context, dial payments.DialRabbitMQ, choose func(payments.DeadLetter) bool) (int, error) {
	return payments.NewAccounting(nil).RedriveRabbitMQ(ctx, dial, "payments.dead", choose)
}

// all consumes in the background, and shows what becomes of the messages.
func all(ctx context.Context, dial payments.DialRabbitMQ, pool *pgxpool.Pool, n, duplicates int) error {
	running, stop := local.Background(ctx, func(ctx context.Context) error { return consume(ctx, dial, pool, slog.DiscardHandler) })
	err := show(running, dial, pool, n, duplicates)
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	return local.Report(ctx, os.Stdout, pool)
}

func show(ctx context.Context, dial payments.DialRabbitMQ, pool *pgxpool.Pool, n, duplicates int) error {
	if err := produce(ctx, dial, n, duplicates); err != nil {
		return err
	}
	lost := (n - 13 + 49) / 50 // those of merchant 404
	if err := local.Until(ctx, pool, "SELECT count(*) = $1 FROM inbox", n-lost); err != nil {
		return err
	}
	err := local.Repeat(ctx, func() (bool, error) {
		ids := map[string]bool{}
		_, err := redrive(ctx, dial, func(l payments.DeadLetter) bool { ids[l.ID] = true; return false })
		return len(ids) == lost, err
	})
	if err != nil {
		return err
	}
	fmt.Println("\nmerchant 404 opens an account, and its dead letters are sent back")
	if _, err := pool.Exec(ctx, "INSERT INTO merchant VALUES (404, 0)"); err != nil {
		return err
	}
	if _, err := dead(ctx, dial, local.Filter{Reason: "expectation"}, true); err != nil {
		return err
	}
	return local.Until(ctx, pool, "SELECT count(*) = $1 FROM inbox", n)
}
