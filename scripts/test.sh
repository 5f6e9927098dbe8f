#!/usr/bin/env bash
# Everything that must hold: formatting, lints, unit tests, and end-to-end tests with real processes. Ends with the time that each stage took; with
# --timings, also with the 20 slowest tests.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
timings=
case "${1:-}" in
'') ;;
--timings) timings=yes ;;
*) echo "test: there is no option $1" >&2 && exit 2 ;;
esac
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# Runs a stage: its name, and a command.
stage() {
	local name="$1" start=$SECONDS
	shift
	"$@"
	printf '%4d s  %s\n' $((SECONDS - start)) "$name" >>"$folder/stages"
}

start=$SECONDS
stage "set-up" "$root/scripts/setup.sh" --tests
stage "clients of others" "$root/scripts/clients.sh"
. "$root/scripts/env.sh"
cd "$root"
stage "formatting" cargo fmt --all --check
stage "build" scripts/build.sh --tests
# A pass of its own, which checks all dependencies once more: what clippy's driver compiles is not optimised as well.
stage "lints" cargo clippy --release --workspace --all-targets -- -D warnings

# Through this, each test's time is told.
host="$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')"
export "CARGO_TARGET_${host}_RUNNER=$root/scripts/run-tests.sh"
of_units() {
	# Many of them wait for others more than they compute. Those of processes wait for a node's time limits most of the time, so beside the rest.
	export RUST_TEST_THREADS=6
	local processes failed=
	cargo test --release -p neuroshard-e2e --lib --test bad_input --test node --test one_build --test pressure --test ring --test serving >"$folder/processes" 2>&1 &
	processes=$!
	cargo test --release --workspace --exclude neuroshard-e2e --all-targets || failed=yes
	wait "$processes" || failed=yes
	cat "$folder/processes"
	[ -z "$failed" ]
}
stage "tests of units" of_units 2>&1 | tee "$folder/units"
networks() { cargo test --release -p neuroshard-e2e --test networks -- "$@"; }
# Three networks at a time, or two heavy ones: their workers compute, at low priority, and have to check what the others did before its window is over. Under the
# flood there are eight of them, so that is alone.
stage "tests of networks" networks --test-threads=3 --skip under_a_flood 2>&1 | tee "$folder/networks"
stage "test under a flood" networks under_a_flood 2>&1 | tee "$folder/flood"
if [ -n "$timings" ]; then
	printf '\nThe slowest tests:\n'
	sed -n 's/^test \(.*\) \.\.\. ok <\([0-9.]*\)s>$/\2 \1/p' "$folder/units" "$folder/networks" "$folder/flood" | sort -rn | sed -n 1,20p |
		while read -r seconds name; do printf '%6.0f s  %s\n' "$seconds" "$name"; done
fi
printf '\nThe stages:\n'
cat "$folder/stages"
printf '%4d s  all\n' $((SECONDS - start))
