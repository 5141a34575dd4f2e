package main

import (
	"fmt"
	"strings"
)

// tables is how many the statements are spread over.
const tables = 20

// statement is the effect of message i. The parameters are written as both tools read them: @name.
func statement(i int) string {
	return fmt.Sprintf("UPDATE ledger_%02d SET balance = balance + @amount, touched = %d\nWHERE merchant_id = @merchant_id", i%tables, i)
}

func schema() string {
	var b strings.Builder
	for i := range tables {
		fmt.Fprintf(&b, "CREATE TABLE ledger_%02d (\n  merchant_id bigint PRIMARY KEY,\n  balance bigint NOT NULL,\n  touched int NOT NULL\n);\n\n", i)
	}
	return b.String()
}

func inboxgenInput(messages int) map[string]string {
	var b strings.Builder
	b.WriteString(`version: 1
output:
  package: gen
  dir: gen
inbox:
  retention: 8d
migrations:
  tool: goose
  dir: gen/migrations
schema: [schema.sql]
consumers:
  accounting:
    type_from: header:event-type
    duplicates: {replay: 7d}
    messages:
`)
	for i := range messages {
		fmt.Fprintf(&b, `      Message%04d:
        type: message.%04d
        fields: {event_id: string, merchant_id: int64, amount: int64}
        id: field:event_id
        effects:
          - sql: |
              %s
            expect: one
`, i, i, strings.ReplaceAll(statement(i), "\n", "\n              "))
	}
	return map[string]string{
		"go.mod":        "module example.com/bench\n\ngo 1.25\n",
		"inboxgen.yaml": b.String(),
		"schema.sql":    schema(),
	}
}

func sqlcInput(messages int) map[string]string {
	var b strings.Builder
	for i := range messages {
		fmt.Fprintf(&b, "-- name: Message%04d :execrows\n%s;\n\n", i, statement(i))
	}
	return map[string]string{
		"sqlc.yaml": `version: "2"
sql:
  - engine: postgresql
    schema: schema.sql
    queries: queries.sql
    gen:
      go:
        package: gen
        out: gen
        sql_package: pgx/v5
`,
		"queries.sql": b.String(),
		"schema.sql":  schema(),
	}
}
