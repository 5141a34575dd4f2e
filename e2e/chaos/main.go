// Command chaos sends messages, many of them twice, through Kafka and RabbitMQ to consumer processes, while it kills
// processes, restarts servers and cuts connections. In the end each message must have had its effect exactly once.
//
// The seed makes the same messages and the same faults in the same order; what they hit depends on the moment.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

func main() {
	if text, ok := os.LookupEnv(settingVariable); ok {
		exit(consume(text))
	}
	messages := flag.Int("messages", 100_000, "how many to send, repetitions included")
	faults := flag.Int("faults", 200, "how many things to break meanwhile")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "what makes the messages and the faults")
	postgres := flag.Int("postgres", 18, "major version")
	log := flag.String("log", "", "file for what the consumers log")
	flag.Parse()
	fmt.Printf("%d messages, %d faults, PostgreSQL %d, seed %d\n", *messages, *faults, *postgres, *seed)
	exit(run(*messages, *faults, *seed, *postgres, *log))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// world is all that runs.
type world struct {
	random   *rand.Rand
	postgres *testenv.Server
	database *testenv.Proxy // in front of it
	commits  lostCommits    // of connections through it
	kafka    *testenv.Broker
	rabbitmq *testenv.Broker
	queue    *testenv.Proxy // in front of it
	fleets   []*fleet

	streams [2]*stream // of Kafka and of RabbitMQ
	done    map[string]int
}

func run(messages, faults int, seed uint64, postgres int, logFile string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	w := &world{random: rand.New(rand.NewPCG(seed, 0)), done: map[string]int{}}
	for i, name := range []string{"kafka", "rabbitmq"} {
		w.streams[i] = &stream{broker: name, random: rand.New(rand.NewPCG(seed, uint64(i)+1))}
	}
	defer func() { err = errors.Join(err, w.close()) }()
	log := io.Discard
	if logFile != "" {
		file, err := os.Create(logFile)
		if err != nil {
			return err
		}
		defer file.Close()
		log = file
	}
	if err := w.start(ctx, postgres, log); err != nil {
		return err
	}
	start := time.Now()
	if err := w.send(ctx, messages, faults); err != nil {
		return err
	}
	if err := w.settle(ctx); err != nil {
		fmt.Println(err) // and say what is missing
	}
	took := time.Since(start)
	for _, f := range w.fleets {
		if failures := f.stop(); len(failures) > 0 {
			err = errors.Join(err, errors.Join(failures...))
		}
	}
	return errors.Join(err, w.report(ctx, messages, took))
}

func (w *world) start(ctx context.Context, postgres int, log io.Writer) (err error) {
	if w.postgres, err = testenv.Start(ctx, postgres, "fsync=on", "synchronous_commit=on", "full_page_writes=on"); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, w.postgres.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	files, err := tables()
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := conn.Exec(ctx, file); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, `INSERT INTO account (broker, id) SELECT b, i FROM unnest(ARRAY['kafka', 'rabbitmq']) AS b, generate_series(1, $1) AS i`, accounts); err != nil {
		return err
	}
	if w.database, err = testenv.NewProxy(fmt.Sprintf("%s:%d", conn.Config().Host, conn.Config().Port), nil, w.commits.watch); err != nil {
		return err
	}
	if w.kafka, err = testenv.StartKafka(ctx); err != nil {
		return err
	}
	if w.rabbitmq, err = testenv.StartRabbitMQ(ctx); err != nil {
		return err
	}
	if w.queue, err = testenv.NewProxy(w.rabbitmq.Addr, nil, nil); err != nil {
		return err
	}
	if err := w.topology(ctx); err != nil {
		return err
	}
	url := "postgres://postgres@" + w.database.Addr() + "/postgres?sslmode=disable&pool_max_conns=8"
	w.fleets = []*fleet{
		{setting: setting{Database: url, Kafka: w.kafka.Addr}, log: log},
		{setting: setting{Database: url, RabbitMQ: w.queue.Addr()}, log: log},
	}
	for i, f := range w.fleets {
		if err := f.start(3 - i); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) topology(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(w.kafka.Addr))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	for topic, partitions := range map[string]int32{"chaos": 6, "chaos.dead": 1} {
		if made, err := admin.CreateTopics(ctx, partitions, 1, nil, topic); err != nil || made.Error() != nil {
			return errors.Join(err, made.Error())
		}
	}
	conn, err := amqp.Dial("amqp://guest:guest@" + w.rabbitmq.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	for _, queue := range []string{"chaos", "chaos.dead"} {
		if _, err := channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			return err
		}
	}
	return nil
}

// send sends the messages, and breaks something each time that a part of them is on its way.
func (w *world) send(ctx context.Context, messages, faults int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(w.kafka.Addr), kgo.RecordDeliveryTimeout(2*time.Minute))
	if err != nil {
		return err
	}
	defer client.Close()
	sender := &rabbitmqSender{addr: w.queue.Addr()}
	defer sender.close()
	for sent := 0; sent < messages; {
		n := min(max(messages/max(faults, 1), 1), messages-sent)
		sent += n
		errs := make([]error, 2)
		var group sync.WaitGroup
		group.Go(func() { errs[0] = sendKafka(ctx, client, w.streams[0].batch(n/2)) })
		group.Go(func() { errs[1] = sender.send(ctx, w.streams[1].batch(n-n/2)) })
		if sum(w.done) < faults {
			if err := w.breakSomething(ctx); err != nil {
				return err
			}
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

func (w *world) close() error {
	var errs []error
	for _, f := range w.fleets {
		f.stop()
	}
	for _, p := range []*testenv.Proxy{w.database, w.queue} {
		if p != nil {
			p.Close()
		}
	}
	if w.postgres != nil {
		errs = append(errs, w.postgres.Close())
	}
	for _, b := range []*testenv.Broker{w.kafka, w.rabbitmq} {
		if b != nil {
			errs = append(errs, b.Close())
		}
	}
	return errors.Join(errs...)
}

// report compares what the database holds with what was sent.
func (w *world) report(ctx context.Context, messages int, took time.Duration) error {
	conn, err := pgx.Connect(ctx, w.postgres.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var faults []string
	for _, f := range allFaults {
		faults = append(faults, fmt.Sprintf("%s %d", f.name, w.done[f.name]))
	}
	fmt.Printf("faults: %d (%s)\n", sum(w.done), strings.Join(faults, ", "))
	bad := false
	for _, s := range w.streams {
		r, err := w.compare(ctx, conn, s)
		if err != nil {
			return err
		}
		order := ""
		if s.broker == "kafka" { // competing consumers of a queue keep no order
			order = fmt.Sprintf(", out of order %d", r.disorder)
		}
		fmt.Printf("%-9s %d distinct, lost %d, doubled %d%s; poison %d, in the dead letter %d\n",
			s.broker+":", len(s.made), r.lost, r.doubled, order, len(s.poison), r.dead)
		bad = bad || r.lost+r.doubled > 0 || r.wrong || r.dead != len(s.poison) || s.broker == "kafka" && r.disorder > 0
	}
	fmt.Printf("throughput: %.0f messages per second, faults included\n", float64(messages)/took.Seconds())
	if bad {
		return errors.New("not every message had its effect exactly once")
	}
	return nil
}
