package spec

import (
	"errors"
	"fmt"
	"go/token"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/inboxgen/inboxgen/generator/diag"
)

// oneOf is a word out of a few.
func oneOf(words ...string) kind[string] {
	return kind[string]{what: join(words, "or"), parse: func(s string) (string, error) {
		for _, w := range words {
			if s == w {
				return s, nil
			}
		}
		if w := diag.Nearest(s, words); w != "" {
			return "", fmt.Errorf("must be %s, not %s: did you mean %s?", join(words, "or"), quoteShort(s), w)
		}
		return "", errForm
	}}
}

// number is a whole number between two bounds.
func number(what string, least, most int) kind[int] {
	return kind[int]{what: what, parse: func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if errors.Is(err, strconv.ErrRange) || err == nil && (n < least || n > most) {
			return 0, fmt.Errorf("%s is out of range: write a number from %d to %d", quoteShort(s), least, most)
		}
		if err != nil {
			return 0, errForm
		}
		return n, nil
	}}
}

var postgresMajor = kind[int]{what: "a major version such as 15", parse: func(s string) (int, error) {
	const oldest, newest = 14, 18
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return 0, errForm
	case n < oldest:
		return 0, fmt.Errorf("%d is not supported: PostgreSQL before %d no longer gets fixes, write %d to %d", n, oldest, oldest, newest)
	case n > newest:
		return 0, fmt.Errorf("%d is not known yet: write %d to %d, the oldest server the code must run on", n, oldest, newest)
	}
	return n, nil
}}

var boolean = kind[bool]{what: "true or false", parse: func(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, errForm
	}
	return s == "true", nil
}}

// expectation is how many rows an effect must touch.
var expectation = kind[Expect]{what: "one, some, any or a number of rows", parse: func(s string) (Expect, error) {
	switch s {
	case "one":
		return Expect{Kind: ExpectExactly, N: 1}, nil
	case "some":
		return Expect{Kind: ExpectSome}, nil
	case "any":
		return Expect{Kind: ExpectAny}, nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n < 0:
		return Expect{}, fmt.Errorf("%s is out of range: write a number from 1 to %d", quoteShort(s), math.MaxInt32)
	case err != nil:
		return Expect{}, errForm
	case n == 0:
		return Expect{}, errors.New("0 would make every applied effect an error: write any if the effect may touch no row")
	}
	return Expect{Kind: ExpectExactly, N: int(n)}, nil
}}

// duration is a duration of at least the given length.
func duration(what, least string) kind[time.Duration] {
	shortest, _ := parseDuration(least)
	return kind[time.Duration]{what: what, parse: func(s string) (time.Duration, error) {
		d, err := parseDuration(s)
		if err == nil && d < shortest {
			return 0, fmt.Errorf("%s is too short: write %s or longer", quoteShort(s), least)
		}
		return d, err
	}}
}

// pattern is a text of a certain shape.
func pattern(what, expression string) kind[string] {
	shape := regexp.MustCompile(`\A(?:` + expression + `)\z`)
	return kind[string]{what: what, parse: func(s string) (string, error) {
		if !shape.MatchString(s) {
			return "", errForm
		}
		return s, nil
	}}
}

// textUpTo is any text that is not blank, of so many bytes at most.
func textUpTo(what string, most int) kind[string] {
	return kind[string]{what: what, parse: func(s string) (string, error) {
		switch {
		case strings.TrimSpace(s) == "":
			return "", fmt.Errorf("is empty: write %s", what)
		case len(s) > most:
			return "", fmt.Errorf("is %d bytes long: write at most %d", len(s), most)
		case strings.ContainsFunc(s, unicode.IsControl):
			return "", fmt.Errorf("has a control character: write %s", what)
		}
		return s, nil
	}}
}

const word = `[A-Za-z_][A-Za-z0-9_]*`

var (
	fieldName = pattern("a field's name, which is letters, digits and _, and doesn't start with a digit", word)
	fieldPath = pattern("a field such as order_id, or a path such as payment.amount", word+`(?:\.`+word+`)*`)
	fieldType = textUpTo("a type such as string, in quotes when it starts with [ or *", 200)
	wireType  = textUpTo("the type's name on the wire, such as order.paid", 255)

	consumerKey = limited(pattern("a consumer's key, which names Go code and a file: write letters, digits and _, starting with a letter", `[A-Za-z][A-Za-z0-9_]*`), 63)
	reason      = paragraph(textUpTo("the reason, for those who review this", 500))
	ledgerName  = textUpTo("the name of the consumer's ledger", 200)

	kafkaTopic = pattern("a topic's name, which is at most 249 letters, digits, '.', '_' and '-'", `[A-Za-z0-9._-]{1,249}`)
	kafkaGroup = textUpTo("the name of the consumer group", 249)
	queueName  = textUpTo("the name of a queue", 255)
)

// paragraph is a text that may be written over several lines.
func paragraph(k kind[string]) kind[string] {
	return kind[string]{what: k.what, parse: func(s string) (string, error) { return k.parse(strings.Join(strings.Fields(s), " ")) }}
}

// limited bounds the length of a name.
func limited(k kind[string], most int) kind[string] {
	return kind[string]{what: k.what, parse: func(s string) (string, error) {
		if len(s) > most {
			return "", fmt.Errorf("is %d bytes long: write at most %d", len(s), most)
		}
		return k.parse(s)
	}}
}

// identifier is the name of something in PostgreSQL, always emitted quoted.
func identifier(what string) kind[string] {
	return kind[string]{what: what, parse: func(s string) (string, error) { return s, checkIdentifier(s, what) }}
}

// tableName is an identifier without a schema in front.
var tableName = kind[string]{what: "a table's name such as inbox", parse: func(s string) (string, error) {
	if schema, table, ok := strings.Cut(s, "."); ok {
		return "", fmt.Errorf("%s has a dot: write schema: %s and table: %s", quoteShort(s), schema, table)
	}
	return s, checkIdentifier(s, "a table's name such as inbox")
}}

// qualifiedTable is a table with or without its schema.
var qualifiedTable = kind[string]{what: "a table such as accounts or shop.accounts", parse: func(s string) (string, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 2 {
		return "", errForm
	}
	for _, part := range parts {
		if err := checkIdentifier(part, "a table such as accounts or shop.accounts"); err != nil {
			return "", err
		}
	}
	return s, nil
}}

func checkIdentifier(s, what string) error {
	const longest = 63
	if len(s) > longest {
		return fmt.Errorf("%s is %d bytes long, and PostgreSQL cuts names after %d: write a shorter one", quoteShort(s), len(s), longest)
	}
	_, err := textUpTo(what, longest).parse(s)
	return err
}

var goPackage = kind[string]{what: "a Go package name such as accounting", parse: func(s string) (string, error) {
	switch {
	case token.IsKeyword(s):
		return "", fmt.Errorf("%s is a Go keyword: write another package name", quoteShort(s))
	case !token.IsIdentifier(s) || s == "_":
		return "", errForm
	}
	return s, nil
}}

// exported is a Go identifier that starts with a capital letter.
func exported(what string) kind[string] {
	return limited(kind[string]{what: what, parse: func(s string) (string, error) {
		if !token.IsIdentifier(s) || !token.IsExported(s) {
			return "", errForm
		}
		return s, nil
	}}, 100)
}

var goType = kind[string]{what: "an exported struct such as example.com/shop/events.OrderPaid", parse: func(s string) (string, error) {
	dot := strings.LastIndexByte(s, '.')
	if dot < 1 || dot < strings.LastIndexByte(s, '/') || !token.IsIdentifier(s[dot+1:]) {
		return "", errForm
	}
	if !importPath.MatchString(s[:dot]) || path.Clean(s[:dot]) != s[:dot] {
		return "", errForm
	}
	if !token.IsExported(s[dot+1:]) {
		return "", fmt.Errorf("%s is not exported: the generated code can't use it, write a type with a capital letter", quoteShort(s))
	}
	return s, nil
}}

var importPath = regexp.MustCompile(`\A[\pL\pN_~][\pL\pN_~.+/-]*\z`)

// slashPath is a relative path with slashes.
var slashPath = kind[string]{what: "a path relative to the spec, such as effects/receipt.sql", parse: func(s string) (string, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", errors.New("is empty: write a path relative to the spec, or . for its directory")
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", errors.New("has a control character: write a path relative to the spec")
	case strings.Contains(s, `\`):
		return "", fmt.Errorf("%s has a backslash: write / between directories", quoteShort(s))
	case path.IsAbs(s), driveLetter.MatchString(s):
		return "", fmt.Errorf("%s is absolute: write a path relative to the spec", quoteShort(s))
	}
	return s, nil
}}

var driveLetter = regexp.MustCompile(`\A[A-Za-z]:`)

// FormatDuration writes a duration as a spec does: 8d, 1d12h, 90m.
func FormatDuration(d time.Duration) string {
	text := ""
	if days := d / (24 * time.Hour); days > 0 {
		text = strconv.Itoa(int(days)) + "d"
		if d %= 24 * time.Hour; d == 0 {
			return text
		}
	}
	rest := d.String()
	if strings.HasSuffix(rest, "m0s") {
		rest = strings.TrimSuffix(rest, "0s")
	}
	if strings.HasSuffix(rest, "h0m") {
		rest = strings.TrimSuffix(rest, "0m")
	}
	return text + rest
}
