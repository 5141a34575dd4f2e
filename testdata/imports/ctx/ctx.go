// Package ctx has a name that means something else in generated code, or in another package.
package ctx

// Message is an event.
type Message struct {
	EventID string   `json:"event_id"`
	Payment *Payment `json:"payment"`
}

// Payment may be missing.
type Payment struct {
	Amount int64  `json:"amount"`
	Tags   Labels `json:"tags"`
}

// Labels is a list with a name.
type Labels []string
