#!/usr/bin/env bash
# Builds everything: the binaries, and the tests that start them. What the other scripts run first. With --cheat, also a worker that can be
# told to cheat (neuroshard-cheat), which is none of the binaries that anybody should run.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
"$root/scripts/setup.sh"
. "$root/scripts/env.sh"
cd "$root"
# Cargo tells the checkouts that share a target directory apart by file times alone, so that what another one built
# after our files were written would pass for ours. Where another one built last, our own crates are compiled again.
mkdir -p "$CARGO_TARGET_DIR"
last="$CARGO_TARGET_DIR/.neuroshard-checkout"
if [ "$(cat "$last" 2>/dev/null || true)" != "$root" ]; then
	rm -rf "$CARGO_TARGET_DIR"/*/.fingerprint/{neuroshard,pallet-neuro}-*
	printf '%s\n' "$root" >"$last"
fi
cargo build --release --workspace --all-targets
if [ "${1:-}" = --cheat ]; then
	# As an example, it is compiled with the dependencies that have just been built; nothing else is compiled with its feature.
	cargo build --release --workspace --features neuroshard-worker/faults --example neuroshard-cheat
fi
