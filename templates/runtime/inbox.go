package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DB is the database a consumer writes to: a *pgxpool.Pool, a *pgx.Conn, or a wrapper around one. A pgx.Tx works too;
// each message then gets a savepoint, and what it did lasts only if that transaction commits.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Outcome says what became of a message that was handled without an error. Every outcome is to be acknowledged.
type Outcome int

// The outcomes. The zero Outcome comes with an error.
const (
	Applied   Outcome = iota + 1 // the effect and its marker are committed
	Duplicate                    // a marker was there: the effect happened before, nothing was changed
	Skipped                      // the consumer has no handler for the wire type and the spec says on_unknown: skip
)

// String returns the outcome's name as logs and metrics show it.
func (o Outcome) String() string {
	switch o {
	case Applied:
		return "applied"
	case Duplicate:
		return "duplicate"
	case Skipped:
		return "skipped"
	default:
		return "failed"
	}
}

// Event is what an observer is told about each message.
type Event struct {
	Consumer string
	Message  string // the message's name in the spec; the wire type when it is unknown
	ID       string
	Headers  map[string]string // as they came with the message; nil for one that came without a broker
	Outcome  Outcome           // zero when Err is set
	Err      error
	Duration time.Duration // of the whole batch, where the message came in one
}

// Option configures a consumer.
type Option func(*inbox)

// WithLogger sets the logger; the default is slog.Default. A duplicate is logged at level info, an applied message at
// level debug; an error is returned, not logged.
func WithLogger(logger *slog.Logger) Option {
	return func(i *inbox) { i.logger = logger }
}

// WithObserver has f called once for each message that was handled, failed ones included. f is called from the
// goroutine that handles the message, after its transaction ended; in a …Tx method, before the caller's commit.
func WithObserver(f func(ctx context.Context, e Event)) Option {
	return func(i *inbox) { i.observe = f }
}

// inbox applies deliveries for one consumer.
type inbox struct {
	db       DB
	consumer string
	logger   *slog.Logger
	observe  func(ctx context.Context, e Event)
	meter    meter
	route    func(ctx context.Context, d Delivery) (DB, error) // nil: all to db
}

// meter counts what happens, for metrics.
type meter interface {
	message(ctx context.Context, e Event)
	batch(consumer string, size int, took time.Duration)
	retried(consumer string)
	buried(consumer, message, reason string)
	lag(consumer, topic string, partition int32, messages int64)
	purged(consumer string, markers int64, finished bool)
}

func newInbox(db DB, consumer string, options []Option) *inbox {
	i := &inbox{db: db, consumer: consumer, logger: slog.Default(), observe: func(context.Context, Event) {}}
	for _, option := range options {
		option(i)
	}
	if i.meter == nil {
		i.meter = defaultMeter()
	}
	return i
}

// delivery is one message, ready to be applied.
type delivery struct {
	message     string
	id          string
	headers     map[string]string
	fingerprint int64
	guarded     string      // SQL of marker, effect and check in one; "": the effects only run behind a marker of their own
	effects     []statement // in the order of the spec
}

// effect adds a statement to what the delivery does.
func (d *delivery) effect(sql string, expect rows, args ...any) {
	d.effects = append(d.effects, statement{sql, args, expect})
}

// statement is SQL with its arguments.
type statement struct {
	sql    string
	args   []any
	expect rows // checked against the command tag
}

// rows is how many rows a statement must affect: a number, or one of these.
type rows int64

const (
	anyRows  rows = 0 // or the SQL checks for itself
	someRows rows = -1
)

// querier is what a pgx.Tx and a *pgx.Conn have in common.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// apply handles d in a transaction of its own.
func (i *inbox) apply(ctx context.Context, d delivery) (Outcome, error) {
	return i.report(ctx, d, func() (Outcome, error) {
		if err := i.checkIdle(); err != nil {
			return 0, err
		}
		_, nested := i.db.(pgx.Tx)
		switch {
		case nested:
			return i.savepoint(ctx, d)
		case d.guarded != "":
			outcome, err := i.guarded(ctx, i.db.QueryRow, d)
			if !mayBeDuplicate(err, d.message) {
				return outcome, err
			}
			return i.transaction(ctx, d)
		default:
			return i.transaction(ctx, d)
		}
	})
}

// mayBeDuplicate reports whether a guarded statement may have failed for a duplicate: what of the effect does not depend on
// the marker, such as a subquery, is computed all the same, and may fail on what the data are by now. Behind a marker of its
// own a duplicate's effect does not run at all.
func mayBeDuplicate(err error, message string) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) || Classify(err) != Poison {
		return false
	}
	_, expected := unmet(server, message)
	return !expected
}

// checkIdle refuses a connection on which the caller has begun a transaction: what is applied there is not committed.
func (i *inbox) checkIdle() error {
	if conn, ok := i.db.(*pgx.Conn); ok && !conn.IsClosed() && conn.PgConn().TxStatus() != 'I' {
		return errors.New("the connection is inside a transaction: call the …Tx method with it")
	}
	return nil
}

// applyTx handles d inside the caller's transaction.
func (i *inbox) applyTx(ctx context.Context, tx pgx.Tx, d delivery) (Outcome, error) {
	return i.report(ctx, d, func() (Outcome, error) { return i.inside(ctx, tx, d) })
}

// report checks the id, runs handle, and tells the logger and the observer.
func (i *inbox) report(ctx context.Context, d delivery, handle func() (Outcome, error)) (Outcome, error) {
	start := time.Now()
	var outcome Outcome
	err := checkID(d.id)
	if err == nil {
		outcome, err = handle()
	}
	if err != nil {
		outcome, err = 0, i.failure(d.message, d.id, err)
	}
	i.tell(ctx, Event{i.consumer, d.message, d.id, d.headers, outcome, err, time.Since(start)})
	return outcome, err
}

// tell gives e to the observer and, unless it is an error, which the caller gets, to the logger.
func (i *inbox) tell(ctx context.Context, e Event) {
	i.observe(ctx, e)
	i.meter.message(ctx, e)
	switch e.Outcome {
	case Applied:
		i.log(ctx, slog.LevelDebug, "applied", e)
	case Duplicate:
		i.log(ctx, slog.LevelInfo, "duplicate skipped", e)
	}
}

func (i *inbox) log(ctx context.Context, level slog.Level, text string, e Event) {
	i.logger.LogAttrs(ctx, level, text,
		slog.String("consumer", e.Consumer), slog.String("message", e.Message), slog.String("message_id", e.ID))
}

// inside handles d in a transaction that somebody else commits.
func (i *inbox) inside(ctx context.Context, tx pgx.Tx, d delivery) (Outcome, error) {
	if d.guarded != "" {
		return i.guarded(ctx, tx.QueryRow, d)
	}
	marker, err := tx.Exec(ctx, markerSQL, i.markerArgs(d)...)
	if err != nil {
		return 0, err
	}
	if marker.RowsAffected() == 0 {
		return i.duplicate(ctx, tx.QueryRow, d, nil)
	}
	if err := runEffects(ctx, tx, d.effects, false); err != nil {
		return 0, err
	}
	return Applied, nil
}

func (i *inbox) savepoint(ctx context.Context, d delivery) (outcome Outcome, err error) {
	err = pgx.BeginFunc(ctx, i.db, func(tx pgx.Tx) error {
		outcome, err = i.inside(ctx, tx, d)
		return err
	})
	return outcome, err
}

type queryRow func(ctx context.Context, sql string, args ...any) pgx.Row

// guarded runs marker, effect and check as one statement.
func (i *inbox) guarded(ctx context.Context, query queryRow, d delivery) (Outcome, error) {
	var fresh, affected int64
	var seen *int64
	into := []any{&fresh, &affected}
	if detectReuse {
		into = append(into, &seen)
	}
	args := append(i.markerArgs(d), d.effects[0].args...)
	if err := query(ctx, d.guarded, args...).Scan(into...); err != nil {
		return 0, err
	}
	if fresh == 0 {
		return i.duplicate(ctx, query, d, seen)
	}
	return Applied, nil
}

func (i *inbox) markerArgs(d delivery) []any {
	if detectReuse {
		return []any{i.consumer, d.id, d.fingerprint}
	}
	return []any{i.consumer, d.id}
}

// duplicate tells a duplicate from an id that came with other content. seen is the fingerprint stored with the marker;
// nil when the statement that met the marker could not see it, because it was committed after that statement's snapshot.
func (i *inbox) duplicate(ctx context.Context, query queryRow, d delivery, seen *int64) (Outcome, error) {
	if !detectReuse {
		return Duplicate, nil
	}
	if seen == nil {
		err := query(ctx, seenSQL, i.consumer, d.id).Scan(&seen)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return 0, err
		}
	}
	if seen != nil && !sameContent(*seen, d.fingerprint) {
		return 0, ErrReusedID
	}
	return Duplicate, nil
}

// sameContent reports whether two fingerprints can be of one message: one wire type, and the same values where both are of
// one shape.
func sameContent(a, b int64) bool {
	differ := uint64(a ^ b)
	return differ == 0 || differ>>48 == 0 && differ>>32 != 0
}

// transaction sends BEGIN and the marker in one round trip, and when the message is fresh, its effects and COMMIT in a
// second.
func (i *inbox) transaction(ctx context.Context, d delivery) (Outcome, error) {
	conn, release, err := i.connection(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	if conn == nil {
		return i.savepoint(ctx, d)
	}
	outcome, err := i.transactionOn(ctx, conn, d)
	if outcome != Applied {
		rollback(ctx, conn)
	}
	return outcome, err
}

// connection returns the connection to run a transaction on and what gives it back. It is nil for a DB that is neither a
// pool nor a connection: that one begins its transactions itself.
func (i *inbox) connection(ctx context.Context) (conn *pgx.Conn, release func(), err error) {
	switch db := i.db.(type) {
	case *pgx.Conn:
		return db, func() {}, nil
	case *pgxpool.Pool:
		lent, err := db.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		return lent.Conn(), lent.Release, nil
	default:
		return nil, func() {}, nil
	}
}

// transactionOn begins a transaction on conn and commits it when the message was applied. Otherwise the caller rolls back.
func (i *inbox) transactionOn(ctx context.Context, conn *pgx.Conn, d delivery) (Outcome, error) {
	begin := &pgx.Batch{}
	begin.Queue("BEGIN")
	fresh := false
	begin.Queue(markerSQL, i.markerArgs(d)...).Exec(func(tag pgconn.CommandTag) error {
		fresh = tag.RowsAffected() == 1
		return nil
	})
	if err := conn.SendBatch(ctx, begin).Close(); err != nil {
		return 0, err
	}
	if !fresh {
		return i.duplicate(ctx, conn.QueryRow, d, nil)
	}
	if err := runEffects(ctx, conn, d.effects, true); err != nil {
		return 0, err
	}
	return Applied, nil
}

// runEffects sends the effects in order in one round trip. With commit, COMMIT travels with them, unless an expectation
// must be checked here first.
func runEffects(ctx context.Context, q querier, effects []statement, commit bool) error {
	batch := &pgx.Batch{}
	checked := false
	for n, e := range effects {
		checked = checked || e.expect != anyRows
		batch.Queue(e.sql, e.args...).Exec(func(tag pgconn.CommandTag) error { return e.check(tag, n, len(effects)) })
	}
	if commit && !checked {
		queueCommit(batch)
	}
	if err := q.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if commit && checked {
		batch = &pgx.Batch{}
		queueCommit(batch)
		return q.SendBatch(ctx, batch).Close()
	}
	return nil
}

// check compares what the statement, the n-th from 0 of total, affected with what it must.
func (s *statement) check(tag pgconn.CommandTag, n, total int) error {
	if s.expect.met(tag.RowsAffected()) {
		return nil
	}
	label := ""
	if total > 1 {
		label = fmt.Sprintf("effect %d: ", n+1)
	}
	return fmt.Errorf("%w: %sexpected %s, affected %d", ErrExpectation, label, s.expect, tag.RowsAffected())
}

func (r rows) met(n int64) bool {
	return r == anyRows || r == someRows && n > 0 || int64(r) == n
}

// String says what is expected.
func (r rows) String() string {
	switch r {
	case anyRows:
		return "any number of rows"
	case someRows:
		return "at least 1 row"
	case 1:
		return "1 row"
	default:
		return fmt.Sprintf("%d rows", int64(r))
	}
}

func queueCommit(batch *pgx.Batch) {
	batch.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
}

// rollback ends the transaction on conn, whatever became of ctx. A connection that can't be rolled back is closed: one
// with an open transaction must not be used again.
func rollback(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = conn.Close(ctx)
	}
}
