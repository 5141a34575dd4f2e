package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the commands print into testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"inboxgen": main})
}

// TestScripts runs the command line as users do. Each script is a topic.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
				value, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, strings.TrimSpace(string(value)))
			}
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", "-mod=mod")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"crlf": crlf, "snapshot": snapshot, "exit": exit,
		},
	})
}

// exit CODE COMMAND... runs a command that must end with this code.
func exit(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if status, ok := err.(*exec.ExitError); ok {
		got = fmt.Sprint(status.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// crlf FILE... gives files a BOM and the line ends of Windows.
func crlf(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		text = append([]byte("\ufeff"), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))...)
		ts.Check(os.WriteFile(ts.MkAbs(name), text, 0o644))
	}
}

// snapshot FILE lists all files below the working directory with size and time of change, for cmp.
func snapshot(ts *testscript.TestScript, _ bool, args []string) {
	var out strings.Builder
	root := ts.MkAbs(".")
	ts.Check(filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.HasPrefix(filepath.Base(path), "snapshot") {
			fmt.Fprintf(&out, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o644))
}
