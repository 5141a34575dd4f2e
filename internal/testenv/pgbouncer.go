//go:build linux

package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PgBouncer starts a connection pooler in front of a server, for one test, and returns its host:port. Settings are name=value
// pairs as in pgbouncer.ini. It lets in whoever comes, as the server's superuser.
func PgBouncer(tb testing.TB, server *Server, settings ...string) string {
	tb.Helper()
	return private(tb, pgbouncer(server, settings)).Addr
}

func pgbouncer(server *Server, settings []string) kind {
	return kind{
		name: "pgbouncer", find: findPgBouncer,
		command: func(_ *Broker, home string) *exec.Cmd {
			return exec.Command(filepath.Join(home, "pgbouncer"), "pgbouncer.ini")
		},
		prepare: func(_ context.Context, b *Broker, _ string) error {
			return b.write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
%s
`, server.cluster.port, b.port(), strings.Join(settings, "\n")))
		},
		ready: func(net.Conn) error { return nil },
	}
}

// findPgBouncer returns the directory of the command: $INBOXGEN_PGBOUNCER_BIN, what scripts/servers.sh fetched, or where
// distributions put it.
func findPgBouncer() (string, error) {
	const variable = "INBOXGEN_PGBOUNCER_BIN"
	dirs := []string{os.Getenv(variable)}
	if dirs[0] == "" {
		cache, err := cacheDir()
		if err != nil {
			return "", err
		}
		dirs = []string{filepath.Join(cache, "pgbouncer", "bin"), "/usr/sbin"}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "pgbouncer")); err == nil {
			return dir, nil
		}
	}
	return "", notFound("pgbouncer", variable)
}
