package spec

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// nearest returns the word that a misspelled one most likely means, or "".
func nearest(misspelled string, words []string) string {
	if len(misspelled) > 64 {
		return ""
	}
	from := foldSpelling(misspelled)
	best, bestDistance := "", 3
	for _, w := range words {
		distance := editDistance(from, foldSpelling(w))
		if distance < bestDistance && 2*distance < max(len(w), 3) {
			best, bestDistance = w, distance
		}
	}
	return best
}

// foldSpelling removes what people vary first: case and the separators of words.
func foldSpelling(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours between a and b.
func editDistance(a, b string) int {
	var before []int
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current := make([]int, len(b)+1)
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j]+cost, previous[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, previous = previous, current
	}
	return previous[len(b)]
}

// quoteShort quotes what the user wrote, cut to what a message can hold.
func quoteShort(s string) string {
	const limit = 60
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit]) + "…"
	}
	return strconv.Quote(s)
}
