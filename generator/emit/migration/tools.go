package migration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tool writes a step in the format of one migration tool: the files by what follows VERSION_name.
type tool interface {
	files(s step) map[string][]byte
}

var tools = map[string]tool{
	"goose":          goose{},
	"golang-migrate": golangMigrate{},
}

// goose splits a file at lines that end in a semicolon; none of our statements has one inside.
type goose struct{}

func (goose) files(s step) map[string][]byte {
	return map[string][]byte{".sql": []byte(
		"-- +goose Up\n" + body(s.note, s.up) + "\n-- +goose Down\n" + body("", s.down),
	)}
}

// golangMigrate has a file for each direction, each one implicit transaction.
type golangMigrate struct{}

func (golangMigrate) files(s step) map[string][]byte {
	return map[string][]byte{
		".up.sql":   []byte(body(s.note, s.up)),
		".down.sql": []byte(body("", s.down)),
	}
}

func body(note string, statements []string) string {
	var b strings.Builder
	if note != "" {
		b.WriteString("-- " + strings.ReplaceAll(note, "\n", "\n-- ") + "\n")
	}
	for _, s := range statements {
		b.WriteString(s + "\n")
	}
	return b.String()
}

var versioned = regexp.MustCompile(`^(\d+)_.*\.(sql|go)$`)

const (
	timestamp       = "20060102150405"
	timestampDigits = len(timestamp)
)

// version returns the version of a new file. Files of this very step that are there already, because a run was killed
// before it wrote the manifest, are taken over with theirs.
func (w *writer) version(name string, files map[string][]byte) (string, error) {
	entries, err := fs.ReadDir(w.fsys, w.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s can't be read as a directory: %w", w.dir, err)
	}
	var last uint64
	var numbered, timestamped string
	width := 0
	for _, e := range entries {
		match := versioned.FindStringSubmatch(e.Name())
		if match == nil {
			continue
		}
		if text, ok := files[strings.TrimPrefix(e.Name(), match[1]+"_"+name)]; ok && w.sameFile(e.Name(), text) {
			return match[1], nil
		}
		n, err := strconv.ParseUint(match[1], 10, 63)
		if err != nil {
			return "", fmt.Errorf("the version of %s is too large; rename it", path.Join(w.dir, e.Name()))
		}
		if len(match[1]) == timestampDigits {
			timestamped = e.Name()
		} else {
			numbered, width = e.Name(), max(width, len(match[1]))
		}
		last = max(last, n)
	}
	switch {
	case numbered != "" && timestamped != "":
		return "", fmt.Errorf("%s has numbered migrations (%s) and timestamped ones (%s), so the next version can't be told; keep to one kind, or name another directory", w.dir, numbered, timestamped)
	case numbered != "":
		return fmt.Sprintf("%0*d", width, last+1), nil
	}
	now := w.now.UTC().Format(timestamp)
	if timestamped == "" || now > strconv.FormatUint(last, 10) {
		return now, nil
	}
	latest, err := time.Parse(timestamp, strconv.FormatUint(last, 10))
	if err != nil {
		return "", fmt.Errorf("the version of %s is no time of the form YYYYMMDDHHMMSS", timestamped)
	}
	return latest.Add(time.Second).Format(timestamp), nil
}

func (w *writer) sameFile(name string, text []byte) bool {
	got, err := fs.ReadFile(w.fsys, path.Join(w.dir, name))
	return err == nil && bytes.Equal(got, text)
}
