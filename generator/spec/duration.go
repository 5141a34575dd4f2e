package spec

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"time"
)

var (
	durationShape = regexp.MustCompile(`\A(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|μs|ms|s|m|h|d|w))+\z`)
	durationPart  = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)([a-zµμ]+)`)
	bareNumber    = regexp.MustCompile(`\A[0-9]+\z`)
	negative      = regexp.MustCompile(`\A-[0-9]`)

	errTooLong = errors.New("is longer than 292 years: write a shorter duration")
)

// longUnits are the units that Go's durations lack, in hours.
var longUnits = map[string]time.Duration{"d": 24, "w": 7 * 24}

// parseDuration reads Go's durations with d and w added, such as 1d12h.
func parseDuration(s string) (time.Duration, error) {
	switch {
	case s == "0":
		return 0, nil
	case bareNumber.MatchString(s):
		return 0, fmt.Errorf("%s has no unit: write %sd for days or %sh for hours", quoteShort(s), s, s)
	case negative.MatchString(s):
		return 0, fmt.Errorf("%s is negative: write a positive duration", quoteShort(s))
	case !durationShape.MatchString(s):
		return 0, errForm
	}
	var sum time.Duration
	for _, m := range durationPart.FindAllStringSubmatch(s, -1) {
		part, err := parsePart(m[1], m[2])
		if err != nil || part > math.MaxInt64-sum {
			return 0, errTooLong
		}
		sum += part
	}
	return sum, nil
}

func parsePart(number, unit string) (time.Duration, error) {
	hours, long := longUnits[unit]
	if !long {
		return time.ParseDuration(number + unit)
	}
	part, err := time.ParseDuration(number + "h")
	if err != nil || part > math.MaxInt64/hours {
		return 0, errTooLong
	}
	return part * hours, nil
}
