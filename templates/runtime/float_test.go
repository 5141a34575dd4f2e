package runtime

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// TestFloat encodes a number as each type of number: whole ones as all, others only where the fraction stays.
func TestFloat(t *testing.T) {
	types := pgtype.NewMap()
	for oid, fraction := range map[uint32]bool{
		pgtype.Int2OID: false, pgtype.Int4OID: false, pgtype.Int8OID: false,
		pgtype.NumericOID: true, pgtype.Float4OID: true, pgtype.Float8OID: true,
	} {
		for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
			encoded, err := types.Encode(oid, format, float(-2), nil)
			var back float64
			if err == nil {
				err = types.Scan(oid, format, encoded, &back)
			}
			if err != nil || back != -2 {
				t.Errorf("type %d, format %d: -2 becomes %v, %v", oid, format, back, err)
			}
			if _, err := types.Encode(oid, format, float(1.5), nil); (err == nil) != fraction {
				t.Errorf("type %d, format %d: 1.5: %v", oid, format, err)
			}
			if _, err := types.Encode(oid, format, float(1e300), nil); !fraction && err == nil {
				t.Errorf("type %d, format %d takes 1e300", oid, format)
			}
		}
	}
}
