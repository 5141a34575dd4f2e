package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wm "github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/brokers"
	"github.com/inboxgen/inboxgen/testdata/ledger"
)

// TestRouter has a database per tenant: each part of a batch commits on its own, and a marker is where its effect is.
func TestRouter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		north, south := openAccount(t, db.with(t, "ledger")), openAccount(t, (&database{url: sibling(t, db)}).with(t, "ledger"))
		c := ledger.NewAccounting(nil, ledger.WithRouter(func(_ context.Context, d ledger.Delivery) (ledger.DB, error) {
			switch d.Headers["tenant"] {
			case "north":
				return north.db.(ledger.DB), nil
			case "south":
				return south.db.(ledger.DB), nil
			case "closed":
				return nil, fmt.Errorf("%w: the tenant is closed", ledger.ErrDecode)
			default:
				return nil, errors.New("no such tenant")
			}
		}))
		to := func(tenant, id string) ledger.Delivery {
			d := money("Paid", id, 1)
			d.Headers["tenant"] = tenant
			return d
		}
		batch := []ledger.Delivery{to("north", "a"), to("south", "a"), to("closed", "a"), to("south", "b"), to("north", "a"), to("south", "c")}
		for n, r := range c.HandleBatch(t.Context(), batch) {
			want := []ledger.Outcome{ledger.Applied, ledger.Applied, 0, ledger.Applied, ledger.Duplicate, ledger.Applied}[n]
			if r.Outcome != want || want == 0 && ledger.Classify(r.Err) != ledger.Poison {
				t.Errorf("message %d: %v, %v", n, r.Outcome, r.Err)
			}
		}
		outcome, err := c.Handle(t.Context(), to("south", "a"))
		became(t, ledger.Duplicate, outcome, err)
		_, err = c.Handle(t.Context(), to("east", "a"))
		failed(t, err, ledger.Deployment, ledger.Classify, nil)
		north.balanceIs(t, 1)
		south.balanceIs(t, 3)

		// One database is of no use: the other's part is applied all the same.
		run(t, south.db, "ALTER TABLE ledger RENAME TO renamed")
		results := c.HandleBatch(t.Context(), []ledger.Delivery{to("south", "d"), to("north", "d"), to("south", "e")})
		failed(t, results[0].Err, ledger.Deployment, ledger.Classify, nil)
		became(t, ledger.Applied, results[1].Outcome, results[1].Err)
		north.balanceIs(t, 2)
	})
}

// TestWatermill has a router deliver twice, and put what can never be applied into its poison queue.
func TestWatermill(t *testing.T) {
	t.Parallel()
	pool := (&database{url: testenv.Postgres(t, 18).Database(t)}).with(t, "brokers")
	accounts(t, pool, 1)
	channel := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	router, err := wm.NewRouter(wm.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	poison, err := middleware.PoisonQueueWithFilter(channel, "poison", func(err error) bool { return brokers.Classify(err) == brokers.Poison })
	if err != nil {
		t.Fatal(err)
	}
	router.AddMiddleware(poison)
	router.AddConsumerHandler("router", "payments", channel, brokers.NewRouter(pool).Watermill())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := async(func() (struct{}, error) { return struct{}{}, router.Run(ctx) })
	<-router.Running()
	for id, account := range map[string]int{"a": 1, "b": 1, "lost": 404, "": 1} {
		for range 2 {
			m := wm.NewMessage(watermill.NewUUID(), fmt.Appendf(nil, `{"event_id": "x", "account": %d, "amount": 1}`, account))
			m.Metadata.Set("id", id)
			if err := channel.Publish("payments", m); err != nil {
				t.Fatal(err)
			}
		}
	}
	dead, err := channel.Subscribe(ctx, "poison")
	if err != nil {
		t.Fatal(err)
	}
	var reasons strings.Builder
	for range 4 {
		m := <-dead
		reasons.WriteString(m.Metadata.Get(middleware.ReasonForPoisonedKey))
		m.Ack()
	}
	if n := strings.Count(reasons.String(), "invalid message id"); n != 2 {
		t.Errorf("%s", &reasons)
	}
	waitFor(t, pool, "SELECT balance = 2 FROM account WHERE id = 1")
	holds(t, pool, int64(2), "SELECT count(*) FROM inbox")
	cancel()
	if _, err := done(); err != nil {
		t.Error(err)
	}
}
