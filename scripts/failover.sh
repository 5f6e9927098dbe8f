#!/usr/bin/env bash
# Builds what it takes, and kills the holders of a ring one after the other while it answers.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
for argument in "$@"; do
	if [ "$argument" = -h ] || [ "$argument" = --help ]; then
		cat <<'HELP'
Usage: scripts/failover.sh [OPTIONS]

Builds what it takes, the first time for a quarter of an hour and more, and starts four workers that hold each half of a small
model twice, and a driver that streams answers of theirs, while one of them after the other is killed (kill -9) and started
again. Prints how long it takes from one token to the next, how much longer behind a kill, and after what time a holder holds its
span again. Exit code 0 only if every answer is that of one machine.

  --minutes N      stop after N minutes [default: 20]
  --every SECONDS  kill somebody every so many seconds, or when all hold their spans again, if that is later [default: 60]
HELP
		exit 0
	fi
done
"$root/scripts/build.sh" neuroshard-worker
. "$root/scripts/env.sh"
cd "$root"
cargo build --release --workspace --example failover
exec "$CARGO_TARGET_DIR/release/examples/failover" "$@"
