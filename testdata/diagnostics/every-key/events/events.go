// Package events has the messages that the spec beside it names by go_type.
package events

// OrderMoved says that an order went to another account.
type OrderMoved struct {
	AccountID   int64  `json:"account_id"`
	Name        string `json:"name"`
	PrevVersion int64  `json:"prev_version"`
}

// CardCharged says that a card was charged.
type CardCharged struct {
	Amount int64 `json:"amount"`
}
