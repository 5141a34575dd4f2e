// Package lists has named types made of types of other packages.
package lists

import "time"

// ID is a string with a name.
type ID string

// Times is a list with a name.
type Times []time.Time

// Moments is a list with a name, whose elements may be missing.
type Moments []*time.Time

// Names is a list with a name.
type Names []string

// Message is an event.
type Message struct {
	EventID ID      `json:"event_id"`
	Größe   int64   `json:"größe"`
	Names   *Names  `json:"names"`
	Times   Times   `json:"times"`
	Moments Moments `json:"moments"`
}
