// Package payments keeps the merchants' balances. Everything in it but this file is generated from inboxgen.yaml.
package payments

import "embed"

//go:generate go tool inboxgen generate

// Migrations holds the migrations, for goose.
//
//go:embed migrations/*.sql
var Migrations embed.FS
