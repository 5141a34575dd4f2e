#!/bin/sh
# Fails if `go generate` changes anything: then somebody forgot to run it, or to commit what it wrote. It compares the tree
# with itself and not with the last commit, so that it can be run before one.
set -eu
cd "$(dirname "$0")/.."

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT

snapshot() { find . -type f -not -path './.git/*' -not -path './.cache/*' -exec cksum {} + | sort -k 3; }

snapshot >"$state/before"
make --no-print-directory generate
snapshot >"$state/after"
if ! diff "$state/before" "$state/after" >"$state/diff"; then
	echo 'go generate changed these files; commit what it wrote:' >&2
	sed -n 's/^[<>] [0-9]* [0-9]* /  /p' "$state/diff" | sort -u >&2
	exit 1
fi
