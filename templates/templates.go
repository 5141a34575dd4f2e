// Package templates holds the fixed text of what inboxgen writes.
package templates

import "embed"

// Runtime is the support code that every output package gets, file by file. settings.go in it stands in for what is
// generated from the spec.
//
//go:embed runtime/*.go
var Runtime embed.FS
