package gotype

import (
	"cmp"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// newType describes a type that go/packages loaded.
func newType(t types.Type) *Type {
	t = types.Unalias(t)
	out := &Type{goType: t, Use: useOf(t)}
	switch t := t.(type) {
	case *types.Basic:
		out.Kind, out.Name = Basic, t.Name()
	case *types.Pointer:
		out.Kind, out.Elem = Pointer, newType(t.Elem())
	case *types.Slice:
		out.Kind, out.Elem = Slice, newType(t.Elem())
	case *types.Named:
		out.Kind, out.Name = Named, t.Obj().Name()
		if out.Use == AsList {
			out.Elem = newType(t.Underlying().(*types.Slice).Elem())
		}
		if p := t.Obj().Pkg(); p != nil {
			out.ImportPath, out.PkgName = p.Path(), p.Name()
		} else {
			out.Kind = Basic
		}
	default:
		out.Kind = Other
		out.text = types.TypeString(t, func(p *types.Package) string { return p.Name() })
	}
	return out
}

// useOf says how a value of type t becomes a parameter.
func useOf(t types.Type) Use {
	t = types.Unalias(t)
	if isNamed(t, "google.golang.org/protobuf/types/known/timestamppb", "Timestamp") {
		return AsTime
	}
	if isNamed(t, "time", "Time") || isNamed(t, "encoding/json", "RawMessage") || hasMethod(t, "Value") {
		return AsIs
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&(types.IsBoolean|types.IsNumeric|types.IsString) == 0 || u.Info()&types.IsComplex != 0 || u.Kind() == types.Uintptr {
			return Unusable
		}
		return AsIs
	case *types.Pointer:
		if isPointer(u.Elem()) {
			return Unusable
		}
		return useOf(u.Elem())
	case *types.Slice:
		use := useOfList(u.Elem())
		if _, named := t.(*types.Named); named && use == AsIs && !isByte(u.Elem()) {
			return AsList
		}
		return use
	case *types.Array:
		switch {
		case !isByte(u.Elem()):
			return AsJSON
		case u.Len() == 16:
			return AsUUID
		}
		return Unusable // pgx sends it in none of its modes
	case *types.Struct, *types.Map:
		return AsJSON
	default:
		return Unusable
	}
}

// useOfList is useOf for a list of elem.
func useOfList(elem types.Type) Use {
	elem = types.Unalias(elem)
	if isList(elem) && !isBytes(elem) {
		return AsJSON
	}
	if p, ok := elem.(*types.Pointer); ok && useOf(elem) == AsIs && !sentByPointer(types.Unalias(p.Elem())) {
		return Unusable
	}
	named, isNamedType := elem.(*types.Named)
	basic, isBasic := elem.Underlying().(*types.Basic)
	switch use := useOf(elem); {
	case use == Unusable, use == AsUUID:
		return Unusable
	case isNamedType && types.NewMethodSet(named).Lookup(nil, "Value") != nil:
		return AsTexts
	case isNamedType && isBasic && basic.Info()&types.IsString != 0:
		return AsStrings
	case use != AsIs || isNamedType && isBasic && !isByte(elem):
		return AsJSON
	default:
		return AsIs
	}
}

// sentByPointer reports whether pgx can send a list of pointers to t in each of its modes. Of types with a name that is so
// for the few that it knows.
func sentByPointer(t types.Type) bool {
	_, named := t.(*types.Named)
	return !named || isNamed(t, "time", "Time") || isNamed(t, "encoding/json", "RawMessage") || isNamed(t, "github.com/jackc/pgx/v5/pgtype", "UUID")
}

// isList reports whether t, or what it points to, is a slice.
func isList(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// isBytes reports whether t is a list of bytes that stands for itself, and not for JSON.
func isBytes(t types.Type) bool {
	s, ok := t.Underlying().(*types.Slice)
	return ok && isByte(s.Elem()) && !isNamed(t, "encoding/json", "RawMessage")
}

// IDKind says how a value of the type becomes a message id. A pointer's is that of what it points to.
func (t *Type) IDKind() IDKind {
	if t.Kind == Pointer {
		return t.Elem.IDKind()
	}
	if t.goType == nil {
		switch {
		case t.Kind == Basic && t.Name == "string":
			return IDString
		case t.Kind == Basic && strings.HasPrefix(t.Name, "int"):
			return IDInteger
		case t.Kind == Named && t.Name == "UUID":
			return IDStringer
		}
		return NotID
	}
	basic, ok := t.goType.Underlying().(*types.Basic)
	switch {
	case ok && basic.Info()&types.IsString != 0 && t.Kind == Basic:
		return IDString
	case ok && basic.Info()&types.IsString != 0:
		return IDConverted
	case ok && basic.Info()&types.IsUnsigned != 0:
		return IDUnsigned
	case ok && basic.Info()&types.IsInteger != 0:
		return IDInteger
	case strings.Contains(strings.ToUpper(t.Name), "UUID") && hasMethod(t.goType, "String"):
		return IDStringer
	}
	return NotID
}

// IsFloat reports whether values of the type, or what they point to, are floats that pgx encodes as they are.
func (t *Type) IsFloat() bool {
	switch {
	case t.Use != AsIs:
		return false
	case t.Kind == Pointer:
		return t.Elem.IsFloat()
	case t.goType == nil:
		return t.Kind == Basic && strings.HasPrefix(t.Name, "float")
	}
	basic, ok := t.goType.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsFloat != 0 && !hasMethod(t.goType, "Value")
}

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

func isNamed(t types.Type, path, name string) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}

// hasMethod reports whether t or a pointer to it has an exported method without parameters of that name.
func hasMethod(t types.Type, name string) bool {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	f, ok := obj.(*types.Func)
	return ok && f.Signature().Params().Len() == 0
}

// membersOf lists the fields that a path can go to from a value of type t.
func membersOf(t *Type) []member {
	if t.goType == nil {
		return nil
	}
	at := t.goType
	if p, ok := at.Underlying().(*types.Pointer); ok {
		at = types.Unalias(p.Elem())
	}
	s, ok := at.Underlying().(*types.Struct)
	if !ok || t.Use == AsTime {
		return nil
	}
	return structMembers(s)
}

// structMembers lists a struct's fields by the rules of encoding/json: a tag's name before the Go name, the fields of
// embedded structs as the struct's own, and of one name the shallowest, or the only tagged one.
func structMembers(root *types.Struct) []member {
	var out []member
	taken := map[string]bool{}
	visited := map[*types.Struct]bool{}
	for level := []promoted{{s: root, from: root}}; len(level) > 0; {
		var next []promoted
		found := map[string][]candidate{}
		var order []string
		for _, l := range level {
			for i := range l.s.NumFields() {
				f := l.s.Field(i)
				name, tagged, skip := fieldName(f, l.s.Tag(i))
				if skip {
					continue
				}
				if inner := embedded(f); inner != nil && !tagged {
					next = append(next, l.into(f, inner))
					continue
				}
				if found[name] == nil {
					order = append(order, name)
				}
				found[name] = append(found[name], candidate{l.member(f, name, l.s.Tag(i)), tagged})
			}
		}
		for _, name := range order {
			if taken[name] {
				continue
			}
			taken[name] = true
			all := found[name]
			slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(btoi(b.tagged), btoi(a.tagged)) })
			if len(all) == 1 || all[0].tagged && !all[1].tagged {
				out = append(out, all[0].member)
			}
		}
		for _, l := range level { // only now: of one embedded twice at one depth, no field is promoted
			visited[l.s] = true
		}
		level = slices.DeleteFunc(next, func(l promoted) bool { return visited[l.s] })
	}
	return out
}

type candidate struct {
	member
	tagged bool
}

// promoted is a struct whose fields count as those of the one that it is embedded in.
type promoted struct {
	s      *types.Struct
	steps  []Step
	from   *types.Struct // what steps lead to; other than s where s is embedded without being exported
	reason string        // why its fields can't be used, or ""
}

// into goes on to a struct that is embedded as f. An unexported one can't be named elsewhere, so that its fields are
// selected as if they were those of the struct around it.
func (l promoted) into(f *types.Var, inner *types.Struct) promoted {
	next := promoted{s: inner, steps: l.steps, from: l.from, reason: l.reason}
	switch {
	case f.Exported():
		next.reason = cmp.Or(l.reason, l.hidden(f))
		next.from = inner
		next.steps = append(slices.Clone(l.steps), Step{Name: f.Name(), Pointer: isPointer(f.Type())})
	case isPointer(f.Type()):
		next.reason = "it is in " + f.Name() + ", which is embedded by a pointer and not exported, so decoding can't fill it"
	}
	return next
}

func (l promoted) member(f *types.Var, name, tag string) member {
	steps := append(slices.Clone(l.steps), Step{Name: f.Name(), Pointer: isPointer(f.Type())})
	return member{name: name, steps: steps, typ: newType(f.Type()), reason: cmp.Or(unusable(f, tag), l.reason, l.hidden(f))}
}

// hidden says why Go does not select f by its name, or returns "".
func (l promoted) hidden(f *types.Var) string {
	if selected, _, _ := types.LookupFieldOrMethod(l.from, true, f.Pkg(), f.Name()); selected == f {
		return ""
	}
	return "another field called " + f.Name() + " hides it in Go"
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// embedded returns the struct whose fields f promotes, or nil.
func embedded(f *types.Var) *types.Struct {
	if !f.Embedded() {
		return nil
	}
	t := types.Unalias(f.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}

// fieldName returns the name that paths use for a field.
func fieldName(f *types.Var, tag string) (name string, tagged, skip bool) {
	if p := reflect.StructTag(tag).Get("protobuf"); p != "" {
		for part := range strings.SplitSeq(p, ",") {
			if name, ok := strings.CutPrefix(part, "name="); ok {
				return name, true, false
			}
		}
	}
	name, _, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	if name == "-" || !f.Exported() && !f.Embedded() && name == "" && isProtoInternal(f.Name()) {
		return "", false, true
	}
	if name == "" {
		return f.Name(), false, false
	}
	return name, true, false
}

// isProtoInternal reports whether an unexported field is one that protobuf's generated code keeps for itself.
func isProtoInternal(name string) bool {
	return name == "state" || name == "sizeCache" || name == "unknownFields"
}

// unusable says why a field can't be used, or returns "".
func unusable(f *types.Var, tag string) string {
	switch {
	case reflect.StructTag(tag).Get("protobuf_oneof") != "":
		return "it is a oneof, whose value depends on the case; give each case a message of its own, or flatten it in the producer"
	case !f.Exported():
		return "it is not exported, so decoding leaves it empty"
	case f.Type() == types.Typ[types.Invalid]:
		return "its type does not compile"
	}
	return ""
}
