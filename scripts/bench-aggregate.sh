#!/usr/bin/env bash
# Compares aggregation with ByzFL on the same vectors, in one run: results, and seconds of each rule. Needs Python 3.10 or newer with venv; installs the
# peer beside the target directory.
#   scripts/bench-aggregate.sh [--json FILE] [--threads N] [--vectors N] [--length N] [--repeat N]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/bench-peers.sh"
cargo build --release -p neuroshard-compute --example aggregate
exec "$peers/venv/bin/python" scripts/bench_aggregate.py --folder "$peers" --aggregate "$CARGO_TARGET_DIR/release/examples/aggregate" "$@"
