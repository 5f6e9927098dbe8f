#!/usr/bin/env bash
# Compares training steps at vocabularies of 288, 32,768 and 151,936 with PyTorch's, eager and with torch.compile: forward pass, backward pass, clipping, AdamW, all in
# f32, in turn, on the same cores. Prints tokens a second and the peak memory of each process. Needs Python 3.10 or newer with venv, and a C++ compiler; installs
# PyTorch beside the target directory.
#   scripts/bench-steps.sh [TURNS]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/bench-peers.sh"
cargo build --release -p neuroshard-worker --example steps
exec "$peers/venv/bin/python" scripts/bench_steps.py compare "$CARGO_TARGET_DIR/release/examples/steps" "${1:-3}"
