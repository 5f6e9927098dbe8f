#!/usr/bin/env bash
# Measures what blocks, extrinsics, calls and hooks cost on this machine, and writes it to runtime/src/weights/.
#   scripts/weights.sh                       everything that the runtime takes from there
#   scripts/weights.sh overhead              an empty block and an extrinsic that does nothing
#   scripts/weights.sh PALLET...             these pallets, for instance pallet_neuro_staking
#   scripts/weights.sh --list                pallets that can be measured
# STEPS and REPEAT say how many values of each component are measured and how often; everything takes half an hour. Nothing else should run
# meanwhile.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
"$root/scripts/setup.sh"
. "$root/scripts/env.sh"
cd "$root"

# The version that belongs to the SDK's release, which Cargo.toml names. It is no dependency: it is as large as the node, and shares little with it.
version=0.28.0
directory="$CARGO_TARGET_DIR/bencher"
bencher="$directory/bin/frame-omni-bencher"
if [ "$("$bencher" --version 2>/dev/null || true)" != "frame-omni-bencher $version" ]; then
	echo "weights: installing frame-omni-bencher $version, which takes half an hour and more" >&2
	mkdir -p "$directory/libclang"
	# Its database, which nothing here uses, is looked for under this name only.
	library="$(compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' | grep -v cpp | sort -V | tail -n 1)"
	ln -sf "${library:?libclang is missing: install libclang-dev}" "$directory/libclang/libclang.so"
	# Compiled like the node: hashing, trie and executor are measured too, and the rest is ready in half of the time.
	awk '/^\[/ { wanted = /^\[profile\.release/ } wanted' Cargo.toml >"$directory/profile.toml"
	LIBCLANG_PATH="$directory/libclang" CARGO_TARGET_DIR="$directory/target" SKIP_WASM_BUILD=1 cargo install frame-omni-bencher --locked --version "=$version" \
		--root "$directory" --config "$directory/profile.toml"
	rm -rf "$directory/target"
fi

# To check the runtime is enough to have its WASM built.
CARGO_TARGET_DIR="$CARGO_TARGET_DIR/weights" cargo check --release --package neuroshard-runtime --features runtime-benchmarks
wasm="$CARGO_TARGET_DIR/weights/release/wbuild/neuroshard-runtime/neuroshard_runtime.compact.compressed.wasm"
genesis=(--runtime "$wasm" --genesis-builder runtime --genesis-builder-preset development)
pallets() { "$bencher" v1 benchmark pallet "${genesis[@]}" --list=pallets 2>/dev/null | grep -E '^(frame|pallet)_'; }
weights="$root/runtime/src/weights"

measure_overhead() {
	local work
	work="$(mktemp -d)"
	"$bencher" v1 benchmark overhead "${genesis[@]}" --metric median --warmup "${WARMUP:-10}" --repeat "${BLOCKS:-100}" --weight-path "$work"
	nanoseconds() { sed -n 's/.*WEIGHT_REF_TIME_PER_NANOS.saturating_mul(\([0-9_]*\)).*/\1/p' "$work/$1_weights.rs"; }
	cat >"$weights/overhead.rs" <<RUST
//! Weights of a block and an extrinsic by themselves, measured by \`scripts/weights.sh\`: medians, on $(nproc) cores
//! ($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)).

use frame_support::{
	parameter_types,
	weights::{constants::WEIGHT_REF_TIME_PER_NANOS, Weight},
};

parameter_types! {
	/// A block with nothing but inherents.
	pub const BlockExecutionWeight: Weight = Weight::from_parts($(nanoseconds block) * WEIGHT_REF_TIME_PER_NANOS, 0);
	/// An extrinsic that does nothing: its signature, its transaction extensions, and what keeps it in the block.
	pub const ExtrinsicBaseWeight: Weight = Weight::from_parts($(nanoseconds extrinsic) * WEIGHT_REF_TIME_PER_NANOS, 0);
}
RUST
	rm -rf "$work"
}

measure_pallet() {
	"$bencher" v1 benchmark pallet "${genesis[@]}" --pallet "$1" --extrinsic '*' --steps "${STEPS:-20}" --repeat "${REPEAT:-10}" \
		--no-storage-info --no-min-squares --no-median-slopes --template "$root/scripts/weights.hbs" --output "$weights/$1.rs"
	rustfmt --edition 2021 --config-path "$root" "$weights/$1.rs"
}

[ "${1:-}" != --list ] || { pallets; exit; }
wanted=("$@")
[ "$#" -gt 0 ] || mapfile -t wanted < <(sed -nE 's/^(pub )?mod (.*);$/\2/p' "$weights/mod.rs")
for one in "${wanted[@]}"; do
	echo "weights: $one" >&2
	if [ "$one" = overhead ]; then measure_overhead; else measure_pallet "$one"; fi
done
