package spec

import (
	"strconv"
	"unicode/utf8"
)

// quoteShort quotes what the user wrote, cut to what a message can hold.
func quoteShort(s string) string {
	const limit = 60
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit]) + "…"
	}
	return strconv.Quote(s)
}
