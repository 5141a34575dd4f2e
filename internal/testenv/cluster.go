//go:build linux || darwin

package testenv

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed guard.sh
var guardScript string

// baseSettings make a server that is fast and may lose everything when the machine crashes, which is fine for a test.
var baseSettings = []string{
	"listen_addresses=127.0.0.1",
	"unix_socket_directories=",
	"dynamic_shared_memory_type=mmap", // in the data directory, so that nothing of it can be left behind
	"max_connections=200",
	"fsync=off",
	"synchronous_commit=off",
	"full_page_writes=off",
	"jit=off",
	"timezone=UTC",
	"log_timezone=UTC",
}

// cluster is a data directory and, while guard is not nil, the server on it.
type cluster struct {
	bin  string
	dir  string // holds data/, log, guard.log and lock
	port int

	lock  *os.File // locked while this process, the guard or the server lives; see sweep
	guard *exec.Cmd
	stdin io.WriteCloser
}

// newCluster copies the template of a major. It starts nothing.
func newCluster(ctx context.Context, major int, settings []string) (*cluster, error) {
	bin, err := Find(major)
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	template, err := templateFor(ctx, cache, bin, major)
	if err != nil {
		return nil, err
	}
	parent := filepath.Join(cache, "clusters")
	if memory := memoryDir(); memory != "" && !slices.Contains(settings, "fsync=on") {
		parent = memory
		settings = append([]string{"max_wal_size=256MB"}, settings...) // the default is 1 GB
	}
	c := &cluster{bin: bin}
	if c.dir, c.lock, err = newClusterDir(parent, fmt.Sprint("pg", major)); err != nil {
		return nil, err
	}
	if err := c.fill(ctx, template, settings); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) fill(ctx context.Context, template string, settings []string) error {
	if err := runAsServer(ctx, c.dir, "cp", "-R", template, c.data()); err != nil {
		return err
	}
	if err := c.configure(append(baseSettings[:len(baseSettings):len(baseSettings)], settings...)...); err != nil {
		return err
	}
	return c.pickPort()
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// configure appends name=value pairs to postgresql.conf, where the last one counts. They are not passed as flags so that a
// restart keeps them.
func (c *cluster) configure(settings ...string) error {
	var text strings.Builder
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("setting %q is not name=value", s)
		}
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	conf, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = conf.WriteString(text.String())
	return errors.Join(err, conf.Close())
}

// pickPort settles on a port, which nobody takes while the server is down between a stop and a start.
func (c *cluster) pickPort() error {
	port, err := freePorts(1)
	if err != nil {
		return err
	}
	c.port = port
	return c.configure(fmt.Sprint("port=", port))
}

// freePorts returns the first of n free ports in a row, below the range that systems hand out to outgoing connections.
func freePorts(n int) (int, error) {
	for range 100 {
		first := 20000 + rand.IntN(12000)
		free := true
		for port := first; port < first+n && free; port++ {
			l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
			if free = err == nil; free {
				_ = l.Close() // it was only to see
			}
		}
		if free {
			return first, nil
		}
	}
	return 0, errors.New("no free ports between 20000 and 32000 on 127.0.0.1")
}

// startFirst starts a new cluster, on another port if somebody was faster to take the one we had found free.
func (c *cluster) startFirst(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := c.start(ctx)
		if err == nil || attempt == 5 || !strings.Contains(c.readLog(), "Address already in use") {
			return err
		}
		if err := c.pickPort(); err != nil {
			return err
		}
	}
}

// start brings the server up under a new guard and returns when it accepts connections.
func (c *cluster) start(ctx context.Context) error {
	if c.guard != nil {
		return errors.New("the server is already running")
	}
	guard := asServer(exec.Command("/bin/sh", "-c", guardScript, "guard", filepath.Join(c.bin, "pg_ctl"), c.dir), c.dir)
	guard.ExtraFiles = []*os.File{c.lock}
	if locales, err := installed("locales", localesVariable); err == nil {
		guard.Env = append(guard.Env, "LOCPATH="+locales)
	}
	// A file: with a pipe inherited from this process, `go test` would wait for the server to let go of it.
	stderr, err := os.Create(filepath.Join(c.dir, "guard.log"))
	if err != nil {
		return err
	}
	defer stderr.Close() // nothing was written through this handle
	guard.Stderr = stderr
	stdin, err := guard.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := guard.StdoutPipe()
	if err != nil {
		return err
	}
	if err := guard.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = stdin.Close() })
	defer stop()
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		return errors.Join(fmt.Errorf("PostgreSQL did not start: %s", c.complaint()), guard.Wait())
	}
	c.guard, c.stdin = guard, stdin
	return ctx.Err()
}

// stop ends the server in a pg_ctl mode and keeps its data.
func (c *cluster) stop(mode string) error {
	if c.guard == nil {
		return errors.New("the server is not running")
	}
	if _, err := fmt.Fprintln(c.stdin, mode); err != nil {
		return fmt.Errorf("the server's guard is gone: %w", err)
	}
	err := c.guard.Wait()
	c.guard = nil
	if err != nil {
		return fmt.Errorf("stop PostgreSQL: %w: %s", err, c.complaint())
	}
	return nil
}

// close stops the server, if it runs, and removes the cluster.
func (c *cluster) close() error {
	var err error
	if c.guard != nil {
		err = errors.Join(c.stdin.Close(), c.guard.Wait())
		c.guard = nil
	}
	return errors.Join(err, os.RemoveAll(c.dir), c.lock.Close())
}

func (c *cluster) readLog() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "log")) // there is none before the first start
	return string(text)
}

// complaint returns what pg_ctl and the server said last, for an error message.
func (c *cluster) complaint() string {
	guard, _ := os.ReadFile(filepath.Join(c.dir, "guard.log"))
	log := c.readLog()
	return strings.TrimSpace(string(guard) + "\n" + log[max(0, len(log)-2000):])
}
