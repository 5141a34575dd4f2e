package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

const accounts = 32

// message is one that is sent, some of them twice and more.
type message struct {
	id      string
	kind    string
	account int // 0: of nobody, so that it can never be applied
	number  int
	amount  int64
	body    []byte
}

// stream makes messages, 1 % of them poison. Those of an account are numbered in their order.
type stream struct {
	broker string
	random *rand.Rand
	made   []message // without poison
	poison []message
	next   [accounts + 1]int
	sent   []message // the last ones, to be sent again
}

// batch returns the next n messages to send: 30 % of them are repetitions of earlier ones.
func (s *stream) batch(n int) []message {
	var out []message
	for len(out) < n {
		if len(s.sent) > 0 && s.random.IntN(100) < 30 {
			out = append(out, s.sent[s.random.IntN(len(s.sent))])
			continue
		}
		m := s.fresh()
		out = append(out, m)
		s.sent = append(s.sent, m)
		if len(s.sent) > 2000 {
			s.sent = s.sent[1000:]
		}
	}
	return out
}

func (s *stream) fresh() message {
	m := message{id: fmt.Sprintf("%s-%d", s.broker, len(s.made)+len(s.poison)), kind: "Plain"}
	if s.random.IntN(4) == 0 {
		m.kind = "Audited"
	}
	if s.random.IntN(100) > 0 {
		m.account = 1 + s.random.IntN(accounts)
	}
	s.next[m.account]++
	m.number = s.next[m.account]
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.id))
	m.amount = int64(h.Sum32())
	m.body = fmt.Appendf(nil, `{"event_id": %q, "account": %d, "number": %d, "amount": %d}`, m.id, m.account, m.number, m.amount)
	if m.account == 0 {
		s.poison = append(s.poison, m)
	} else {
		s.made = append(s.made, m)
	}
	return m
}

// sendKafka returns when all are in the topic, whatever happens to the broker.
func sendKafka(ctx context.Context, client *kgo.Client, batch []message) error {
	records := make([]*kgo.Record, len(batch))
	for i, m := range batch {
		records[i] = &kgo.Record{
			Topic: "chaos", Key: fmt.Append(nil, m.account), Value: m.body,
			Headers: []kgo.RecordHeader{{Key: "type", Value: []byte(m.kind)}},
		}
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// rabbitmqSender publishes with confirmations. What may not have arrived is published again.
type rabbitmqSender struct {
	addr    string
	conn    *amqp.Connection
	channel *amqp.Channel
}

func (r *rabbitmqSender) send(ctx context.Context, batch []message) error {
	for ctx.Err() == nil {
		err := r.try(ctx, batch)
		if err == nil {
			return nil
		}
		r.close()
		time.Sleep(50 * time.Millisecond)
	}
	return ctx.Err()
}

func (r *rabbitmqSender) close() {
	if r.conn != nil {
		_ = r.conn.CloseDeadline(time.Now().Add(time.Second))
		r.conn = nil
	}
}

func (r *rabbitmqSender) try(ctx context.Context, batch []message) error {
	if r.conn == nil {
		conn, err := amqp.Dial("amqp://guest:guest@" + r.addr)
		if err != nil {
			return err
		}
		r.conn = conn
		if r.channel, err = conn.Channel(); err != nil {
			return err
		}
		if err := r.channel.Confirm(false); err != nil {
			return err
		}
	}
	var confirmations []*amqp.DeferredConfirmation
	for _, m := range batch {
		c, err := r.channel.PublishWithDeferredConfirmWithContext(ctx, "", "chaos", true, false, amqp.Publishing{
			Type: m.kind, MessageId: m.id, DeliveryMode: amqp.Persistent, Body: m.body,
		})
		if err != nil {
			return err
		}
		confirmations = append(confirmations, c)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, c := range confirmations {
		if ok, err := c.WaitContext(ctx); err != nil || !ok {
			return fmt.Errorf("not confirmed: %w", err)
		}
	}
	return nil
}
