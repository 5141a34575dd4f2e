# Runs one PostgreSQL server for exactly as long as the other end of standard input stays open, so that no server outlives
# the process that asked for it, however that ends.
#
#   sh -c "$(cat guard.sh)" guard PG_CTL CLUSTER_DIR
#
# Prints "ready" when the server accepts connections. A line with a pg_ctl shutdown mode stops the server and keeps the data;
# the end of the input stops it and removes the cluster.
pg_ctl=$1 dir=$2

"$pg_ctl" start -s -w -t 120 -D "$dir/data" -l "$dir/log" </dev/null >/dev/null || exit 1
echo ready
exec >/dev/null

if read -r mode; then
	exec "$pg_ctl" stop -s -w -t 120 -D "$dir/data" -m "$mode"
fi
"$pg_ctl" stop -s -w -t 30 -D "$dir/data" -m immediate ||
	"$pg_ctl" kill KILL "$(head -n 1 "$dir/data/postmaster.pid")"
rm -rf "$dir"
