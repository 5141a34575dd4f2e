package spec

import _ "embed" // the schema

//go:embed schema.json
var schema []byte

// JSONSchema returns the JSON Schema (draft 2020-12) of a spec, for editors. It describes the form of each value; what
// holds between values is known to Read alone.
func JSONSchema() []byte { return append([]byte(nil), schema...) }
