package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/brokers"
)

// topic is a topic of one test, with a dead letter, and the group that reads it.
type topic struct {
	name, dead, group string
	addr              string
	client            *kgo.Client // produces, and asks
}

func newTopic(t *testing.T, broker *testenv.Broker, partitions int32) *topic {
	t.Helper()
	name := strings.NewReplacer("/", ".", "#", ".", " ", "_").Replace(t.Name())
	k := &topic{name: name, dead: name + ".dead", group: name, addr: broker.Addr}
	var err error
	// By hand: which partition a message goes to matters here.
	k.client, err = kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.client.Close)
	for topic, n := range map[string]int32{k.name: partitions, k.dead: 1} {
		made, err := kadm.NewClient(k.client).CreateTopics(t.Context(), n, 1, nil, topic)
		if err != nil || made.Error() != nil {
			t.Fatal(err, made.Error())
		}
	}
	return k
}

// paid is a message about an account, which also picks the partition.
func (k *topic) paid(kind, id string, account int, partition int32) *kgo.Record {
	return &kgo.Record{
		Topic: k.name, Partition: partition, Key: fmt.Append(nil, account),
		Value:   fmt.Appendf(nil, `{"event_id": %q, "account": %d, "amount": 1}`, id, account),
		Headers: []kgo.RecordHeader{{Key: "type", Value: []byte(kind)}},
	}
}

func (k *topic) produce(t *testing.T, records ...*kgo.Record) {
	t.Helper()
	if err := k.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// consume runs a consumer until the function that it returns is called, which returns its error.
func (k *topic) consume(t *testing.T, c *brokers.Topic, options brokers.KafkaOptions, more ...kgo.Opt) (stop func() error) {
	t.Helper()
	client := k.member(t, c, more...)
	options.DeadLetter = k.dead
	if options.MinBackoff == 0 {
		options.MinBackoff = 10 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	wait := async(func() (struct{}, error) { return struct{}{}, c.ConsumeKafka(ctx, client, options) })
	stopped := false
	stop = func() error {
		stopped = true
		cancel()
		_, err := wait()
		client.Close()
		return err
	}
	t.Cleanup(func() {
		if !stopped {
			_ = stop()
		}
	})
	return stop
}

func (k *topic) member(t *testing.T, c *brokers.Topic, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	options := append(c.KafkaClientOptions(), kgo.SeedBrokers(k.addr), kgo.ConsumerGroup(k.group), kgo.ConsumeTopics(k.name))
	client, err := kgo.NewClient(append(options, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// committed is the sum of the group's offsets.
func (k *topic) committed(t *testing.T) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(k.client).FetchOffsets(t.Context(), k.group)
	if err != nil {
		return -1 // the group's coordinator may not be there yet
	}
	sum := int64(0)
	offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
	return sum
}

// deadLetters reads what is in the dead letter.
func (k *topic) deadLetters(t *testing.T) []*kgo.Record {
	t.Helper()
	ends, err := kadm.NewClient(k.client).ListEndOffsets(t.Context(), k.dead)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(k.dead, 0)
	client, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{k.dead: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var out []*kgo.Record
	for int64(len(out)) < end.Offset {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		out = append(out, fetches.Records()...)
	}
	return out
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func accounts(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	run(t, pool, "INSERT INTO account (id) SELECT generate_series(1, $1)", n)
}

// TestKafka sends messages of two types to four partitions, some of them twice and some that can never be applied.
func TestKafka(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "brokers")
		accounts(t, pool, 4)
		k := newTopic(t, testenv.Kafka(t), 4)
		var records []*kgo.Record
		for i := range 200 {
			account := 1 + i%4
			kind := "Paid"
			if i%10 == 3 {
				kind = "Refunded"
			}
			for range 1 + i%2 {
				records = append(records, k.paid(kind, fmt.Sprint("m", i), account, int32(account-1)))
			}
			if i%50 == 7 {
				records = append(records, k.paid("Paid", fmt.Sprint("lost", i), 404, int32(account-1)))
			}
		}
		records = append(records, k.paid("Unknown", "u", 1, 0), &kgo.Record{Topic: k.name, Partition: 1, Headers: []kgo.RecordHeader{{Key: "type", Value: []byte("Paid")}}})
		k.produce(t, records...)
		c := brokers.NewTopic(pool)
		stop := k.consume(t, c, brokers.KafkaOptions{})
		waitFor(t, pool, "SELECT count(*) = 200 FROM inbox")
		settled(t, func() bool { return k.committed(t) == int64(len(records)) })
		if err := stop(); err != nil {
			t.Error(err)
		}
		holds(t, pool, int64(200-2*20), "SELECT sum(balance)::bigint FROM account")
		// Each account's messages are in one partition, and so in order.
		for account := 1; account <= 4; account++ {
			history := read[[]string](t, pool, "SELECT history FROM account WHERE id = $1", account)
			var want []string
			for i := account - 1; i < 200; i += 4 {
				want = append(want, fmt.Sprint("m", i))
			}
			if !slices.Equal(history, want) {
				t.Errorf("account %d: %v", account, history)
			}
		}
		reasons := map[string]int{}
		for _, dead := range k.deadLetters(t) {
			reasons[header(dead, "inboxgen-reason")]++
			if header(dead, "inboxgen-reason") == "expectation" {
				for name, want := range map[string]string{
					"type": "Paid", "inboxgen-topic": k.name, "inboxgen-consumer": "topic", "inboxgen-message": "Paid", "inboxgen-attempts": "1", "inboxgen-sqlstate": "",
				} {
					if got := header(dead, name); got != want {
						t.Errorf("header %s: %q, want %q", name, got, want)
					}
				}
				var body struct {
					ID string `json:"event_id"`
				}
				if err := json.Unmarshal(dead.Value, &body); err != nil || body.ID != header(dead, "inboxgen-id") || string(dead.Key) != "404" {
					t.Errorf("%s %s: %v", dead.Key, dead.Value, err)
				}
			}
		}
		if fmt.Sprint(reasons) != "map[decode:1 expectation:4 type:1]" {
			t.Errorf("dead letters: %v", reasons)
		}
	})
}

// settled waits for something that no event tells.
func settled(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("not settled after 30 s")
		}
	}
}

// TestKafkaPartitionFails has one partition's row locked: the others go on, and its own messages keep their order.
func TestKafkaPartitionFails(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "brokers")
		accounts(t, pool, 2)
		k := newTopic(t, testenv.Kafka(t), 2)
		lock := begin(t, pool)
		run(t, lock, "SELECT FROM account WHERE id = 1 FOR UPDATE")
		impatient := db.pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "20ms" })
		stop := k.consume(t, brokers.NewTopic(impatient), brokers.KafkaOptions{Consuming: brokers.Consuming{MaxBackoff: 50 * time.Millisecond, BatchSize: 7}})
		var want []string
		for i := range 30 {
			k.produce(t, k.paid("Paid", fmt.Sprint("a", i), 1, 0), k.paid("Paid", fmt.Sprint("b", i), 2, 1))
			want = append(want, fmt.Sprint("a", i))
		}
		waitFor(t, pool, "SELECT balance = 30 FROM account WHERE id = 2")
		holds(t, pool, int64(0), "SELECT count(*) FROM inbox WHERE message_id LIKE 'a%'")
		commit(t, lock)
		waitFor(t, pool, "SELECT balance = 30 FROM account WHERE id = 1")
		if history := read[[]string](t, pool, "SELECT history FROM account WHERE id = 1"); !slices.Equal(history, want) {
			t.Errorf("out of order: %v", history)
		}
		settled(t, func() bool { return k.committed(t) == 60 })
		if err := stop(); err != nil || len(k.deadLetters(t)) != 0 {
			t.Error(err, "dead letters:", len(k.deadLetters(t)))
		}
	})
}

// TestKafkaStops has consumers that must stop: nothing of what they could not apply is acknowledged.
func TestKafkaStops(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "brokers")
		accounts(t, pool, 2)
		k := newTopic(t, testenv.Kafka(t), 2)
		k.produce(t, k.paid("Paid", "a", 1, 0), k.paid("Refunded", "b", 1, 0), k.paid("Paid", "c", 1, 0), k.paid("Paid", "d", 2, 1))
		run(t, pool, "ALTER TABLE refund RENAME TO renamed")
		c := brokers.NewTopic(pool)
		client := k.member(t, c)
		err := c.ConsumeKafka(t.Context(), client, brokers.KafkaOptions{DeadLetter: k.dead})
		if brokers.Classify(err) != brokers.Deployment || !strings.Contains(fmt.Sprint(err), `relation "refund" does not exist`) {
			t.Errorf("without a table: %v", err)
		}
		client.Close()
		holds(t, pool, int64(0), "SELECT count(*) FROM inbox WHERE message_id IN ('b', 'c')")
		if n := k.committed(t); n > 2 {
			t.Errorf("committed %d, with messages that were not applied", n)
		}
		run(t, pool, "ALTER TABLE renamed RENAME TO refund")
		stop := k.consume(t, c, brokers.KafkaOptions{})
		waitFor(t, pool, "SELECT count(*) = 4 FROM inbox")
		if err := stop(); err != nil {
			t.Error(err)
		}

		k.produce(t, k.paid("Paid", "e", 404, 0))
		undead := brokers.NewUndead(pool)
		client, err = kgo.NewClient(append(undead.KafkaClientOptions(), kgo.SeedBrokers(k.addr), kgo.ConsumerGroup("undead"+k.group), kgo.ConsumeTopics(k.name))...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		run(t, pool, "DELETE FROM inbox")
		err = undead.ConsumeKafka(t.Context(), client, brokers.KafkaOptions{})
		if !errors.Is(err, brokers.ErrNoDeadLetter) && !errors.Is(err, brokers.ErrUnknownType) {
			t.Errorf("without a dead letter: %v", err)
		}
	})
}

func TestKafkaClientRefused(t *testing.T) {
	t.Parallel()
	c := brokers.NewTopic(nil)
	for _, options := range [][]kgo.Opt{
		nil, {kgo.ConsumerGroup("g")}, {kgo.ConsumerGroup("g"), kgo.DisableAutoCommit()}, {kgo.ConsumerGroup("g"), kgo.BlockRebalanceOnPoll()},
	} {
		client, err := kgo.NewClient(options...)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.ConsumeKafka(t.Context(), client, brokers.KafkaOptions{}); err == nil || !strings.Contains(err.Error(), "KafkaClientOptions") {
			t.Errorf("%v", err)
		}
		client.Close()
	}
}

// TestKafkaRebalance has members of a group come and go while messages flow, under both group protocols.
func TestKafkaRebalance(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]kgo.Opt{"classic": nil, "KIP-848": {kgo.ServerSideBalancer()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &database{url: testenv.Postgres(t, 18).Database(t)}
			pool := db.with(t, "brokers")
			accounts(t, pool, 6)
			k := newTopic(t, testenv.Kafka(t), 6)
			c := brokers.NewTopic(pool)
			const rounds, each = 12, 20
			stops := []func() error{k.consume(t, c, brokers.KafkaOptions{}, more...)}
			for round := range rounds {
				for i := range each {
					for account := range 6 {
						id := fmt.Sprintf("%d %d %d", account, round, i)
						k.produce(t, k.paid("Paid", id, account+1, int32(account)), k.paid("Paid", id, account+1, int32(account)))
					}
				}
				if round%3 == 2 {
					if err := stops[0](); err != nil {
						t.Error(err)
					}
					stops = stops[1:]
				}
				stops = append(stops, k.consume(t, c, brokers.KafkaOptions{}, more...))
			}
			waitFor(t, pool, "SELECT count(*) = $1 FROM inbox", 6*rounds*each)
			for _, stop := range stops {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			for account := range 6 {
				var want []string
				for round := range rounds {
					for i := range each {
						want = append(want, fmt.Sprintf("%d %d %d", account, round, i))
					}
				}
				if history := read[[]string](t, pool, "SELECT history FROM account WHERE id = $1", account+1); !slices.Equal(history, want) {
					t.Errorf("account %d: %d messages, or out of order", account+1, len(history))
				}
			}
		})
	}
}

// TestKafkaRedrive sends dead letters back once their account exists: twice, of which the second time changes nothing.
func TestKafkaRedrive(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "brokers")
		k := newTopic(t, testenv.Kafka(t), 2)
		k.produce(t, k.paid("Paid", "a", 1, 0), k.paid("Paid", "b", 1, 1), k.paid("Unknown", "c", 1, 1))
		c := brokers.NewTopic(pool)
		stop := k.consume(t, c, brokers.KafkaOptions{})
		settled(t, func() bool { return k.committed(t) == 3 })
		accounts(t, pool, 1)
		options := []kgo.Opt{kgo.SeedBrokers(k.addr)}
		redrive := func(want int, choose func(brokers.DeadLetter) bool) {
			t.Helper()
			if sent, err := c.RedriveKafka(t.Context(), options, k.dead, choose); err != nil || sent != want {
				t.Errorf("sent %d back: %v, want %d", sent, err, want)
			}
		}
		redrive(0, func(l brokers.DeadLetter) bool {
			if l.Consumer != "topic" || l.Error == "" || l.Attempts != 1 || time.Since(l.Time) > time.Hour || l.Headers["type"] == "" {
				t.Errorf("%+v", l)
			}
			return false
		})
		for range 2 {
			redrive(2, func(l brokers.DeadLetter) bool { return l.Reason == "expectation" })
		}
		settled(t, func() bool { return k.committed(t) == 7 })
		if err := stop(); err != nil {
			t.Error(err)
		}
		holds(t, pool, int64(2), "SELECT balance FROM account WHERE id = 1")
		if n := len(k.deadLetters(t)); n != 3 {
			t.Errorf("%d dead letters", n)
		}
	})
}
