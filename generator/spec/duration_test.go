package spec

import (
	"testing"
	"time"
)

func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"8d": 8 * 24 * time.Hour, "1d12h": 36 * time.Hour, "6h": 6 * time.Hour, "1h30m": 90 * time.Minute, "1m30s": 90 * time.Second,
		"1d1s": 24*time.Hour + time.Second, "0s": 0, "1.5s": 1500 * time.Millisecond,
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
