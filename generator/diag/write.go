package diag

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Format is a way to write diagnostics.
type Format string

// The formats: for a person, for a program, and for the log of a GitHub workflow.
const (
	Text   Format = "text"
	JSON   Format = "json"
	GitHub Format = "github"
)

// Formats lists the formats, for a flag's help and completion.
func Formats() []Format { return []Format{Text, JSON, GitHub} }

// Write writes diagnostics in a format. For Text, source returns what a file holds, nil when it is not known, and the
// faulty line is shown with a caret. Only Text has colour.
func Write(w io.Writer, ds []Diagnostic, format Format, source func(file string) []byte, color bool) error {
	out := bufio.NewWriter(w)
	switch format {
	case Text:
		writeText(out, ds, source, color)
	case JSON:
		if err := writeJSON(out, ds); err != nil {
			return err
		}
	case GitHub:
		writeGitHub(out, ds)
	default:
		return fmt.Errorf("unknown format %q: write text, json or github", format)
	}
	return out.Flush()
}

// jsonDiagnostic fixes the field names that programs rely on.
type jsonDiagnostic struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`
	Message  string   `json:"message"`
}

// writeJSON writes one array, a diagnostic a line.
func writeJSON(w *bufio.Writer, ds []Diagnostic) error {
	separator := "[\n  "
	for _, d := range ds {
		var line strings.Builder
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		err := encoder.Encode(jsonDiagnostic{
			clean(d.Pos.File), d.Pos.Line, d.Pos.Column, d.Severity, d.Rule, clean(d.Message),
		})
		if err != nil {
			return err
		}
		fmt.Fprint(w, separator, strings.TrimSuffix(line.String(), "\n"))
		separator = ",\n  "
	}
	if len(ds) == 0 {
		fmt.Fprint(w, "[]\n")
	} else {
		fmt.Fprint(w, "\n]\n")
	}
	return nil
}

// writeGitHub writes workflow commands, which GitHub shows at the line in a pull request.
func writeGitHub(w *bufio.Writer, ds []Diagnostic) {
	for _, d := range ds {
		properties := []string{"file=" + commandProperty.Replace(clean(d.Pos.File))}
		if d.Pos.Line > 0 {
			properties = append(properties, "line="+strconv.Itoa(d.Pos.Line))
		}
		if d.Pos.Line > 0 && d.Pos.Column > 0 {
			properties = append(properties, "col="+strconv.Itoa(d.Pos.Column))
		}
		properties = append(properties, "title="+commandProperty.Replace(d.Rule))
		fmt.Fprintf(w, "::%s %s::%s\n", d.Severity, strings.Join(properties, ","), commandData.Replace(clean(d.Message)))
	}
}

// The escapes of GitHub's workflow commands. Line ends don't get here: clean replaces them.
var (
	commandData     = strings.NewReplacer("%", "%25")
	commandProperty = strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
)

// clean makes user text harmless: a control character could move the cursor, a bidirectional one reorder the line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case unsafe(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func unsafe(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
