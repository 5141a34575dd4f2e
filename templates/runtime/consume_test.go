package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestBackoff(t *testing.T) {
	c := Consuming{MinBackoff: 100 * time.Millisecond, MaxBackoff: 30 * time.Second}.withDefaults()
	for attempts, most := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 5: 1600 * time.Millisecond, 10: 30 * time.Second, 29: 30 * time.Second, 1000: 30 * time.Second,
	} {
		for range 100 {
			if wait := c.backoff(attempts); wait < most/2 || wait > most {
				t.Errorf("attempt %d waits %s, of %s at most", attempts, wait, most)
			}
		}
	}
}

// TestOutliving has work in flight when a consumer is told to stop.
func TestOutliving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		work, cancel := Consuming{Shutdown: time.Minute}.outliving(ctx)
		defer cancel()
		stop()
		time.Sleep(59 * time.Second)
		if work.Err() != nil {
			t.Error("the work was cut off before its time")
		}
		time.Sleep(2 * time.Second)
		if work.Err() == nil {
			t.Error("the work goes on after its time")
		}
	})
	synctest.Test(t, func(t *testing.T) { // a goroutine that is left behind fails this
		_, cancel := Consuming{}.withDefaults().outliving(t.Context())
		cancel()
	})
}

func TestLetter(t *testing.T) {
	cause := &MessageError{"accounting", "Paid", "42", fmt.Errorf("%w: %w", ErrExpectation, &pgconn.PgError{Code: "22P02"})}
	headers := letter{"accounting", cause, 3, map[string]string{"topic": "payments", "offset": "7"}}.headers()
	got := readLetter(Delivery{Headers: headers})
	if got.Consumer != "accounting" || got.Message != "Paid" || got.ID != "42" || got.Reason != "expectation" || got.SQLState != "22P02" ||
		got.Attempts != 3 || got.Error != cause.Error() || time.Since(got.Time) > time.Minute || headers["inboxgen-offset"] != "7" {
		t.Errorf("%+v", got)
	}
	if got := readLetter(Delivery{}); got.Consumer != "" || got.Attempts != 0 || !got.Time.IsZero() {
		t.Errorf("of another program: %+v", got)
	}
	for want, cause := range map[string]error{
		"decode": ErrDecode, "id": ErrInvalidID, "reused-id": ErrReusedID, "type": ErrUnknownType, "database": &pgconn.PgError{Code: "23503"},
	} {
		if got := reason(fmt.Errorf("wrapped: %w", cause)); got != want {
			t.Errorf("%v: %s, want %s", cause, got, want)
		}
	}
	if text := shortened(strings.Repeat("é", 5000)); len(text) > 2010 {
		t.Errorf("a header of %d bytes", len(text))
	}
}

// counted is a meter that notes what it is told.
type counted struct {
	noMeter
	told []string
}

func (c *counted) buried(_, message, reason string) { c.told = append(c.told, message+" "+reason) }
func (c *counted) retried(consumer string)          { c.told = append(c.told, consumer) }

func TestLoopsTell(t *testing.T) {
	var log bytes.Buffer
	i := NewConsumer(nil, WithLogger(slog.New(slog.NewTextHandler(&log, nil)))).inbox
	meter := &counted{}
	i.meter = meter
	i.buried(t.Context(), &MessageError{"accounting", "Paid", "42", ErrDecode})
	i.buried(t.Context(), &MessageError{"accounting", "whatever", "", ErrUnknownType})
	i.retried(t.Context(), errors.New("the database is down"), 2, time.Second)
	if got := fmt.Sprint(meter.told); got != "[Paid decode unknown type accounting]" {
		t.Error(got)
	}
	for _, text := range []string{"moved to the dead letter", "message_id=42", "will be tried again", "attempts=2", "wait=1s"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log does not say %s:\n%s", text, &log)
		}
	}
	if err := stopped(ErrNoDeadLetter); !errors.Is(err, ErrNoDeadLetter) || !strings.HasPrefix(err.Error(), "consumer stopped: ") {
		t.Error(err)
	}
}
