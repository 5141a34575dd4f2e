package golang

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/inboxgen/inboxgen/generator/parallel"
	"github.com/inboxgen/inboxgen/generator/plan"
)

const (
	pgxPath    = "github.com/jackc/pgx/v5"
	pgtypePath = "github.com/jackc/pgx/v5/pgtype"
	jsonPath   = "encoding/json"
	kgoPath    = "github.com/twmb/franz-go/pkg/kgo"

	watermillPath = "github.com/ThreeDotsLabs/watermill/message"
)

// consumer has one consumer: its type, the dispatcher, and per message the methods and the SQL.
func consumer(m *plan.Model, c *plan.Consumer) *file {
	f := newFile(m)
	f.uses("context")
	f.uses(pgxPath)
	f.consumerType(c)
	f.dispatcher(c)
	f.source(c)
	parts := make([]*file, len(c.Messages))
	parallel.Do(len(parts), func(i int) { parts[i] = message(m, c, c.Messages[i]) })
	for _, part := range parts {
		f.add(part)
	}
	return f
}

func (f *file) consumerType(c *plan.Consumer) {
	f.declare(documented(fmt.Sprintf("%s applies the messages of the consumer %q, each exactly once. Its methods may be called from\nseveral goroutines.", c.GoName, c.Ledger)).
		Type().Id(c.GoName).Struct(jen.Id("inbox").Op("*").Id("inbox")))
	f.declare(documented(fmt.Sprintf("New%s returns the consumer %q on db.", c.GoName, c.Ledger)).
		Func().Id("New"+c.GoName).Params(jen.Id("db").Id("DB"), jen.Id("options").Op("...").Id("Option")).Op("*").Id(c.GoName).Block(
		jen.Return(jen.Op("&").Id(c.GoName).Values(
			pair("inbox", jen.Id("newInbox").Call(jen.Id("db"), jen.Lit(c.Ledger), jen.Id("options")))))))
}

// dispatcher has the methods that take what a broker hands over, and the switch over wire types.
func (f *file) dispatcher(c *plan.Consumer) {
	d := jen.Id("d").Id("Delivery")
	decode := jen.Id(c.DecodeFunc())
	f.method(c, "Handle", "decodes a message by its wire type and applies it in a transaction of its own.",
		[]jen.Code{d}, inbox("handle", ctxName, dName, decode))
	f.methodTx(c, "HandleTx", "decodes a message by its wire type and applies it inside tx. After an error tx must be rolled back.",
		[]jen.Code{d}, inbox("handleTx", ctxName, txName, dName, decode))
	f.methodBatch(c, "HandleBatch", "decodes messages by their wire types and applies them in their order, as many as possible in\none transaction. It returns what became of each.",
		jen.Id("Delivery"), inbox("handleBatch", ctxName, batchName, decode))
	f.declare(documented(c.DecodeFunc()+" decodes a message by its wire type.").
		Func().Id(c.DecodeFunc()).Params(d).Params(jen.Id("delivery"), jen.Error()).Block(f.decodeByType(c)))
}

func (f *file) decodeByType(c *plan.Consumer) jen.Code {
	if c.Spec.TypeFrom == nil {
		return jen.Return(f.decode(c.Messages[0]))
	}
	cases := make([]jen.Code, 0, len(c.Messages)+1)
	for _, m := range c.Messages {
		cases = append(cases, jen.Case(jen.Lit(m.WireType)).Block(jen.Return(f.decode(m))))
	}
	cases = append(cases, jen.Default().Block(
		jen.Return(jen.Id("unknownType").Call(jen.Id("wireType"), jen.Lit(c.Spec.OnUnknown.Value)))))
	return jen.Switch(jen.Id("wireType").Op(":=").Add(f.wireType(c)), jen.Id("wireType")).Block(cases...)
}

func (f *file) wireType(c *plan.Consumer) jen.Code {
	switch from := c.Spec.TypeFrom; from.From {
	case "header":
		return header(from.Name)
	case "property":
		return jen.Id("d").Dot("Type")
	default:
		args := []jen.Code{jen.Id("d").Dot("Body")}
		for name := range strings.SplitSeq(from.Name, ".") {
			args = append(args, jen.Lit(name))
		}
		return f.support("field", "jsonField").Call(args...)
	}
}

func header(name string) *jen.Statement { return jen.Id("d").Dot("Headers").Index(jen.Lit(name)) }

// inbox calls a method of the consumer's inbox.
func inbox(method string, args ...jen.Code) *jen.Statement {
	return jen.Id("c").Dot("inbox").Dot(method).Call(args...)
}

// receive begins a method of the consumer.
func receive(c *plan.Consumer, name, doc string) *jen.Statement {
	return documented(name + " " + doc).Func().Params(jen.Id("c").Op("*").Id(c.GoName)).Id(name)
}

// What stands in many places; rendering does not change it.
var (
	batchName, ctxName, dName = jen.Id("batch"), jen.Id("ctx"), jen.Id("d")
	mName, txName             = jen.Id("m"), jen.Id("tx")

	ctxParam = jen.Id("ctx").Qual("context", "Context")
	txParam  = jen.Id("tx").Qual(pgxPath, "Tx")
	outcome  = jen.Params(jen.Id("Outcome"), jen.Error())
	results  = jen.Index().Id("Result")
)

// method declares a method that returns what body does in a transaction of its own.
func (f *file) method(c *plan.Consumer, name, doc string, params []jen.Code, body jen.Code) {
	f.declare(receive(c, name, doc).Params(append([]jen.Code{ctxParam}, params...)...).Add(outcome).Block(jen.Return(body)))
}

// methodTx declares a method that returns what body does inside the caller's transaction.
func (f *file) methodTx(c *plan.Consumer, name, doc string, params []jen.Code, body jen.Code) {
	f.method(c, name, doc, append([]jen.Code{txParam}, params...), body)
}

// methodBatch declares a method that returns what body makes of a batch.
func (f *file) methodBatch(c *plan.Consumer, name, doc string, element, body jen.Code) {
	f.declare(receive(c, name, doc).Params(ctxParam, jen.Id("batch").Index().Add(element)).Add(results).Block(jen.Return(body)))
}
