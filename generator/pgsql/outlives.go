package pgsql

import (
	"strings"

	pg "github.com/sqlc-dev/oliphant"
)

const assumeAdvice = "; where it is right all the same, write assume: transactional and because: on the effect"

// Outliving finds the calls whose effect is not undone by a ROLLBACK, or outlives the transaction: what a failed attempt did
// of it stays, and the next delivery does it again.
func (s *Statement) Outliving() []Problem {
	var problems []Problem
	walk(s.node, func(n any) bool {
		if f, ok := n.(*pg.FuncCall); ok {
			if why := outliving(f); why != "" {
				problems = append(problems, s.problemAt(f.Location, "outlives-transaction", why+assumeAdvice))
			}
		}
		return true
	})
	return problems
}

// outliving says what of a call outlives the transaction, and what to write instead, or returns "".
func outliving(f *pg.FuncCall) string {
	name := catalogName(f.Funcname)
	switch name {
	case "set_config":
		if !isTrue(f, 2) {
			return "set_config without true as its third argument changes a setting of the session, which others use next; write true"
		}
	case "pg_logical_emit_message":
		if !isTrue(f, 0) {
			return "pg_logical_emit_message without true as its first argument is not undone by a ROLLBACK; write true"
		}
	}
	switch class := builtinClass()[name]; {
	case class == session && strings.Contains(name, "advisory"):
		return name + " is about a lock that lasts as long as the session, which others use next; write pg_advisory_xact_lock, whose lock the end of the transaction releases"
	case class == session:
		return name + " changes the session, which others use next"
	case class == outside, isExtension(name):
		return name + " works outside of the transaction, where a ROLLBACK reaches nothing; call it in code, behind the outcome"
	}
	return ""
}

// isTrue reports whether an argument is the word true.
func isTrue(f *pg.FuncCall, argument int) bool {
	return len(f.Args) > argument && f.Args[argument].GetAConst().GetBoolval().GetBoolval()
}

// isExtension reports whether a function of PostgreSQL's own extensions acts outside the transaction, whatever schema the
// extension is in.
func isExtension(name string) bool {
	base := name[strings.LastIndexByte(name, '.')+1:]
	switch base {
	case "pg_file_write", "pg_file_rename", "pg_file_sync", "pg_file_unlink", "pg_prewarm", "autoprewarm_dump_now",
		"pg_stat_statements_reset", "pg_truncate_visibility_map":
		return true
	}
	return base == "dblink" || strings.HasPrefix(base, "dblink_")
}
