#!/usr/bin/env bash
# Training steps on a device that speaks OpenCL, beside those of the CPU in turn and compared bit for bit: tokens a second.
#   scripts/bench-device.sh [DEVICE] [STEPS]     DEVICE: its number, as `neuroshard-worker doctor` lists it
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
cd "$root"
cargo build --release -p neuroshard-opencl --example device_steps
run() { "$CARGO_TARGET_DIR/release/examples/device_steps" "${device:-0}" "${steps:-10}" "$@"; }
device="${1:-0}" steps="${2:-10}"
# Dimension, layers, heads, width of the hidden layer, vocabulary, sequences, tokens of each.
run 192 4 6 512 288 24 128
run 384 8 6 960 288 8 256
