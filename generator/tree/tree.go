// Package tree writes what a generator run returned into a directory, and compares the two.
package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aymanbagabas/go-udiff"

	"github.com/inboxgen/inboxgen/generator/emit"
)

// Changes lists what Apply did, by path from the root.
type Changes struct {
	Written, Removed []string
}

// Apply makes the tree below root hold files, in their order, and removes the others. A file whose bytes are already
// right is not touched; one that is written is replaced whole, so that a reader, or a run that is killed, never leaves
// half of it. It goes on after a failure and returns all of them.
func Apply(root string, files []emit.File, remove []string) (Changes, error) {
	var done Changes
	var failures []error
	cleaned := map[string]bool{}
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f.Path))
		if current, err := os.ReadFile(name); err == nil && bytes.Equal(current, f.Text) {
			continue
		}
		if err := replace(name, f.Text, cleaned); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", f.Path, err))
			continue
		}
		done.Written = append(done.Written, f.Path)
	}
	for _, path := range remove {
		if err := os.Remove(filepath.Join(root, filepath.FromSlash(path))); err != nil {
			failures = append(failures, err)
			continue
		}
		done.Removed = append(done.Removed, path)
	}
	return done, errors.Join(failures...)
}

// replace writes text to a file beside name and moves it there. A symbolic link stays one; its target is replaced.
func replace(name string, text []byte, cleaned map[string]bool) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if !cleaned[dir] {
		cleaned[dir] = true
		removeLeftovers(dir)
	}
	mode := fs.FileMode(0o666)
	if info, err := os.Stat(name); err == nil {
		if info.IsDir() {
			return errors.New("is a directory; remove it, or choose another output.dir")
		}
		if mode = info.Mode().Perm(); mode&0o200 == 0 {
			return errors.New("is read-only; make it writable, or remove it")
		}
	}
	temporary := filepath.Join(dir, fmt.Sprintf(".inboxgen-%d.tmp", os.Getpid()))
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// removeLeftovers removes what a killed run left. Failing to is harmless.
func removeLeftovers(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, ".inboxgen-*.tmp"))
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// Difference is a file that is not what it should be: changed, missing, or one that should be gone.
type Difference struct {
	Path string
	Diff string // unified, from what is there to what should be
}

// Diff returns how the tree below root differs from what it should hold.
func Diff(root string, files []emit.File, remove []string) ([]Difference, error) {
	var out []Difference
	for _, f := range files {
		current, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.Path)))
		from := f.Path
		if errors.Is(err, fs.ErrNotExist) {
			from = "/dev/null"
		} else if err != nil {
			return nil, err
		}
		if diff := udiff.Unified(from, f.Path, string(current), string(f.Text)); diff != "" {
			out = append(out, Difference{f.Path, diff})
		}
	}
	for _, path := range remove {
		current, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		out = append(out, Difference{path, udiff.Unified(path, "/dev/null", string(current), "")})
	}
	return out, nil
}
