#!/usr/bin/env bash
# Builds what the other scripts run: the named binaries and what they need, or without names all binaries and libraries. With --tests, also all tests.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
targets=()
for argument in "$@"; do
	case "$argument" in
	--tests) targets=(--all-targets) ;;
	-*) echo "build: there is no option $argument" >&2 && exit 2 ;;
	*) targets+=(--bin "$argument") ;;
	esac
done
[ "${#targets[@]}" -gt 0 ] || targets=(--lib --bins)
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
