package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/inboxgen/inboxgen/internal/testenv"
	"github.com/inboxgen/inboxgen/testdata/ledger"
	"github.com/inboxgen/inboxgen/testdata/left"
)

// inLanguages runs a test on servers whose messages are not in English. What a failed cast, a missing table and the end of a
// connection are called there is given to the test.
func inLanguages(t *testing.T, test func(t *testing.T, db *database, words map[string]string)) {
	t.Helper()
	for language, words := range map[string]map[string]string{
		"de_DE": {"22P02": "ungültige Eingabesyntax", "42P01": "existiert nicht", "57P01": "Verbindung wird abgebrochen"},
		"fr_FR": {"22P02": "syntaxe en entrée invalide", "42P01": "n'existe pas", "57P01": "arrêt des connexions"},
		"ja_JP": {"22P02": "入力構文が不正です", "42P01": "存在しません", "57P01": "接続を終了しています"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			test(t, &database{url: testenv.InLanguage(t, 15, language).Database(t)}, words)
		})
	}
}

// says checks the code of a server's error, and that its words are those of the language.
func says(t *testing.T, err error, code string, words map[string]string) {
	t.Helper()
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != code || !strings.Contains(server.Message, words[code]) {
		t.Errorf("%v, want %s: %s", err, code, words[code])
	}
}

// TestLanguages has each kind of outcome and failure in each plan.
func TestLanguages(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, db *database, words map[string]string) {
		a := openAccount(t, db.with(t, "ledger"))
		_, err := db.connect(t).Exec(t.Context(), "SELECT 'x'::bigint")
		says(t, err, "22P02", words)
		for _, kind := range []string{"Paid", "Refunded"} {
			outcome, err := a.Handle(t.Context(), money(kind, kind, 5))
			became(t, ledger.Applied, outcome, err)
			outcome, err = a.Handle(t.Context(), money(kind, kind, 5))
			became(t, ledger.Duplicate, outcome, err)
			_, err = a.Handle(t.Context(), money(kind, kind, 6))
			failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrReusedID)
			nobody := message(kind, `{"event_id": "nobody", "merchant_id": 404, "amount": 1}`)
			_, err = a.Handle(t.Context(), nobody)
			failed(t, err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
			if !strings.HasSuffix(err.Error(), "expected 1 row, affected 0") {
				t.Errorf("%v", err)
			}
			results := a.HandleBatch(t.Context(), []ledger.Delivery{money(kind, kind, 5), nobody, money(kind, kind+" batch", 5)})
			became(t, ledger.Duplicate, results[0].Outcome, results[0].Err)
			failed(t, results[1].Err, ledger.Poison, ledger.Classify, ledger.ErrExpectation)
			became(t, ledger.Applied, results[2].Outcome, results[2].Err)
		}
		_, err = a.Handle(t.Context(), money("Refunded", "negative", -1)) // against a CHECK
		failed(t, err, ledger.Poison, ledger.Classify, nil)
		a.balanceIs(t, 0)
		a.markersAre(t, 4)
	})
}

// TestLanguagesFailures has failures that are not the message's.
func TestLanguagesFailures(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, db *database, words map[string]string) {
		a := openAccount(t, db.with(t, "ledger"))
		impatient := ledger.NewAccounting(db.pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "20ms" }))
		for _, kind := range []string{"Paid", "Refunded"} {
			lock := begin(t, a.db)
			run(t, lock, "SELECT FROM ledger FOR UPDATE")
			_, err := impatient.Handle(t.Context(), money(kind, "a", 100))
			failed(t, err, ledger.Transient, ledger.Classify, nil)
			err = transientFailure(t, a, kind, func(context.CancelFunc) { holds(t, a.db, true, terminate) })
			says(t, err, "57P01", words)
			commit(t, lock)
			a.redeliver(t, kind, ledger.Applied, kinds[kind])
			a.redeliver(t, kind, ledger.Duplicate, kinds[kind])
			run(t, a.db, "UPDATE ledger SET balance = 0; TRUNCATE inbox")
		}
		run(t, a.db, "ALTER TABLE ledger RENAME TO renamed")
		for _, kind := range []string{"Paid", "Refunded"} {
			_, err := a.Handle(t.Context(), money(kind, "b", 1))
			failed(t, err, ledger.Deployment, ledger.Classify, nil)
			says(t, err, "42P01", words)
		}
	})
}

// TestLanguagesMigrations applies the migrations, takes them back and runs the retention.
func TestLanguagesMigrations(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, db *database, _ map[string]string) {
		pool, l, r := bothSchemas(t, db)
		run(t, pool, "INSERT INTO a.inbox (consumer_name, message_id, processed_at) VALUES ('sum', 'old', now() - interval '9 days'), ('sum', 'new', now())")
		if deleted, err := (left.Retention{DB: pool}).Run(t.Context()); err != nil || deleted["sum"] != 1 {
			t.Errorf("%v, %v", deleted, err)
		}
		other := begin(t, pool)
		if _, err := (left.Retention{DB: other}).Run(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := (left.Retention{DB: pool}).Run(t.Context()); !errors.Is(err, left.ErrRetentionBusy) {
			t.Errorf("%v", err)
		}
		commit(t, other)
		for _, m := range []migrator{l, r} {
			if err := errors.Join(m.down(), m.up()); err != nil {
				t.Error(err)
			}
		}
	})
}
