package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// tables returns the DDL of the case chaos, for a program that runs in e2e and for a test that runs below it.
func tables() ([]string, error) {
	var out []string
	for _, name := range []string{"schema.sql", "migrations/20261201120000_create_inbox.up.sql"} {
		text, err := os.ReadFile(filepath.Join("../testdata/chaos", name))
		if errors.Is(err, fs.ErrNotExist) {
			text, err = os.ReadFile(filepath.Join("../../testdata/chaos", name))
		}
		if err != nil {
			return nil, fmt.Errorf("run this in e2e: %w", err)
		}
		out = append(out, string(text))
	}
	return out, nil
}

// settle waits until both brokers have delivered everything.
func (w *world) settle(ctx context.Context) error {
	deadline := time.Now().Add(3 * time.Minute)
	for {
		left, err := w.left(ctx)
		if err == nil && left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after 3 minutes %d messages are still not acknowledged: %w", left, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// left is how many messages are not acknowledged.
func (w *world) left(ctx context.Context) (int64, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(w.kafka.Addr))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	lags, err := kadm.NewClient(client).Lag(ctx, "chaos")
	if err != nil {
		return 0, err
	}
	if err := lags.Error(); err != nil {
		return 0, err
	}
	left := int64(0)
	for _, lag := range lags {
		left += lag.Lag.Total()
	}
	ready, err := w.queueSize("chaos")
	return left + int64(ready), err
}

// queueSize is how many messages a queue has, unacknowledged ones left out: for those the consumers must have stopped.
func (w *world) queueSize(queue string) (int, error) {
	conn, err := amqp.Dial("amqp://guest:guest@" + w.rabbitmq.Addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return 0, err
	}
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	return state.Messages, err
}

// result is how the effects of one broker's messages differ from what they must be.
type result struct {
	lost, doubled, disorder int
	wrong                   bool // the amounts or the audit do not match although the numbers do
	dead                    int  // distinct messages in the dead letter
}

func (w *world) compare(ctx context.Context, conn *pgx.Conn, s *stream) (result, error) {
	var r result
	want := map[int]struct {
		n   int
		sum int64
	}{}
	audited := map[string]bool{}
	for _, m := range s.made {
		a := want[m.account]
		a.n++
		a.sum += m.amount
		want[m.account] = a
		audited[m.id] = m.kind == "Audited"
	}
	rows, err := conn.Query(ctx, "SELECT id, n, sum, disorder FROM account WHERE broker = $1", s.broker)
	if err != nil {
		return r, err
	}
	var id, n, disorder int
	var sum int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &n, &sum, &disorder}, func() error {
		r.lost += max(want[id].n-n, 0)
		r.doubled += max(n-want[id].n, 0)
		r.disorder += disorder
		r.wrong = r.wrong || n == want[id].n && sum != want[id].sum
		return nil
	}); err != nil {
		return r, err
	}
	rows, err = conn.Query(ctx, "SELECT event_id, count(*) FROM audit WHERE broker = $1 GROUP BY 1", s.broker)
	if err != nil {
		return r, err
	}
	var event string
	seen := 0
	if _, err := pgx.ForEachRow(rows, []any{&event, &n}, func() error {
		seen++
		r.wrong = r.wrong || n != 1 || !audited[event]
		return nil
	}); err != nil {
		return r, err
	}
	for _, is := range audited {
		if is {
			seen--
		}
	}
	r.wrong = r.wrong || seen != 0
	dead, err := w.deadLetters(ctx, s)
	if err != nil {
		return r, err
	}
	for _, m := range s.poison {
		if dead[m.id] {
			r.dead++
			delete(dead, m.id)
		}
	}
	r.wrong = r.wrong || len(dead) > 0
	return r, nil
}

// deadLetters returns the ids in a dead letter; a second copy after a crash is allowed.
func (w *world) deadLetters(ctx context.Context, s *stream) (map[string]bool, error) {
	if s.broker == "rabbitmq" {
		return w.deadQueue()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(w.kafka.Addr), kgo.ConsumeTopics("chaos.dead"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, "chaos.dead")
	if err != nil {
		return nil, err
	}
	end, _ := ends.Lookup("chaos.dead", 0)
	out := map[string]bool{}
	for next := int64(0); next < end.Offset; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, r := range fetches.Records() {
			next = r.Offset + 1
			for _, h := range r.Headers {
				if h.Key == "inboxgen-id" {
					out[string(h.Value)] = true
				}
			}
		}
	}
	return out, nil
}

func (w *world) deadQueue() (map[string]bool, error) {
	conn, err := amqp.Dial("amqp://guest:guest@" + w.rabbitmq.Addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return nil, err
	}
	if left, err := channel.QueueDeclarePassive("chaos", true, false, false, false, nil); err != nil || left.Messages > 0 {
		return nil, errors.Join(err, fmt.Errorf("%d messages were left unacknowledged", left.Messages))
	}
	out := map[string]bool{}
	for {
		d, ok, err := channel.Get("chaos.dead", true)
		if err != nil || !ok {
			return out, err
		}
		out[d.MessageId] = true
	}
}
