package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/examples/ledger/accounting"
)

// consumeCommand makes this program a consumer process that can be killed.
const consumeCommand = "consume"

// committed is what that process says when the database has committed and the queue does not know yet.
const committed = "committed"

func migrations() fs.FS {
	dir, err := fs.Sub(accounting.Migrations, "migrations")
	if err != nil {
		panic(err) // the name is constant and valid
	}
	return dir
}

// queue stands in for a broker: a message is a file, and stays until it is acknowledged.
type queue string

func (q queue) publish(m accounting.OrderPaid) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(string(q), body, 0o600)
}

func (q queue) deliver() (accounting.Delivery, error) {
	body, err := os.ReadFile(string(q))
	return accounting.Delivery{Headers: map[string]string{"event-type": "order.paid"}, Body: body}, err
}

func (q queue) acknowledge() error { return os.Remove(string(q)) }

// killed ends a consumer process by SIGKILL at the worst moment, and delivers again.
func (s *stage) killed(ctx context.Context) error {
	s.title("A consumer killed between its commit and its acknowledgement")
	dir, err := os.MkdirTemp("", "inboxgen-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	q := queue(filepath.Join(dir, "message.json"))
	if err := q.publish(paid); err != nil {
		return err
	}
	if err := s.runAndKill(ctx, q); err != nil {
		return err
	}
	if err := s.expect(ctx, 12500, 1); err != nil {
		return err
	}
	d, err := q.deliver()
	if err != nil {
		return err
	}
	s.line("broker", "delivers the message again")
	outcome, err := s.consumer().Handle(ctx, d)
	if err != nil {
		return err
	}
	s.line("outcome", outcome)
	if outcome != accounting.Duplicate {
		return errors.New("the redelivered message was applied again")
	}
	if err := q.acknowledge(); err != nil {
		return err
	}
	return s.expect(ctx, 12500, 1)
}

// runAndKill starts a consumer process and kills it as soon as it has committed.
func (s *stage) runAndKill(ctx context.Context, q queue) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	process := exec.CommandContext(ctx, self, consumeCommand, s.url, string(q))
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	said, readErr := bufio.NewReader(output).ReadString('\n')
	killErr := process.Process.Kill()
	_ = process.Wait() // it was killed: its status says no more
	if strings.TrimSpace(said) != committed {
		return errors.Join(fmt.Errorf("the consumer process said %q", said), readErr, killErr)
	}
	s.line("process", "committed, then killed by SIGKILL")
	return killErr
}

// consumeAndHang is the process that gets killed: it applies the message, says so, and never acknowledges it.
func consumeAndHang(ctx context.Context, url, file string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	d, err := queue(file).deliver()
	if err != nil {
		return err
	}
	consumer := accounting.NewAccounting(pool, accounting.WithLogger(slog.New(slog.DiscardHandler)))
	outcome, err := consumer.Handle(ctx, d)
	if err != nil {
		return err
	}
	if outcome != accounting.Applied {
		return fmt.Errorf("the first delivery was %s", outcome)
	}
	fmt.Println(committed)
	select {}
}
