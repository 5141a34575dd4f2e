package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// handlers has the three methods of a message.
func (f *file) handlers(c *plan.Consumer, m *plan.Message) {
	name := "Handle" + m.Name
	params := append(idParams(m), jen.Id("m").Add(f.messageType(m)))
	call := func() jen.Code { return jen.Id(m.FuncName).Call(append(idNames(m), jen.Id("m"))...) }
	f.method(c, name, "applies one "+m.Name+" in a transaction of its own.",
		params, inbox("apply", jen.Id("ctx"), call()))
	f.methodTx(c, name+"Tx", "applies one "+m.Name+" inside tx. After an error tx must be rolled back.",
		params, inbox("applyTx", jen.Id("ctx"), jen.Id("tx"), call()))
	element, of := f.batchElement(m)
	f.methodBatch(c, name+"Batch", "applies messages in their order, as many as possible in one transaction. It returns\nwhat became of each.",
		element, inbox("applyBatch", jen.Id("ctx"), jen.Id("deliveries").Call(jen.Id("batch"), of)))
}

// batchElement returns the type that a batch of a message has, and the function that makes a delivery of one.
func (f *file) batchElement(m *plan.Message) (element, of *jen.Statement) {
	element = f.messageType(m)
	var id []jen.Code
	switch m.ID.From {
	case "field":
		return element, jen.Id(m.FuncName)
	case "cloudevents":
		element = f.support("cloudevents", "CloudEvent").Index(element)
		id = []jen.Code{jen.Id("e").Dot("Source"), jen.Id("e").Dot("ID")}
	default:
		element = f.support("identified", "Identified").Index(element)
		id = []jen.Code{jen.Id("e").Dot("ID")}
	}
	return element, jen.Func().Params(jen.Id("e").Add(element)).Id("delivery").Add(inline(
		jen.Return(jen.Id(m.FuncName).Call(append(id, jen.Id("e").Dot("Message"))...))))
}

// messageDecoder has the function that makes a delivery of what the broker handed over.
func (f *file) messageDecoder(m *plan.Message) {
	message, failure := jen.Id("m"), jen.Err()
	decode := jen.Id("decodeJSON").Call(append([]jen.Code{jen.Id("d").Dot("Body"), jen.Op("&").Id("m")}, required(m)...)...)
	if m.Go.Proto {
		message = jen.Op("&").Id("m")
		failure = f.qualified("fmt", "Errorf").Call(jen.Lit("%w: %w"), jen.Id("ErrDecode"), jen.Err())
		decode = f.qualified(protoPath, "Unmarshal").Call(jen.Id("d").Dot("Body"), jen.Op("&").Id("m"))
	}
	f.declare(documented(m.DecodeFunc()+" decodes one "+m.Name+".").
		Func().Id(m.DecodeFunc()).Params(jen.Id("d").Id("Delivery")).Params(jen.Id("delivery"), jen.Error()).Block(
		jen.Var().Id("m").Add(f.structType(m)),
		jen.If(jen.Err().Op(":=").Add(decode), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Id("delivery").Values(pair("message", jen.Lit(m.Name))), failure)),
		jen.Return(jen.Id(m.FuncName).Call(append(f.idFromDelivery(m), message)...), jen.Nil())))
}

// delivery has the function that lays out what a message does.
func (f *file) delivery(c *plan.Consumer, m *plan.Message, detectReuse bool) {
	v := newValues(f, m)
	fields := []jen.Code{pair("message", jen.Lit(m.Name)), pair("id", v.id())}
	if detectReuse {
		content := []jen.Code{jen.Lit(m.WireType), jen.Lit(m.Shape)}
		for _, field := range m.Content {
			content = append(content, v.field(field))
		}
		fields = append(fields, pair("fingerprint", f.support("fingerprint", "contentFingerprint").Call(content...)))
	}
	if m.Plan == plan.Guarded {
		fields = append(fields, pair("guarded", jen.Id(m.GuardedName())))
	}
	effects := make([]jen.Code, len(m.Effects))
	for i, s := range m.Effects {
		effects[i] = lines(effect(c, v, s)...)
	}
	fields = append(fields, pair("effects", jen.Index().Id("statement").Add(lines(effects...))))
	body := append(v.statements, jen.Return(jen.Id("delivery").Add(lines(fields...))))
	f.declare(documented(m.FuncName + " is what one " + m.Name + " does.").
		Func().Id(m.FuncName).Params(append(idParams(m), jen.Id("m").Add(f.messageType(m)))...).Id("delivery").Block(body...))
}

// effect has the fields of a statement with its arguments.
func effect(c *plan.Consumer, v *values, s *plan.Statement) []jen.Code {
	fields := []jen.Code{pair("sql", jen.Id(s.ConstName))}
	if len(s.Args) > 0 {
		args := make([]jen.Code, len(s.Args))
		for i, a := range s.Args {
			args[i] = v.arg(c, a)
		}
		fields = append(fields, pair("args", jen.Index().Any().Values(args...)))
	}
	if s.ByTag && s.Expect != pgsql.ExpectAny {
		fields = append(fields, pair("expect", expectation(s.Expect)))
	}
	return fields
}

func expectation(e pgsql.Expect) jen.Code {
	if e == pgsql.ExpectSome {
		return jen.Id("someRows")
	}
	return jen.Lit(int(e))
}

// statements has the SQL: what reviewers of the generated code read.
func (f *file) statements(m *plan.Message) {
	for _, s := range m.Effects {
		f.declare(jen.Const().Id(s.ConstName).Op("=").Add(rawString(s.SQL)))
	}
	if m.Plan == plan.Guarded {
		f.sqlConst(m.GuardedName(), "is the same behind its marker, in one statement.", m.Guarded)
	}
}

// messageType is the type a handler takes; structType the one a decoder fills.
func (f *file) messageType(m *plan.Message) *jen.Statement {
	if m.Go.Pointer {
		return jen.Op("*").Add(f.structType(m))
	}
	return f.structType(m)
}

func (f *file) structType(m *plan.Message) *jen.Statement {
	return f.qualified(m.Go.ImportPath, m.Go.Name)
}

// idParams are the parameters that carry an id which is not a field of the message.
func idParams(m *plan.Message) []jen.Code {
	switch m.ID.From {
	case "field":
		return nil
	case "cloudevents":
		return []jen.Code{jen.List(jen.Id("source"), jen.Id("id")).String()}
	default:
		return []jen.Code{jen.Id("id").String()}
	}
}

func idNames(m *plan.Message) []jen.Code {
	switch m.ID.From {
	case "field":
		return nil
	case "cloudevents":
		return []jen.Code{jen.Id("source"), jen.Id("id")}
	default:
		return []jen.Code{jen.Id("id")}
	}
}

func (f *file) idFromDelivery(m *plan.Message) []jen.Code {
	switch m.ID.From {
	case "field":
		return nil
	case "header":
		return []jen.Code{header(m.ID.Name)}
	case "property":
		return []jen.Code{jen.Id("d").Dot("ID")}
	default:
		attribute := func(name string) jen.Code {
			return f.support("cloudevents", "cloudEvent").Call(jen.Id("d"), jen.Lit(name))
		}
		return []jen.Code{attribute("source"), attribute("id")}
	}
}

// required lists the fields a message must have: those of an inline message that are not pointers.
func required(m *plan.Message) []jen.Code {
	var names []jen.Code
	for _, field := range m.Go.Fields {
		if field.Type.Kind != gotype.Pointer {
			names = append(names, jen.Lit(field.JSONName))
		}
	}
	return names
}
