#!/usr/bin/env bash
# Builds what operators and providers should run: node and worker, fully optimised, and a runtime that knows the hash of its metadata, so
# that offline signers can check what they sign (CheckMetadataHash). The runtime is compiled twice, since its metadata comes out of the first.
# At the end the node has to show it: scripts/check-release.sh.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
"$root/scripts/setup.sh"
# Before the long build: the check at its end needs them.
"$root/scripts/clients.sh"
. "$root/scripts/env.sh"
cd "$root"
hide_folders
cargo build --locked --profile production --package neuroshard-node --package neuroshard-worker --package neuroshard-runtime \
	--features neuroshard-runtime/metadata-hash
"$root/scripts/check-release.sh" "$CARGO_TARGET_DIR/production/neuroshard-node"
echo "release: $CARGO_TARGET_DIR/production/neuroshard-node"
echo "release: $CARGO_TARGET_DIR/production/neuroshard-worker"
echo "release: $CARGO_TARGET_DIR/production/wbuild/neuroshard-runtime/neuroshard_runtime.compact.compressed.wasm"
