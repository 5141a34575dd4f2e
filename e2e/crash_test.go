package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/brokers"
)

// points are where a process is killed.
const (
	beforeCommit    = "before the commit"
	beforeAck       = "after the commit and before the acknowledgement"
	afterDeadLetter = "between the dead letter and the acknowledgement"
)

// TestCrashingConsumer is no test but the process that the others start: it consumes, and kills itself at a point.
func TestCrashingConsumer(t *testing.T) {
	setting, ok := os.LookupEnv("INBOXGEN_CRASHING_CONSUMER")
	if !ok {
		return
	}
	var broker, addr, name, dead, url, point string
	for i, part := range strings.Split(setting, "\n") {
		*[]*string{&broker, &addr, &name, &dead, &url, &point}[i] = part
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if point == beforeCommit {
		config.ConnConfig.Tracer = dieAtCommit{}
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	options := []brokers.Option{
		brokers.WithObserver(func(_ context.Context, e brokers.Event) {
			if point == beforeAck && e.Outcome == brokers.Applied {
				die()
			}
		}),
		brokers.WithLogger(slog.New(dieAtDeadLetter{slog.DiscardHandler, point})),
	}
	if broker == "kafka" {
		c := brokers.NewTopic(pool, options...)
		client, err := kgo.NewClient(append(c.KafkaClientOptions(), kgo.SeedBrokers(addr), kgo.ConsumerGroup(name), kgo.ConsumeTopics(name),
			kgo.SessionTimeout(2*time.Second), kgo.HeartbeatInterval(500*time.Millisecond))...) // the group soon gives its partition to another
		if err != nil {
			t.Fatal(err)
		}
		t.Fatal(c.ConsumeKafka(t.Context(), client, brokers.KafkaOptions{DeadLetter: dead}))
	}
	dial := func(context.Context) (*amqp.Connection, error) { return amqp.Dial("amqp://guest:guest@" + addr) }
	t.Fatal(brokers.NewQueue(pool, options...).ConsumeRabbitMQ(t.Context(), dial, brokers.RabbitMQOptions{Queue: name, DeadLetterKey: dead}))
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type dieAtCommit struct{}

func (dieAtCommit) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (dieAtCommit) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (dieAtCommit) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if data.Batch.QueuedQueries[0].SQL == "COMMIT" {
		die()
	}
	return ctx
}
func (dieAtCommit) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (dieAtCommit) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// dieAtDeadLetter dies when a dead letter is logged, which is behind its publication.
type dieAtDeadLetter struct {
	slog.Handler
	point string
}

func (d dieAtDeadLetter) Enabled(context.Context, slog.Level) bool { return true }

func (d dieAtDeadLetter) Handle(_ context.Context, r slog.Record) error {
	if d.point == afterDeadLetter && r.Message == "moved to the dead letter" {
		die()
	}
	return nil
}

// crash starts the consumer and waits until it has killed itself.
func crash(t *testing.T, setting ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashingConsumer$")
	cmd.Env = append(os.Environ(), "INBOXGEN_CRASHING_CONSUMER="+strings.Join(setting, "\n"))
	out, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it was to kill itself: %v\n%s", err, out)
	}
}

// TestKafkaCrash kills a consumer at each point, and has another one go on.
func TestKafkaCrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{beforeCommit, beforeAck, afterDeadLetter} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, db *database) {
				pool := db.with(t, "brokers")
				accounts(t, pool, 1)
				k := newTopic(t, testenv.Kafka(t), 1)
				for i := range 20 {
					k.produce(t, k.paid("Paid", fmt.Sprint("m", i), 1, 0))
				}
				k.produce(t, k.paid("Paid", "lost", 404, 0), k.paid("Paid", "last", 1, 0))
				crash(t, "kafka", k.addr, k.group, k.dead, db.url, point)
				if point == beforeCommit {
					holds(t, pool, int64(0), "SELECT count(*) FROM inbox")
				} else {
					holds(t, pool, true, "SELECT count(*) > 0 FROM inbox")
				}
				if n := k.committed(t); n > 0 {
					t.Errorf("%d messages were acknowledged before the crash", n)
				}
				stop := k.consume(t, brokers.NewTopic(pool), brokers.KafkaOptions{})
				settled(t, func() bool { return k.committed(t) == 22 })
				if err := stop(); err != nil {
					t.Error(err)
				}
				holds(t, pool, int64(21), "SELECT balance FROM account WHERE id = 1")
				dead := len(k.deadLetters(t))
				if want := 1; dead != want && (point != afterDeadLetter || dead != want+1) {
					t.Errorf("%d dead letters", dead)
				}
			})
		})
	}
}

// TestRabbitMQCrash does the same with a queue.
func TestRabbitMQCrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{beforeCommit, beforeAck, afterDeadLetter} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, db *database) {
				pool := db.with(t, "brokers")
				accounts(t, pool, 1)
				addr := testenv.RabbitMQ(t).Addr
				dial := func(context.Context) (*amqp.Connection, error) { return amqp.Dial("amqp://guest:guest@" + addr) }
				conn, err := dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				channel, err := conn.Channel()
				if err != nil {
					t.Fatal(err)
				}
				queue := strings.ReplaceAll(t.Name(), "/", ".")
				dead := queue + ".dead"
				for _, name := range []string{queue, dead} {
					if _, err := channel.QueueDeclare(name, true, false, false, false, nil); err != nil {
						t.Fatal(err)
					}
					defer func() { _, _ = channel.QueueDelete(name, false, false, false) }()
				}
				publish := func(id string, account int) {
					if err := channel.PublishWithContext(t.Context(), "", queue, true, false, amqp.Publishing{
						Type: "Paid", MessageId: id, DeliveryMode: amqp.Persistent,
						Body: fmt.Appendf(nil, `{"event_id": %q, "account": %d, "amount": 1}`, id, account),
					}); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 20 {
					publish(fmt.Sprint("m", i), 1)
				}
				publish("lost", 404)
				publish("last", 1)
				crash(t, "rabbitmq", addr, queue, dead, db.url, point)
				if point == beforeCommit {
					holds(t, pool, int64(0), "SELECT count(*) FROM inbox")
				} else {
					holds(t, pool, true, "SELECT count(*) > 0 FROM inbox")
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := async(func() (struct{}, error) {
					return struct{}{}, brokers.NewQueue(pool).ConsumeRabbitMQ(ctx, dial, brokers.RabbitMQOptions{Queue: queue, DeadLetterKey: dead})
				})
				waitFor(t, pool, "SELECT balance = 21 FROM account WHERE id = 1")
				size := func(name string) int {
					state, err := channel.QueueDeclarePassive(name, true, false, false, false, nil)
					if err != nil {
						t.Fatal(err)
					}
					return state.Messages
				}
				want := 1
				if point == afterDeadLetter {
					want = 2 // the one that was killed could not acknowledge
				}
				settled(t, func() bool { return size(dead) == want })
				cancel()
				if _, err := done(); err != nil {
					t.Error(err)
				}
				settled(t, func() bool { return size(queue) == 0 }) // nothing was left unacknowledged
				holds(t, pool, int64(21), "SELECT balance FROM account WHERE id = 1")
			})
		})
	}
}
