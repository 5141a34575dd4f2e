package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
)

// What can be wrong with a message, for errors.Is. Errors of the database come wrapped, for errors.As with
// *pgconn.PgError.
var (
	ErrInvalidID   = errors.New("invalid message id")
	ErrReusedID    = errors.New("the message id was used before with other content: the key is too coarse, or the producer repeats ids")
	ErrExpectation = errors.New("the effect did not do what the spec expects")
	ErrDecode      = errors.New("the message can't be decoded")
	ErrUnknownType = errors.New("no handler for this wire type")
	ErrDeadLetter  = errors.New("the dead letter did not take the message") // transient: it is tried again
)

// MessageError is the error that every handler returns: which message failed, and why.
type MessageError struct {
	Consumer string
	Message  string
	ID       string
	Err      error
}

func (e *MessageError) Error() string {
	return fmt.Sprintf("%s.%s: message %q: %v", e.Consumer, e.Message, e.ID, e.Err)
}

// Unwrap returns the cause.
func (e *MessageError) Unwrap() error { return e.Err }

// Class says what to do about an error.
type Class int

// The classes.
const (
	Transient  Class = iota + 1 // deliver again: the same message may succeed later
	Poison                      // dead letter: this message never succeeds
	Deployment                  // stop: no message succeeds until somebody mends the database or the code
)

// String returns the class's name.
func (c Class) String() string {
	switch c {
	case Transient:
		return "transient"
	case Poison:
		return "poison"
	case Deployment:
		return "deployment"
	default:
		return "none"
	}
}

// stopError is an error that stops the consumer although a message caused it.
type stopError struct{ error }

func (e stopError) Unwrap() error { return e.error }

// Classify tells what to do about an error that a handler returned. An error that it does not know is Deployment:
// stopping loses nothing, a dead letter or a retry without end might.
func Classify(err error) Class {
	var stop stopError
	var server *pgconn.PgError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stop):
		return Deployment
	case errors.Is(err, ErrDeadLetter), errors.Is(err, ErrNotTried):
		return Transient
	case errors.Is(err, ErrInvalidID), errors.Is(err, ErrReusedID), errors.Is(err, ErrExpectation),
		errors.Is(err, ErrDecode), errors.Is(err, ErrUnknownType):
		return Poison
	case errors.As(err, &server):
		return classifyCode(server.Code)
	case isNetwork(err):
		return Transient
	case isOutOfRange(err):
		return Poison
	default:
		return Deployment
	}
}

// isOutOfRange reports whether pgx refused a value before the server could, such as a number that its column can't hold.
// pgx has no type for this error. What can't be encoded whatever the value is no fault of the message.
func isOutOfRange(err error) bool {
	text := err.Error()
	return strings.Contains(text, "failed to encode args[") && !strings.Contains(text, "cannot find encode plan")
}

// classifyCode classifies an SQLSTATE. A code of five characters goes before its class of two.
func classifyCode(code string) Class {
	switch code {
	case "25006", // read only: a failover left us on a standby
		"55P03", // lock not available
		"57014": // canceled, by statement_timeout or by us
		return Transient
	case "57P04": // the database was dropped
		return Deployment
	}
	if len(code) < 2 {
		return Deployment
	}
	switch code[:2] {
	case "08", "40", "53", "57":
		return Transient
	case "21", "22", "23", "44", "54", "P0": // what the message's values led to, and what a function raised
		return Poison
	default:
		return Deployment
	}
}

func isNetwork(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err)
}

// unmet returns what a statement raises when an expectation is not met, as the text of a failed cast: the effect's label,
// what was expected and what was found. The words and quotes around it are the server's.
func unmet(server *pgconn.PgError, message string) (text string, ok bool) {
	if server == nil || server.Code != "22P02" {
		return "", false
	}
	_, text, ok = strings.Cut(server.Message, "."+message)
	if !ok || !strings.Contains(text, ": expected ") {
		return "", false
	}
	text = strings.TrimLeft(text, ",: ")
	return strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsDigit(r) }), true
}

// failure names the message in err, recognizes an unmet expectation, and says what to do about a rule.
func (i *inbox) failure(message, id string, err error) error {
	var server *pgconn.PgError
	errors.As(err, &server)
	if text, ok := unmet(server, message); ok {
		err = fmt.Errorf("%w: %s", ErrExpectation, text)
	}
	if server != nil && server.Code == featureNotSupported {
		err = fmt.Errorf("%w; if the table has a rule, which can keep the effect from standing in a WITH query, write plan: transaction and because: on the message in the spec", err)
	}
	return &MessageError{i.consumer, message, id, err}
}

// featureNotSupported is what PostgreSQL answers when a WITH query writes to a table that has a rule.
const featureNotSupported = "0A000"

// maxIDBytes keeps an id, with its consumer's name, below the 2,704 bytes that PostgreSQL indexes.
const maxIDBytes = 512

// checkID refuses an id that the database would refuse, or that can't be one.
func checkID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidID)
	case len(id) > maxIDBytes:
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrInvalidID, len(id), maxIDBytes)
	case !utf8.ValidString(id):
		return fmt.Errorf("%w: it is not valid UTF-8", ErrInvalidID)
	case strings.ContainsRune(id, 0):
		return fmt.Errorf("%w: it contains a NUL", ErrInvalidID)
	case messageIDType == "uuid" && !isUUID(id):
		return fmt.Errorf("%w: it is no UUID", ErrInvalidID)
	default:
		return nil
	}
}

// isUUID reports whether s has the form 8-4-4-4-12 of hex digits.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}
