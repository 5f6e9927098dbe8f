#!/usr/bin/env bash
# Has lm-evaluation-harness score multiple choice and a text with a model that `serve` answers for and that transformers reads from the same folder, and
# `eval` as well: all scores must be equal.
#
#   scripts/check-eval.sh [FOLDER]    an exported model; a small one with random weights if none is named
#
# Needs Python 3.10 or newer with venv; the software is 7 GB.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/check-peers.sh"
cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p neuroshard-worker --bin neuroshard-worker --example families
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
folder="${1:-}"
if [ -z "$folder" ]; then
	"$CARGO_TARGET_DIR/release/examples/families" "$work" >/dev/null
	folder="$work/qwen3"
fi
"$python" "$root/scripts/check_eval.py" "$CARGO_TARGET_DIR/release/neuroshard-worker" "$folder" "$work"
