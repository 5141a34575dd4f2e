package pgsql

// Reference is a parameter as the user wrote it.
type Reference struct {
	Name  string
	Start int // of its @
}

// References lists the parameters in a text that need not be a statement, each name where it first stands.
func (s *Schema) References(source string) []Reference {
	_, params, _ := s.scan(source)
	return references(params)
}

// References lists the statement's parameters, each name where it first stands.
func (s *Statement) References() []Reference { return references(s.params) }

func references(params []occurrence) []Reference {
	seen := map[string]bool{}
	var out []Reference
	for _, p := range params {
		if !seen[p.name] {
			seen[p.name] = true
			out = append(out, Reference{p.name, p.start})
		}
	}
	return out
}
