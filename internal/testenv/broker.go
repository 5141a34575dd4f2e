//go:build linux

package testenv

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

//go:embed broker.sh
var brokerScript string

// Broker is a Kafka or RabbitMQ server, or another beside PostgreSQL, on 127.0.0.1. Its methods are safe for concurrent use.
type Broker struct {
	Addr string // host:port, for clients

	kind kind
	dir  string
	lock *os.File

	mu    sync.Mutex // for starting and stopping
	guard *exec.Cmd
	stdin io.WriteCloser
}

// kind is what sets one broker apart from another.
type kind struct {
	name    string
	find    func() (string, error)                 // where it is installed
	command func(b *Broker, home string) *exec.Cmd // runs in b.dir
	prepare func(ctx context.Context, b *Broker, home string) error
	ready   func(conn net.Conn) error // whether it answers
}

var (
	sharedKafka    = sync.OnceValues(func() (*Broker, error) { return startBroker(context.Background(), kafka) })
	sharedRabbitMQ = sync.OnceValues(func() (*Broker, error) { return startBroker(context.Background(), rabbitmq) })
)

// Kafka returns this process's Kafka server. As with Postgres, a test without one is skipped, and fails under CI=true.
// Topics are made by the tests, which share it.
func Kafka(tb testing.TB) *Broker {
	tb.Helper()
	return require(tb, sharedKafka)
}

// RabbitMQ returns this process's RabbitMQ server, on which the user is guest with the password guest.
func RabbitMQ(tb testing.TB) *Broker {
	tb.Helper()
	return require(tb, sharedRabbitMQ)
}

// PrivateKafka starts a server for one test only, which may kill it.
func PrivateKafka(tb testing.TB) *Broker { return private(tb, kafka) }

// PrivateRabbitMQ starts a server for one test only, which may kill it.
func PrivateRabbitMQ(tb testing.TB) *Broker { return private(tb, rabbitmq) }

// StartKafka starts a server that is not bound to a test, for programs. It ends with the process.
func StartKafka(ctx context.Context) (*Broker, error) { return startBroker(ctx, kafka) }

// StartRabbitMQ starts a server that is not bound to a test, for programs. It ends with the process.
func StartRabbitMQ(ctx context.Context) (*Broker, error) { return startBroker(ctx, rabbitmq) }

func private(tb testing.TB, k kind) *Broker {
	tb.Helper()
	b := require(tb, func() (*Broker, error) { return startBroker(tb.Context(), k) })
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("stop %s: %v", k.name, err)
		}
	})
	return b
}

func startBroker(ctx context.Context, k kind) (*Broker, error) {
	home, err := k.find()
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	b := &Broker{kind: k}
	if b.dir, b.lock, err = newClusterDir(filepath.Join(cache, "clusters"), k.name); err != nil {
		return nil, err
	}
	port, err := freePorts(3)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.Addr = fmt.Sprint("127.0.0.1:", port)
	if err := errors.Join(k.prepare(ctx, b, home), b.Restart(ctx)); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Kill ends the server at once and keeps its data for Restart.
func (b *Broker) Kill() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.guard == nil {
		return errors.New("the server is not running")
	}
	_, err := fmt.Fprintln(b.stdin, "kill")
	err = errors.Join(err, b.guard.Wait())
	b.guard = nil
	return err
}

// Restart starts a stopped server again, on the same data and port, and returns when it answers.
func (b *Broker) Restart(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	home, err := b.kind.find()
	if err != nil {
		return err
	}
	command := b.kind.command(b, home)
	guard := asServer(exec.Command("/bin/sh", append([]string{"-c", brokerScript, "guard", b.dir}, command.Args...)...), b.dir)
	guard.Env = append(guard.Env, command.Env...)
	guard.ExtraFiles = []*os.File{b.lock}
	if b.stdin, err = guard.StdinPipe(); err != nil {
		return err
	}
	stdout, err := guard.StdoutPipe()
	if err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	b.guard = guard
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		return fmt.Errorf("%s did not start: %w", b.kind.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return b.await(ctx)
}

// await asks the server until it answers. Nothing else tells when it is up.
func (b *Broker) await(ctx context.Context) error {
	for {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", b.Addr)
		if err == nil {
			err = errors.Join(conn.SetDeadline(time.Now().Add(time.Second)), b.kind.ready(conn))
			_ = conn.Close()
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w\n%s", b.kind.name, err, b.complaint())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Close ends the server and removes its data.
func (b *Broker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.guard != nil {
		err = errors.Join(b.stdin.Close(), b.guard.Wait())
		b.guard = nil
	}
	return errors.Join(err, os.RemoveAll(b.dir), b.lock.Close())
}

func (b *Broker) complaint() string {
	log, _ := os.ReadFile(filepath.Join(b.dir, "log")) // there is none before the first start
	return strings.TrimSpace(string(log[max(0, len(log)-4000):]))
}

// write makes a file in the server's directory.
func (b *Broker) write(name, text string) error {
	return os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644)
}

func (b *Broker) port() int {
	var port int
	_, _ = fmt.Sscanf(b.Addr, "127.0.0.1:%d", &port) // it was made like this
	return port
}
