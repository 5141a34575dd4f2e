package runtime

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
)

// window is how long a consumer's markers are kept.
type window struct {
	consumer string
	keep     time.Duration
}

// ErrRetentionBusy says that another process is deleting markers right now. Nothing is wrong; the next run looks again.
var ErrRetentionBusy = errors.New("another process is deleting markers")

// Retention deletes the markers that are older than the spec's retention, by the database's clock. Run it from one
// place on a timer, such as every hour; that it runs in several is harmless.
type Retention struct {
	DB        DB
	BatchSize int           // rows per transaction; default 5,000
	Pause     time.Duration // between two batches, to leave the disk to others; default 100ms, negative for none
	Options   []Option      // as the consumers have, for where metrics go
}

// Run deletes in batches, a transaction each, until nothing old is left or ctx is done. It returns how many markers
// each consumer lost, also with an error. Only consumers of this spec are touched: another service may keep its markers
// in the same table for longer.
func (r Retention) Run(ctx context.Context) (map[string]int64, error) {
	meter := newInbox(r.DB, "", r.Options).meter
	deleted := make(map[string]int64, len(windows))
	for _, w := range windows {
		for more := true; more; {
			n, err := r.batch(ctx, w)
			deleted[w.consumer] += n
			meter.purged(w.consumer, n, err == nil && n == 0)
			if err != nil {
				return deleted, fmt.Errorf("delete old markers of %s: %w", w.consumer, err)
			}
			if more = n > 0; more {
				if err := r.pause(ctx); err != nil {
					return deleted, err
				}
			}
		}
	}
	return deleted, nil
}

// batch deletes the oldest markers of one consumer. The lock is the transaction's, so that it works behind pgbouncer
// and ends with whatever ends the transaction.
func (r Retention) batch(ctx context.Context, w window) (n int64, err error) {
	size := r.BatchSize
	if size <= 0 {
		size = 5000
	}
	err = pgx.BeginFunc(ctx, r.DB, func(tx pgx.Tx) error {
		var locked bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1::bigint)", retentionLock()).Scan(&locked); err != nil {
			return err
		}
		if !locked {
			return ErrRetentionBusy
		}
		tag, err := tx.Exec(ctx, purgeSQL, w.consumer, w.keep.Seconds(), size)
		n = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// retentionLock is one number for each inbox table, taken from its SQL.
func retentionLock() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("inboxgen retention " + purgeSQL))
	return int64(h.Sum64())
}

func (r Retention) pause(ctx context.Context) error {
	wait := r.Pause
	if wait == 0 {
		wait = 100 * time.Millisecond
	}
	if wait < 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
