//go:build linux || darwin

package testenv

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

var majors = []int{15, 17, 18}

func forEachMajor(t *testing.T, test func(t *testing.T, major int)) {
	for _, major := range majors {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			t.Parallel()
			test(t, major)
		})
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec1(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query[T any](t *testing.T, conn *pgx.Conn, sql string) T {
	t.Helper()
	var got T
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

func TestMajor(t *testing.T) {
	forEachMajor(t, func(t *testing.T, major int) {
		conn := connect(t, Postgres(t, major).Database(t))
		if got := query[int](t, conn, "SELECT current_setting('server_version_num')::int / 10000"); got != major {
			t.Errorf("asked for %d, got %d", major, got)
		}
		if got := query[string](t, conn, "SELECT current_setting('fsync')"); got != "off" {
			t.Errorf("fsync = %s", got)
		}
	})
}

func TestSharedInOneProcess(t *testing.T) {
	first, second := Postgres(t, 15), Postgres(t, 15)
	if first != second {
		t.Error("two calls started two servers")
	}
}

func TestDatabasesAreApart(t *testing.T) {
	s := Postgres(t, 15)
	a, b := connect(t, s.Database(t)), connect(t, s.Database(t))
	exec1(t, a, "CREATE TABLE only_in_a ()")
	if got := query[bool](t, b, "SELECT to_regclass('only_in_a') IS NULL"); !got {
		t.Error("a table made in one database is in the other")
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	s := Postgres(t, 15)
	var url string
	t.Run("the test that uses it", func(t *testing.T) {
		url = s.Database(t)
		if _, err := pgx.Connect(t.Context(), url); err != nil { // left open: dropping must not wait for it
			t.Fatal(err)
		}
	})
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Errorf("%s is still there", url)
	}
}

func TestCrashAndRestart(t *testing.T) {
	forEachMajor(t, func(t *testing.T, major int) {
		s := Private(t, major, "fsync=on", "synchronous_commit=on", "application_name=it's")
		url := s.Database(t)
		conn := connect(t, url)
		exec1(t, conn, "CREATE TABLE kept AS SELECT 42 AS n")
		exec1(t, conn, "CREATE UNLOGGED TABLE emptied AS SELECT 42 AS n")
		if err := s.Stop(Immediate); err != nil {
			t.Fatal(err)
		}
		if err := conn.Ping(t.Context()); err == nil {
			t.Error("the server still answers after Stop")
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		conn = connect(t, url)
		if got := query[int](t, conn, "SELECT count(*)::int FROM kept"); got != 1 {
			t.Errorf("%d rows in the table, want 1", got)
		}
		if got := query[int](t, conn, "SELECT count(*)::int FROM emptied"); got != 0 {
			t.Errorf("%d rows in the unlogged table: this was no crash", got)
		}
		if got := query[string](t, conn, "SELECT current_setting('fsync')"); got != "on" {
			t.Errorf("fsync = %s after the restart", got)
		}
		if !strings.Contains(s.Log(), "automatic recovery") {
			t.Errorf("no recovery in the log:\n%s", s.Log())
		}
	})
}

func TestCloseAfterStop(t *testing.T) {
	s, err := Start(t.Context(), 15)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(Fast); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.cluster.dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", s.cluster.dir, err)
	}
}

func TestBadSettingIsReported(t *testing.T) {
	_, err := Start(t.Context(), 15, "no_such_setting=1")
	if err == nil || !strings.Contains(err.Error(), `unrecognized configuration parameter "no_such_setting"`) {
		t.Errorf("got %v", err)
	}
}

func TestMissingServer(t *testing.T) {
	_, err := Find(9)
	if err == nil || err.Error() != "PostgreSQL 9: no server binaries: run `make servers`, or set INBOXGEN_PG9_BIN to their directory" {
		t.Errorf("got %v", err)
	}
	t.Setenv("INBOXGEN_PG9_BIN", t.TempDir())
	if _, err := Find(9); err == nil || !strings.Contains(err.Error(), "INBOXGEN_PG9_BIN") {
		t.Errorf("got %v", err)
	}
}

func TestWrongMajor(t *testing.T) {
	Postgres(t, 15) // or it is skipped, and fails under CI=true
	bin, err := Find(15)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("INBOXGEN_PG14_BIN", bin)
	if _, err := Start(t.Context(), 14); err == nil || !strings.Contains(err.Error(), "not PostgreSQL 14") {
		t.Errorf("got %v", err)
	}
}

func TestSweep(t *testing.T) {
	s := Private(t, 15)
	parent := filepath.Dir(s.cluster.dir)
	abandoned, lock, err := newClusterDir(parent, "pg15")
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	halfRemoved := filepath.Join(parent, "pg15-half-removed")
	if err := os.Mkdir(halfRemoved, 0o700); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	for _, dir := range []string{abandoned, halfRemoved} {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	connect(t, s.URL("postgres"))
}

// TestServerDiesWithProcess ends a process that has started a server in ways that leave it no time to clean up: SIGQUIT is
// what `go test` sends to a hanging test, and a test's own timeout is a panic.
func TestServerDiesWithProcess(t *testing.T) {
	for name, end := range map[string]func(p *os.Process, stdin io.Closer) error{
		"SIGKILL": func(p *os.Process, _ io.Closer) error { return p.Kill() },
		"SIGQUIT": func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGQUIT) },
		"panic":   func(_ *os.Process, stdin io.Closer) error { return stdin.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$", "-test.v")
			child.Env = append(os.Environ(), "TESTENV_HELPER=1")
			url, dir, stdin := startHelper(t, child)
			connect(t, url) // it does run
			if err := end(child.Process, stdin); err != nil {
				t.Fatal(err)
			}
			if err := child.Wait(); err == nil {
				t.Fatal("the helper ended well")
			}
			if !gone(t, url, dir, 30*time.Second) {
				t.Errorf("the server at %s or %s is still there", url, dir)
			}
		})
	}
}

func startHelper(t *testing.T, child *exec.Cmd) (url, dir string, stdin io.Closer) {
	t.Helper()
	Postgres(t, 15) // skip here when there is no server
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if n, _ := fmt.Sscanf(lines.Text(), "server %s %s", &url, &dir); n == 2 {
			return url, dir, stdin
		}
	}
	t.Fatal("the helper started no server")
	return "", "", nil
}

func gone(t *testing.T, url, dir string, within time.Duration) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			_ = conn.Close(t.Context())
			continue
		}
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return true
		}
	}
	return false
}

// TestHelperProcess is the process that TestServerDiesWithProcess ends.
func TestHelperProcess(t *testing.T) {
	if os.Getenv("TESTENV_HELPER") == "" {
		t.Skip("only runs in a child process")
	}
	s := Postgres(t, 15)
	fmt.Println("\nserver", s.URL("postgres"), s.cluster.dir)
	_, _ = io.Copy(io.Discard, os.Stdin)
	go panic("as asked")
	select {}
}
