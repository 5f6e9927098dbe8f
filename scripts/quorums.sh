#!/usr/bin/env bash
# Builds what it takes, and trains a model on this machine by workers none of which has the memory for it, beside one that has.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
for argument in "$@"; do
	if [ "$argument" = -h ] || [ "$argument" = --help ]; then
		cat <<'HELP'
Usage: scripts/quorums.sh [OPTIONS]

Builds what it takes, the first time for a quarter of an hour and more, and starts two validators and some workers on this
machine. The system holds all workers but one to a limit of memory (run --max-memory) in which none could train the model: a
quorum of them holds it, each a part, and three with less still audit in files what it does. One has no limit and holds all of the
model; on a machine that has not the memory for that beside the others, its checkpoints are in files, and a fourth worker
audits. Exit code 0 only if both places are in each round, all attest the same checkpoint, and the auditors of the quorum
agree. Prints how much memory each worker had in use at most.

  --size SIZE      parameters: 14M [default], 110M or 500M. The limit is told at the start
  --members N      members of the quorum, 1 to 16 [default: 3]
  --rounds N       stop after N rounds, and the audits of them [default: 2]
  --base-path DIR  new or empty folder for everything the network writes [default: a temporary one, which stays if something
                   went wrong]
  --pace TIMES     how many times as long as on a machine of two fast cores everything may take [default: measured]
HELP
		exit 0
	fi
done
"$root/scripts/build.sh" neuroshard-node neuroshard-worker
. "$root/scripts/env.sh"
cd "$root"
cargo build --release --workspace --example quorums
exec "$CARGO_TARGET_DIR/release/examples/quorums" "$@"
