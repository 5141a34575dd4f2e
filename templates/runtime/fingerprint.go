package runtime

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"reflect"
	"time"
)

// contentFingerprint is 64 bits of what a message is: 16 of its wire type, 16 of the shape of what the effects use, and 32
// of the values. The shape lists the fields and their types, so that a marker written before the effects changed is
// recognized as made of something else, and not taken for a reused id.
func contentFingerprint(wireType, shape string, values ...any) int64 {
	h := sha256.New()
	for _, v := range values {
		hashValue(h, v)
	}
	content := binary.BigEndian.Uint32(h.Sum(nil))
	return int64(bits16(wireType)<<48 | bits16(shape)<<32 | uint64(content))
}

func bits16(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	sum := h.Sum64()
	return (sum ^ sum>>16 ^ sum>>32 ^ sum>>48) & 0xffff
}

// hashValue writes v so that no two different values write the same bytes, and equal ones do, whatever way they came.
// Times are hashed in microseconds, PostgreSQL's resolution.
func hashValue(h hash.Hash, v any) {
	switch v := v.(type) {
	case nil:
		hashBytes(h, 'n', nil)
		return
	case string:
		hashBytes(h, 's', []byte(v))
		return
	case []byte:
		hashBytes(h, 'b', v)
		return
	case time.Time:
		hashUint(h, 't', uint64(v.UnixMicro()))
		return
	case driver.Valuer:
		if r := reflect.ValueOf(v); r.Kind() != reflect.Pointer || !r.IsNil() {
			if inner, err := v.Value(); err == nil {
				hashValue(h, inner)
				return
			}
		}
	}
	hashReflected(h, reflect.ValueOf(v))
}

func hashReflected(h hash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			hashValue(h, nil)
			return
		}
		hashValue(h, v.Elem().Interface())
	case reflect.String:
		hashBytes(h, 's', []byte(v.String()))
	case reflect.Bool:
		hashBytes(h, 'o', fmt.Append(nil, v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		hashUint(h, 'i', uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		hashUint(h, 'u', v.Uint())
	case reflect.Float32, reflect.Float64:
		hashUint(h, 'f', math.Float64bits(v.Float()))
	default:
		hashJSON(h, v)
	}
}

// hashJSON hashes a composite value. JSON sorts a map's keys, so equal values give equal bytes.
func hashJSON(h hash.Hash, v reflect.Value) {
	text, err := json.Marshal(v.Interface())
	if err != nil {
		text = fmt.Append(nil, v.Interface())
	}
	hashBytes(h, 'j', text)
}

func hashBytes(h hash.Hash, kind byte, b []byte) {
	hashUint(h, kind, uint64(len(b)))
	_, _ = h.Write(b)
}

func hashUint(h hash.Hash, kind byte, n uint64) {
	var buf [9]byte
	buf[0] = kind
	binary.BigEndian.PutUint64(buf[1:], n)
	_, _ = h.Write(buf[:])
}
