package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/brokers"
)

// queue is a queue of one test, with a dead letter.
type queue struct {
	t          *testing.T
	addr       string
	name, dead string
	channel    *amqp.Channel // declares, publishes, and asks
}

func newQueue(t *testing.T, broker *testenv.Broker, args amqp.Table) *queue {
	t.Helper()
	name := strings.NewReplacer("/", ".", "#", ".").Replace(t.Name())
	q := &queue{t: t, addr: broker.Addr, name: name, dead: name + ".dead"}
	conn, err := q.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if q.channel, err = conn.Channel(); err == nil {
		err = q.channel.Confirm(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	q.declare(q.name, args)
	q.declare(q.dead, nil)
	t.Cleanup(func() {
		for _, name := range []string{q.name, q.dead} {
			_, _ = q.channel.QueueDelete(name, false, false, false)
		}
		_ = conn.Close()
	})
	return q
}

func (q *queue) dial(context.Context) (*amqp.Connection, error) {
	return amqp.Dial("amqp://guest:guest@" + q.addr)
}

func (q *queue) declare(name string, args amqp.Table) {
	q.t.Helper()
	if _, err := q.channel.QueueDeclare(name, true, false, false, false, args); err != nil {
		q.t.Fatal(err)
	}
}

// size is how many messages a queue has that no consumer holds.
func (q *queue) size(name string) int {
	q.t.Helper()
	state, err := q.channel.QueueDeclarePassive(name, true, false, false, false, nil)
	if err != nil {
		q.t.Fatal(err)
	}
	return state.Messages
}

func (q *queue) publish(kind, id string, account int) {
	q.t.Helper()
	c, err := q.channel.PublishWithDeferredConfirmWithContext(q.t.Context(), "", q.name, true, false, amqp.Publishing{
		Type: kind, MessageId: id, DeliveryMode: amqp.Persistent, CorrelationId: "c", Headers: amqp.Table{"n": int32(7)},
		Body: fmt.Appendf(nil, `{"event_id": %q, "account": %d, "amount": 1}`, id, account),
	})
	if err == nil {
		_, err = c.WaitContext(q.t.Context())
	}
	if err != nil {
		q.t.Fatal(err)
	}
}

// consume runs a consumer; the function that it returns stops it and returns its error.
func (q *queue) consume(c *brokers.Queue, options brokers.RabbitMQOptions) (stop func() error) {
	q.t.Helper()
	options.Queue = q.name
	options.MinBackoff, options.MaxBackoff = 10*time.Millisecond, 100*time.Millisecond
	ctx, cancel := context.WithCancel(context.WithoutCancel(q.t.Context()))
	wait := async(func() (struct{}, error) { return struct{}{}, c.ConsumeRabbitMQ(ctx, q.dial, options) })
	stopped := false
	stop = func() error { stopped = true; cancel(); _, err := wait(); return err }
	q.t.Cleanup(func() {
		if !stopped {
			_ = stop()
		}
	})
	return stop
}

// emptied stops the consumer, and checks that it has acknowledged everything.
func (q *queue) emptied(stop func() error) {
	q.t.Helper()
	if err := stop(); err != nil {
		q.t.Error(err)
	}
	settled(q.t, func() bool { return q.size(q.name) == 0 })
}

var queueTypes = map[string]amqp.Table{"classic": nil, "quorum": {amqp.QueueTypeArg: amqp.QueueTypeQuorum}}

// TestRabbitMQ sends messages of two types, some of them twice and some that can never be applied.
func TestRabbitMQ(t *testing.T) {
	t.Parallel()
	for name, args := range queueTypes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, db *database) {
				pool := db.with(t, "brokers")
				accounts(t, pool, 2)
				q := newQueue(t, testenv.RabbitMQ(t), args)
				var want []string
				for i := range 150 {
					id := fmt.Sprint("m", i)
					kind := "Paid"
					if i%10 == 3 {
						kind = "Refunded"
					}
					for range 1 + i%2 {
						q.publish(kind, id, 1)
					}
					if i%50 == 7 {
						q.publish("Paid", fmt.Sprint("lost", i), 404)
					}
					want = append(want, id)
				}
				q.publish("Unknown", "u", 1)
				q.publish("Paid", "", 1)
				stop := q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{DeadLetterKey: q.dead, Consuming: brokers.Consuming{BatchSize: 1000}})
				settled(t, func() bool { return q.size(q.dead) == 5 })
				waitFor(t, pool, "SELECT count(*) = 150 FROM inbox")
				q.emptied(stop)
				holds(t, pool, int64(150-2*15), "SELECT balance FROM account WHERE id = 1")
				if history := read[[]string](t, pool, "SELECT history FROM account WHERE id = 1"); !slices.Equal(history, want) {
					t.Errorf("out of order: %v", history)
				}
				reasons := map[string]int{}
				for range 5 {
					d, _, err := q.channel.Get(q.dead, true)
					if err != nil {
						t.Fatal(err)
					}
					reasons[fmt.Sprint(d.Headers["inboxgen-reason"])]++
					if d.CorrelationId != "c" || d.Headers["n"] != int32(7) || d.Headers["inboxgen-queue"] != q.name || d.Headers["inboxgen-id"] != d.MessageId && d.Type != "Unknown" {
						t.Errorf("%+v", d)
					}
				}
				if fmt.Sprint(reasons) != "map[expectation:3 id:1 type:1]" {
					t.Errorf("%v", reasons)
				}
			})
		})
	}
}

// TestRabbitMQOwnDeadLetter rejects to the queue's own dead-letter exchange, in the middle of batches that are acknowledged
// as one.
func TestRabbitMQOwnDeadLetter(t *testing.T) {
	t.Parallel()
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 1)
	q := newQueue(t, testenv.RabbitMQ(t), amqp.Table{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": strings.NewReplacer("/", ".").Replace(t.Name()) + ".dead",
	})
	for i := range 60 {
		account := 1
		if i%3 == 2 {
			account = 404 // also the last one of a batch
		}
		q.publish("Paid", fmt.Sprint("m", i), account)
	}
	stop := q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{Readers: 3, Prefetch: 9, Consuming: brokers.Consuming{BatchSize: 6}})
	settled(t, func() bool { return q.size(q.dead) == 20 })
	waitFor(t, pool, "SELECT balance = 40 FROM account WHERE id = 1")
	q.emptied(stop)
	accounts404 := func() { run(t, pool, "INSERT INTO account (id) VALUES (404)") }
	accounts404()
	sent, err := brokers.NewQueue(pool).RedriveRabbitMQ(t.Context(), q.dial, q.dead, func(l brokers.DeadLetter) bool { return l.Delivery.ID != "m2" })
	if err != nil || sent != 19 {
		t.Errorf("sent %d back: %v", sent, err)
	}
	settled(t, func() bool { return q.size(q.dead) == 1 && q.size(q.name) == 19 })
	stop = q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{})
	waitFor(t, pool, "SELECT balance = 19 FROM account WHERE id = 404")
	q.emptied(stop)
}

// TestRabbitMQDeliveryCount has a message come back to its quorum queue before it fails for good.
func TestRabbitMQDeliveryCount(t *testing.T) {
	t.Parallel()
	pool := (&database{url: testenv.Postgres(t, 18).Database(t)}).with(t, "brokers")
	q := newQueue(t, testenv.RabbitMQ(t), queueTypes["quorum"])
	q.publish("Paid", "lost", 404)
	for range 2 {
		conn, err := q.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		channel, err := conn.Channel()
		if err != nil {
			t.Fatal(err)
		}
		settled(t, func() bool { _, ok, err := channel.Get(q.name, false); return ok && err == nil })
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	stop := q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{DeadLetterKey: q.dead})
	settled(t, func() bool { return q.size(q.dead) == 1 })
	q.emptied(stop)
	if d, _, err := q.channel.Get(q.dead, true); err != nil || d.Headers["inboxgen-attempts"] != "3" {
		t.Errorf("%v attempts: %v", d.Headers["inboxgen-attempts"], err)
	}
}

// TestRabbitMQWaits has a row locked: nothing behind it is acknowledged, no more than the prefetch is held, and a consumer
// that is stopped meanwhile gives everything back.
func TestRabbitMQWaits(t *testing.T) {
	t.Parallel()
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 1)
	q := newQueue(t, testenv.RabbitMQ(t), nil)
	impatient := db.pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "20ms" })
	lock := begin(t, pool)
	run(t, lock, "SELECT FROM account FOR UPDATE")
	var want []string
	for i := range 50 {
		q.publish("Paid", fmt.Sprint("m", i), 1)
		want = append(want, fmt.Sprint("m", i))
	}
	log := &watching{Handler: slog.DiscardHandler}
	options := brokers.RabbitMQOptions{Prefetch: 10, DeadLetterKey: q.dead}
	stop := q.consume(brokers.NewQueue(impatient, brokers.WithLogger(slog.New(log))), options)
	settled(t, func() bool { return log.retries.Load() > 3 })
	if n := q.size(q.name); n != 40 {
		t.Errorf("%d messages are left in the queue", n)
	}
	stopping := time.Now()
	if err := stop(); err != nil || time.Since(stopping) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(stopping))
	}
	settled(t, func() bool { return q.size(q.name) == 50 })
	commit(t, lock)
	stop = q.consume(brokers.NewQueue(impatient), options)
	waitFor(t, pool, "SELECT balance = 50 FROM account WHERE id = 1")
	q.emptied(stop)
	if history := read[[]string](t, pool, "SELECT history FROM account WHERE id = 1"); !slices.Equal(history, want) {
		t.Errorf("out of order: %v", history)
	}
}

// TestRabbitMQStops has consumers that must stop, and acknowledge nothing.
func TestRabbitMQStops(t *testing.T) {
	t.Parallel()
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 1)
	q := newQueue(t, testenv.RabbitMQ(t), nil)
	q.publish("Refunded", "a", 1)
	run(t, pool, "ALTER TABLE refund RENAME TO renamed")
	err := brokers.NewQueue(pool).ConsumeRabbitMQ(t.Context(), q.dial, brokers.RabbitMQOptions{Queue: q.name, DeadLetterKey: q.dead, Readers: 2})
	if brokers.Classify(err) != brokers.Deployment || !strings.Contains(fmt.Sprint(err), `relation "refund" does not exist`) {
		t.Errorf("%v", err)
	}
	settled(t, func() bool { return q.size(q.name) == 1 })
	refused := func(context.Context) (*amqp.Connection, error) { return amqp.Dial("amqp://guest:wrong@" + q.addr) }
	err = brokers.NewQueue(pool).ConsumeRabbitMQ(t.Context(), refused, brokers.RabbitMQOptions{Queue: q.name})
	var refusal *amqp.Error
	if !errors.As(err, &refusal) || refusal.Code != amqp.AccessRefused || !strings.Contains(err.Error(), q.name) {
		t.Errorf("%v", err)
	}
}

// TestRabbitMQQueueDeleted deletes the queue under a consumer, and makes it again.
func TestRabbitMQQueueDeleted(t *testing.T) {
	t.Parallel()
	for name, args := range queueTypes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &database{url: testenv.Postgres(t, 18).Database(t)}
			pool := db.with(t, "brokers")
			accounts(t, pool, 1)
			q := newQueue(t, testenv.RabbitMQ(t), args)
			stop := q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{})
			for round := range 3 {
				q.publish("Paid", fmt.Sprint(round), 1)
				waitFor(t, pool, "SELECT balance = $1 FROM account WHERE id = 1", round+1)
				if _, err := q.channel.QueueDelete(q.name, false, false, false); err != nil {
					t.Fatal(err)
				}
				q.declare(q.name, args)
			}
			q.emptied(stop)
		})
	}
}

// TestRabbitMQDeadLetterTakesNothing has a dead letter that is not there, and one that is full: the message stays where it
// is until there is room.
func TestRabbitMQDeadLetterTakesNothing(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]amqp.Table{"missing": nil, "full": {"x-max-length": int32(0), "x-overflow": "reject-publish"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &database{url: testenv.Postgres(t, 18).Database(t)}
			pool := db.with(t, "brokers")
			accounts(t, pool, 1)
			q := newQueue(t, testenv.RabbitMQ(t), nil)
			remove := func() {
				if _, err := q.channel.QueueDelete(q.dead, false, false, false); err != nil {
					t.Fatal(err)
				}
			}
			remove()
			if args != nil {
				q.declare(q.dead, args)
			}
			log := &watching{Handler: slog.DiscardHandler}
			stop := q.consume(brokers.NewQueue(pool, brokers.WithLogger(slog.New(log))), brokers.RabbitMQOptions{DeadLetterKey: q.dead})
			q.publish("Paid", "lost", 404)
			q.publish("Paid", "good", 1)
			settled(t, func() bool { return log.retries.Load() > 3 })
			if args != nil {
				remove()
			}
			q.declare(q.dead, nil)
			settled(t, func() bool { return q.size(q.dead) == 1 })
			waitFor(t, pool, "SELECT balance = 1 FROM account WHERE id = 1")
			q.emptied(stop)
		})
	}
}

// TestRabbitMQDeadLetterExchange has an exchange for dead letters that is not there, routes nowhere, or goes away: the message
// stays in its queue, and the log says why, until the exchange takes it.
func TestRabbitMQDeadLetterExchange(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]string{"missing": "NOT_FOUND", "unbound": "NO_ROUTE", "deleted": "NOT_FOUND"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &database{url: testenv.Postgres(t, 18).Database(t)}
			pool := db.with(t, "brokers")
			accounts(t, pool, 1)
			q := newQueue(t, testenv.RabbitMQ(t), nil)
			exchange := q.name + ".exchange"
			declare := func() {
				if err := q.channel.ExchangeDeclare(exchange, amqp.ExchangeDirect, true, false, false, false, nil); err != nil {
					t.Fatal(err)
				}
			}
			bind := func() {
				if err := q.channel.QueueBind(q.dead, "lost", exchange, false, nil); err != nil {
					t.Fatal(err)
				}
			}
			remove := func() error { return q.channel.ExchangeDelete(exchange, false, false) }
			t.Cleanup(func() { _ = remove() })
			log := &watching{Handler: slog.DiscardHandler}
			c := brokers.NewQueue(pool, brokers.WithLogger(slog.New(log)))
			options := brokers.RabbitMQOptions{DeadLetterExchange: exchange, DeadLetterKey: "lost"}
			stop := q.consume(c, options)
			before := 0
			switch name {
			case "unbound":
				declare()
			case "deleted":
				declare()
				bind()
				q.publish("Paid", "before", 404)
				before = 1
				settled(t, func() bool { return q.size(q.dead) == 1 })
				if err := remove(); err != nil {
					t.Fatal(err)
				}
			}
			q.publish("Paid", "lost", 404)
			q.publish("Paid", "good", 1)
			for range 2 { // the second time with a consumer that has not published before
				from := log.retries.Load()
				settled(t, func() bool { return log.retries.Load() > from+3 })
				if text := log.reason.Load().(string); !strings.Contains(text, fmt.Sprintf("%v: exchange %q", brokers.ErrDeadLetter, exchange)) || !strings.Contains(text, reason) {
					t.Errorf("%s", text)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				settled(t, func() bool { n := q.size(q.name); return n == 1 || n == 2 }) // "good" may be acknowledged
				stop = q.consume(c, options)
			}
			declare()
			bind()
			settled(t, func() bool { return q.size(q.dead) == before+1 })
			waitFor(t, pool, "SELECT balance = 1 FROM account WHERE id = 1")
			q.emptied(stop)
		})
	}
}

// TestRabbitMQPrefetch asks for more than fits into the protocol's number.
func TestRabbitMQPrefetch(t *testing.T) {
	t.Parallel()
	err := brokers.NewQueue(nil).ConsumeRabbitMQ(t.Context(), nil, brokers.RabbitMQOptions{Queue: "q", Prefetch: 65536})
	if err == nil || err.Error() != "consumer stopped: queue q: a prefetch of 65536 is more than the 65535 that RabbitMQ can be asked for" {
		t.Errorf("%v", err)
	}
}

// TestRabbitMQRestarts kills the broker under a consumer.
func TestRabbitMQRestarts(t *testing.T) {
	t.Parallel()
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 1)
	broker := testenv.PrivateRabbitMQ(t)
	q := newQueue(t, broker, nil)
	stop := q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{})
	for i := range 20 {
		q.publish("Paid", fmt.Sprint("before", i), 1)
	}
	waitFor(t, pool, "SELECT balance > 0 FROM account WHERE id = 1")
	if err := errors.Join(broker.Kill(), broker.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	again := *q
	conn, err := q.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if again.channel, err = conn.Channel(); err == nil {
		err = again.channel.Confirm(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	again.publish("Paid", "after", 1)
	waitFor(t, pool, "SELECT balance = 21 FROM account WHERE id = 1")
	again.emptied(stop)
}

// TestRabbitMQLeavesNothing counts goroutines: it can't run beside other tests.
func TestRabbitMQLeavesNothing(t *testing.T) {
	db := &database{url: testenv.Postgres(t, 18).Database(t)}
	pool := db.with(t, "brokers")
	accounts(t, pool, 1)
	q := newQueue(t, testenv.RabbitMQ(t), nil)
	q.publish("Paid", "warm", 1)
	q.emptied(func() func() error {
		stop := q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{DeadLetterKey: q.dead})
		waitFor(t, pool, "SELECT balance = 1 FROM account WHERE id = 1")
		return stop
	}())
	before := runtime.NumGoroutine()
	for round := range 3 {
		stop := q.consume(brokers.NewQueue(pool), brokers.RabbitMQOptions{DeadLetterKey: q.dead, Readers: 2})
		q.publish("Paid", fmt.Sprint("lost", round), 404)
		settled(t, func() bool { return q.size(q.dead) == round+1 })
		q.emptied(stop)
	}
	settled(t, func() bool { return runtime.NumGoroutine() <= before+2 }) // the pool's own come and go
}
