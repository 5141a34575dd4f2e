package main

import (
	"errors"
	"os"
	"testing"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// TestAll runs what the README shows.
func TestAll(t *testing.T) {
	err := run(t.Context(), []string{"all", "-n", "200"})
	if errors.Is(err, testenv.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	if err != nil {
		t.Error(err)
	}
}
