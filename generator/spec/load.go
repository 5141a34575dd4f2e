package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// maxSize bounds a spec and each SQL file: 10,000 messages take 2 MiB.
const maxSize = 16 << 20

const bom = "\uFEFF"

// load returns the text of a file with LF line ends and without a BOM. A file that can't be read is reported at from,
// a character that can't be part of it where it stands.
func (d *decoder) load(file string, from diag.Position, allowed func(rune) bool) (string, bool) {
	data, err := readFile(d.fsys, file)
	if err != nil {
		d.Errorf(from, "file", "%s %v", file, err)
		return "", false
	}
	text := normalize(string(data))
	offset, problem := badCharacter(text, allowed)
	if problem != "" {
		d.Errorf(positionIn(file, text, offset), "encoding", "%s", problem)
		return "", false
	}
	return text, true
}

// readFile reads a file of bounded size. Its errors continue a sentence that starts with the file's name.
func readFile(fsys fs.FS, file string) ([]byte, error) {
	if !fs.ValidPath(file) {
		return nil, errors.New("is not a path inside the project")
	}
	f, err := fsys.Open(file)
	if err != nil {
		return nil, readError(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.New("is a directory: name a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, readError(err)
	}
	if len(data) > maxSize {
		return nil, errors.New("is larger than 16 MiB")
	}
	return data, nil
}

func readError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("does not exist")
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return fmt.Errorf("can't be read: %w", err)
}

// normalize removes a leading BOM and makes every line end LF; CR CR LF is what a line end converted twice looks like.
// A CR that ends no line stays: it may be part of a string in SQL.
func normalize(text string) string {
	text = strings.TrimPrefix(text, bom)
	if !strings.Contains(text, "\r\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines[:len(lines)-1] {
		lines[i] = strings.TrimRight(lines[i], "\r")
	}
	return strings.Join(lines, "\n")
}

// badCharacter finds the first character that a file can't hold and says why.
func badCharacter(text string, allowed func(rune) bool) (offset int, problem string) {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i, "the file is not UTF-8: save it as UTF-8"
		}
		if !allowed(r) {
			return i, fmt.Sprintf("the character %U can't be part of this file: remove it", r)
		}
	}
	return 0, ""
}

// allowedInSQL refuses NUL alone, which PostgreSQL can't take in any form.
func allowedInSQL(r rune) bool { return r != 0 }

// allowedInSpec is YAML's set of characters without the noncharacters that stand in for line separators (see parse).
func allowedInSpec(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == nextLine:
		return true
	case unicode.IsControl(r), r == '\uFEFF':
		return false
	default:
		return r&0xFFFE != 0xFFFE
	}
}

// positionIn returns the position of the byte at offset in a file's text.
func positionIn(file, text string, offset int) diag.Position {
	t := Text{Value: text, File: file, Line: 1, Column: 1}
	return t.At(offset)
}
