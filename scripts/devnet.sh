#!/usr/bin/env bash
# Builds everything and runs a whole network on this machine: two validators and three workers that train a model.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# Told here, not by the program: it may have to be built first.
for argument in "$@"; do
	if [ "$argument" = -h ] || [ "$argument" = --help ]; then
		cat <<'HELP'
Usage: scripts/devnet.sh [OPTIONS]

Builds everything, the first time for half an hour and more, and runs two validators and some workers on this machine,
which train a model. Ctrl-C stops every process that was started.

  --rounds N         stop after N rounds; exit code 0 only if everything is as it must be
  --summary FILE     with --rounds: write a JSON summary to FILE at the end
  --workers N        workers [default: 3]
  --preset NAME      devnet: learns visibly within four rounds of about a minute [default]; tiny: rounds of seconds
  --corpus PATH      text file or folder to train on [default: sources and READMEs in the cargo registry]
  --base-path DIR    new folder for everything the network writes [default: a temporary one, removed at the end]
  --port-base PORT   first of the consecutive ports to use [default: free ones]
HELP
		exit 0
	fi
done
"$root/scripts/build.sh"
. "$root/scripts/env.sh"
exec "$CARGO_TARGET_DIR/release/neuroshard-devnet" "$@"
