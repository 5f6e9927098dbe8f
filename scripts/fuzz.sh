#!/usr/bin/env bash
# Fuzzes the dispute game: decoding and playing of moves, witnesses, pieces of every operator. libFuzzer, which comes with clang, guides it.
#   scripts/fuzz.sh [SECONDS]       starts from the inputs of earlier runs on this machine and those kept in the repository
#   scripts/fuzz.sh keep            keeps the smallest inputs that reach everything reached so far in the repository
# A finding is written to $CARGO_TARGET_DIR/fuzz/found-*, and ends the run.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
cd "$root"
kept="$root/primitives/compute/tests/corpus.bin"
architecture="$(uname -m)"
library="$(find /usr/lib/llvm-* /usr/lib/clang -name "libclang_rt.fuzzer_no_main-$architecture.a" 2>/dev/null | sort -V | tail -n 1)"
[ -n "$library" ] || { echo "fuzz: libFuzzer is missing: install clang with its runtime libraries" >&2; exit 1; }

directory="$CARGO_TARGET_DIR/fuzz"
target="$architecture-unknown-linux-gnu"
passes="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
passes="$passes -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
# The checked code runs with everything that can be checked at run time.
CARGO_TARGET_DIR="$directory" RUSTFLAGS="$passes -Ccodegen-units=1 -Coverflow-checks=on -Cdebug-assertions=on -Clink-arg=$library -Clink-arg=-lstdc++" \
	cargo build --quiet --release --package neuroshard-compute --example fuzz --features fuzz --target "$target"
fuzz="$directory/$target/release/examples/fuzz"

[ ! -e "$kept" ] || "$fuzz" unpack "$kept" "$directory/kept"
mkdir -p "$directory/corpus" "$directory/kept"
if [ "${1:-}" = keep ]; then
	rm -rf "$directory/smallest"
	mkdir "$directory/smallest"
	"$fuzz" -merge=1 "$directory/smallest" "$directory/kept" "$directory/corpus"
	exec "$fuzz" pack "$directory/smallest" "$kept"
fi
exec "$fuzz" -max_total_time="${1:-60}" -max_len=1024 -len_control=20 -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 \
	-artifact_prefix="$directory/found-" "$directory/corpus" "$directory/kept"
