package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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

// refuse reports a delivery that no handler got to see.
func (i *inbox) refuse(ctx context.Context, message, id string, err error) (Outcome, error) {
	err = i.failure(message, id, err)
	i.observe(ctx, Event{i.consumer, message, id, 0, err, 0})
	return 0, err
}

// unknown does what the spec's on_unknown says: dead_letter, skip or stop.
func (i *inbox) unknown(ctx context.Context, wireType, policy string) (Outcome, error) {
	switch policy {
	case "skip":
		i.observe(ctx, Event{i.consumer, wireType, "", Skipped, nil, 0})
		return Skipped, nil
	case "stop":
		return i.refuse(ctx, wireType, "", stopError{ErrUnknownType})
	default:
		return i.refuse(ctx, wireType, "", ErrUnknownType)
	}
}
