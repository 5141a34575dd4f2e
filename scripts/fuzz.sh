#!/bin/sh
# Runs every fuzz target for a while, one after the other as `go test` wants it:
#
#   scripts/fuzz.sh 30s
set -eu
cd "$(dirname "$0")/.."
time=${1:-10s}

find . -name '*_test.go' -not -path '*/testdata/*' -not -path './.*/*' -exec grep -o '^func Fuzz[A-Za-z0-9_]*' {} + |
	while IFS=: read -r file target; do
		(
			cd "$(dirname "$file")"
			echo "== ${target#func } in $PWD"
			go test -run '^$' -fuzz "^${target#func }\$" -fuzztime "$time" . </dev/null
		)
	done
