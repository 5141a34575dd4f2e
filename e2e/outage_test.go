package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/brokers"
)

// watching counts what a consumer logs.
type watching struct {
	slog.Handler
	retries atomic.Int64
	reason  atomic.Value // of the last retry
}

func (w *watching) Enabled(context.Context, slog.Level) bool { return true }

func (w *watching) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "will be tried again" {
		w.retries.Add(1)
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "error" {
				w.reason.Store(a.Value.String())
			}
			return true
		})
	}
	return nil
}

// padding can't be compressed, so that the limits of a fetch are those of the memory.
func padding() []byte {
	out := make([]byte, 2000)
	for i := range out {
		out[i] = byte(rand.Uint32())
	}
	return out
}

// TestKafkaDatabaseDown crashes the database under a consumer. Meanwhile nothing is acknowledged, the memory is bounded and
// the consumer can be stopped; afterwards everything is applied.
func TestKafkaDatabaseDown(t *testing.T) {
	t.Parallel()
	server := testenv.Private(t, 18, "synchronous_commit=on") // without it a crash loses what was committed last
	db := &database{url: server.Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 3)
	k := newTopic(t, testenv.Kafka(t), 3)
	log := &watching{Handler: slog.DiscardHandler}
	c := brokers.NewTopic(pool, brokers.WithLogger(slog.New(log)))
	const each = 3000
	send := func(from, to int) {
		var records []*kgo.Record
		for i := from; i < to; i++ {
			for account := range 3 {
				r := k.paid("Paid", fmt.Sprint(account, " ", i), account+1, int32(account))
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: "padding", Value: padding()})
				records = append(records, r)
			}
		}
		k.produce(t, records...)
	}
	send(0, 200)
	options := brokers.KafkaOptions{Consuming: brokers.Consuming{MaxBackoff: 100 * time.Millisecond}}
	client := k.member(t, c, kgo.FetchMaxBytes(1<<20), kgo.FetchMaxPartitionBytes(256<<10))
	ctx, cancel := context.WithCancel(t.Context())
	options.DeadLetter = k.dead
	done := async(func() (struct{}, error) { return struct{}{}, c.ConsumeKafka(ctx, client, options) })
	waitFor(t, pool, "SELECT count(*) = 600 FROM inbox")
	settled(t, func() bool { return k.committed(t) == 600 })

	if err := server.Stop(testenv.Immediate); err != nil {
		t.Fatal(err)
	}
	send(200, each)
	before := log.retries.Load()
	settled(t, func() bool { return log.retries.Load() > before+6 })
	if n := k.committed(t); n != 600 {
		t.Errorf("%d messages are acknowledged, of which only 600 can have been applied", n)
	}
	if n := client.BufferedFetchBytes(); n > 6<<20 {
		t.Errorf("%d bytes are waiting in the process", n)
	}
	stopping := time.Now()
	cancel()
	if _, err := done(); err != nil || time.Since(stopping) > 10*time.Second {
		t.Errorf("stopped after %s: %v", time.Since(stopping), err)
	}
	client.Close()

	stop := k.consume(t, c, options)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	settled(t, func() bool { return k.committed(t) == 3*each })
	if err := stop(); err != nil {
		t.Error(err)
	}
	holds(t, pool, int64(3*each), "SELECT sum(balance)::bigint FROM account")
	if n := len(k.deadLetters(t)); n != 0 {
		t.Errorf("%d messages went to the dead letter because the database was down", n)
	}
}

// TestKafkaSlowPoison has messages that take their time before they fail: the other partition is not kept back.
func TestKafkaSlowPoison(t *testing.T) {
	t.Parallel()
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 2)
	run(t, pool, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF NEW.balance % 7 = 0 AND NEW.id = 1 THEN PERFORM pg_sleep(0.3); RAISE EXCEPTION 'no'; END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER slow BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION slow();`)
	k := newTopic(t, testenv.Kafka(t), 2)
	for i := range 12 {
		k.produce(t, k.paid("Paid", fmt.Sprint("slow", i), 1, 0))
	}
	for i := range 500 {
		k.produce(t, k.paid("Paid", fmt.Sprint("quick", i), 2, 1))
	}
	stop := k.consume(t, brokers.NewTopic(pool), brokers.KafkaOptions{})
	waitFor(t, pool, "SELECT balance = 500 FROM account WHERE id = 2")
	settled(t, func() bool { return k.committed(t) == 512 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	// The balance stays at 6: each message from the seventh on fails for good, alone.
	holds(t, pool, int64(6), "SELECT balance FROM account WHERE id = 1")
	if n := len(k.deadLetters(t)); n != 6 {
		t.Errorf("%d dead letters", n)
	}
}

// TestKafkaDeadLetterMissing has a dead letter that nobody has made: the consumer stops, and what can't go there is not
// acknowledged.
func TestKafkaDeadLetterMissing(t *testing.T) {
	t.Parallel()
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 1)
	k := newTopic(t, testenv.Kafka(t), 1)
	k.produce(t, k.paid("Paid", "a", 1, 0), k.paid("Paid", "lost", 404, 0), k.paid("Paid", "b", 1, 0))
	c := brokers.NewTopic(pool)
	client := k.member(t, c, kgo.UnknownTopicRetries(1))
	err := c.ConsumeKafka(t.Context(), client, brokers.KafkaOptions{DeadLetter: "nobody-made-this"})
	if !errors.Is(err, brokers.ErrDeadLetter) || brokers.Classify(err) != brokers.Deployment {
		t.Errorf("%v", err)
	}
	client.Close()
	if n := k.committed(t); n > 1 {
		t.Errorf("committed %d, with the message that is nowhere", n)
	}
	stop := k.consume(t, c, brokers.KafkaOptions{})
	settled(t, func() bool { return k.committed(t) == 3 })
	if err := stop(); err != nil || len(k.deadLetters(t)) != 1 {
		t.Error(err, len(k.deadLetters(t)))
	}
	holds(t, pool, int64(2), "SELECT balance FROM account WHERE id = 1")
}

// TestKafkaLeavesNothing counts goroutines: it can't run beside other tests.
func TestKafkaLeavesNothing(t *testing.T) {
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	setup := db.with(t, "brokers")
	accounts(t, setup, 1)
	k := newTopic(t, testenv.Kafka(t), 4)
	before := runtime.NumGoroutine()
	for round := range 3 {
		pool, err := pgxpool.New(t.Context(), db.url)
		if err != nil {
			t.Fatal(err)
		}
		stop := k.consume(t, brokers.NewTopic(pool), brokers.KafkaOptions{})
		k.produce(t, k.paid("Paid", fmt.Sprint(round), 1, int32(round)), k.paid("Paid", fmt.Sprint("lost", round), 404, int32(round)))
		waitFor(t, setup, "SELECT count(*) = $1 FROM inbox", round+1)
		if err := stop(); err != nil {
			t.Error(err)
		}
		pool.Close()
	}
	settled(t, func() bool { return runtime.NumGoroutine() <= before+2 }) // the producer's own come and go
}

// TestKafkaRestarts kills the broker under a consumer that goes on.
func TestKafkaRestarts(t *testing.T) {
	t.Parallel()
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 2)
	broker := testenv.PrivateKafka(t)
	k := newTopic(t, broker, 2)
	stop := k.consume(t, brokers.NewTopic(pool), brokers.KafkaOptions{})
	const rounds, each = 3, 40
	for round := range rounds {
		for i := range each {
			k.produce(t, k.paid("Paid", fmt.Sprint(round, " ", i), 1+i%2, int32(i%2)))
		}
		waitFor(t, pool, "SELECT count(*) > $1 FROM inbox", round*each+each/4)
		if round < rounds-1 {
			if err := errors.Join(broker.Kill(), broker.Restart(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	settled(t, func() bool { return k.committed(t) == rounds*each })
	if err := stop(); err != nil {
		t.Error(err)
	}
	holds(t, pool, int64(rounds*each), "SELECT sum(balance)::bigint FROM account")
}

// TestRabbitMQDatabaseDown crashes the database under a consumer of a queue: it holds no more than its prefetch, and nothing
// goes to the dead letter.
func TestRabbitMQDatabaseDown(t *testing.T) {
	t.Parallel()
	server := testenv.Private(t, 15, "synchronous_commit=on")
	db := &database{url: server.Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 1)
	q := newQueue(t, testenv.RabbitMQ(t), nil)
	log := &watching{Handler: slog.DiscardHandler}
	options := brokers.RabbitMQOptions{Prefetch: 20, DeadLetterKey: q.dead}
	stop := q.consume(brokers.NewQueue(pool, brokers.WithLogger(slog.New(log))), options)
	for i := range 100 {
		q.publish("Paid", fmt.Sprint("before", i), 1)
	}
	waitFor(t, pool, "SELECT balance = 100 FROM account WHERE id = 1")
	if err := server.Stop(testenv.Immediate); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		q.publish("Paid", fmt.Sprint("after", i), 1)
	}
	before := log.retries.Load()
	settled(t, func() bool { return log.retries.Load() > before+10 })
	if n := q.size(q.name); n != 180 {
		t.Errorf("%d of 200 messages are left in the queue", n)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, pool, "SELECT balance = 300 FROM account WHERE id = 1")
	q.emptied(stop)
	if n := q.size(q.dead); n != 0 {
		t.Errorf("%d messages went to the dead letter because the database was down", n)
	}
}
