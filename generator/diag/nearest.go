package diag

import "strings"

// Nearest returns the word that a misspelled one most likely means, or "".
func Nearest(misspelled string, words []string) string {
	if len(misspelled) > 64 {
		return ""
	}
	from := FoldSpelling(misspelled)
	best, bestDistance := "", 3
	for _, w := range words {
		distance := editDistance(from, FoldSpelling(w))
		if distance < bestDistance && 2*distance < max(len(w), 3) {
			best, bestDistance = w, distance
		}
	}
	return best
}

// FoldSpelling removes what people vary first: case and the separators of words.
func FoldSpelling(s string) string {
	return separators.Replace(strings.ToLower(s))
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

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
