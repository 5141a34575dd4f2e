//go:build linux || darwin

package testenv

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// serverUser runs the servers when we are root, because PostgreSQL refuses to run as root. Every system has this one.
const serverUser = "nobody"

// templateFor returns a freshly initialised data directory of the server in bin. initdb takes a second and a copy almost
// nothing, so it is made once per version and kept in the cache.
func templateFor(ctx context.Context, cache, bin string, major int) (string, error) {
	full, err := version(bin, major)
	if err != nil {
		return "", err
	}
	// Two builds of one version may differ in what they write, in their ICU for example.
	hash := fnv.New32a()
	hash.Write([]byte(bin)) // never fails
	parent := filepath.Join(cache, "templates")
	template := filepath.Join(parent, fmt.Sprintf("%s-%08x", full, hash.Sum32()))
	if _, err := os.Stat(template); err == nil {
		return template, nil
	}
	if err := makeServerDir(parent); err != nil {
		return "", err
	}
	return template, initTemplate(ctx, bin, parent, template)
}

// initTemplate works in a directory of its own and renames, so that processes that do this at the same time don't see
// each other's half-made template; the first one wins.
func initTemplate(ctx context.Context, bin, parent, template string) error {
	scratch, err := tempServerDir(parent, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) // a leftover is harmless
	data := filepath.Join(scratch, "data")
	if err := runAsServer(ctx, scratch, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return err
	}
	if err := os.Rename(data, template); err != nil {
		if _, statErr := os.Stat(template); statErr != nil {
			return err
		}
	}
	return nil
}

// newClusterDir makes a directory for one server and locks it. A lock on the parent keeps others from sweeping it before
// it has a lock of its own.
func newClusterDir(parent, name string) (string, *os.File, error) {
	if err := makeServerDir(parent); err != nil {
		return "", nil, err
	}
	parentLock, err := openLocked(parent, syscall.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer parentLock.Close() // read only
	sweep(parent)
	dir, err := tempServerDir(parent, name+"-")
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "lock")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return "", nil, err
	}
	lock, err := openLocked(file, syscall.LOCK_EX)
	return dir, lock, err
}

// sweep removes clusters that nobody holds the lock of: what is left when the whole machine or container was killed.
// It is housekeeping, so errors don't matter.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, "*-*"))
	for _, dir := range dirs {
		lock, err := openLocked(filepath.Join(dir, "lock"), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // in use
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close() // on nil, an error
	}
}

// openLocked opens a file or directory and takes the lock that lasts until the last copy of this handle, inherited ones
// included, is closed.
func openLocked(name string, how int) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return f, nil
}

// memoryDir returns a directory in main memory for clusters, or "" when there is none with room. A new database is some
// 300 files; creating one for each test takes 20 ms there, and up to 20 times as long on a disk that others use too.
// Whoever sets INBOXGEN_CACHE wants everything there.
func memoryDir() string {
	const shm = "/dev/shm"
	var stat syscall.Statfs_t
	if os.Getenv("INBOXGEN_CACHE") != "" || syscall.Statfs(shm, &stat) != nil || stat.Bavail*uint64(stat.Bsize) < 2<<30 {
		return ""
	}
	dir := filepath.Join(shm, fmt.Sprintf("inboxgen-%d", os.Getuid()), "clusters")
	if err := makeServerDir(dir); err != nil {
		return ""
	}
	return dir
}

// makeServerDir makes a directory of the cache that the server's user owns: the guard runs as that user and removes
// clusters from it.
func makeServerDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cred := serverCredential()
	if cred == nil {
		return nil
	}
	readable := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)) // whatever the umask
	return errors.Join(readable, os.Chown(dir, int(cred.Uid), int(cred.Gid)))
}

func tempServerDir(parent, prefix string) (string, error) {
	dir, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", err
	}
	if cred := serverCredential(); cred != nil {
		return dir, os.Chown(dir, int(cred.Uid), int(cred.Gid))
	}
	return dir, nil
}

func runAsServer(ctx context.Context, dir, name string, args ...string) error {
	cmd := asServer(exec.CommandContext(ctx, name, args...), dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// asServer prepares a command to run as the server's user in dir. The session of its own keeps it out of reach of Ctrl-C,
// which is for our process; the guard notices when that ends.
func asServer(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Dir = dir // PostgreSQL refuses a working directory that its user can't enter
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "PG") }), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: serverCredential()}
	return cmd
}

// serverCredential is nil when we are not root: the servers then run as ourselves.
func serverCredential() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	cred := &syscall.Credential{Uid: 65534, Gid: 65534}
	u, err := user.Lookup(serverUser)
	if err != nil {
		return cred
	}
	if uid, err := strconv.ParseUint(u.Uid, 10, 32); err == nil {
		cred.Uid = uint32(uid)
	}
	if gid, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
		cred.Gid = uint32(gid)
	}
	return cred
}
