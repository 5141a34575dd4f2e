// Command inboxgen generates Go handlers that apply each message of a broker to PostgreSQL exactly once.
package main

import (
	"os"
	"runtime/debug"
)

func main() {
	// A run is short: collecting garbage only where there is much of it saves a third of its time.
	debug.SetGCPercent(1600)
	debug.SetMemoryLimit(512 << 20)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
