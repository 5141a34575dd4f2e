//go:build ignore

package main

// Result is of another package.
type Result int
