package e2e

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/inboxgen/inboxgen/testdata/imports"
	"github.com/inboxgen/inboxgen/testdata/names"
)

// TestNames delivers messages whose names, fields and consumers mean something in Go, to the go command or in the
// generated code.
func TestNames(t *testing.T) {
	t.Parallel()
	type consumer interface {
		Handle(ctx context.Context, d names.Delivery) (names.Outcome, error)
	}
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "names")
		for ledger, c := range map[string]consumer{
			"linux": names.NewLinux(pool), "test": names.NewTest(pool), "windows_amd64": names.NewWindowsAmd64(pool),
			"unix_test": names.NewUnixTest(pool), "inbox": names.NewInbox(pool), "messages": names.NewMessages(pool),
			"settings": names.NewSettings(pool), "decode": names.NewDecode(pool), "errors": names.NewErrors(pool),
			"fingerprint": names.NewFingerprint(pool), "values": names.NewValues(pool), "handle": names.NewHandle(pool),
			"any": names.NewAny(pool), "string": names.NewString(pool), "nil": names.NewNil(pool), "len": names.NewLen(pool),
			"new": names.NewNew(pool), "init": names.NewInit(pool), "main": names.NewMain(pool), "i": names.NewI(pool),
			"api_url_id": names.NewAPIURLID(pool), "xmlHttpRequest": names.NewXMLHTTPRequest(pool),
		} {
			for _, want := range []names.Outcome{names.Applied, names.Duplicate} {
				outcome, err := c.Handle(t.Context(), names.Delivery{Body: []byte(`{"id": "x"}`)})
				became(t, want, outcome, err)
			}
			holds(t, pool, 1, "SELECT count(*) FROM kept WHERE consumer = $1 AND id = 'x'", ledger)
		}
		for _, test := range []struct{ name, wire, id string }{
			{"by field", "-", "v-id"},
			{"by header", "A+", "in header"},
			{"by event", "#", "/ e"},
			{"not ASCII", "\"Ü\\%d${x}`'", "v-err"},
		} {
			// Every field that there may be, since a message is not read strictly.
			values := map[string]string{}
			for _, field := range strings.Fields(everyName) {
				values[field] = "v-" + field
			}
			body, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			d := names.Delivery{
				Headers: map[string]string{"type": test.wire, "id": "in header", "ce_source": "/", "ce_id": "e"},
				Body:    body,
			}
			for _, want := range []names.Outcome{names.Applied, names.Duplicate} {
				outcome, err := names.NewFunc(pool).Handle(t.Context(), d)
				became(t, want, outcome, err)
			}
			got := read[[]string](t, pool, "SELECT coalesce(words, '{}') FROM kept WHERE consumer = 'func' AND id = $1", test.id)
			want := map[string][]string{"-": prefixed(everyName), "A+": prefixed(everyName), "#": prefixed("source id m")}[test.wire]
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", test.name, got, want)
			}
		}
	})
}

// everyName are the fields of the messages ByField and ByHeader, in their order.
const everyName = `
	break default func interface select case defer go map struct chan else goto package switch const
	fallthrough if range type continue for import return var any append bool byte cap clear close comparable
	complex complex64 complex128 copy delete error false float32 float64 imag int int8 int16 int32 int64 iota
	len make max min new nil panic print println real recover rune string true uint uint8 uint16 uint32
	uint64 uintptr c ctx d db err id m n options source tx wireType delivery inbox message fingerprint
	guarded statement sql args effects rows expect met text outcome fieldID api_url_id http2 _x x_1 y on off
	null pgx context fmt json time strconv pgtype proto
`

func prefixed(fields string) []string {
	var out []string
	for _, field := range strings.Fields(fields) {
		out = append(out, "v-"+field)
	}
	return out
}

// TestFileNames checks that every generated file is part of its package on every platform, whatever its name ends in.
func TestFileNames(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/names/*.gen.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, platform := range []struct{ os, arch string }{{"plan9", "386"}, {"js", "wasm"}, {"darwin", "arm64"}} {
		c := build.Default
		c.GOOS, c.GOARCH = platform.os, platform.arch
		p, err := c.ImportDir("../testdata/names", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !slices.Contains(p.GoFiles, filepath.Base(file)) {
				t.Errorf("%s is no part of the package on %s/%s", file, platform.os, platform.arch)
			}
		}
	}
}

// TestImports delivers messages from packages whose names mean something else in the generated code.
func TestImports(t *testing.T) {
	t.Parallel()
	const inner = `{"amount": 7, "tags": ["a", "b"]}`
	packages, err := os.ReadFile("../testdata/imports/inboxgen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "imports")
		c := imports.NewPackages(pool)
		deliver := func(wireType, body string) {
			t.Helper()
			for _, want := range []imports.Outcome{imports.Applied, imports.Duplicate} {
				outcome, err := c.Handle(t.Context(), imports.Delivery{Headers: map[string]string{"type": wireType}, Body: []byte(body)})
				became(t, want, outcome, err)
			}
		}
		count := 0
		for line := range strings.Lines(string(packages)) {
			name, isMessage := strings.CutPrefix(strings.TrimRight(line, ":\n"), "      ")
			if !isMessage || strings.ContainsAny(name, " #") || name == "Own" || name == "OwnTypes" || name == "Lists" || name == "Inline" {
				continue
			}
			count++
			deliver(name, `{"event_id": "`+name+`", "payment": `+inner+`}`)
			holds(t, pool, true, "SELECT amount = 7 AND tags = '{a,b}' FROM kept WHERE id = $1", name)
			deliver(name, `{"event_id": "no `+name+`", "payment": null}`)
			holds(t, pool, true, "SELECT amount IS NULL AND tags IS NULL FROM kept WHERE id = $1", "no "+name)
		}
		if count != 26 {
			t.Errorf("%d packages", count)
		}

		deliver("Own", `{"EventID": "own", "payment": {"amount": 5}, "tags": ["x"], "marks": ["y"]}`)
		holds(t, pool, true, "SELECT amount = 5 AND tags = '{x,y}' FROM kept WHERE id = 'own'")
		deliver("Own", `{"EventID": "half", "payment": {"amount": null}}`)
		deliver("Own", `{"EventID": "bare"}`)
		holds(t, pool, 2, "SELECT count(*) FROM kept WHERE id IN ('half', 'bare') AND amount IS NULL AND tags IS NULL")

		deliver("OwnTypes", `{"id": "types", "marks": ["z"]}`)
		holds(t, pool, true, "SELECT tags = '{z}' FROM kept WHERE id = 'types'")

		deliver("Lists", `{"event_id": "lists", "größe": 3, "names": ["n"], "times": ["2026-01-02T03:04:05Z"], "moments": ["2026-01-02T03:04:05Z", null]}`)
		holds(t, pool, true, `SELECT amount = 3 AND tags = '{n}' AND times = '{2026-01-02 03:04:05+00}' AND moments = times || ARRAY[NULL::timestamptz]
			FROM kept WHERE id = 'lists'`)
		deliver("Lists", `{"event_id": "no lists"}`)
		holds(t, pool, true, `SELECT amount = 0 AND num_nonnulls(tags, times, moments) = 0 FROM kept WHERE id = 'no lists'`)

		deliver("Inline", `{"event_id": "inline", "pgx": ["1"], "context": ["2"], "foo": ["3"], "other_foo": null, "own": ["4"]}`)
		holds(t, pool, true, "SELECT tags = '{1,2,3,4}' FROM kept WHERE id = 'inline'")
	})
}

// TestLocals checks that no package of the user's is imported under the name of a variable, or of a package, that the
// functions which are generated per consumer use.
func TestLocals(t *testing.T) {
	t.Parallel()
	specs, err := filepath.Glob("../testdata/*/inboxgen.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatal("no cases", err)
	}
	for _, spec := range specs {
		dir := filepath.Dir(spec)
		text, err := os.ReadFile(spec)
		if err != nil {
			t.Fatal(err)
		}
		model := generate(t, dir).Model
		for _, c := range model.Consumers {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, c.FileName), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			names := locals(file)
			for _, i := range file.Imports {
				importPath := strings.Trim(i.Path.Value, `"`)
				switch {
				case strings.Contains(string(text), importPath+"."): // the user's
				case i.Name != nil:
					names[i.Name.Name] = true
				default:
					names[path.Base(strings.TrimSuffix(importPath, "/v5"))] = true
				}
			}
			for name := range names {
				if !model.Reserved[name] && !strings.HasPrefix(name, "field") {
					t.Errorf("%s uses the name %s, which an import may have", file.Name.Name, name)
				}
			}
		}
	}
}

// locals returns the names that the functions of a file declare.
func locals(file *ast.File) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			return false
		case *ast.Field:
			for _, name := range n.Names {
				out[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				out[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					out[name.Name] = true
				}
			}
		}
		return true
	})
	return out
}
