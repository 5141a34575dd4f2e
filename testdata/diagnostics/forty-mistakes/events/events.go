// Package events has the messages that the spec beside it names by go_type.
package events

// Invoiced says that an invoice was sent.
type Invoiced struct{ ID string }

// Reminded says that a reminder was sent.
type Reminded struct{ ID string }

// Moved says that an account has another name.
type Moved struct{ Name string }
