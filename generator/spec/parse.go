package spec

import (
	"errors"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

const nextLine = '\u0085'

// YAML 1.1 ends a line at these characters too, an editor does not, and a CR inside an SQL string must survive. While
// the YAML is parsed, noncharacters stand in for them: one for one, so that columns stay right.
var (
	hideBreaks = strings.NewReplacer(
		"\r", "\U0010FFFE", string(nextLine), "\U0010FFFF", "\u2028", "\U000FFFFE", "\u2029", "\U000FFFFF")
	showBreaks = strings.NewReplacer(
		"\U0010FFFE", "\r", "\U0010FFFF", string(nextLine), "\U000FFFFE", "\u2028", "\U000FFFFF", "\u2029")
)

// strayAlias stands in for the * of an alias without an anchor, at which the parser would stop: the rest is to be read
// too.
const strayAlias = "\U000EFFFE"

// parseWithAliases is parse, with an alias that has no anchor as a node too.
func parseWithAliases(text string) (first, second *yaml.Node, err error) {
	first, second, err = parse(text)
	const most = 20 // each costs some looks at the text
	for again := err; again != nil; {
		at, _, ok := newSyntaxError(text, again).strayAlias()
		if !ok || strings.Count(text, strayAlias) == most {
			return nil, nil, err
		}
		text = text[:at] + strayAlias + text[at+1:]
		first, second, again = parse(text)
	}
	restoreAliases(first)
	return first, second, nil
}

func restoreAliases(n *yaml.Node) {
	if name, ok := strings.CutPrefix(n.Value, strayAlias); ok && n.Kind == yaml.ScalarNode && n.Style == 0 {
		n.Kind, n.Tag, n.Value = yaml.AliasNode, "", name
	}
	for _, child := range n.Content {
		restoreAliases(child)
	}
}

// parse returns the first document of a YAML text, and the start of a second one if there is any. An empty text gives
// io.EOF.
func parse(text string) (first, second *yaml.Node, err error) {
	defer func() {
		// yaml.v3 has panicked on malformed input before.
		if recover() != nil {
			err = errors.New("yaml: this is not YAML")
		}
	}()
	decoder := yaml.NewDecoder(strings.NewReader(hideBreaks.Replace(text)))
	first, second = new(yaml.Node), new(yaml.Node)
	if err := decoder.Decode(first); err != nil {
		return nil, nil, err
	}
	switch err := decoder.Decode(second); {
	case errors.Is(err, io.EOF):
		return first, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return first, second, nil
}
