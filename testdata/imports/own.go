// Package imports is generated into, and has types that are messages.
package imports

import "database/sql/driver"

// Own is an event, declared beside the generated code.
type Own struct {
	base
	*Embedded
	Tags  *OwnLabels `json:"tags"`
	Marks OwnMarks   `json:"marks"`
}

type base struct {
	EventID string
}

// Embedded may be missing, and what it has with it.
type Embedded struct {
	Payment *struct {
		Amount *int64 `json:"amount"`
	} `json:"payment"`
}

// OwnLabels is a list with a name.
type OwnLabels []string

// OwnID is a string with a name.
type OwnID string

// OwnMarks is a list with a name.
type OwnMarks []OwnMark

// OwnMark knows its form in SQL.
type OwnMark struct{ Text string }

// UnmarshalText reads a mark.
func (m *OwnMark) UnmarshalText(text []byte) error {
	m.Text = string(text)
	return nil
}

// Value is the mark in SQL.
func (m OwnMark) Value() (driver.Value, error) { return m.Text, nil }
