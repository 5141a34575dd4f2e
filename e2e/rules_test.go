package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inboxgen/inboxgen/testdata/rules"
)

// TestRules applies messages to tables and views with rules, which PostgreSQL keeps out of a WITH query.
func TestRules(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "rules")
		run(t, pool, `CREATE TABLE hidden (id bigint PRIMARY KEY, balance bigint NOT NULL);
			INSERT INTO hidden VALUES (4, 0), (5, 0);
			CREATE RULE hidden AS ON UPDATE TO hidden DO ALSO INSERT INTO audit VALUES (new.id, new.balance);`)
		c := rules.NewAccounting(pool)
		for account, handle := range map[int64]func(id string, account int64) (rules.Outcome, error){
			1: func(id string, account int64) (rules.Outcome, error) {
				return c.HandleAudited(t.Context(), rules.Audited{EventID: id, Account: account, Amount: 7})
			},
			2: func(id string, account int64) (rules.Outcome, error) {
				return c.HandleRedirected(t.Context(), rules.Redirected{EventID: id, Account: account, Amount: 7})
			},
			3: func(id string, account int64) (rules.Outcome, error) {
				return c.HandleTriggered(t.Context(), rules.Triggered{EventID: id, Account: account, Amount: 7})
			},
			4: func(id string, account int64) (rules.Outcome, error) {
				return c.HandleTold(t.Context(), rules.Told{EventID: id, Account: account, Amount: 7})
			},
		} {
			id := string(rune('a' + account))
			outcome, err := handle(id, account)
			became(t, rules.Applied, outcome, err)
			outcome, err = handle(id, account)
			became(t, rules.Duplicate, outcome, err)
			_, err = handle(id+" elsewhere", 99)
			failed(t, err, rules.Poison, rules.Classify, rules.ErrExpectation)
			holds(t, pool, int64(7), `SELECT balance FROM (TABLE account UNION ALL TABLE hidden) AS a WHERE id = $1 ORDER BY balance DESC LIMIT 1`, account)
			holds(t, pool, int64(1), `SELECT count(*) FROM audit WHERE account = $1`, account)
			holds(t, pool, int64(1), `SELECT count(*) FROM inbox WHERE message_id LIKE $1 || '%'`, id)
		}
		batch := c.HandleAuditedBatch(t.Context(), []rules.Audited{
			{EventID: "x", Account: 1, Amount: 1}, {EventID: "x", Account: 1, Amount: 1}, {EventID: "y", Account: 1, Amount: 1},
		})
		for n, want := range []rules.Outcome{rules.Applied, rules.Duplicate, rules.Applied} {
			became(t, want, batch[n].Outcome, batch[n].Err)
		}
		holds(t, pool, int64(9), "SELECT balance FROM account WHERE id = 1")
	})
}

// TestUnknownRule says what to write when the rule was known neither from the DDL nor from the spec.
func TestUnknownRule(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, db *database) {
		pool := db.with(t, "rules")
		run(t, pool, `CREATE TABLE hidden (id bigint PRIMARY KEY, balance bigint NOT NULL);
			INSERT INTO hidden VALUES (5, 0);
			CREATE RULE hidden AS ON UPDATE TO hidden DO ALSO INSERT INTO audit VALUES (new.id, new.balance);`)
		c := rules.NewAccounting(pool)
		_, err := c.HandleUntold(t.Context(), rules.Untold{EventID: "a", Account: 5, Amount: 7})
		failed(t, err, rules.Deployment, rules.Classify, nil)
		var server *pgconn.PgError
		if !errors.As(err, &server) || server.Code != "0A000" || !strings.Contains(err.Error(), "write plan: transaction and because:") {
			t.Error(err)
		}
		holds(t, pool, int64(0), "SELECT balance FROM hidden WHERE id = 5")
		holds(t, pool, int64(0), "SELECT count(*) FROM inbox")
	})
}
