package shop

// Option is of the support code.
type Option int
