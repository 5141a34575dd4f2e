package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Consuming is how a consumer reads from its broker. The zero value has the defaults.
type Consuming struct {
	BatchSize  int           // messages of a transaction at most; default 100
	Linger     time.Duration // how long a batch that is not full waits for more; default 5ms, negative for none
	MinBackoff time.Duration // before the second attempt at a message; default 100ms
	MaxBackoff time.Duration // before later ones, between which it doubles; default 30s
	Shutdown   time.Duration // how long work in flight may take once the context is done; default 20s
}

func (c Consuming) withDefaults() Consuming {
	if c.BatchSize <= 0 {
		c.BatchSize = 100
	}
	if c.Linger == 0 {
		c.Linger = 5 * time.Millisecond
	}
	if c.MinBackoff <= 0 {
		c.MinBackoff = 100 * time.Millisecond
	}
	if c.MaxBackoff <= 0 {
		c.MaxBackoff = 30 * time.Second
	}
	if c.Shutdown <= 0 {
		c.Shutdown = 20 * time.Second
	}
	return c
}

// backoff is how long to wait after n failed attempts: a random time of the upper half of what n asks for, so that
// processes that failed together do not come back together.
func (c Consuming) backoff(n int) time.Duration {
	wait := c.MaxBackoff
	if n < 30 {
		wait = min(c.MinBackoff<<(n-1), c.MaxBackoff)
	}
	return wait/2 + rand.N(wait/2+1)
}

// outliving returns a context that ends Shutdown after ctx, for work that is not to be cut off.
func (c Consuming) outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(c.Shutdown)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-work.Done():
		}
	})
	return work, func() { stop(); cancel() }
}

// ErrNoDeadLetter says that a message can never be applied and that there is nowhere to put it. The consumer stops.
var ErrNoDeadLetter = errors.New("the message can't be applied and the spec names no dead letter")

// letter is what is told about a message in the dead letter, as headers beside its own.
type letter struct {
	consumer string
	err      error
	attempts int
	origin   map[string]string // where it came from, in the broker's words
}

// headers returns the letter's headers. They begin with letterPrefix, so that they never hide one of the producer's.
func (l letter) headers() map[string]string {
	out := map[string]string{
		letterPrefix + "consumer": l.consumer,
		letterPrefix + "error":    shortened(l.err.Error()),
		letterPrefix + "reason":   reason(l.err),
		letterPrefix + "attempts": strconv.Itoa(l.attempts),
		letterPrefix + "time":     time.Now().UTC().Format(time.RFC3339Nano),
	}
	var message *MessageError
	if errors.As(l.err, &message) {
		out[letterPrefix+"message"], out[letterPrefix+"id"] = message.Message, shortened(message.ID)
	}
	var server *pgconn.PgError
	if errors.As(l.err, &server) {
		out[letterPrefix+"sqlstate"] = server.Code
	}
	for name, value := range l.origin {
		out[letterPrefix+name] = value
	}
	return out
}

// DeadLetter is a message in the dead letter, with what its headers tell.
type DeadLetter struct {
	Delivery
	Consumer, Message, ID string
	Reason                string // decode, expectation, id, reused-id, type or database
	Error, SQLState       string
	Attempts              int
	Time                  time.Time // when it was moved there
}

const letterPrefix = "inboxgen-"

// readLetter is the reverse of letter.headers. What another program put there has none of it.
func readLetter(d Delivery) DeadLetter {
	h := func(name string) string { return d.Headers[letterPrefix+name] }
	attempts, _ := strconv.Atoi(h("attempts"))
	at, _ := time.Parse(time.RFC3339Nano, h("time"))
	return DeadLetter{
		Delivery: d, Consumer: h("consumer"), Message: h("message"), ID: h("id"), Reason: h("reason"), Error: h("error"),
		SQLState: h("sqlstate"), Attempts: attempts, Time: at,
	}
}

// reason is the cause of a dead letter in one word, to filter by.
func reason(err error) string {
	for cause, word := range map[error]string{
		ErrDecode: "decode", ErrExpectation: "expectation", ErrInvalidID: "id", ErrReusedID: "reused-id", ErrUnknownType: "type",
	} {
		if errors.Is(err, cause) {
			return word
		}
	}
	return "database"
}

// shortened keeps a header to a size that every broker takes.
func shortened(s string) string {
	const limit = 2000
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// buried tells that a message is in the dead letter.
func (i *inbox) buried(ctx context.Context, err error) {
	var message *MessageError
	errors.As(err, &message) // always: every handler returns one
	name := message.Message
	if errors.Is(err, ErrUnknownType) {
		name = "unknown"
	}
	i.meter.buried(i.consumer, name, reason(err))
	i.warn(ctx, "moved to the dead letter", err, slog.String("message", message.Message), slog.String("message_id", message.ID))
}

// retried tells that a message will be tried again.
func (i *inbox) retried(ctx context.Context, err error, attempts int, wait time.Duration, attrs ...slog.Attr) {
	i.meter.retried(i.consumer)
	i.warn(ctx, "will be tried again", err, append(attrs, slog.Int("attempts", attempts), slog.Duration("wait", wait))...)
}

// warn logs what a loop does about an error that the caller never sees.
func (i *inbox) warn(ctx context.Context, text string, err error, attrs ...slog.Attr) {
	attrs = append([]slog.Attr{slog.String("consumer", i.consumer), slog.Any("error", err)}, attrs...)
	i.logger.LogAttrs(ctx, slog.LevelWarn, text, attrs...)
}

// stopped is the error with which a loop ends because of a message that must not be acknowledged.
func stopped(err error) error { return fmt.Errorf("consumer stopped: %w", err) }
