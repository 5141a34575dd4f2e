package main

import (
	"errors"
	"os"
	"testing"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// TestMain lets the processes that the test starts be consumers.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(settingVariable); ok {
		exit(consume(text))
	}
	os.Exit(m.Run())
}

// TestChaos is a short run, of the same messages and faults each time. `make chaos` is the long one.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute; run without -short")
	}
	err := run(4000, 16, 7, 15, "")
	if errors.Is(err, testenv.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	if err != nil {
		t.Error(err)
	}
}
