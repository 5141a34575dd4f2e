package runtime

import "errors"

// knownMessage is the message's name, or one word for all that the spec does not know: what a producer writes must not
// make new time series.
func knownMessage(e Event) string {
	if e.Outcome == Skipped || errors.Is(e.Err, ErrUnknownType) {
		return "unknown"
	}
	return e.Message
}
