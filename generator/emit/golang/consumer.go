package golang

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/gotype"
	"github.com/inboxgen/inboxgen/generator/pgsql"
	"github.com/inboxgen/inboxgen/generator/plan"
)

const (
	pgxPath   = "github.com/jackc/pgx/v5"
	protoPath = "google.golang.org/protobuf/proto"
)

// consumer prints one consumer: its type, the dispatcher, and per message the methods, the decoder and the SQL.
func (e *emitter) consumer(c *plan.Consumer) ([]byte, error) {
	f := e.newFile()
	e.consumerType(f, c)
	e.dispatcher(f, c)
	for _, m := range c.Messages {
		e.handlers(f, c, m)
		e.decoder(f, m)
		e.delivery(f, c, m)
		e.statements(f, m)
	}
	return e.render(f)
}

func (e *emitter) newFile() *jen.File {
	f := jen.NewFile(e.model.Package)
	f.ImportName(pgxPath, "pgx")
	f.ImportName(protoPath, "proto")
	for path, name := range e.imports() {
		if e.model.Reserved[name] {
			f.ImportAlias(path, name+"pkg")
		} else {
			f.ImportName(path, name)
		}
	}
	return f
}

func (e *emitter) consumerType(f *jen.File, c *plan.Consumer) {
	f.Line().Add(comment(fmt.Sprintf("%s applies the messages of the consumer %q, each exactly once. Its methods may be called from\nseveral goroutines.", c.GoName, c.Ledger)))
	f.Type().Id(c.GoName).Struct(jen.Id("inbox").Op("*").Id("inbox"))

	f.Line().Add(comment(fmt.Sprintf("New%s returns the consumer %q on db.", c.GoName, c.Ledger)))
	f.Func().Id("New"+c.GoName).Params(jen.Id("db").Id("DB"), jen.Id("options").Op("...").Id("Option")).Op("*").Id(c.GoName).Block(
		jen.Return(jen.Op("&").Id(c.GoName).Values(jen.Dict{
			jen.Id("inbox"): jen.Id("newInbox").Call(jen.Id("db"), jen.Lit(c.Ledger), jen.Id("options")),
		})),
	)
}

// dispatcher prints Handle, HandleTx and the switch over wire types.
func (e *emitter) dispatcher(f *jen.File, c *plan.Consumer) {
	f.Line().Add(comment("Handle decodes a message by its wire type and applies it in a transaction of its own."))
	f.Func().Add(receiver(c)).Id("Handle").Params(ctxParam(), jen.Id("d").Id("Delivery")).Add(results()).Block(
		jen.Return(jen.Id("c").Dot("inbox").Dot("handle").Call(jen.Id("ctx"), jen.Id("d"), jen.Id(c.DecodeFunc()))),
	)
	f.Line().Add(comment("HandleTx decodes a message by its wire type and applies it inside tx. After an error tx must be rolled back."))
	f.Func().Add(receiver(c)).Id("HandleTx").Params(ctxParam(), txParam(), jen.Id("d").Id("Delivery")).Add(results()).Block(
		jen.Return(jen.Id("c").Dot("inbox").Dot("handleTx").Call(jen.Id("ctx"), jen.Id("tx"), jen.Id("d"), jen.Id(c.DecodeFunc()))),
	)
	f.Line().Add(comment(c.DecodeFunc() + " decodes a message by its wire type."))
	f.Func().Id(c.DecodeFunc()).Params(jen.Id("d").Id("Delivery")).Params(jen.Id("delivery"), jen.Error()).BlockFunc(func(g *jen.Group) {
		if c.Spec.TypeFrom == nil {
			g.Return(jen.Id(c.Messages[0].DecodeFunc()).Call(jen.Id("d")))
			return
		}
		g.Switch(jen.Id("wireType").Op(":=").Add(wireType(c)), jen.Id("wireType")).BlockFunc(func(g *jen.Group) {
			for _, m := range c.Messages {
				g.Case(jen.Lit(m.WireType)).Block(jen.Return(jen.Id(m.DecodeFunc()).Call(jen.Id("d"))))
			}
			g.Default().Block(jen.Return(jen.Id("unknownType").Call(jen.Id("wireType"), jen.Lit(c.Spec.OnUnknown.Value))))
		})
	})
}

func wireType(c *plan.Consumer) *jen.Statement {
	switch from := c.Spec.TypeFrom; from.From {
	case "header":
		return jen.Id("d").Dot("Headers").Index(jen.Lit(from.Name))
	case "property":
		return jen.Id("d").Dot("Type")
	default:
		call := []jen.Code{jen.Id("d").Dot("Body")}
		for name := range strings.SplitSeq(from.Name, ".") {
			call = append(call, jen.Lit(name))
		}
		return jen.Id("jsonField").Call(call...)
	}
}

// handlers prints the two methods of a message.
func (e *emitter) handlers(f *jen.File, c *plan.Consumer, m *plan.Message) {
	params := append(idParams(m), jen.Id("m").Add(messageType(m)))
	args := append(idNames(m), jen.Id("m"))
	name := "Handle" + m.Name

	f.Line().Add(comment(name + " applies one " + m.Name + " in a transaction of its own."))
	f.Func().Add(receiver(c)).Id(name).Params(append([]jen.Code{ctxParam()}, params...)...).Add(results()).Block(
		jen.Return(jen.Id("c").Dot("inbox").Dot("apply").Call(jen.Id("ctx"), jen.Id(m.FuncName).Call(args...))),
	)
	f.Line().Add(comment(name + "Tx applies one " + m.Name + " inside tx. After an error tx must be rolled back."))
	f.Func().Add(receiver(c)).Id(name + "Tx").Params(append([]jen.Code{ctxParam(), txParam()}, params...)...).Add(results()).Block(
		jen.Return(jen.Id("c").Dot("inbox").Dot("applyTx").Call(jen.Id("ctx"), jen.Id("tx"), jen.Id(m.FuncName).Call(args...))),
	)
}

// decoder prints the function that makes a delivery of what the broker handed over.
func (e *emitter) decoder(f *jen.File, m *plan.Message) {
	failed := jen.Id("delivery").Values(jen.Dict{jen.Id("message"): jen.Lit(m.Name)})
	args := append(idFromDelivery(m), jen.Id("m"))
	decode := jen.Id("decodeJSON").Call(append([]jen.Code{jen.Id("d").Dot("Body"), jen.Op("&").Id("m")}, required(m)...)...)
	if m.Go.Proto {
		decode = jen.Id("decodeProto").Call(jen.Qual(protoPath, "Unmarshal").Call(jen.Id("d").Dot("Body"), jen.Op("&").Id("m")))
		args[len(args)-1] = jen.Op("&").Id("m")
	}
	f.Line().Add(comment(m.DecodeFunc() + " decodes one " + m.Name + "."))
	f.Func().Id(m.DecodeFunc()).Params(jen.Id("d").Id("Delivery")).Params(jen.Id("delivery"), jen.Error()).Block(
		jen.Var().Id("m").Add(structType(m)),
		jen.If(jen.Err().Op(":=").Add(decode), jen.Err().Op("!=").Nil()).Block(jen.Return(failed, jen.Err())),
		jen.Return(jen.Id(m.FuncName).Call(args...), jen.Nil()),
	)
}

// delivery prints the function that lays out what a message does.
func (e *emitter) delivery(f *jen.File, c *plan.Consumer, m *plan.Message) {
	v := newValues(m)
	id := v.id()
	fields := []jen.Code{
		jen.Id("message").Op(":").Lit(m.Name),
		jen.Id("id").Op(":").Add(id),
	}
	if e.model.Inbox.DetectReuse {
		content := []jen.Code{jen.Lit(m.Shape)}
		for _, field := range m.Content {
			content = append(content, v.field(field))
		}
		fields = append(fields, jen.Id("fingerprint").Op(":").Id("contentFingerprint").Call(content...))
	}
	if m.Plan == plan.Guarded {
		fields = append(fields, jen.Id("guarded").Op(":").Op("&").Id("statement").Add(e.statement(c, v, m.Guarded)))
	} else {
		fields = append(fields, jen.Id("effects").Op(":").Index().Id("statement").Add(multiline(mapCode(m.Effects, func(s *plan.Statement) jen.Code {
			return e.statement(c, v, s)
		}))))
	}
	f.Line().Add(comment(m.FuncName + " is what one " + m.Name + " does."))
	f.Func().Id(m.FuncName).Params(append(idParams(m), jen.Id("m").Add(messageType(m)))...).Id("delivery").Block(
		append(v.locals, jen.Return(jen.Id("delivery").Add(multiline(fields))))...,
	)
}

// statement prints the fields of a statement, without its type.
func (e *emitter) statement(c *plan.Consumer, v *values, s *plan.Statement) *jen.Statement {
	fields := []jen.Code{jen.Id("sql").Op(":").Id(s.ConstName)}
	if len(s.Args) > 0 {
		fields = append(fields, jen.Id("args").Op(":").Index().Any().Values(mapCode(s.Args, func(a plan.Arg) jen.Code { return v.arg(c, a) })...))
	}
	if s.ByTag && s.Expect != pgsql.ExpectAny {
		n := jen.Op(">").Lit(0)
		if s.Expect != pgsql.ExpectSome {
			n = jen.Op("==").Lit(int(s.Expect))
		}
		fields = append(fields, jen.Id("expect").Op(":").Op("&").Id("rows").Add(multiline([]jen.Code{
			jen.Id("label").Op(":").Lit(s.Label),
			jen.Id("text").Op(":").Lit(s.Expect.String()),
			jen.Id("met").Op(":").Func().Params(jen.Id("n").Int64()).Bool().Block(jen.Return(jen.Id("n").Add(n))),
		})))
	}
	return multiline(fields)
}

// statements prints the SQL: what reviewers of the generated code read.
func (e *emitter) statements(f *jen.File, m *plan.Message) {
	if m.Plan == plan.Guarded {
		f.Const().Id(m.Guarded.ConstName).Op("=").Add(rawString(m.Guarded.SQL))
		return
	}
	for _, s := range m.Effects {
		f.Const().Id(s.ConstName).Op("=").Add(rawString(s.SQL))
	}
}

func receiver(c *plan.Consumer) *jen.Statement {
	return jen.Params(jen.Id("c").Op("*").Id(c.GoName))
}

func ctxParam() *jen.Statement { return jen.Id("ctx").Qual("context", "Context") }

func txParam() *jen.Statement { return jen.Id("tx").Qual(pgxPath, "Tx") }

func results() *jen.Statement { return jen.Params(jen.Id("Outcome"), jen.Error()) }

// messageType is the type a handler takes; structType the one a decoder fills.
func messageType(m *plan.Message) *jen.Statement {
	if m.Go.Pointer {
		return jen.Op("*").Add(structType(m))
	}
	return structType(m)
}

func structType(m *plan.Message) *jen.Statement {
	if m.Go.ImportPath == "" {
		return jen.Id(m.Go.Name)
	}
	return jen.Qual(m.Go.ImportPath, m.Go.Name)
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

func idFromDelivery(m *plan.Message) []jen.Code {
	d := jen.Id("d")
	switch m.ID.From {
	case "field":
		return nil
	case "header":
		return []jen.Code{d.Dot("Headers").Index(jen.Lit(m.ID.Name))}
	case "property":
		return []jen.Code{d.Dot("ID")}
	default:
		return []jen.Code{
			jen.Id("cloudEvent").Call(jen.Id("d"), jen.Lit("source")),
			jen.Id("cloudEvent").Call(jen.Id("d"), jen.Lit("id")),
		}
	}
}

// required lists the fields a message must have: those of an inline message that are not pointers.
func required(m *plan.Message) []jen.Code {
	var names []jen.Code
	for _, f := range m.Go.Fields {
		if f.Type.Kind != gotype.Pointer {
			names = append(names, jen.Lit(f.JSONName))
		}
	}
	return names
}

// multiline prints a composite literal's braces with an element a line.
func multiline(elements []jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, elements...)
}

func mapCode[T any](in []T, f func(T) jen.Code) []jen.Code {
	out := make([]jen.Code, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}
