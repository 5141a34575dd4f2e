package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-migrate/migrate/v4"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/golang-migrate/migrate/v4/source/file"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/inboxgen/inboxgen/generator"
	"github.com/inboxgen/inboxgen/generator/tree"
	"github.com/inboxgen/inboxgen/internal/testenv"
)

// clock is when the next migration is written.
var clock = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// project is a spec in a directory of its own.
type project struct {
	dir  string
	tool string
}

// spec writes the spec with this inbox.
func (p project) spec(t *testing.T, inbox string) {
	t.Helper()
	text := fmt.Sprintf(`version: 1
output: {package: shop}
inbox: {retention: 8d%s}
migrations: {tool: %s, dir: migrations}
consumers:
  a:
    messages:
      Noted:
        fields: {event_id: string}
        id: field:event_id
        effects:
          - sql: |
              INSERT INTO noted VALUES (@event_id)
`, inbox, p.tool)
	p.write(t, "inboxgen.yaml", text)
}

func (p project) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// generate returns the errors of a run, a line each.
func (p project) generate(t *testing.T) []string {
	t.Helper()
	result := generator.Generate(os.DirFS(p.dir), "inboxgen.yaml", generator.Options{Dir: p.dir, Now: clock})
	var out []string
	for _, d := range result.Diagnostics {
		out = append(out, fmt.Sprintf("%s: %s", d.Pos, d.Message))
	}
	if len(out) == 0 {
		if _, err := tree.Apply(p.dir, result.Files, result.Remove); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (p project) mustGenerate(t *testing.T) {
	t.Helper()
	if errs := p.generate(t); len(errs) > 0 {
		t.Fatal(strings.Join(errs, "\n"))
	}
}

// files lists the migrations.
func (p project) files(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(p.dir, "migrations", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

// migrator applies a directory to a database, and takes it back.
type migrator struct{ up, down func() error }

var tools = map[string]func(t *testing.T, dir, url string) migrator{
	"goose": func(t *testing.T, dir, url string) migrator {
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		return migrator{
			up:   func() error { _, err := provider.Up(context.WithoutCancel(t.Context())); return err },
			down: func() error { _, err := provider.DownTo(context.WithoutCancel(t.Context()), 0); return err },
		}
	},
	"golang-migrate": func(t *testing.T, dir, url string) migrator {
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		driver, err := migratepgx.WithInstance(db, &migratepgx.Config{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := migrate.NewWithDatabaseInstance("file://"+dir, "postgres", driver)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = m.Close() })
		return migrator{up: m.Up, down: m.Down}
	},
}

func forEachTool(t *testing.T, test func(t *testing.T, tool string)) {
	t.Helper()
	for tool := range tools {
		t.Run(tool, func(t *testing.T) { t.Parallel(); test(t, tool) })
	}
}

// TestUpDownUp applies inboxes of every kind, with names that could hurt, on both servers.
func TestUpDownUp(t *testing.T) {
	t.Parallel()
	forEachTool(t, func(t *testing.T, tool string) {
		for i, inbox := range []struct{ schema, table, id string }{
			{"", "inbox", "text"},
			{"", "inbox", "uuid"},
			{"My Schema", "Inbox", "text"},
			{"", `a"b`, "text"},
			{"", "semi;colon", "uuid"},
			{"", "-- +goose Down", "text"},
			{"", "+goose Up", "text"},
			{"", "{{x}}", "text"},
			{"", "${y}", "text"},
			{"", `back\slash\`, "text"},
			{"", "$$", "text"},
			{"", "it's", "text"},
			{"", strings.Repeat("x", 63), "text"},
			{"", strings.Repeat("é", 31), "text"},
			{"", "select", "uuid"},
			{"", "%s", "text"},
			{"", "a.b", "text"},
			{"", " ", "text"},
			{"", "ENVSUB ON", "text"},
		} {
			for _, major := range []int{15, 18} {
				t.Run(fmt.Sprint(i, "-", major), func(t *testing.T) {
					t.Parallel()
					p := project{t.TempDir(), tool}
					text := fmt.Sprintf(", table: %q, message_id: %s", inbox.table, inbox.id)
					if inbox.schema != "" {
						text += fmt.Sprintf(", schema: %q", inbox.schema)
					}
					p.spec(t, text)
					if errs := p.generate(t); len(errs) > 0 {
						// Refused at the name is as good as written safely.
						t.Logf("refused: %s", errs[0])
						if !strings.HasPrefix(errs[0], "inboxgen.yaml:3:") || len(errs) > 1 {
							t.Errorf("%q: %v", inbox.table, errs)
						}
						return
					}
					url := testenv.Postgres(t, major).Database(t)
					conn, err := pgx.Connect(t.Context(), url)
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close(context.Background())
					if inbox.schema != "" {
						if _, err := conn.Exec(t.Context(), "CREATE SCHEMA "+pgx.Identifier{inbox.schema}.Sanitize()); err != nil {
							t.Fatal(err)
						}
					}
					m := tools[tool](t, filepath.Join(p.dir, "migrations"), url)
					for range 2 {
						if err := m.up(); err != nil {
							t.Fatalf("%q: %v", inbox.table, err)
						}
						looksRight(t, conn, inbox.schema, inbox.table, inbox.id)
						if err := m.down(); err != nil {
							t.Fatalf("%q: %v", inbox.table, err)
						}
						var n int
						if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relname = $1", inbox.table).Scan(&n); err != nil || n != 0 {
							t.Errorf("%q is still there: %d, %v", inbox.table, n, err)
						}
					}
				})
			}
		}
	})
}

func looksRight(t *testing.T, conn *pgx.Conn, schema, table, id string) {
	t.Helper()
	if schema == "" {
		schema = "public"
	}
	var columns, indexes []string
	err := conn.QueryRow(t.Context(), `SELECT
		(SELECT array_agg(column_name || ' ' || data_type || ' ' || is_nullable ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2),
		(SELECT array_agg(substring(indexdef from 'USING.*') ORDER BY 1) FROM pg_indexes WHERE schemaname = $1 AND tablename = $2)`, schema, table).Scan(&columns, &indexes)
	want := []string{"consumer_name text NO", "message_id " + id + " NO", "fingerprint bigint YES", "processed_at timestamp with time zone NO"}
	if err != nil || !slices.Equal(columns, want) || !slices.Equal(indexes, []string{"USING btree (consumer_name, message_id)", "USING btree (consumer_name, processed_at)"}) {
		t.Errorf("%q: %v %v: %v", table, columns, indexes, err)
	}
}

// TestVersions has directories in which the next version is another each time.
func TestVersions(t *testing.T) {
	t.Parallel()
	forEachTool(t, func(t *testing.T, tool string) {
		for existing, want := range map[string]string{
			"":                       "20261201120000",
			"20250101000000_old.sql": "20261201120000",
			"20261201120000_now.sql": "20261201120001",
			"20991231235959_late.up.sql,20991231235959_late.down.sql": "21000101000000",
			"1_first.sql":                           "2",
			"0009_nine.sql":                         "0010",
			"999_last.sql":                          "1000",
			"20250101000000_old.sql,0001_first.sql": "error",
		} {
			p := project{t.TempDir(), tool}
			p.spec(t, "")
			for name := range strings.SplitSeq(existing, ",") {
				if name != "" {
					p.write(t, "migrations/"+name, "-- +goose Up\nSELECT 1;\n")
				}
			}
			errs := p.generate(t)
			if want == "error" {
				if len(errs) != 1 || !strings.Contains(errs[0], "migrations") {
					t.Errorf("%s: %v", existing, errs)
				}
				continue
			}
			if !slices.ContainsFunc(p.files(t), func(name string) bool { return strings.HasPrefix(name, want+"_create_inbox.") }) {
				t.Errorf("beside %q: %v, %v; want %s", existing, p.files(t), errs, want)
			}
			before := p.files(t)
			p.mustGenerate(t)
			if after := p.files(t); !slices.Equal(before, after) {
				t.Errorf("a second run: %v, before %v", after, before)
			}
		}
	})
}

// TestChanges has what may happen to a project after its first migration.
func TestChanges(t *testing.T) {
	t.Parallel()
	forEachTool(t, func(t *testing.T, tool string) {
		start := func(t *testing.T) (p project, file string) {
			p = project{t.TempDir(), tool}
			p.spec(t, "")
			p.mustGenerate(t)
			return p, p.files(t)[0]
		}
		says := func(t *testing.T, p project, want ...string) {
			t.Helper()
			errs := strings.Join(p.generate(t), "\n")
			for _, text := range want {
				if !strings.Contains(errs, text) {
					t.Errorf("%s\ndoes not say %s", errs, text)
				}
			}
		}
		t.Run("changed", func(t *testing.T) {
			p, file := start(t)
			p.write(t, "migrations/"+file, "-- +goose Up\nSELECT 1;\n")
			says(t, p, "inboxgen.lock:2:1: migrations/"+file+" was changed after it was written; restore it from version control and put the change into a migration of your own")
		})
		t.Run("CRLF", func(t *testing.T) {
			p, file := start(t)
			text, err := os.ReadFile(filepath.Join(p.dir, "migrations", file))
			if err != nil {
				t.Fatal(err)
			}
			p.write(t, "migrations/"+file, strings.ReplaceAll(string(text), "\n", "\r\n"))
			p.mustGenerate(t)
		})
		t.Run("vanished", func(t *testing.T) {
			p, file := start(t)
			if err := os.Remove(filepath.Join(p.dir, "migrations", file)); err != nil {
				t.Fatal(err)
			}
			says(t, p, "migrations/"+file+" is gone; restore it from version control: databases it was applied to need it. If it was never applied, delete its line here and generate again")
		})
		t.Run("another type of id", func(t *testing.T) {
			p, file := start(t)
			p.spec(t, ", message_id: uuid")
			says(t, p, "inboxgen.yaml:3:36: ", "was made by migrations/"+file+" with another type of message id", "give the new inbox another name under inbox.table, or set message_id back")
		})
		t.Run("another table", func(t *testing.T) {
			p, _ := start(t)
			n := len(p.files(t))
			p.spec(t, ", table: ledger_inbox, message_id: uuid")
			p.mustGenerate(t)
			if got := p.files(t); len(got) != 2*n || !strings.HasPrefix(got[len(got)-1], "20261201120001_create_ledger_inbox.") {
				t.Errorf("%v", got)
			}
		})
		t.Run("reuse off and on", func(t *testing.T) {
			p, _ := start(t)
			before := p.files(t)
			p.spec(t, ", detect_reuse: off")
			p.mustGenerate(t)
			p.spec(t, ", detect_reuse: content")
			p.mustGenerate(t)
			if got := p.files(t); !slices.Equal(got, before) {
				t.Errorf("%v", got)
			}
		})
		t.Run("merged", func(t *testing.T) {
			p, _ := start(t)
			p.write(t, "inboxgen.lock", "<<<<<<< ours\ncreate x y\n=======\n>>>>>>> theirs\n")
			says(t, p, "inboxgen.lock:1:1: not a line of the form STEP FILE SHA256; restore this file from version control, or resolve the merge in it")
		})
		t.Run("two branches", func(t *testing.T) {
			p, _ := start(t)
			lock, err := os.ReadFile(filepath.Join(p.dir, "inboxgen.lock"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range p.files(t) {
				text, err := os.ReadFile(filepath.Join(p.dir, "migrations", file))
				if err != nil {
					t.Fatal(err)
				}
				p.write(t, "migrations/"+strings.Replace(file, "20261201120000", "20261201130000", 1), string(text))
			}
			_, lines, _ := strings.Cut(string(lock), "\n")
			p.write(t, "inboxgen.lock", string(lock)+strings.ReplaceAll(lines, "20261201120000", "20261201130000"))
			says(t, p, "are one step, written on two branches; delete the migration that was not applied yet, and its lines here")
		})
	})
}

// TestTwoAtOnce has two deployments apply the same migrations.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	p := project{t.TempDir(), "golang-migrate"} // which takes a lock; goose leaves that to its user
	p.spec(t, "")
	p.mustGenerate(t)
	url := testenv.Postgres(t, 18).Database(t)
	var migrators []migrator
	for range 2 {
		migrators = append(migrators, tools["golang-migrate"](t, filepath.Join(p.dir, "migrations"), url))
	}
	errs := make(chan error)
	for _, m := range migrators {
		go func() { errs <- m.up() }()
	}
	for range migrators {
		if err := <-errs; err != nil && !errors.Is(err, migrate.ErrNoChange) {
			t.Error(err)
		}
	}
}
