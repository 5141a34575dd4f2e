package runtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Result is what became of one message of a batch.
type Result struct {
	Outcome Outcome // zero when Err is set
	Err     error
}

// ErrNotTried says that a message stands behind one that failed and may succeed later: applying it would change the order.
var ErrNotTried = errors.New("not tried, because an earlier message of the batch failed")

// handleBatch decodes messages and applies them in their order, where they go to one database.
func (i *inbox) handleBatch(ctx context.Context, in []Delivery, decode decoder) []Result {
	results := make([]Result, len(in))
	var parts parts
	stopped := false
	for n, message := range in {
		if stopped {
			results[n].Err = ErrNotTried
			continue
		}
		d, there, err := i.prepare(ctx, message, decode)
		if err == nil {
			parts.add(there, d, n)
			continue
		}
		outcome, err := i.undecoded(ctx, d, err)
		results[n] = Result{outcome, err}
		stopped = err != nil && Classify(err) != Poison
	}
	parts.apply(ctx, results)
	return results
}

// applyBatch applies deliveries in their order, as many as possible in one transaction.
//
// A message that fails for good costs itself alone: the others are applied. Behind one that may succeed later nothing is
// applied. A message whose id came earlier in the batch is a duplicate once that one is applied.
func (i *inbox) applyBatch(ctx context.Context, deliveries []delivery) []Result {
	b := &batch{inbox: i, deliveries: deliveries, results: make([]Result, len(deliveries))}
	start := time.Now()
	for n, d := range deliveries {
		b.results[n].Err = ErrNotTried
		if err := checkID(d.id); err != nil {
			b.results[n].Err = err
		}
	}
	b.settle(ctx)
	took := time.Since(start)
	if len(deliveries) > 0 {
		i.meter.batch(i.consumer, len(deliveries), took)
	}
	for n := range b.results {
		d, r := &deliveries[n], &b.results[n]
		if r.Err != nil {
			r.Err = i.failure(d.message, d.id, r.Err)
		}
		if !errors.Is(r.Err, ErrNotTried) {
			i.tell(ctx, Event{i.consumer, d.message, d.id, d.headers, r.Outcome, r.Err, took})
		}
	}
	return b.results
}

// batch is a list of deliveries and what became of each; lists of messages are positions in it.
type batch struct {
	inbox      *inbox
	deliveries []delivery
	results    []Result
}

// settle handles every message with a valid id. Of the messages with one id the first goes first; the others follow from
// what became of it.
func (b *batch) settle(ctx context.Context) {
	var waiting []int
	for n := range b.deliveries {
		if errors.Is(b.results[n].Err, ErrNotTried) {
			waiting = append(waiting, n)
		}
	}
	for len(waiting) > 0 {
		first := map[string]int{}
		var round, repeated, again []int
		for _, n := range waiting {
			if _, ok := first[b.key(n)]; ok {
				repeated = append(repeated, n)
				continue
			}
			first[b.key(n)] = n
			round = append(round, n)
		}
		stopped := b.run(ctx, round)
		for _, n := range repeated {
			original := first[b.key(n)]
			switch err := b.results[original].Err; {
			case err == nil && detectReuse && !sameContent(b.deliveries[original].fingerprint, b.deliveries[n].fingerprint):
				b.results[n].Err = ErrReusedID
			case err == nil:
				b.results[n] = Result{Outcome: Duplicate}
			case !stopped:
				again = append(again, n)
			}
		}
		waiting = again
	}
}

// key is the id as PostgreSQL compares it.
func (b *batch) key(n int) string {
	if messageIDType == "uuid" {
		return strings.ToLower(b.deliveries[n].id)
	}
	return b.deliveries[n].id
}

// run applies messages with different ids in their order. A transaction that fails is taken apart: at the message that
// failed, where that is known, else in the middle. It reports whether a message failed that may succeed later; those
// behind it are then not tried.
func (b *batch) run(ctx context.Context, messages []int) (stopped bool) {
	if len(messages) == 0 {
		return false
	}
	at, err := b.transaction(ctx, messages)
	poison := Classify(err) == Poison
	switch {
	case err == nil:
		return false
	case len(messages) == 1, at < 0 && !poison:
		b.results[messages[0]].Err = err
		return !poison
	case at < 0:
		half := len(messages) / 2
		return b.run(ctx, messages[:half]) || b.run(ctx, messages[half:])
	default:
		return b.run(ctx, messages[:at]) || b.run(ctx, messages[at:at+1]) || b.run(ctx, messages[at+1:])
	}
}

// transaction applies messages in one transaction. When it fails, nothing of it lasts, and at is the index of the message
// whose effect failed, or -1.
func (b *batch) transaction(ctx context.Context, messages []int) (at int, err error) {
	if err := b.inbox.checkIdle(); err != nil {
		return -1, err
	}
	conn, release, err := b.inbox.connection(ctx)
	if err != nil {
		return -1, err
	}
	defer release()
	t := &batchTransaction{batch: b, messages: messages, results: make([]Result, len(messages))}
	if conn == nil {
		err = pgx.BeginFunc(ctx, b.inbox.db, func(tx pgx.Tx) error { return t.inside(ctx, tx, &pgx.Batch{}) })
	} else {
		err = t.on(ctx, conn)
	}
	if err != nil {
		return t.culprit(err), err
	}
	for k, n := range messages {
		b.results[n] = t.results[k]
	}
	return -1, nil
}

// batchTransaction is one attempt to apply messages together.
type batchTransaction struct {
	*batch
	messages []int
	results  []Result // of messages, true once it commits
	owners   []int    // by statement behind the markers, the index of its message
	done     int      // how many of those statements succeeded
}

// on sends BEGIN with the markers, then the effects, then COMMIT.
func (t *batchTransaction) on(ctx context.Context, conn *pgx.Conn) error {
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	err := t.inside(ctx, conn, first)
	if err == nil {
		commit := &pgx.Batch{}
		queueCommit(commit)
		err = conn.SendBatch(ctx, commit).Close()
	}
	if err != nil {
		rollback(ctx, conn)
	}
	return err
}

// inside sends the markers behind what first has, and then the effects of the fresh messages in their order.
func (t *batchTransaction) inside(ctx context.Context, q querier, first *pgx.Batch) error {
	fresh := make(map[string]bool, len(t.messages))
	first.Queue(batchMarkerSQL, t.markerArgs()...).Query(func(rows pgx.Rows) error {
		var id string
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error { fresh[id] = true; return nil })
		return err
	})
	if err := q.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	work := &pgx.Batch{}
	duplicates := map[string]int{}
	for k, n := range t.messages {
		if fresh[t.key(n)] {
			t.results[k].Outcome = Applied
		} else {
			t.results[k].Outcome = Duplicate
			duplicates[t.key(n)] = k
		}
	}
	if detectReuse && len(duplicates) > 0 {
		t.queueCompare(work, duplicates)
	}
	for k, n := range t.messages {
		if fresh[t.key(n)] {
			t.queueEffects(work, k, t.deliveries[n].effects)
		}
	}
	if work.Len() == 0 {
		return nil
	}
	return q.SendBatch(ctx, work).Close()
}

func (t *batchTransaction) queueEffects(work *pgx.Batch, message int, effects []statement) {
	for n, e := range effects {
		t.owners = append(t.owners, message)
		work.Queue(e.sql, e.args...).Exec(func(tag pgconn.CommandTag) error {
			err := e.check(tag, n, len(effects))
			if err == nil {
				t.done++
			}
			return err
		})
	}
}

// culprit returns the index of the message whose effect failed with err, or -1. Before the first statement is done, the
// error may be of preparing any of them.
func (t *batchTransaction) culprit(err error) int {
	var server *pgconn.PgError
	if t.done == 0 || t.done == len(t.owners) || !errors.As(err, &server) && !errors.Is(err, ErrExpectation) {
		return -1
	}
	return t.owners[t.done]
}

// markerArgs are the parameters of batchMarkerSQL. The ids are sorted, so that two batches take their locks in one order.
func (t *batchTransaction) markerArgs() []any {
	sorted := slices.Clone(t.messages)
	slices.SortFunc(sorted, func(a, b int) int { return strings.Compare(t.key(a), t.key(b)) })
	ids := make([]string, len(sorted))
	fingerprints := make([]int64, len(sorted))
	for k, n := range sorted {
		ids[k], fingerprints[k] = t.deliveries[n].id, t.deliveries[n].fingerprint
	}
	if detectReuse {
		return []any{t.inbox.consumer, ids, fingerprints}
	}
	return []any{t.inbox.consumer, ids}
}

// queueCompare tells duplicates, which come by key, from ids that were used with other content.
func (t *batchTransaction) queueCompare(work *pgx.Batch, duplicates map[string]int) {
	ids := slices.Collect(maps.Keys(duplicates))
	t.owners = append(t.owners, -1)
	work.Queue(batchSeenSQL, t.inbox.consumer, ids).Query(func(rows pgx.Rows) error {
		var id string
		var seen *int64
		_, err := pgx.ForEachRow(rows, []any{&id, &seen}, func() error {
			k, ok := duplicates[id]
			if ok && seen != nil && !sameContent(*seen, t.deliveries[t.messages[k]].fingerprint) {
				t.results[k] = Result{Err: ErrReusedID}
			}
			return nil
		})
		t.done++
		return err
	})
}

// deliveries turns messages into what they do.
func deliveries[M any](messages []M, of func(M) delivery) []delivery {
	out := make([]delivery, len(messages))
	for n, m := range messages {
		out[n] = of(m)
	}
	return out
}
