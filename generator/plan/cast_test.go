package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/spec"
	"github.com/inboxgen/inboxgen/internal/testenv"
)

// TestCanSend compares canSend with what pgx does: fields of all types that a spec can name are sent as all types of
// PostgreSQL's that canSend knows, in all modes. A server that does not like the value got it.
func TestCanSend(t *testing.T) {
	t.Parallel()
	one, yes, text, now, id := int64(1), true, "1", time.Now(), pgtype.UUID{Valid: true}
	values := map[string]any{ // as generated code hands them to pgx
		"string": text, "bool": yes, "int": 1, "int16": int16(1), "int32": int32(1), "int64": one,
		"float32": float32(1), "float64": float64(1), "bytes": []byte(text), "time": now, "uuid": id,
		"decimal": json.Number(text), "json": json.RawMessage(text),
		"*string": &text, "*bool": &yes, "*int64": &one, "*time": &now, "*uuid": &id,
		"[]string": []string{text}, "[]bool": []bool{yes}, "[]int": []int{1}, "[]int16": []int16{1}, "[]int32": []int32{1}, "[]int64": []int64{1},
		"[]float32": []float32{1}, "[]float64": []float64{1}, "[]bytes": [][]byte{[]byte(text)}, "[]time": []time.Time{now}, "[]uuid": []pgtype.UUID{id},
		"date": pgtype.Date{Time: now, Valid: true}, "interval": interval("1 day"), "[]interval": []string{"1 day"}, "[]date": []pgtype.Date{{Time: now, Valid: true}},
		"[]decimal": []string{text}, "[]json": `["1"]`, "[][]int64": `[[1]]`,
		"[]*int64": []*int64{&one}, "[]*string": []*string{&text}, "[]*bool": []*bool{&yes},
	}
	types := fieldTypes(t, values)
	for _, v := range []any{int8(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1)} { // that only a Go struct has
		name := fmt.Sprintf("%T", v)
		values[name], types[name] = v, &gotype.Type{Kind: gotype.Basic, Name: name}
	}
	conn, err := pgx.Connect(t.Context(), testenv.Postgres(t, 18).Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	modes := []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	}
	for _, as := range slices.Concat(numberTypes, jsonTypes, textTypes, otherTypes) {
		for _, as := range []string{as, as + "[]"} {
			for name, value := range values {
				sent := true
				for _, mode := range modes {
					_, err := conn.Exec(t.Context(), "SELECT $1::"+as, mode, value)
					sent = sent && (err == nil || !strings.Contains(err.Error(), "failed to encode args"))
				}
				if got := canSend(types[name], as); got != sent {
					t.Errorf("%s as %s: %t, want %t", name, as, got, sent)
				}
				if sent {
					continue
				}
				if _, err := conn.Exec(t.Context(), "SELECT ($1::"+sentAs(types[name])+")::text", value); err != nil {
					t.Errorf("%s as %s: to be written as %s, for which pgx says %v", name, as, sentAs(types[name]), err)
				}
			}
		}
	}
}

// interval is as the type that is generated for a field of this type.
type interval string

// fieldTypes returns the types that a spec names so.
func fieldTypes(t *testing.T, names map[string]any) map[string]*gotype.Type {
	t.Helper()
	var fields []string
	paths := map[string]string{}
	for name := range names {
		paths[name] = fmt.Sprintf("f%d", len(paths))
		fields = append(fields, paths[name]+": '"+name+"'")
	}
	text := "version: 1\ninbox: {retention: 8d}\nconsumers:\n  a:\n    messages:\n      M:\n        id: header:id\n        fields:\n          " +
		strings.Join(fields, "\n          ") + "\n        effects:\n          - sql: |\n              DELETE FROM t\n"
	s, diags := spec.Read(fstest.MapFS{"inboxgen.yaml": {Data: []byte(text)}}, "inboxgen.yaml")
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	loaded, diags := gotype.Load(s, gotype.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	types := map[string]*gotype.Type{}
	for name, path := range paths {
		field, err := loaded[s.Consumers[0].Messages[0]].Lookup(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		types[name] = field.Type
	}
	return types
}
