package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestClassify(t *testing.T) {
	for want, causes := range map[Class][]error{
		Transient: {
			context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
			&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, &net.DNSError{Err: "no such host"},
			&pgconn.ConnectError{}, ErrNotTried,
		},
		Poison: {
			ErrInvalidID, ErrReusedID, ErrExpectation, ErrDecode, ErrUnknownType,
			errors.New("failed to encode args[4]: unable to encode 3000000000 into binary format for int4 (OID 23): 3000000000 is greater than maximum value for int4"),
		},
		Deployment: {
			errors.New("something else"),
			stopError{ErrUnknownType},
			errors.New("failed to encode args[0]: unable to encode struct {}{} into binary format for int4 (OID 23): cannot find encode plan"),
		},
		0: {nil},
	} {
		for _, cause := range causes {
			if got := Classify(cause); got != want {
				t.Errorf("%v: %s, want %s", cause, got, want)
			}
			if cause == nil {
				continue
			}
			wrapped := &MessageError{"c", "M", "id", fmt.Errorf("while it was handled: %w", cause)}
			if got := Classify(wrapped); got != want {
				t.Errorf("%v: %s, want %s", wrapped, got, want)
			}
		}
	}
	codes := map[Class]string{
		Transient:  "08000 08006 08P01 40001 40P01 40003 53000 53100 53200 53300 55P03 57014 57P01 57P02 57P03 25006",
		Poison:     "22001 22003 22007 22P02 23502 23503 23505 23514 21000 44000 54000 P0001",
		Deployment: "42P01 42703 42883 42501 42601 28000 28P01 3D000 3F000 57P04 25P02 0A000 55000 58030 XX000 XX001 F0000 x",
	}
	for want, list := range codes {
		for code := range strings.FieldsSeq(list) {
			if got := Classify(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})); got != want {
				t.Errorf("%s: %s, want %s", code, got, want)
			}
		}
	}
}

// TestFailureInAnyLanguage has the same unmet expectation as servers with different lc_messages report it.
func TestFailureInAnyLanguage(t *testing.T) {
	i := NewConsumer(nil).inbox
	for _, text := range []string{
		`invalid input syntax for type bigint: "books.Paid%s: expected 1 row, affected 0"`,
		`ungültige Eingabesyntax für Typ bigint: »books.Paid%s: expected 1 row, affected 0«`,
		`syntaxe en entrée invalide pour le type bigint : « books.Paid%s: expected 1 row, affected 0 »`,
		`"bigint"型の入力構文が不正です: "books.Paid%s: expected 1 row, affected 0"`,
	} {
		for effect, want := range map[string]string{
			"":           "the effect did not do what the spec expects: expected 1 row, affected 0",
			", effect 2": "the effect did not do what the spec expects: effect 2: expected 1 row, affected 0",
		} {
			err := i.failure("Paid", "42", &pgconn.PgError{Code: "22P02", Message: fmt.Sprintf(text, effect)})
			if !errors.Is(err, ErrExpectation) || err.Error() != `accounting.Paid: message "42": `+want {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	err := i.failure("Paid", "42", &pgconn.PgError{Code: "22P02", Message: `invalid input syntax for type bigint: "x"`})
	if errors.Is(err, ErrExpectation) {
		t.Errorf("%v is no unmet expectation", err)
	}
}

func TestFailureByRule(t *testing.T) {
	server := &pgconn.PgError{Severity: "FEHLER", Code: "0A000", Message: "DO-ALSO-Regeln werden nicht unterstützt"}
	err := NewConsumer(nil).inbox.failure("Paid", "42", server)
	const want = `accounting.Paid: message "42": FEHLER: DO-ALSO-Regeln werden nicht unterstützt (SQLSTATE 0A000); ` +
		"if the table has a rule, which can keep the effect from standing in a WITH query, write plan: transaction and because: on the message in the spec"
	if err.Error() != want || !errors.Is(err, server) || Classify(err) != Deployment {
		t.Errorf("%v, %s", err, Classify(err))
	}
}

func TestNames(t *testing.T) {
	got := fmt.Sprint(Applied, Duplicate, Skipped, Outcome(0), Transient, Poison, Deployment, Class(0))
	if want := "applied duplicate skipped failed transient poison deployment none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecodeJSON(t *testing.T) {
	for body, want := range map[string]string{
		`{"note": "x"}`:           "",
		`{"NOTE": "x"}`:           "",
		`{"note": null}`:          "the message can't be decoded: missing note",
		`{}`:                      "the message can't be decoded: missing note",
		`{"note": 1}`:             "the message can't be decoded: json: cannot unmarshal number into Go struct field noted.note of type string",
		`{"note": "x", "tags": 1`: "the message can't be decoded: unexpected end of JSON input",
	} {
		of := func(noted) delivery { return delivery{message: "Noted"} }
		got := ""
		d, err := decodeJSON(Delivery{Body: []byte(body)}, "Noted", of, "note")
		if d.message != "Noted" {
			t.Errorf("%s: of the message %q", body, d.message)
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
