#!/usr/bin/env bash
# Builds binaries and libraries: what the other scripts run first. With --cheat, also a worker that can be told to cheat (neuroshard-cheat), which is none
# of the binaries that anybody should run. With --tests, also all tests.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
targets=(--lib --bins)
cheat=
for argument in "$@"; do
	case "$argument" in
	--tests) targets=(--all-targets) ;;
	--cheat) cheat=yes ;;
	*) echo "build: there is no option $argument" >&2 && exit 2 ;;
	esac
done
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
cargo build --release --workspace "${targets[@]}"
if [ -n "$cheat" ]; then
	# As an example, it is compiled with the dependencies that have just been built; nothing else is compiled with its feature.
	cargo build --release --workspace --features neuroshard-worker/faults --example neuroshard-cheat
fi
