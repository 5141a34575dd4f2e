// Package local gives the examples servers: those that the environment names, or private ones that end with the process.
package local

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

// Postgres returns a pool on $DATABASE_URL, or on a private server, with the migrations applied.
func Postgres(ctx context.Context, migrations fs.FS) (pool *pgxpool.Pool, stop func() error, err error) {
	url, stopServer := os.Getenv("DATABASE_URL"), func() error { return nil }
	if url == "" {
		major, err := testenv.Newest()
		if err != nil {
			return nil, nil, err
		}
		server, err := testenv.Start(ctx, major)
		if err != nil {
			return nil, nil, err
		}
		url, stopServer = server.URL("postgres"), server.Close
	}
	if pool, err = pgxpool.New(ctx, url); err == nil {
		err = migrate(ctx, pool, migrations)
	}
	if err != nil {
		return nil, nil, errors.Join(err, stopServer())
	}
	return pool, func() error { pool.Close(); return stopServer() }, nil
}

func migrate(ctx context.Context, pool *pgxpool.Pool, migrations fs.FS) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// Kafka returns $KAFKA_BROKERS, or the address of a private server.
func Kafka(ctx context.Context) (addr string, stop func() error, err error) {
	return broker(ctx, "KAFKA_BROKERS", testenv.StartKafka, "")
}

// RabbitMQ returns $RABBITMQ_URL, or that of a private server.
func RabbitMQ(ctx context.Context) (url string, stop func() error, err error) {
	return broker(ctx, "RABBITMQ_URL", testenv.StartRabbitMQ, "amqp://guest:guest@")
}

func broker(ctx context.Context, variable string, start func(context.Context) (*testenv.Broker, error), prefix string) (string, func() error, error) {
	if addr := os.Getenv(variable); addr != "" {
		return addr, func() error { return nil }, nil
	}
	b, err := start(ctx)
	if err != nil {
		return "", nil, err
	}
	return prefix + b.Addr, b.Close, nil
}
