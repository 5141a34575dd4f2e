// Command inboxgen generates Go handlers that apply each message of a broker to PostgreSQL exactly once.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
