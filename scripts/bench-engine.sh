#!/usr/bin/env bash
# Compares training steps with those of candle and PyTorch (eager, and with torch.compile), and matrix products with those of candle (`gemm`), OpenBLAS and oneDNN, all
# in f32 on the same cores. Each measurement has a process of its own, and they take turns. Prints tokens a second, GFLOP/s, and the peak memory of processes. Needs
# Python 3.10 or newer with venv, and a C++ compiler; installs the peers beside the target directory.
#   scripts/bench-engine.sh [--json FILE] [--turns N] [--threads N,N] [--models NAME,NAME] [--no-products]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/bench-peers.sh"
cargo build --release -p neuroshard-worker --example steps
cargo build --release -p neuroshard-compute --example product
exec "$peers/venv/bin/python" scripts/bench_engine.py compare --examples "$CARGO_TARGET_DIR/release/examples" "$@"
