# Runs one broker for exactly as long as the other end of standard input stays open, so that none outlives the process that
# asked for it, however that ends.
#
#   sh -c "$(cat broker.sh)" guard DIR COMMAND...
#
# A line on the input kills the broker as a power failure would, and keeps its data; the end of the input also removes DIR.
dir=$1
shift
setsid "$@" </dev/null >>"$dir/log" 2>&1 &
broker=$!
echo started
exec >/dev/null

read -r _
keep=$?
kill -9 -$broker
wait
for _ in 1 2 3 4 5 6 7 8 9 10; do # for what it started to be gone too
	kill -0 -$broker 2>/dev/null || break
	sleep 0.1
done
[ $keep = 0 ] || rm -rf "$dir"
