//go:build generated

package shop

// HandleCharged is what the message is handled by.
func (b *Billing) HandleCharged() {}

// HandleTx is a dispatcher.
func (b *Billing) HandleTx() {}

// ID is a field.
func (r Refunded) ID() {}

// Amount is no name of a consumer.
func (b *Billing) Amount() {}
