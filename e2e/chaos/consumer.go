package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/inboxgen/inboxgen/testdata/chaos"
)

// setting is what a consumer's process is told.
type setting struct {
	Database, Kafka, RabbitMQ string // where; the consumer is of the broker that is given
}

const settingVariable = "INBOXGEN_CHAOS_CONSUMER"

// consume is the whole of a consumer's process. It ends on SIGTERM.
func consume(text string) error {
	var s setting
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, s.Database)
	if err != nil {
		return err
	}
	defer pool.Close()
	logger := chaos.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	// Short, so that much happens in little time.
	options := chaos.Consuming{MaxBackoff: 500 * time.Millisecond, Shutdown: 5 * time.Second}
	if s.RabbitMQ != "" {
		dial := func(context.Context) (*amqp.Connection, error) { return amqp.Dial("amqp://guest:guest@" + s.RabbitMQ) }
		return chaos.NewQueue(pool, logger).ConsumeRabbitMQ(ctx, dial, chaos.RabbitMQOptions{Consuming: options, DeadLetterKey: "chaos.dead"})
	}
	c := chaos.NewTopic(pool, logger)
	client, err := kgo.NewClient(append(c.KafkaClientOptions(), kgo.SeedBrokers(s.Kafka),
		kgo.SessionTimeout(3*time.Second), kgo.HeartbeatInterval(500*time.Millisecond))...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	return c.ConsumeKafka(ctx, client, chaos.KafkaOptions{Consuming: options})
}

// fleet keeps a number of consumer processes running.
type fleet struct {
	setting setting
	log     io.Writer

	mu        sync.Mutex
	processes []*exec.Cmd
	closed    bool
	failures  []error // of consumers that ended by themselves
	group     sync.WaitGroup
}

func (f *fleet) start(n int) error {
	for range n {
		if err := f.spawn(); err != nil {
			return err
		}
	}
	return nil
}

// spawn starts a process, and another when that ends.
func (f *fleet) spawn() error {
	text, err := json.Marshal(f.setting)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), settingVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = f.log, f.log
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.processes = append(f.processes, cmd)
	f.group.Go(func() { f.watch(cmd) })
	return nil
}

func (f *fleet) watch(cmd *exec.Cmd) {
	err := cmd.Wait()
	f.mu.Lock()
	for i, c := range f.processes {
		if c == cmd {
			f.processes = append(f.processes[:i], f.processes[i+1:]...)
			break
		}
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err != nil && ok && status.Signal() != syscall.SIGKILL && status.Signal() != syscall.SIGTERM {
		f.failures = append(f.failures, fmt.Errorf("a consumer ended by itself: %w", err))
	}
	f.mu.Unlock()
	if err := f.spawn(); err != nil {
		f.mu.Lock()
		f.failures = append(f.failures, err)
		f.mu.Unlock()
	}
}

// signal sends a signal to one of the processes.
func (f *fleet) signal(random *rand.Rand, s syscall.Signal) *os.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.processes) == 0 {
		return nil
	}
	p := f.processes[random.IntN(len(f.processes))].Process
	_ = p.Signal(s)
	return p
}

// stop ends all of them as a deployment does, and returns what went wrong with any.
func (f *fleet) stop() []error {
	f.mu.Lock()
	f.closed = true
	for _, c := range f.processes {
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	f.mu.Unlock()
	f.group.Wait()
	return f.failures
}
