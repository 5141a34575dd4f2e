// Package shop has what the user wrote beside the generated code, under names that this has too.
package shop

import "github.com/inboxgen/inboxgen/testdata/imports/inbox"

// Accounting is a consumer.
type Accounting struct{}

// Handle goes with the type.
func (Accounting) Handle() {}

// NewBilling is a constructor.
func NewBilling() {}

type (
	// Größe has more letters than ASCII.
	Größe string
	// Paid is a message.
	Paid struct{ Größe Größe }
)

const accountingRefundedSQL = "SELECT 1"

var (
	// Outcome is of the support code, and pgx is imported.
	Outcome, pgx = accountingRefundedSQL, inbox.Message{}

	_ = pgx
)

// Charge is the user's own message: the generated code uses it.
type Charge struct {
	Amount int64 `json:"amount"`
}

// Result is one too, with a name of the support code.
type Result struct {
	Amount int64 `json:"amount"`
}
