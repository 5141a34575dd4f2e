//go:build linux || darwin

// Package testenv runs private PostgreSQL servers for tests, and for programs that show something on one.
//
// A test asks for a server and a database of its own:
//
//	url := testenv.Postgres(t, 15).Database(t)
//
// A server ends with the process that started it, even when that is killed.
package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server on 127.0.0.1 that trusts its superuser "postgres". Its methods are safe for concurrent use.
type Server struct {
	Major int

	mu      sync.Mutex // for starting and stopping
	cluster *cluster
}

// Mode says how Stop ends a server.
type Mode string

const (
	// Fast aborts transactions and shuts down cleanly.
	Fast Mode = "fast"
	// Immediate is a crash: the next start recovers from the write-ahead log.
	Immediate Mode = "immediate"
)

var shared struct {
	sync.Mutex
	servers map[int]func() (*Server, error)
}

// Postgres returns this process's server of a major. The first call starts it, and it runs until the process ends. When
// the machine has no such server the test is skipped, but under CI=true it fails: there a skip would go unseen.
func Postgres(tb testing.TB, major int) *Server {
	tb.Helper()
	shared.Lock()
	if shared.servers == nil {
		shared.servers = map[int]func() (*Server, error){}
	}
	start, ok := shared.servers[major]
	if !ok {
		start = sync.OnceValues(func() (*Server, error) { return Start(context.Background(), major) })
		shared.servers[major] = start
	}
	shared.Unlock()
	return require(tb, start)
}

// Private starts a server for one test only, for tests that change settings, crash it or restart it. Settings are
// name=value pairs as in postgresql.conf; they win over the defaults of this package. The data is in main memory where
// there is room, but with "fsync=on" it is on disk: measure with that.
func Private(tb testing.TB, major int, settings ...string) *Server {
	tb.Helper()
	s := require(tb, func() (*Server, error) { return Start(tb.Context(), major, settings...) })
	return closing(tb, s)
}

// InLanguage starts a server for one test only, whose messages are in a language such as "de_DE".
func InLanguage(tb testing.TB, major int, language string) *Server {
	tb.Helper()
	s := require(tb, func() (*Server, error) {
		if _, err := installed("locales", localesVariable); err != nil {
			return nil, err
		}
		s, err := Start(tb.Context(), major, "lc_messages="+language+".UTF-8")
		if err == nil {
			err = s.translates(tb.Context())
		}
		return s, err
	})
	return closing(tb, s)
}

// closing stops the server when the test ends.
func closing(tb testing.TB, s *Server) *Server {
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("stop PostgreSQL %d: %v", s.Major, err)
		}
	})
	return s
}

// translates looks whether messages are not in English: not every PostgreSQL is built with translations.
func (s *Server) translates(ctx context.Context) error {
	err := s.admin(ctx, "SELECT 1/0")
	if err == nil || !strings.Contains(err.Error(), "22012") {
		return errors.Join(err, s.Close())
	}
	if strings.Contains(err.Error(), "division by zero") {
		return errors.Join(fmt.Errorf("PostgreSQL %d with translated messages: %w", s.Major, ErrNotFound), s.Close())
	}
	return nil
}

func require[S any](tb testing.TB, start func() (*S, error)) *S {
	tb.Helper()
	s, err := start()
	switch {
	case err == nil:
		return s
	case errors.Is(err, ErrNotFound) && os.Getenv("CI") != "true":
		tb.Skipf("SKIPPED, NOT TESTED: %v", err)
	default:
		tb.Fatalf("testenv: %v", err)
	}
	return nil
}

// Start starts a server that is not bound to a test. The caller closes it; if it can't, the server still ends with the
// process. Settings are as in Private.
func Start(ctx context.Context, major int, settings ...string) (*Server, error) {
	c, err := newCluster(ctx, major, settings)
	if err != nil {
		return nil, err
	}
	if err := c.startFirst(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return &Server{Major: major, cluster: c}, nil
}

// Close stops the server and removes its data.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.close()
}

// Stop ends the server and keeps its data for Restart.
func (s *Server) Stop(mode Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.stop(string(mode))
}

// Restart starts a stopped server again, on the same data and port.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.start(ctx)
}

// URL returns the connection string of one of the server's databases; "postgres" always exists.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.cluster.port, database)
}

// Log returns what the server has logged so far.
func (s *Server) Log() string { return s.cluster.readLog() }

var databases atomic.Int64

// Database makes an empty database for this test and returns its URL. It is dropped when the test ends, with whatever is
// still connected to it.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := databaseName(tb.Name(), databases.Add(1))
	create := "CREATE DATABASE " + name
	if s.Major >= 15 {
		create += " STRATEGY file_copy" // the quicker one without fsync, and the only one before
	}
	if err := s.admin(tb.Context(), create); err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own is cancelled by now
		defer cancel()
		if err := s.admin(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("testenv: %v", err)
		}
	})
	return s.URL(name)
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// databaseName makes names that are unique in this process, need no quotes, and tell whose database it is.
func databaseName(test string, n int64) string {
	name := fmt.Sprintf("t%d_%s", n, notInName.ReplaceAllString(strings.ToLower(test), "_"))
	return name[:min(len(name), 63)]
}

func (s *Server) admin(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	if err != nil {
		err = fmt.Errorf("%s: %w", sql, err)
	}
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}
