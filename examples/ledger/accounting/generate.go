// Package accounting credits merchants for paid orders. Everything in it but this file is generated from
// inboxgen.yaml.
package accounting

import "embed"

//go:generate go tool inboxgen generate

// Migrations holds the migrations, for goose.
//
//go:embed migrations/*.sql
var Migrations embed.FS
