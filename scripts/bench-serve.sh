#!/usr/bin/env bash
# Compares serving with llama.cpp and transformers, side by side in one run: tokens a second of decoding and of reading prompts, on one model of
# random weights after the other. Compares rings with one process, checks of answers with the answers, and says how long the loss of a holder is felt.
# Needs Python 3.10 or newer with venv; installs the peers beside the target directory.
#   scripts/bench-serve.sh [--json FILE] [--threads N] [--sizes 13.8M,110M] [--repeat N] [--failovers N] [--only peers|ring|check|failover]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/scripts/build.sh"
. "$root/scripts/bench-peers.sh"
cargo build --release --workspace --example random_model
exec "$peers/venv/bin/python" scripts/bench_serve.py --folder "$peers" --worker "$CARGO_TARGET_DIR/release/neuroshard-worker" \
	--random-model "$CARGO_TARGET_DIR/release/examples/random_model" "$@"
