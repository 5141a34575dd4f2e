// Command demo shows on a private PostgreSQL what an inbox is for. Every number it prints was read from the database,
// and it fails when one is not what it should be.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

func main() {
	ctx := context.Background()
	var err error
	if len(os.Args) == 4 && os.Args[1] == consumeCommand {
		err = consumeAndHang(ctx, os.Args[2], os.Args[3])
	} else {
		err = demo(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo starts a server, migrates it and plays the scenes.
func demo(ctx context.Context, out io.Writer) (err error) {
	major, err := testenv.Newest()
	if err != nil {
		return err
	}
	// What a killed process committed must outlive it, so this server writes as one in production does.
	server, err := testenv.Start(ctx, major, "fsync=on", "synchronous_commit=on", "full_page_writes=on")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	url := server.URL("postgres")
	if err := migrate(ctx, url); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	s := &stage{out: out, pool: pool, url: url}
	fmt.Fprintf(out, "PostgreSQL %d\n", major)
	for _, scene := range []func(context.Context) error{
		s.unsafeTwice, s.generatedTwice, s.race, s.reusedID, s.unknownMerchant, s.killed,
	} {
		if err := s.reset(ctx); err != nil {
			return err
		}
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}
