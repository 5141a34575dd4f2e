// Package migration writes the migrations that a model needs and that are not there yet.
//
// A file once written is never written again: the manifest records each step with its file and the file's hash.
package migration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/inboxgen/inboxgen/generator/diag"
	"github.com/inboxgen/inboxgen/generator/emit"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// step is one change to the database.
type step struct {
	id   string // as the manifest records it
	name string // part of the file's name
	up   []string
	down []string
	note string // what the comment above it says
}

// Files returns the migration files that are due and, last, the manifest: a run that is killed between them writes the
// same files again. now gives a new file its version where the directory uses timestamps.
func Files(fsys fs.FS, m *plan.Model, now time.Time) ([]emit.File, []diag.Diagnostic) {
	if m.Spec.Migrations == nil {
		return nil, nil
	}
	w := &writer{
		fsys: fsys, model: m, now: now,
		tool: tools[m.Spec.Migrations.Tool.Value],
		dir:  path.Join(path.Dir(m.Spec.File), m.Spec.Migrations.Dir.Value),
		lock: LockFile(m.Spec.File),
	}
	w.run()
	return w.out, w.diags.Sorted()
}

// LockFile returns the path of the manifest of a spec.
func LockFile(spec string) string { return strings.TrimSuffix(spec, path.Ext(spec)) + ".lock" }

type writer struct {
	fsys  fs.FS
	model *plan.Model
	now   time.Time
	tool  tool
	dir   string
	lock  string
	out   []emit.File
	diags diag.List
}

func (w *writer) run() {
	entries := w.readLock()
	w.verify(entries)
	inbox := w.model.Spec.Inbox
	if w.tool == nil || w.model.Spec.Migrations.Dir.Broken || inbox.Schema.Broken || inbox.Table.Broken || inbox.MessageID.Broken {
		return // what is due can't be told, as is reported
	}
	for _, s := range steps(w.model.Inbox) {
		entries = append(entries, w.due(s, entries)...)
	}
	if len(entries) > 0 {
		w.out = append(w.out, emit.File{Path: w.lock, Text: formatLock(entries)})
	}
}

// due writes s unless the manifest has it, and returns its new entries.
func (w *writer) due(s step, entries []entry) []entry {
	if slices.ContainsFunc(entries, func(e entry) bool { return e.step == s.id }) {
		return nil
	}
	if old, ok := sameTable(s, entries); ok {
		w.diags.Errorf(w.model.Spec.Inbox.MessageID.Pos, "inbox-changed",
			"%s was made by %s with another type of message id, and a ledger can't change its type in place; give the new inbox another name under inbox.table, or set message_id back",
			w.model.Inbox.Name(), old.file)
		return nil
	}
	files := w.tool.files(s)
	version, err := w.version(s.name, files)
	if err != nil {
		w.diags.Errorf(w.model.Spec.Migrations.Dir.Pos, "migration-version", "%s", err)
		return nil
	}
	var added []entry
	for _, suffix := range slices.Sorted(maps.Keys(files)) {
		name := path.Join(w.dir, version+"_"+s.name+suffix)
		w.out = append(w.out, emit.File{Path: name, Text: files[suffix]})
		added = append(added, entry{step: s.id, file: w.relative(name), sha256: hash(files[suffix])})
	}
	return added
}

// verify checks that what was written before is still as it was.
func (w *writer) verify(entries []entry) {
	for i, e := range entries {
		pos := diag.Position{File: w.lock, Line: e.line, Column: 1}
		if j := slices.IndexFunc(entries[:i], func(o entry) bool { return o.step == e.step && o.version() != e.version() }); j >= 0 {
			w.diags.Errorf(pos, "lock", "%s and %s are one step, written on two branches; delete the migration that was not applied yet, and its lines here", entries[j].file, e.file)
			continue
		}
		text, err := fs.ReadFile(w.fsys, path.Join(path.Dir(w.lock), e.file))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			w.diags.Errorf(pos, "migration-missing", "%s is gone; restore it from version control: databases it was applied to need it. If it was never applied, delete its line here and generate again", e.file)
		case err != nil:
			w.diags.Errorf(pos, "migration-missing", "%s: %s", e.file, err)
		case hash(text) != e.sha256:
			w.diags.Errorf(pos, "migration-changed", "%s was changed after it was written; restore it from version control and put the change into a migration of your own", e.file)
		}
	}
}

func (w *writer) readLock() []entry {
	text, err := fs.ReadFile(w.fsys, w.lock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.diags.Errorf(diag.Position{File: w.lock}, "lock", "%s", err)
		return nil
	}
	entries, line, err := parseLock(text)
	if err != nil {
		w.diags.Errorf(diag.Position{File: w.lock, Line: line, Column: 1}, "lock", "%s", err)
	}
	return entries
}

// relative returns a path as the manifest records it: from the manifest's directory.
func (w *writer) relative(name string) string {
	return emit.Relative(path.Dir(w.lock), name)
}

func hash(text []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return hex.EncodeToString(sum[:])
}

// steps lists what the inbox needs, in order.
func steps(inbox pgsql.Inbox) []step {
	index := indexName(inbox.Table)
	return []step{{
		id:   "create-inbox:" + url.PathEscape(inbox.Schema) + "." + url.PathEscape(inbox.Table) + ":" + inbox.MessageIDType,
		name: "create_" + slug(inbox.Table),
		note: "One row per message that a consumer has applied. The primary key decides what is a duplicate;\n" +
			"the index serves the deletion of old rows.",
		up: []string{
			"CREATE TABLE " + inbox.Name() + " (\n" +
				"  consumer_name text COLLATE \"C\" NOT NULL,\n" +
				"  message_id " + columnType(inbox.MessageIDType) + " NOT NULL,\n" +
				"  fingerprint bigint,\n" +
				"  processed_at timestamptz NOT NULL DEFAULT now(),\n" +
				"  PRIMARY KEY (consumer_name, message_id)\n" +
				");",
			"CREATE INDEX " + pgsql.QuoteIdent(index) + " ON " + inbox.Name() + " (consumer_name, processed_at);",
		},
		down: []string{"DROP TABLE " + inbox.Name() + ";"},
	}}
}

// columnType gives text the C collation: ids are equal when their bytes are, and compare fastest so.
func columnType(messageID string) string {
	if messageID == "text" {
		return `text COLLATE "C"`
	}
	return messageID
}

// maxIdentifier is PostgreSQL's limit; it cuts a longer name with no more than a notice.
const maxIdentifier = 63

// indexName keeps the name within the limit, and names that differ late apart.
func indexName(table string) string {
	const suffix = "_processed_at_idx"
	if len(table)+len(suffix) <= maxIdentifier {
		return table + suffix
	}
	sum := hash([]byte(table))[:8]
	cut := strings.ToValidUTF8(table[:maxIdentifier-len(suffix)-len(sum)-1], "")
	return cut + "_" + sum + suffix
}

// slug makes a table's name fit for a file's name.
func slug(table string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '_'
		}
	}, table), "_")
}

// sameTable finds an entry that made the same table in another way.
func sameTable(s step, entries []entry) (entry, bool) {
	prefix := s.id[:strings.LastIndexByte(s.id, ':')+1]
	for _, e := range entries {
		if strings.HasPrefix(e.step, prefix) {
			return e, true
		}
	}
	return entry{}, false
}

// entry is one line of the manifest.
type entry struct {
	step, file, sha256 string
	line               int
}

func (e entry) version() string {
	version, _, _ := strings.Cut(path.Base(e.file), "_")
	return version
}

// escapePath keeps a path in one field.
func escapePath(file string) string {
	return strings.ReplaceAll(url.PathEscape(file), "%2F", "/")
}

const lockHeader = "# The migrations that inboxgen wrote: step, file, sha256. Commit this file; change nothing in it by hand.\n"

func formatLock(entries []entry) []byte {
	var b strings.Builder
	b.WriteString(lockHeader)
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s %s\n", e.step, escapePath(e.file), e.sha256)
	}
	return []byte(b.String())
}

func parseLock(text []byte) (entries []entry, line int, err error) {
	for raw := range strings.Lines(string(text)) {
		line++
		raw = strings.TrimSpace(strings.TrimPrefix(raw, "\ufeff"))
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		fields := strings.Fields(raw)
		if len(fields) != 3 {
			return entries, line, errors.New("not a line of the form STEP FILE SHA256; restore this file from version control, or resolve the merge in it")
		}
		file, err := url.PathUnescape(fields[1])
		if err != nil {
			return entries, line, fmt.Errorf("the file's name can't be read: %w", err)
		}
		entries = append(entries, entry{fields[0], file, fields[2], line})
	}
	return entries, 0, nil
}
