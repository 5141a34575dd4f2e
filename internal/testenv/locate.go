//go:build linux || darwin

package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNotFound is wrapped by the errors for a server that is not on this machine.
var ErrNotFound = errors.New("no server binaries")

// supported lists the majors inboxgen generates for, newest first.
var supported = []int{18, 17, 16, 15, 14}

// Newest returns the newest supported major whose server binaries are on this machine. It is for programs like the demo,
// which need a server but do not care which.
func Newest() (int, error) {
	for _, major := range supported {
		if _, err := Find(major); err == nil {
			return major, nil
		}
	}
	return 0, fmt.Errorf("PostgreSQL: %w: run `make servers`", ErrNotFound)
}

// Find returns the directory with initdb, pg_ctl and postgres of a major. It looks at $INBOXGEN_PG<major>_BIN, at what
// scripts/servers.sh fetched, and where distributions put servers, in this order.
func Find(major int) (string, error) {
	variable := fmt.Sprintf("INBOXGEN_PG%d_BIN", major)
	if dir := os.Getenv(variable); dir != "" {
		if !isBinDir(dir) {
			return "", fmt.Errorf("%s=%s: initdb, pg_ctl or postgres is missing there", variable, dir)
		}
		return dir, nil
	}
	for _, dir := range candidates(major) {
		if isBinDir(dir) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("PostgreSQL %d: %w: run `make servers`, or set %s to their directory", major, ErrNotFound, variable)
}

func candidates(major int) []string {
	dirs := []string{
		fmt.Sprintf("/usr/lib/postgresql/%d/bin", major),
		fmt.Sprintf("/usr/pgsql-%d/bin", major),
		fmt.Sprintf("/opt/homebrew/opt/postgresql@%d/bin", major),
		fmt.Sprintf("/usr/local/opt/postgresql@%d/bin", major),
	}
	if cache, err := cacheDir(); err == nil {
		dirs = append([]string{filepath.Join(cache, fmt.Sprintf("pg%d", major), "bin")}, dirs...)
	}
	return dirs
}

func isBinDir(dir string) bool {
	for _, name := range []string{"initdb", "pg_ctl", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// cacheDir is where servers.sh puts binaries, and where templates and running clusters live. For root it can't be below
// the home directory, which the unprivileged user that runs the servers is not allowed to enter.
func cacheDir() (string, error) {
	if dir := os.Getenv("INBOXGEN_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Getuid() == 0 {
		return "/var/cache/inboxgen", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "inboxgen"), nil
}

// version returns the full version of the server in dir, such as "18.4", after checking that it is of the major asked for.
func version(dir string, major int) (string, error) {
	cmd := exec.Command(filepath.Join(dir, "postgres"), "--version")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	fields := strings.Fields(string(out)) // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
	if len(fields) < 3 || leadingInt(fields[2]) != fmt.Sprint(major) {
		return "", fmt.Errorf("%s holds %q, not PostgreSQL %d", dir, strings.TrimSpace(string(out)), major)
	}
	return fields[2], nil
}

// leadingInt returns the digits that s starts with: a version may be "18.4", "19beta1" or "19devel".
func leadingInt(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

// localesVariable names the directory of languages for messages.
const localesVariable = "INBOXGEN_LOCALES"

// notFound is the error for a server that is not on this machine.
func notFound(name, variable string) error {
	return fmt.Errorf("%s: %w: run `make servers`, or set %s", name, ErrNotFound, variable)
}

// installed returns the directory that a variable names, or where scripts/servers.sh puts the server.
func installed(name, variable string) (string, error) {
	dir := os.Getenv(variable)
	if dir == "" {
		cache, err := cacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, name)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", notFound(name, variable)
	}
	return dir, nil
}
