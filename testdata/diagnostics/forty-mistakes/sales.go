package sales

// Counted is a message too.
type Counted struct{}
