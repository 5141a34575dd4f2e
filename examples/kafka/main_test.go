package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// TestAll runs what the README shows.
func TestAll(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	err := run(ctx, []string{"all", "-n", "200"})
	if errors.Is(err, testenv.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	if err != nil {
		t.Error(err)
	}
}
