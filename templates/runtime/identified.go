package runtime

// Identified is a message of a batch whose id is no field of it.
type Identified[M any] struct {
	ID      string
	Message M
}

// identified says which id a message has that does not stand in its body, for the case that this can't be decoded.
func (d Delivery) identified(id string) Delivery {
	d.known = id
	return d
}
