package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// fault is something that breaks; weight is how often.
type fault struct {
	name   string
	weight int
	do     func(w *world, ctx context.Context) error
}

var allFaults = []fault{
	{"consumer killed", 20, func(w *world, _ context.Context) error { return w.signal(syscall.SIGKILL) }},
	{"consumer replaced", 10, func(w *world, _ context.Context) error { return w.signal(syscall.SIGTERM) }},
	{"consumer frozen", 6, (*world).freeze},
	{"database connections cut", 18, func(w *world, _ context.Context) error { w.database.Cut(); return nil }},
	{"answers to COMMIT lost", 18, func(w *world, _ context.Context) error {
		w.commits.left.Store(1 + w.random.Int64N(4))
		return nil
	}},
	{"backends terminated", 10, (*world).terminate},
	{"queue connections cut", 10, func(w *world, _ context.Context) error { w.queue.Cut(); return nil }},
	{"PostgreSQL crashed", 4, (*world).crashPostgres},
	{"Kafka crashed", 2, func(w *world, ctx context.Context) error { return restart(ctx, w.kafka) }},
	{"RabbitMQ crashed", 2, func(w *world, ctx context.Context) error { return restart(ctx, w.rabbitmq) }},
}

// lostCommits ends connections instead of passing on that a transaction was committed: what was done is done, and the client
// does not know.
type lostCommits struct{ left atomic.Int64 }

func (l *lostCommits) watch() testenv.Watch {
	return func(answer []byte) (int, bool) {
		if bytes.Contains(answer, []byte("COMMIT\x00")) && l.left.Add(-1) >= 0 {
			return 0, true
		}
		return len(answer), false
	}
}

func (w *world) breakSomething(ctx context.Context) error {
	total := 0
	for _, f := range allFaults {
		total += f.weight
	}
	pick := w.random.IntN(total)
	wait := time.Duration(w.random.IntN(300)) * time.Millisecond
	for _, f := range allFaults {
		if pick -= f.weight; pick < 0 {
			time.Sleep(wait) // somewhere in the middle of the work
			w.done[f.name]++
			if err := f.do(w, ctx); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			return nil
		}
	}
	return nil
}

func (w *world) signal(s syscall.Signal) error {
	w.fleets[w.random.IntN(len(w.fleets))].signal(w.random, s)
	return nil
}

// freeze stops a process for longer than its Kafka session: others take over, and it goes on with what it had.
func (w *world) freeze(context.Context) error {
	p := w.fleets[w.random.IntN(len(w.fleets))].signal(w.random, syscall.SIGSTOP)
	if p != nil {
		time.AfterFunc(time.Duration(500+w.random.IntN(4000))*time.Millisecond, func() { _ = p.Signal(syscall.SIGCONT) })
	}
	return nil
}

func (w *world) terminate(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, w.postgres.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
	return err
}

func (w *world) crashPostgres(ctx context.Context) error {
	return errors.Join(w.postgres.Stop(testenv.Immediate), w.postgres.Restart(ctx))
}

func restart(ctx context.Context, b *testenv.Broker) error {
	return errors.Join(b.Kill(), b.Restart(ctx))
}
