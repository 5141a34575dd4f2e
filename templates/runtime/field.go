package runtime

import "encoding/json"

// jsonField returns the string at a path of a JSON object, or "".
func jsonField(body []byte, path ...string) string {
	for _, name := range path {
		var fields map[string]json.RawMessage
		if json.Unmarshal(body, &fields) != nil {
			return ""
		}
		body = fields[name]
	}
	var value string
	if json.Unmarshal(body, &value) != nil {
		return ""
	}
	return value
}
