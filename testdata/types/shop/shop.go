// Package shop has the messages of the case types, as a producer might declare them.
package shop

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Color is an enum in the database.
type Color string

// Level is a number with a name.
type Level int32

// Tags is a list with a name.
type Tags []string

// Header is embedded.
type Header struct {
	EventID    string    `json:"event_id"`
	OccurredAt time.Time `json:"occurred_at"`
}

// Payment is behind a pointer.
type Payment struct {
	Amount decimal.Decimal  `json:"amount"`
	Fee    *decimal.Decimal `json:"fee"`
	Card   *Card            `json:"card"`
}

// Card is behind two pointers.
type Card struct {
	Holder string `json:"holder"`
}

// Line is an element of a list.
type Line struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

// Order has a field of every kind that a Go type can bring.
type Order struct {
	Header
	Buyer    uuid.UUID              `json:"buyer"`
	Seller   *uuid.UUID             `json:"seller"`
	Token    [16]byte               `json:"token"`
	Spare    *[16]byte              `json:"spare"`
	Session  string                 `json:"session"`
	Agents   []uuid.UUID            `json:"agents"`
	Steps    []decimal.Decimal      `json:"steps"`
	Words    []*string              `json:"words"`
	Ports    []uint16               `json:"ports"`
	Tags     Tags                   `json:"tags"`
	Docs     []json.RawMessage      `json:"docs"`
	Total    decimal.Decimal        `json:"total"`
	Discount json.Number            `json:"discount"`
	Payment  *Payment               `json:"payment"`
	Color    Color                  `json:"color"`
	Accent   *Color                 `json:"accent"`
	Colors   []Color                `json:"colors"`
	Labels   []Color                `json:"labels"`
	Level    Level                  `json:"level"`
	Levels   []Level                `json:"levels"`
	Lines    []Line                 `json:"lines"`
	First    Line                   `json:"first"`
	Last     *Line                  `json:"last"`
	Attrs    map[string]any         `json:"attrs"`
	Raw      json.RawMessage        `json:"raw"`
	Photo    []byte                 `json:"photo"`
	PaidAt   *time.Time             `json:"paid_at"`
	SentAt   *timestamppb.Timestamp `json:"sent_at"`
	Small    uint16                 `json:"small"`
	Ratio    float32                `json:"ratio"`
	Untagged *string

	// PaymentCardHolder is named as the way to a field of the payment is.
	PaymentCardHolder *Line `json:"payment_card_holder"`

	Day  *pgtype.Date  `json:"day"`
	Days []pgtype.Date `json:"days"`
}
