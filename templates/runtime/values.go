package runtime

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// jsonText returns v as JSON text, which every pgx mode can send, and nil, which is NULL, for a map or a list that is
// nil. What can't be JSON was not decoded from it.
func jsonText(v any) any {
	text, err := json.Marshal(v)
	switch {
	case err != nil:
		return err.Error()
	case string(text) == "null":
		return nil
	}
	return string(text)
}

// stringList returns a list of a named string type as one that every pgx mode can send.
func stringList[S ~string](list []S) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// textList returns a list of values that know their form in SQL, such as UUIDs, as one that every pgx mode can send.
func textList[V driver.Valuer](list []V) any {
	if list == nil {
		return nil
	}
	out := make([]*string, len(list))
	for i, v := range list {
		value, err := v.Value()
		if err != nil {
			return list // for pgx to say what is wrong
		}
		var text string
		switch value := value.(type) {
		case nil:
			continue
		case string:
			text = value
		case []byte:
			text = string(value)
		case time.Time:
			text = value.Format(time.RFC3339Nano)
		default:
			text = fmt.Sprint(value)
		}
		out[i] = &text
	}
	return out
}
