#!/usr/bin/env bash
# Builds what it takes, and measures how many transfers and Proofs of Neural Work a chain on this machine finalizes in a second.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# Told here, not by the program: it may have to be built first.
for argument in "$@"; do
	if [ "$argument" = -h ] || [ "$argument" = --help ]; then
		cat <<'HELP'
Usage: scripts/load.sh [OPTIONS]

Builds what it takes, the first time for half an hour and more, starts one or two validators on this machine, hands them
transfers and Proofs of Neural Work that were signed before, and says how many of them were finalized in a second, how
full blocks were, and how much memory the nodes took. Exit code 0 only if every one did what it should, every receiver
has what it was sent, and no block was heavier than blocks may be.

  --validators N       validators: 1 or 2 [default: 1]
  --transfers N        transfers, each of another account to a new one; 0 to leave them out [default: 30000]
  --proofs N           proofs, each of another provider, which is registered before; 0 to leave them out [default: 1000]
  --json FILE          write what was measured to FILE, as a JSON list
  --node-option OPTION give the nodes a further option, for instance --node-option=--pool-type=single-state; can be repeated
HELP
		exit 0
	fi
done
"$root/scripts/build.sh" neuroshard-node neuroshard-worker neuroshard-load
. "$root/scripts/env.sh"
exec "$CARGO_TARGET_DIR/release/neuroshard-load" "$@"
