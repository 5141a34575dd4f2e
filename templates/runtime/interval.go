package runtime

// Interval is a length of time as a text that PostgreSQL reads: of ISO 8601 (P1DT2H, PT1H30M), of its own (1 day 02:00:00)
// or of Go (1h30m0s).
type Interval string
