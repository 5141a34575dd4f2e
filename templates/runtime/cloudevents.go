package runtime

import "strings"

// CloudEvent is a message of a batch with the attributes that identify it.
type CloudEvent[M any] struct {
	Source, ID string
	Message    M
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
