package pgsql

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/inboxgen/inboxgen/internal/testenv"
)

var update = flag.Bool("update", false, "write what is generated, instead of comparing it with what is there")

// runsSQL are functions that run SQL which they are given, whatever their volatility says.
var runsSQL = regexp.MustCompile(`^(query|cursor|table|schema|database)_to_xml|^ts_(stat|rewrite)$`)

// changeless are volatile because they give another value each time; they write nothing.
var changeless = []string{
	"array_sample", "array_shuffle", "clock_timestamp", "currval", "gen_random_uuid", "lastval", "random", "random_normal",
	"timeofday", "uuidv4", "uuidv7",
}

// lasting change the session; others are acting outside of any transaction.
var (
	lasting = regexp.MustCompile(`^pg_(try_)?advisory_(un)?lock(_all|_shared)?$|^pg_replication_origin_(session|xact)_(setup|reset)$|^setseed$`)
	acting  = regexp.MustCompile(`^lo_(import|export)$|^pg_(read_(binary_)?file(_old)?|stat_file|ls_\w*dir)$` +
		`|^pg_(cancel|terminate)_backend$|^pg_(reload_conf|promote|switch_wal|create_restore_point|rotate_logfile(_old)?)$` +
		`|^pg_backup_(start|stop)$|^pg_wal_replay_(pause|resume)$|^pg_log_(backend_memory_contexts|standby_snapshot)$` +
		`|^pg_(copy|create)_(logical|physical)_replication_slot$|^pg_(drop_replication_slot|replication_slot_advance|sync_replication_slots)$` +
		`|^pg_logical_slot_get_(binary_)?changes$|^pg_replication_origin_advance$|^pg_stat_(reset\w*|force_next_flush)$`)
)

// TestBuiltins compares builtins.txt with the catalogs of all servers. A name that is harmless on one and may write on
// another may write; one that is an aggregate in one overload and may write in another is left out, as if unknown.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	mayWrite, aggregates := map[string]bool{}, map[string]bool{}
	for _, major := range []int{15, 17, 18} {
		conn, err := pgx.Connect(t.Context(), testenv.Postgres(t, major).URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := conn.Query(t.Context(), `SELECT proname, bool_or(provolatile = 'v'), bool_or(prokind = 'a')
			FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind <> 'p' GROUP BY 1
			UNION ALL SELECT oprname, bool_or(provolatile = 'v'), false
			FROM pg_operator JOIN pg_proc p ON p.oid = oprcode WHERE oprnamespace = 'pg_catalog'::regnamespace GROUP BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		var name string
		var v, a bool
		if _, err := pgx.ForEachRow(rows, []any{&name, &v, &a}, func() error {
			mayWrite[name] = mayWrite[name] || v || runsSQL.MatchString(name)
			aggregates[name] = aggregates[name] || a
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	var want strings.Builder
	for _, name := range slices.Sorted(maps.Keys(mayWrite)) {
		switch {
		case slices.Contains(changeless, name):
			fmt.Fprintf(&want, "n %s\n", name)
		case lasting.MatchString(name):
			fmt.Fprintf(&want, "s %s\n", name)
		case acting.MatchString(name):
			fmt.Fprintf(&want, "o %s\n", name)
		case mayWrite[name] && aggregates[name]:
		case mayWrite[name]:
			fmt.Fprintf(&want, "v %s\n", name)
		case aggregates[name]:
			fmt.Fprintf(&want, "a %s\n", name)
		default:
			fmt.Fprintf(&want, "h %s\n", name)
		}
	}
	if *update {
		if err := os.WriteFile("builtins.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if builtins != want.String() {
		t.Error("builtins.txt is not what the servers have; after a look at them, run with -update")
	}
}
