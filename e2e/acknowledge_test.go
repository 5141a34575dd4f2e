package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/brokers"
)

// frames follows what an AMQP client or its broker sends, and ends the connection at frames of one method.
type frames struct {
	seen   []byte // of a frame that is not complete
	open   bool   // past the protocol header, which a client sends first
	method method
	cut    func(frame []byte) (pass int, end bool)
}

// method is how the payload of a frame begins: its class and its number there.
type method [4]byte

var (
	basicPublish = method{0, 60, 0, 40}
	basicAck     = method{0, 60, 0, 80} // also the broker's confirmation
	basicNack    = method{0, 60, 0, 120}
)

// next is a testenv.Watch. What is not a whole frame is passed on as well, but for the rest of a frame that is cut.
func (f *frames) next(piece []byte) (int, bool) {
	before := len(f.seen)
	f.seen = append(f.seen, piece...)
	read := 0
	for {
		frame, ok := f.first(f.seen[read:])
		if !ok {
			f.seen = slices.Clone(f.seen[read:])
			return len(piece), false
		}
		if len(frame) >= 11 && frame[0] == 1 && method(frame[7:11]) == f.method {
			if pass, end := f.cut(frame); end {
				return max(read+pass-before, 0), true
			}
		}
		read += len(frame)
	}
}

// first returns the first frame of b: type, channel, length, payload and an end mark.
func (f *frames) first(b []byte) ([]byte, bool) {
	length := 8
	if f.open {
		if len(b) < 7 {
			return nil, false
		}
		length = 7 + int(binary.BigEndian.Uint32(b[3:])) + 1
	}
	if len(b) < length {
		return nil, false
	}
	f.open = true
	return b[:length], true
}

// TestRabbitMQCutAtAcknowledgement ends the connection at acknowledgements: just before the broker gets one, in the middle of
// one, and just behind it. What the broker has not heard of comes again, and is a duplicate.
func TestRabbitMQCutAtAcknowledgement(t *testing.T) {
	t.Parallel()
	const messages, cuts = 90, 5
	for where, pass := range map[string]func(ack []byte) int{
		"before": func([]byte) int { return 0 },
		"within": func(ack []byte) int { return len(ack) / 2 },
		"behind": func(ack []byte) int { return len(ack) },
	} {
		for kind, args := range queueTypes {
			for _, batch := range []int{1, 7} {
				t.Run(fmt.Sprint(where, "/", kind, "/", batch), func(t *testing.T) {
					t.Parallel()
					db := &database{url: testenv.Postgres(t, 18).Database(t)}
					pool := db.with(t, "brokers")
					accounts(t, pool, 1)
					q := newQueue(t, testenv.RabbitMQ(t), args)
					var want []string
					for i := range messages {
						q.publish("Paid", fmt.Sprint("m", i), 1)
						want = append(want, fmt.Sprint("m", i))
					}
					slices.Sort(want)
					var acks atomic.Int64
					proxy := testenv.ProxyFor(t, q.addr, func() testenv.Watch {
						f := &frames{method: basicAck, cut: func(ack []byte) (int, bool) {
							if n := acks.Add(1); n > 2*cuts || n%2 == 1 { // let some pass in between
								return len(ack), false
							}
							return pass(ack), true
						}}
						return f.next
					}, nil)
					outcomes := &counting{}
					through := *q
					through.addr = proxy.Addr()
					stop := through.consume(brokers.NewQueue(pool, brokers.WithObserver(outcomes.observe)), brokers.RabbitMQOptions{
						DeadLetterKey: q.dead, Prefetch: batch, Consuming: brokers.Consuming{BatchSize: batch},
					})
					waitFor(t, pool, "SELECT balance = $1 FROM account WHERE id = 1", messages)
					settled(t, func() bool { return acks.Load() >= 2*cuts })
					q.emptied(stop)
					if history := read[[]string](t, pool, "SELECT history FROM account WHERE id = 1"); !slices.Equal(slices.Sorted(slices.Values(history)), want) {
						t.Errorf("not each once: %v", history)
					}
					if n := q.size(q.dead); n != 0 {
						t.Errorf("%d dead letters", n)
					}
					switch n := outcomes.duplicates.Load(); {
					case where != "behind" && n < cuts, where == "behind" && batch == 1 && n > 0, outcomes.failed.Load() > 0:
						t.Errorf("%d duplicates and %d failures after %d cuts", n, outcomes.failed.Load(), cuts)
					}
				})
			}
		}
	}
}

// TestRabbitMQCutAtDeadLetter ends the connection while a message that can never be applied is published to its dead letter, or
// rejected. It is there in the end, and twice only if the broker's confirmation was lost.
func TestRabbitMQCutAtDeadLetter(t *testing.T) {
	t.Parallel()
	const poison, cuts = 6, 3
	for name, test := range map[string]struct {
		method   method
		answer   bool // the broker sends it
		rejected bool // to the queue's own dead-letter exchange
		behind   bool
		copies   int
	}{
		"publish":        {method: basicPublish, copies: poison},
		"within publish": {method: basicPublish, behind: true, copies: poison}, // behind the method, and before its content
		"confirmation":   {method: basicAck, answer: true, copies: poison + cuts},
		"reject":         {method: basicNack, rejected: true, copies: poison},
		"behind reject":  {method: basicNack, rejected: true, behind: true, copies: poison},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := (&database{url: testenv.Postgres(t, 18).Database(t)}).with(t, "brokers")
			accounts(t, pool, 1)
			options := brokers.RabbitMQOptions{Prefetch: 1}
			var args amqp.Table
			dead := strings.ReplaceAll(t.Name(), "/", ".") + ".dead"
			if test.rejected {
				args = amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
			} else {
				options.DeadLetterKey = dead
			}
			q := newQueue(t, testenv.RabbitMQ(t), args)
			for i := range poison {
				q.publish("Paid", fmt.Sprint("lost", i), 404)
				q.publish("Paid", fmt.Sprint("good", i), 1)
			}
			var left atomic.Int64
			left.Store(cuts)
			watch := func() testenv.Watch {
				f := &frames{open: test.answer, method: test.method, cut: func(frame []byte) (int, bool) {
					if left.Add(-1) < 0 {
						return len(frame), false
					}
					if test.behind {
						return len(frame), true
					}
					return 0, true
				}}
				return f.next
			}
			requests, answers := watch, (func() testenv.Watch)(nil)
			if test.answer {
				requests, answers = answers, watch
			}
			through := *q
			through.addr = testenv.ProxyFor(t, q.addr, requests, answers).Addr()
			stop := through.consume(brokers.NewQueue(pool), options)
			waitFor(t, pool, "SELECT balance = $1 FROM account WHERE id = 1", poison)
			settled(t, func() bool { return q.size(q.dead) >= test.copies })
			q.emptied(stop)
			ids := map[string]bool{}
			for range test.copies {
				if d, ok, err := q.channel.Get(q.dead, true); err == nil && ok {
					ids[d.MessageId] = true
				}
			}
			if n := q.size(q.dead); n != 0 || len(ids) != poison {
				t.Errorf("%d dead letters of %d messages", test.copies+n, len(ids))
			}
		})
	}
}

// counting is an observer.
type counting struct{ duplicates, failed atomic.Int64 }

func (c *counting) observe(_ context.Context, e brokers.Event) {
	switch {
	case e.Err != nil:
		c.failed.Add(1)
	case e.Outcome == brokers.Duplicate:
		c.duplicates.Add(1)
	}
}
