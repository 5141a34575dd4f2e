package gotype

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// initialisms are written in capitals, as revive and staticcheck want them.
var initialisms = map[string]bool{
	"ACL": true, "AMQP": true, "API": true, "ASCII": true, "CPU": true, "CSS": true, "DB": true, "DNS": true, "EOF": true,
	"GID": true, "GUID": true, "HTML": true, "HTTP": true, "HTTPS": true, "ID": true, "IP": true, "JSON": true, "QPS": true,
	"RAM": true, "RPC": true, "RTP": true, "SIP": true, "SLA": true, "SMTP": true, "SQL": true, "SSH": true, "TCP": true,
	"TLS": true, "TS": true, "TTL": true, "UDP": true, "UI": true, "UID": true, "URI": true, "URL": true, "UTF8": true,
	"UUID": true, "VM": true, "XML": true, "XMPP": true, "XSRF": true, "XSS": true,
}

// GoName returns the exported Go name of a name in the spec: order_id → OrderID, apiURL → APIURL.
func GoName(name string) (string, error) {
	var b strings.Builder
	for _, word := range words(name) {
		if upper := strings.ToUpper(word); initialisms[upper] {
			b.WriteString(upper)
			continue
		}
		first, size := utf8.DecodeRuneInString(word)
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(word[size:])
	}
	out := b.String()
	first, _ := utf8.DecodeRuneInString(out)
	switch {
	case out == "":
		return "", fmt.Errorf("%q has no letter to make a Go name of", name)
	case !unicode.IsUpper(first):
		return "", fmt.Errorf("%q gives no exported Go name; begin it with a letter that has a capital form", name)
	}
	return out, nil
}

// words cuts a name at what is no letter or digit and where lower case turns to upper.
func words(name string) []string {
	var out []string
	start, previous := 0, rune(0)
	cut := func(end int) {
		if end > start {
			out = append(out, name[start:end])
		}
	}
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			start = i + utf8.RuneLen(r)
		case unicode.IsUpper(r) && unicode.IsLower(previous):
			cut(i)
			start = i
		}
		previous = r
	}
	cut(len(name))
	return out
}
