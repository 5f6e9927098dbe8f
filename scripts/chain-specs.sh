#!/usr/bin/env bash
# Writes the chain specs of the runtime's presets to chain-specs/, plain and raw.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
"$root/scripts/setup.sh"
. "$root/scripts/env.sh"
hide_folders
"$root/scripts/build.sh" neuroshard-node
node="$CARGO_TARGET_DIR/release/neuroshard-node"
for chain in dev local; do
	"$node" export-chain-spec --chain "$chain" --output "$root/chain-specs/$chain.json"
	"$node" export-chain-spec --chain "$chain" --raw --output "$root/chain-specs/$chain.raw.json"
done
