#!/usr/bin/env bash
# Builds everything and runs a whole network on this machine: two validators and three workers that train a model.
# Options are those of neuroshard-devnet: scripts/devnet.sh --help.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/scripts/build.sh"
. "$root/scripts/env.sh"
exec "$CARGO_TARGET_DIR/release/neuroshard-devnet" "$@"
