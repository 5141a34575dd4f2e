package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Delivery is a message as a broker hands it over.
type Delivery struct {
	Type    string            // AMQP's type property
	ID      string            // AMQP's message-id property
	Headers map[string]string // by name, as the producer wrote it
	Body    []byte

	known string // the message's id, where it is told before the body is decoded
}

// decodeJSON decodes a message and makes a delivery of it.
func decodeJSON[M any](d Delivery, message string, of func(M) delivery, required ...string) (delivery, error) {
	var m M
	if err := unmarshal(d.Body, &m, required); err != nil {
		return delivery{message: message, id: d.known}, err
	}
	return of(m), nil
}

// unmarshal decodes JSON. A required field that is missing or null is an error: zero is a value, and nobody sent it.
func unmarshal(body []byte, into any, required []string) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %w", ErrDecode, err)
	}
	if len(required) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return fmt.Errorf("%w: %w", ErrDecode, err)
	}
	var missing []string
	for _, name := range required {
		if value, ok := lookupFold(fields, name); !ok || string(value) == "null" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: missing %s", ErrDecode, strings.Join(missing, ", "))
	}
	return nil
}

// lookupFold finds a field as encoding/json does: by name, or else by name without regard to case.
func lookupFold(fields map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	if value, ok := fields[name]; ok {
		return value, true
	}
	for key, value := range fields {
		if strings.EqualFold(key, name) {
			return value, true
		}
	}
	return nil, false
}

// errSkip says that the spec wants messages of this type passed over.
var errSkip = errors.New("skipped")

// unknownType does what on_unknown says about a wire type that has no handler.
func unknownType(wireType, policy string) (delivery, error) {
	d := delivery{message: wireType}
	switch policy {
	case "skip":
		return d, errSkip
	case "stop":
		return d, stopError{ErrUnknownType}
	default:
		return d, ErrUnknownType
	}
}

type decoder func(Delivery) (delivery, error)

// prepare decodes a message and chooses its database.
func (i *inbox) prepare(ctx context.Context, in Delivery, decode decoder) (delivery, *inbox, error) {
	d, err := decode(in)
	d.headers = in.Headers
	if err != nil {
		return d, nil, err
	}
	there, err := i.routed(ctx, in)
	return d, there, err
}

// handle decodes a message and applies it in a transaction of its own.
func (i *inbox) handle(ctx context.Context, in Delivery, decode decoder) (Outcome, error) {
	d, there, err := i.prepare(ctx, in, decode)
	if err != nil {
		return i.undecoded(ctx, d, err)
	}
	return there.apply(ctx, d)
}

// handleTx decodes a message and applies it inside the caller's transaction.
func (i *inbox) handleTx(ctx context.Context, tx pgx.Tx, in Delivery, decode decoder) (Outcome, error) {
	d, err := decode(in)
	d.headers = in.Headers
	if err != nil {
		return i.undecoded(ctx, d, err)
	}
	return i.applyTx(ctx, tx, d)
}

// undecoded reports a message that no handler gets to see.
func (i *inbox) undecoded(ctx context.Context, d delivery, err error) (Outcome, error) {
	e := Event{Consumer: i.consumer, Message: d.message, Headers: d.headers, Outcome: Skipped}
	if !errors.Is(err, errSkip) {
		e.Outcome, e.Err = 0, i.failure(d.message, d.id, err)
	}
	i.tell(ctx, e)
	return e.Outcome, e.Err
}
