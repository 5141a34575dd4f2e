package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == consumeCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestDemo(t *testing.T) {
	if _, err := testenv.Newest(); errors.Is(err, testenv.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	var out strings.Builder
	if err := demo(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	_, got, _ := strings.Cut(out.String(), "\n")
	want, err := os.ReadFile("testdata/output.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the demo printed\n%s\nnot\n%s", got, want)
	}
}
