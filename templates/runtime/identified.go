package runtime

// Identified is a message of a batch whose id is no field of it.
type Identified[M any] struct {
	ID      string
	Message M
}
