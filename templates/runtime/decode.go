package runtime

import (
	"context"
	"database/sql/driver"
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
}

// decodeJSON decodes a message. A required field that is missing or null is an error: zero is a value, and nobody sent it.
func decodeJSON(body []byte, into any, required ...string) error {
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

// decodeProto turns the error of a protobuf decoder into ErrDecode.
func decodeProto(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDecode, err)
	}
	return nil
}

// jsonField returns the string at a path of a JSON object, or "".
func jsonField(body []byte, path ...string) string {
	for _, name := range path {
		var fields map[string]json.RawMessage
		if json.Unmarshal(body, &fields) != nil {
			return ""
		}
		body = fields[name]
	}
	var value string
	if json.Unmarshal(body, &value) != nil {
		return ""
	}
	return value
}

// cloudEvent returns an attribute of a CloudEvent in binary mode, under the names that the Kafka, AMQP and HTTP bindings
// give it.
func cloudEvent(d Delivery, attribute string) string {
	for _, prefix := range []string{"ce_", "ce-", "cloudEvents:", "cloudEvents_"} {
		if value, ok := d.Headers[prefix+attribute]; ok {
			return value
		}
	}
	return ""
}

// cloudEventID joins source and id, of which only the pair is unique. A source is a URI reference and has no blank.
func cloudEventID(source, id string) string {
	if source == "" || id == "" || strings.Contains(source, " ") {
		return ""
	}
	return source + " " + id
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

// handle decodes a message and applies it in a transaction of its own.
func (i *inbox) handle(ctx context.Context, in Delivery, decode decoder) (Outcome, error) {
	d, err := decode(in)
	if err != nil {
		return i.undecoded(ctx, d, err)
	}
	return i.apply(ctx, d)
}

// handleTx decodes a message and applies it inside the caller's transaction.
func (i *inbox) handleTx(ctx context.Context, tx pgx.Tx, in Delivery, decode decoder) (Outcome, error) {
	d, err := decode(in)
	if err != nil {
		return i.undecoded(ctx, d, err)
	}
	return i.applyTx(ctx, tx, d)
}

// undecoded reports a message that no handler gets to see.
func (i *inbox) undecoded(ctx context.Context, d delivery, err error) (Outcome, error) {
	if errors.Is(err, errSkip) {
		i.observe(ctx, Event{Consumer: i.consumer, Message: d.message, Outcome: Skipped})
		return Skipped, nil
	}
	err = i.failure(d.message, d.id, err)
	i.observe(ctx, Event{Consumer: i.consumer, Message: d.message, Err: err})
	return 0, err
}

// jsonText returns v as JSON text, which every pgx mode can send, and nil, which is NULL, for a map or a list that is
// nil. What can't be JSON was not decoded from it.
func jsonText(v any) any {
	text, err := json.Marshal(v)
	switch {
	case err != nil:
		return err.Error()
	case string(text) == "null":
		return nil
	}
	return string(text)
}

// stringList returns a list of a named string type as one that every pgx mode can send.
func stringList[S ~string](list []S) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// textList returns a list of values that know their form in SQL, such as UUIDs, as one that every pgx mode can send.
func textList[V driver.Valuer](list []V) any {
	if list == nil {
		return nil
	}
	out := make([]*string, len(list))
	for i, v := range list {
		value, err := v.Value()
		if err != nil {
			return list // for pgx to say what is wrong
		}
		if value == nil {
			continue
		}
		text, ok := value.(string)
		if !ok {
			text = fmt.Sprint(value)
		}
		out[i] = &text
	}
	return out
}
