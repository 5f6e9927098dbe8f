#!/usr/bin/env bash
# Shows that a node is a release: its runtime takes a transfer that was signed for the hash of its metadata, and refuses one that was signed
# for another. Starts the node for that, with a chain that is thrown away, and stops it in any case.
#
#   scripts/check-release.sh [NODE]     [default: the one of scripts/release.sh]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/scripts/clients.sh"
. "$root/scripts/env.sh"
binary="${1:-$CARGO_TARGET_DIR/production/neuroshard-node}"
# Seconds that the node has to answer, and to end.
limit=120

fails() {
	echo "release: $1" >&2
	exit 1
}

stop() {
	if [ -n "${pid:-}" ] && kill "$pid" 2>/dev/null; then
		for ((waited = 0; waited < limit; waited++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 1
		done
		kill -KILL "$pid" 2>/dev/null || true
	fi
	rm -f "$log"
}

[ -x "$binary" ] || fails "there is no node $binary: run scripts/release.sh"
log="$(mktemp)"
trap stop EXIT
trap 'exit 1' INT TERM HUP
port="$(node -e 'const server = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(server.address().port); server.close(); })')"
"$binary" --dev --tmp --rpc-port "$port" --listen-addr /ip4/127.0.0.1/tcp/0 --no-mdns --no-prometheus --no-telemetry >"$log" 2>&1 &
pid=$!
for ((waited = 0; ; waited++)); do
	if ! kill -0 "$pid" 2>/dev/null; then
		tail -n 20 "$log" >&2
		fails "$binary has ended: see above"
	fi
	(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
	if [ "$waited" -ge "$limit" ]; then
		tail -n 20 "$log" >&2
		fails "$binary does not answer on port $port after $limit seconds: see above"
	fi
	sleep 1
done
node "$root/tests/clients/release.mjs" "ws://127.0.0.1:$port" || fails "$binary is not what a release must be: see above"
