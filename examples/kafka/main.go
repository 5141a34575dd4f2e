// Command kafka shows a consumer on Kafka: it sends payments, some of them twice, and applies each once.
//
//	go run ./kafka                          all of it, on servers of its own
//	go run ./kafka consume                  a consumer, until it is interrupted
//	go run ./kafka produce -n 1000 -duplicates 30
//	go run ./kafka dead -reason expectation looks at the dead letter; with -send sends back what it picks
//
// $KAFKA_BROKERS and $DATABASE_URL name other servers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/inboxgen/inboxgen/examples/internal/local"
	"github.com/inboxgen/inboxgen/examples/kafka/payments"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
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
	brokers, stopBroker, err := local.Kafka(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopBroker()) }()
	seeds := kgo.SeedBrokers(strings.Split(brokers, ",")...)
	if err := createTopics(ctx, seeds); err != nil {
		return err
	}
	switch command {
	case "produce":
		return produce(ctx, seeds, *n, *duplicates)
	case "dead":
		_, err := dead(ctx, seeds, filter, *send)
		return err
	case "consume", "all":
		pool, stopDatabase, err := local.Postgres(ctx, payments.Migrations)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopDatabase()) }()
		if command == "consume" {
			local.ServeMetrics(ctx, ":9464")
			return consume(ctx, seeds, pool, slog.NewTextHandler(os.Stderr, nil))
		}
		return all(ctx, seeds, pool, *n, *duplicates)
	default:
		return fmt.Errorf("there is no command %s; it has consume, produce and dead", command)
	}
}

func createTopics(ctx context.Context, seeds kgo.Opt) error {
	client, err := kgo.NewClient(seeds)
	if err != nil {
		return err
	}
	defer client.Close()
	for topic, partitions := range map[string]int32{"payments": 6, "payments.dead": 1} {
		made, err := kadm.NewClient(client).CreateTopics(ctx, partitions, 1, nil, topic)
		if err == nil {
			err = made.Error()
		}
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return err
		}
	}
	return nil
}

// consume is what a service does.
func consume(ctx context.Context, seeds kgo.Opt, pool *pgxpool.Pool, log slog.Handler) error {
	consumer := payments.NewAccounting(pool, payments.WithLogger(slog.New(log)))
	client, err := kgo.NewClient(append(consumer.KafkaClientOptions(), seeds)...)
	if err != nil {
		return err
	}
	defer client.Close()
	return consumer.ConsumeKafka(ctx, client, payments.KafkaOptions{})
}

// produce gives the messages of one merchant one key, so that they stay in their order.
func produce(ctx context.Context, seeds kgo.Opt, n, duplicates int) error {
	client, err := kgo.NewClient(seeds)
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for _, m := range local.Messages(n, duplicates) {
		records = append(records, &kgo.Record{
			Topic: "payments", Key: fmt.Append(nil, m.MerchantID), Value: m.Body,
			Headers: []kgo.RecordHeader{{Key: "type", Value: []byte(m.Type)}},
		})
	}
	fmt.Printf("sending %d messages, %d of them for the second time\n", len(records), len(records)-n)
	return client.ProduceSync(ctx, records...).FirstErr()
}

// dead lists what the filter picks of the dead letter, or sends it back.
func dead(ctx context.Context, seeds kgo.Opt, filter local.Filter, send bool) (int, error) {
	picked := 0
	sent, err := redrive(ctx, seeds, func(l payments.DeadLetter) bool {
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

func redrive(ctx context.Context, seeds kgo.Opt, choose func(payments.DeadLetter) bool) (int, error) {
	return payments.NewAccounting(nil).RedriveKafka(ctx, []kgo.Opt{seeds}, "payments.dead", choose)
}

// all consumes in the background, and shows what becomes of the messages.
func all(ctx context.Context, seeds kgo.Opt, pool *pgxpool.Pool, n, duplicates int) error {
	running, stop := local.Background(ctx, func(ctx context.Context) error { return consume(ctx, seeds, pool, slog.DiscardHandler) })
	err := show(running, seeds, pool, n, duplicates)
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	return local.Report(ctx, os.Stdout, pool)
}

func show(ctx context.Context, seeds kgo.Opt, pool *pgxpool.Pool, n, duplicates int) error {
	if err := produce(ctx, seeds, n, duplicates); err != nil {
		return err
	}
	lost := (n - 13 + 49) / 50 // those of merchant 404
	if err := local.Until(ctx, pool, "SELECT count(*) = $1 FROM inbox", n-lost); err != nil {
		return err
	}
	err := local.Repeat(ctx, func() (bool, error) {
		ids := map[string]bool{}
		_, err := redrive(ctx, seeds, func(l payments.DeadLetter) bool { ids[l.ID] = true; return false })
		return len(ids) == lost, err
	})
	if err != nil {
		return err
	}
	fmt.Println("\nmerchant 404 opens an account, and its dead letters are sent back, twice")
	if _, err := pool.Exec(ctx, "INSERT INTO merchant VALUES (404, 0)"); err != nil {
		return err
	}
	for range 2 {
		if _, err := dead(ctx, seeds, local.Filter{Reason: "expectation"}, true); err != nil {
			return err
		}
	}
	return local.Until(ctx, pool, "SELECT count(*) = $1 FROM inbox", n)
}
