#!/usr/bin/env bash
# Trains models that are cut into spans, over links of this machine that are slowed down, beside the same models on one machine: prints tokens a second of both,
# and of the ideal, in turns. Takes minutes, and wants a machine that does nothing else.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
turns=3
case "${1:-}" in
'') ;;
--turns) turns="${2:?--turns needs a number}" ;;
*) echo "usage: scripts/bench-spans.sh [--turns N]" >&2 && exit 2 ;;
esac
. "$root/scripts/env.sh"
cd "$root"
cargo build --release -p neuroshard-quorum --example pipeline
# Width, layers, sequences of a step, tokens of each, steps.
sizes=("384 8 8 128 4" "768 12 8 128 1" "1024 16 8 128 1")
# Mbit/s, and milliseconds one way: none are those of the loopback.
ways=("" "100 10" "100 40")
for turn in $(seq "$turns"); do
	for size in "${sizes[@]}"; do
		for members in 2 4; do
			for way in "${ways[@]}"; do
				echo "turn $turn, $members members, width, layers, sequences, tokens and steps $size, Mbit/s and ms ${way:-not limited}"
				# shellcheck disable=SC2086 # Each is several arguments.
				"$CARGO_TARGET_DIR/release/examples/pipeline" "$members" $size $way
			done
		done
	done
done
