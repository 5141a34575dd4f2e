package golang

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/plan"
)

// message has one message of a consumer: its methods, what it does, and the SQL.
func message(m *plan.Model, c *plan.Consumer, message *plan.Message) *file {
	f := newFile(m)
	f.handlers(c, message)
	f.delivery(c, message, m.Inbox.DetectReuse)
	f.statements(m.Inbox, message)
	return f
}

// handlers has the three methods of a message.
func (f *file) handlers(c *plan.Consumer, m *plan.Message) {
	name := "Handle" + m.Name
	params := append(idParams(m), jen.Id("m").Add(f.messageType(m)))
	call := jen.Id(m.FuncName).Call(append(idNames(m), mName)...)
	f.method(c, name, "applies one "+m.Name+" in a transaction of its own.",
		params, inbox("apply", ctxName, call))
	f.methodTx(c, name+"Tx", "applies one "+m.Name+" inside tx. After an error tx must be rolled back.",
		params, inbox("applyTx", ctxName, txName, call))
	element, of := f.batchElement(m)
	f.methodBatch(c, name+"Batch", "applies messages in their order, as HandleBatch does.",
		element, inbox("applyBatch", ctxName, jen.Id("deliveries").Call(batchName, of)))
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

// decode makes a delivery of what the broker handed over.
func (f *file) decode(m *plan.Message) jen.Code {
	from, of := dName, jen.Id(m.FuncName)
	if id := f.idFromDelivery(m); id != nil {
		f.support("identified", "identified")
		from = jen.Id("d").Dot("identified").Call(f.known(m, id))
		of = jen.Func().Params(jen.Id("m").Add(f.messageType(m))).Id("delivery").Block(
			jen.Return(jen.Id(m.FuncName).Call(append(id, mName)...)))
	}
	args := []jen.Code{from, jen.Lit(m.Name), of}
	if m.Go.Proto {
		return f.support("protobuf", "decodeProtobuf").Call(args...)
	}
	return jen.Id("decodeJSON").Call(append(args, required(m)...)...)
}

// known is the id as a string, of a message whose body does not have it.
func (f *file) known(m *plan.Message, parts []jen.Code) jen.Code {
	if m.ID.From == "cloudevents" {
		return f.support("cloudevents", "cloudEventID").Call(parts...)
	}
	return parts[0]
}

// delivery has the function that lays out what a message does.
func (f *file) delivery(c *plan.Consumer, m *plan.Message, detectReuse bool) {
	v := newValues(f, m)
	steps := []jen.Code{jen.Id("d").Op(":=").Id("delivery").Values(pair("message", jen.Lit(m.Name)), pair("id", v.id()))}
	if detectReuse {
		content := []jen.Code{jen.Lit(m.WireType), jen.Lit(m.Shape)}
		for _, field := range m.Content {
			content = append(content, v.field(field))
		}
		steps = append(steps, jen.Id("d").Dot("fingerprint").Op("=").Add(f.support("fingerprint", "contentFingerprint").Call(content...)))
	}
	if m.Plan == plan.Guarded {
		steps = append(steps, jen.Id("d").Dot("guarded").Op("=").Id(m.GuardedName()))
	}
	for _, s := range m.Effects {
		steps = append(steps, jen.Id("d").Dot("effect").Call(effect(c, v, s)...))
	}
	body := append(append(v.statements, steps...), jen.Return(dName))
	f.declare(jen.Func().Id(m.FuncName).Params(append(idParams(m), jen.Id("m").Add(f.messageType(m)))...).Id("delivery").Block(body...))
}

// effect is a statement, how many rows its command tag must tell, and its arguments.
func effect(c *plan.Consumer, v *values, s *plan.Statement) []jen.Code {
	expect := pgsql.ExpectAny
	if s.ByTag {
		expect = s.Expect
	}
	out := []jen.Code{jen.Id(s.ConstName), expectation(expect)}
	for _, a := range s.Args {
		out = append(out, v.arg(c, a))
	}
	return out
}

func expectation(e pgsql.Expect) jen.Code {
	switch e {
	case pgsql.ExpectAny:
		return jen.Id("anyRows")
	case pgsql.ExpectSome:
		return jen.Id("someRows")
	default:
		return jen.Lit(int(e))
	}
}

// statements has the SQL: what reviewers of the generated code read.
func (f *file) statements(inbox pgsql.Inbox, m *plan.Message) {
	for _, s := range m.Effects {
		f.declare(jen.Const().Id(s.ConstName).Op("=").Add(rawString(s.SQL)))
	}
	if m.Plan == plan.Guarded {
		f.declare(jen.Const().Id(m.GuardedName()).Op("=").Add(guarded(inbox, m.Guarded)))
	}
}

// guarded is a guarded statement without what is the same in most of them, which stands in the settings.
func guarded(inbox pgsql.Inbox, sql string) *jen.Statement {
	out := &jen.Statement{}
	sql, common := strings.CutPrefix(sql, inbox.WithMarkerSQL())
	if common {
		out.Id("withMarkerSQL").Op("+")
	}
	sql, common = strings.CutSuffix(sql, inbox.OutcomeSQL())
	out.Add(rawString(sql))
	if common {
		out.Op("+").Id("outcomeSQL")
	}
	return out
}

// messageType is the type a handler takes; structType the one a decoder fills.
func (f *file) messageType(m *plan.Message) *jen.Statement {
	if m.Go.Pointer {
		return jen.Op("*").Add(f.structType(m))
	}
	return f.structType(m)
}

func (f *file) structType(m *plan.Message) *jen.Statement {
	return f.named(m.Go.ImportPath, m.Go.PkgName, m.Go.Name)
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
			return f.support("cloudevents", "cloudEvent").Call(dName, jen.Lit(name))
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
