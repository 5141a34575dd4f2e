// Package templates holds the fixed text of what inboxgen writes.
package templates

import "embed"

// Runtime is the support code that every output package gets, file by file. settings.go in it stands in for what is
// generated from the spec.
//
//go:embed runtime/*.go
var Runtime embed.FS

// Brokers is the support code that needs a broker's or a metrics client. Go does not build it here, so that none of these
// is a dependency of the tool: it is compiled and tested in what the tests generate.
//
//go:embed brokers/*.go
var Brokers embed.FS
