package runtime

import (
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
)

// float is a number that may have a fraction. As a float64, pgx would cut the fraction where PostgreSQL takes the parameter
// for an integer.
type float float64

// Value is what pgx sends where it does not ask the server for the parameter's type.
func (f float) Value() (driver.Value, error) { return float64(f), nil }

// Float64Value is what a parameter of a type with fractions gets.
func (f float) Float64Value() (pgtype.Float8, error) {
	return pgtype.Float8{Float64: float64(f), Valid: true}, nil
}

// Int64Value is what a parameter of an integer type gets.
func (f float) Int64Value() (pgtype.Int8, error) {
	n := int64(f)
	if float64(n) != float64(f) {
		return pgtype.Int8{}, fmt.Errorf("%v is no whole number, and PostgreSQL takes the parameter for an integer", float64(f))
	}
	return pgtype.Int8{Int64: n, Valid: true}, nil
}
