package runtime

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// TestFingerprintsStay has fingerprints as they stand in users' tables: another one for the same content would refuse
// every redelivery as a reused id.
func TestFingerprintsStay(t *testing.T) {
	text, empty := "x", ""
	for _, test := range []struct {
		want   uint64
		shape  string
		values []any
	}{
		{0xc28ef011e3b0c442, "", nil},
		{0xc28eef2833f391a4, "a string", []any{"x"}},
		{0xc28eef2876ca65fa, "a string", []any{""}},
		{0xc28e4609fd874008, "a *string", []any{(*string)(nil)}},
		{0xc28e460933f391a4, "a *string", []any{&text}},
		{0xc28e460976ca65fa, "a *string", []any{&empty}},
		{0xc28ed3f1f9929c3c, "a int64, b bool", []any{int64(math.MinInt64), true}},
		{0xc28e7ed50892fe8c, "a uint64", []any{uint64(math.MaxUint64)}},
		{0xc28e92f0e97dbb18, "a float64", []any{0.1}},
		{0xc28ede61fbc3f7af, "a []byte", []any{[]byte{0, 255}}},
		{0xc28eab0fa289efe7, "a time.Time", []any{time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.FixedZone("", 3600))}},
		{0xc28eccee853e8ddc, "a pgtype.Numeric", []any{numeric("12.50")}},
		{0xc28ecd29da4479b1, "a map", []any{map[string]any{"b": 1, "a": []int{1}}}},
		{0xc28e23dd32715bce, "a json.RawMessage", []any{json.RawMessage(`{"a": 1}`)}},
		{0xc28ed591f959395a, "a []string", []any{[]string{"x", "y"}}},
	} {
		if got := contentFingerprint("t", test.shape, test.values...); uint64(got) != test.want {
			t.Errorf("%s %v: %#x, want %#x", test.shape, test.values, uint64(got), test.want)
		}
	}
}

func numeric(s string) pgtype.Numeric {
	var n pgtype.Numeric
	if err := n.Scan(s); err != nil {
		panic(err)
	}
	return n
}

func TestEqualContent(t *testing.T) {
	text, when := "x", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, pair := range map[string][2]any{
		"a pointer and what it points to": {"x", &text},
		"a named type and its own":        {"x", label("x")},
		"a time in two zones":             {when, when.In(time.FixedZone("", 3600))},
		"below a microsecond":             {when, when.Add(999)},
		"maps in two orders":              {map[string]int{"a": 1, "b": 2}, map[string]int{"b": 2, "a": 1}},
		"integers of two sizes":           {int32(7), int64(7)},
	} {
		if contentFingerprint("t", "s", pair[0]) != contentFingerprint("t", "s", pair[1]) {
			t.Errorf("%s: different", name)
		}
	}
}

func TestDifferentContent(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	contents := map[string][]any{
		"nothing": {}, "nil": {nil}, "empty": {""}, "two empty": {"", ""}, "ab": {"ab"}, "a b": {"a", "b"}, "nul": {"a\x00", "b"},
		"nul after": {"a", "\x00b"}, "0": {0}, "text 0": {"0"}, "false": {false}, "0.0": {0.0}, "-0.0": {math.Copysign(0, -1)},
		"bytes": {[]byte("ab")}, "a list": {[]string{"ab"}}, "a list of two": {[]string{"a", "b"}}, "a time": {when},
		"a microsecond later": {when.Add(time.Microsecond)}, "12500": {12500}, "12501": {12501}, "12.5": {numeric("12.5")},
		"nil list": {[]string(nil)}, "empty list": {[]string{}},
	}
	seen := map[int64]string{}
	for name, values := range contents {
		f := contentFingerprint("t", "s", values...)
		if other, ok := seen[f]; ok {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[f] = name
	}
}

// TestOtherShape has a marker that was written before the effects used other fields: it tells nothing about a reuse.
func TestOtherShape(t *testing.T) {
	before := contentFingerprint("t", "amount int64", 1)
	if after := contentFingerprint("t", "amount int64, merchant int64", 1, 2); !sameContent(before, after) {
		t.Error("an older shape is taken for a reused id")
	}
	if sameContent(before, contentFingerprint("t", "amount int64", 2)) {
		t.Error("other content of one shape is taken for the same")
	}
	if sameContent(before, contentFingerprint("refund", "amount int64", 1)) || sameContent(before, contentFingerprint("refund", "reason string", 1)) {
		t.Error("another type is taken for the same message")
	}
	if !sameContent(before, before) {
		t.Error("the same content is taken for another")
	}
}
