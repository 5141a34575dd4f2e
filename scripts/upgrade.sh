#!/bin/sh
# Moves the clients that the generated code imports to their newest versions, in every module that names one of them:
#
#   scripts/upgrade.sh            moves them
#   scripts/upgrade.sh --check    only fails if two modules name different versions of one
set -eu
cd "$(dirname "$0")/.."

clients='github.com/jackc/pgx/v5 github.com/rabbitmq/amqp091-go github.com/twmb/franz-go'

# named CLIENT: "VERSION FILE" of each go.mod that requires it, directly or not.
named() {
	find . -name go.mod -not -path './.*/*' | sort | while read -r file; do
		sed -n "s|^\(require\)\{0,1\}[[:space:]]*$1 \(v[^ ]*\).*|\2 ${file#./}|p" "$file"
	done
}

for client in $clients; do
	if [ "${1:-}" != --check ]; then
		named "$client" | while read -r _ file; do
			(cd "$(dirname "$file")" && go get "$client@latest" && go mod tidy) || exit 1
		done
	fi
	if [ "$(named "$client" | cut -d ' ' -f 1 | sort -u | wc -l)" -gt 1 ]; then
		echo "the modules disagree about $client; run make upgrade:" >&2
		named "$client" | sed 's/^/  /' >&2
		exit 1
	fi
done
