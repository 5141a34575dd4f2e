//go:build ignore

package brokers

import (
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"
)

// watermill returns a handler for a Watermill router. The message's metadata are the headers; its UUID, which is Watermill's
// own, is not used. An error has Watermill deliver the message again: put Classify into its poison queue's filter.
func (i *inbox) watermill(decode decoder) message.NoPublishHandlerFunc {
	return func(m *message.Message) error {
		_, err := i.handle(m.Context(), Delivery{Headers: maps.Clone(m.Metadata), Body: m.Payload}, decode)
		return err
	}
}
