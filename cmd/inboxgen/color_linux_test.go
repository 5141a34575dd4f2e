package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal returns both ends of a pseudo-terminal.
func terminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	var number, unlock int32
	for request, arg := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlock} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, near.Fd(), request, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// TestColor looks for colour in what is written about a spec that is wrong.
func TestColor(t *testing.T) {
	spec := filepath.Join(t.TempDir(), "inboxgen.yaml")
	if err := os.WriteFile(spec, []byte("version: 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		noColor  string
		term     string
		format   string
		terminal bool
		want     bool
	}{
		{"a terminal", "", "xterm", "text", true, true},
		{"NO_COLOR", "1", "xterm", "text", true, false},
		{"a dumb terminal", "", "dumb", "text", true, false},
		{"json", "", "xterm", "json", true, false},
		{"github", "", "xterm", "github", true, false},
		{"a pipe", "", "xterm", "text", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			t.Setenv("TERM", test.term)
			read, write := terminal(t)
			if !test.terminal {
				var err error
				if read, write, err = os.Pipe(); err != nil {
					t.Fatal(err)
				}
			}
			if code := run([]string{"generate", "--spec", spec, "--format", test.format}, io.Discard, write); code != exitUsage {
				t.Errorf("exit code %d", code)
			}
			text := make([]byte, 1<<16)
			n, err := read.Read(text)
			if err != nil || !strings.Contains(string(text[:n]), "version 2 of the format is not known") {
				t.Fatalf("%v: %s", err, text[:n])
			}
			if got := bytes.Contains(text[:n], []byte("\x1b[")); got != test.want {
				t.Errorf("colour: %t\n%q", got, text[:n])
			}
		})
	}
}
