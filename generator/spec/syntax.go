package spec

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// A syntaxRule turns one complaint of the YAML parser into what to do about it.
type syntaxRule struct {
	complaint string
	advice    string
	// find returns the byte offset of the fault in the line that holds it; nil means the line's first character.
	find func(e syntaxError, lineStart int) int
}

var syntaxRules = []syntaxRule{
	{"found a tab character", tabAdvice, exactOffset},
	{"cannot start any token", "a value can't start with %s: put it in quotes", exactOffset},
	{"mapping values are not allowed", `": " can't stand here: align the line with the one above, or put the value in quotes`, exactOffset},
	{"could not find expected ':'", "a key needs a value: write KEY: VALUE", nil},
	{"did not find expected key", "expected a key: check the line's indentation, and put a value that starts with [ or { or a quote wholly in quotes", nil},
	{"did not find expected '-' indicator", `expected "- ": every item of a list starts with it, at the same indentation`, nil},
	{"found unexpected end of stream", "a quote is opened here and never closed", opener(`"'`)},
	{"did not find expected ',' or ']'", `the list that starts here lacks a "," or its "]"; put a value that starts with [ or { in quotes`, opener("[")},
	{"did not find expected ',' or '}'", `the mapping that starts here lacks a "," or its "}"; put a value that starts with [ or { in quotes`, opener("{")},
	{"did not find expected comment or line break", "nothing but a comment can follow | or > on its line", exactOffset},
	{"found unknown escape character", `unknown escape: write \\ for a backslash, or use single quotes`, exactOffset},
	{"did not find expected alphabetic", "a value can't start with * or &: put it in quotes", exactOffset},
	{"found incompatible YAML document", directiveAdvice, nil},
	{"directive", directiveAdvice, nil},
	{"<document start>", "a spec is one YAML document: nothing can follow its end", nil},
}

const (
	tabAdvice       = "a tab can't indent YAML: use spaces"
	directiveAdvice = "directives are not part of a spec: remove the line that starts with %"
)

var (
	reportedLine  = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// A syntaxError is a text that is not YAML, with the parser's complaint.
type syntaxError struct {
	text      string
	complaint string
	line      int // as reported by the parser, often wrong; 0 when not reported
}

func newSyntaxError(text string, err error) syntaxError {
	e := syntaxError{text: text, complaint: complaint(err)}
	if m := reportedLine.FindStringSubmatch(err.Error()); m != nil {
		fmt.Sscan(m[1], &e.line) //nolint:errcheck // an absent line stays 0
	}
	return e
}

func complaint(err error) string {
	return reportedLine.ReplaceAllString(err.Error(), "")
}

// diagnostic says what is wrong where. The parser gives no column and, for many complaints, the line of something else,
// so the place is found by parsing ever shorter beginnings of the text.
func (e syntaxError) diagnostic(file string) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Error, Rule: "yaml-syntax", Message: "this is not YAML: " + e.complaint}
	line := e.faultyLine()
	offset := e.firstCharacter(line)
	if at, name, ok := e.strayAlias(); ok {
		offset = at
		d.Rule, d.Message = "yaml-feature", aliasAdvice(name)
	} else if rule := e.rule(); rule != nil {
		offset, d.Message = e.apply(rule, line)
	}
	d.Pos = positionIn(file, e.text, offset)
	return d
}

// strayAlias returns the offset and the name of the alias that the complaint is about, if it is about one.
func (e syntaxError) strayAlias() (offset int, name string, ok bool) {
	m := unknownAnchor.FindStringSubmatch(e.complaint)
	if m == nil {
		return 0, "", false
	}
	var places []int // where the text has it, be it an alias, or in a comment or a string
	for from := 0; ; {
		at := strings.Index(e.text[from:], "*"+m[1])
		if at < 0 {
			break
		}
		places = append(places, from+at)
		from += at + 1
	}
	lineEnd := func(at int) int { return at + len(lineAt(e.text, at)) }
	first := sort.Search(len(places), func(i int) bool { return e.failsWithin(lineEnd(places[i])) })
	if first == len(places) {
		return 0, "", false
	}
	end := lineEnd(places[first])
	inLine := sort.Search(len(places)-first-1, func(i int) bool {
		return lineEnd(places[first+i+1]) > end || e.failsWithin(places[first+i]+1+len(m[1]))
	})
	return places[first+inLine], m[1], true
}

func (e syntaxError) rule() *syntaxRule {
	for i := range syntaxRules {
		if strings.Contains(e.complaint, syntaxRules[i].complaint) {
			return &syntaxRules[i]
		}
	}
	return nil
}

func (e syntaxError) apply(rule *syntaxRule, line int) (offset int, message string) {
	offset = e.firstCharacter(line)
	if rule.find != nil {
		offset = rule.find(e, line)
	}
	if !strings.Contains(rule.advice, "%s") {
		return offset, rule.advice
	}
	character, _ := utf8.DecodeRuneInString(e.text[offset:])
	if character == '\t' {
		return offset, tabAdvice
	}
	return offset, fmt.Sprintf(rule.advice, string(character))
}

// unclosed reports whether the complaint comes at the end of something opened earlier. Then, and only then, the
// reported line is that of the opening.
func (e syntaxError) unclosed() bool {
	return strings.Contains(e.complaint, "end of stream") || strings.Contains(e.complaint, "expected ',' or")
}

// faultyLine returns the offset at which the faulty line starts.
func (e syntaxError) faultyLine() int {
	starts := lineStarts(e.text)
	if e.unclosed() {
		line := max(e.line, 1)
		if strings.Contains(e.complaint, "expected ',' or") && e.line > 0 {
			line++ // reported one too early
		}
		return starts[min(line, len(starts))-1]
	}
	// What the parser reports is wrong but near, and each look parses from the start: search around it first.
	last := len(starts) - 1
	fails := func(i int) bool { return i >= last || e.failsWithin(starts[i+1]) }
	low, high := 0, min(max(e.line-1, 0), last)
	if fails(high) {
		for step := 1; high-step >= 0; step *= 2 {
			if !fails(high - step) {
				low = high - step + 1
				break
			}
			high -= step
		}
	} else {
		low, high = high+1, last
		for step := 1; low+step < last; step *= 2 {
			if fails(low + step) {
				high = low + step
				break
			}
			low += step + 1
		}
	}
	return starts[low+sort.Search(high-low, func(i int) bool { return fails(low + i) })]
}

// failsWithin reports whether the first n bytes of the text already bring the same complaint.
func (e syntaxError) failsWithin(n int) bool {
	_, _, err := parse(e.text[:n])
	return err != nil && complaint(err) == e.complaint
}

func (e syntaxError) firstCharacter(lineStart int) int {
	line := lineAt(e.text, lineStart)
	blank := len(line) - len(strings.TrimLeft(line, " "))
	if blank == len(line) {
		return lineStart
	}
	return lineStart + blank
}

// exactOffset returns the last character of the shortest beginning of the text that brings the complaint.
func exactOffset(e syntaxError, lineStart int) int {
	line := lineAt(e.text, lineStart)
	n := sort.Search(len(line), func(i int) bool { return e.failsWithin(lineStart + i + 1) })
	for n > 0 && (n >= len(line) || !utf8.RuneStart(line[n])) {
		n--
	}
	return lineStart + n
}

// opener finds the last of the given characters that starts a value in the line.
func opener(characters string) func(syntaxError, int) int {
	return func(e syntaxError, lineStart int) int {
		line := lineAt(e.text, lineStart)
		for i := len(line) - 1; i >= 0; i-- {
			if strings.IndexByte(characters, line[i]) >= 0 && (i == 0 || strings.IndexByte(" \t[{,", line[i-1]) >= 0) {
				return lineStart + i
			}
		}
		return e.firstCharacter(lineStart)
	}
}

// lineAt returns the line that starts at offset, without its end.
func lineAt(text string, offset int) string {
	line, _, _ := strings.Cut(text[offset:], "\n")
	return line
}

// lineStarts returns the offset of each line; a final line end opens no further line.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) - 1 {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}
