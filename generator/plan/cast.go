package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/spec"
)

// checkCasts refuses a parameter whose cast gives it a type that pgx can't send its field as. Every message would fail.
func (r *effectResolver) checkCasts(e *spec.Effect, s *pgsql.Statement) {
	for i, name := range s.Parameters() {
		field, err := r.message.Go.Lookup(name)
		cast := s.Cast(i)
		if err != nil || cast == "" || canSend(field.Type, cast) {
			continue
		}
		start, _ := s.ParameterOffset(i)
		advice := "give the field another type"
		if slices.Contains(textTypes, cast) { // which every type can be cast to
			advice = fmt.Sprintf("write (@%s::%s)::%s", name, sentAs(field.Type), cast)
		}
		r.diags.Errorf(e.SQL.At(start), "cast", "@%s is %s, which can't be sent as %s, the type that the cast gives it; %s", name, field.Type, cast, advice)
	}
}

// checkTypes refuses parameters whose type PostgreSQL can't tell, or takes for an integer although the field has fractions.
func (r *effectResolver) checkTypes(e *spec.Effect, s *pgsql.Statement) {
	typeless := s.Typeless()
	for _, p := range typeless {
		if t := r.sentType(p.Name); t != "" {
			r.diags.Errorf(e.SQL.At(p.Start), "untyped-parameter", "PostgreSQL can't tell the type of @%s here; write @%s::%s", p.Name, p.Name, t)
		}
	}
	for _, p := range s.Integers() {
		field, err := r.message.Go.Lookup(p.Name)
		if err == nil && hasFraction(field.Type) && !slices.Contains(typeless, p) {
			r.diags.Errorf(e.SQL.At(p.Start), "integer-parameter", "beside a whole number PostgreSQL takes @%s for an integer, which has no fraction; write @%s::numeric", p.Name, p.Name)
		}
	}
}

// sentType is the PostgreSQL type closest to what a parameter is, or "" where that is not known.
func (r *effectResolver) sentType(name string) string {
	field, err := r.message.Go.Lookup(name)
	switch {
	case err == nil && field.Type.Use != gotype.AsJSON:
		return sentAs(field.Type)
	case err != nil && isBuiltin(name):
		return "text"
	}
	return ""
}

// hasFraction reports whether values of a type are numbers that need not be whole.
func hasFraction(t *gotype.Type) bool {
	if t.Kind == gotype.Pointer {
		return hasFraction(t.Elem)
	}
	return t.Kind == gotype.Basic && strings.HasPrefix(t.Name, "float") || t.Kind == gotype.Named && (t.Name == "Number" || t.Name == "Decimal")
}

var (
	number      = regexp.MustCompile(`^(u?int|float)\d*$`)
	numberTypes = []string{"int2", "int4", "int8", "numeric", "float4", "float8", "oid"}
	jsonTypes   = []string{"json", "jsonb"}
	textTypes   = []string{"text", "varchar", "bpchar", "name"}
	otherTypes  = []string{"bool", "date", "time", "timestamp", "timestamptz", "interval", "uuid", "bytea", "inet", "cidr"}
)

// canSend reports whether pgx has a way to send values of a Go type as a PostgreSQL type, in all of its modes. Of a type
// that is not known, on either side, it is taken to have one. Text has one for every type.
func canSend(t *gotype.Type, as string) bool {
	of, list := strings.CutSuffix(as, "[]")
	known := slices.Contains(slices.Concat(numberTypes, jsonTypes, textTypes, otherTypes), of)
	switch {
	case !known, slices.Contains(jsonTypes, as), t.Use == gotype.AsJSON, t.Use == gotype.AsTime, t.Use == gotype.AsUUID:
		return true
	case t.Kind == gotype.Pointer:
		return canSend(t.Elem, as)
	case isTexts(t):
		return list
	case isList(t):
		return list && canSend(t.Elem, of)
	case t.Kind == gotype.Basic && t.Name == "bool":
		return as == "bool"
	case t.Kind == gotype.Basic && number.MatchString(t.Name):
		return slices.Contains(numberTypes, as)
	default:
		return true
	}
}

// isTexts reports whether values are sent as a list of strings.
func isTexts(t *gotype.Type) bool { return t.Use == gotype.AsStrings || t.Use == gotype.AsTexts }

func isList(t *gotype.Type) bool {
	return t.Use == gotype.AsList || t.Kind == gotype.Slice && t.Elem.Name != "byte" && t.Elem.Name != "uint8"
}

// sentAs is the PostgreSQL type that is closest to a Go type that can't be sent as any.
func sentAs(t *gotype.Type) string {
	switch {
	case t.Kind == gotype.Pointer:
		return sentAs(t.Elem)
	case isTexts(t):
		return "text[]"
	case isList(t):
		return sentAs(t.Elem) + "[]"
	case t.Kind == gotype.Slice:
		return "bytea"
	}
	switch t.Name {
	case "bool":
		return "boolean"
	case "int8", "int16", "uint8":
		return "smallint"
	case "int32", "uint16":
		return "integer"
	case "int", "int64", "uint32":
		return "bigint"
	case "uint", "uint64":
		return "numeric"
	case "float32":
		return "real"
	case "float64":
		return "double precision"
	case "Number", "Decimal":
		return "numeric"
	case "Date":
		return "date"
	case "Interval":
		return "interval"
	case "Time":
		return "timestamptz"
	case "UUID":
		return "uuid"
	default:
		return "text"
	}
}
