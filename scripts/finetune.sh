#!/usr/bin/env bash
# Compares the full fine-tuning of imported models, and the training of adapters, with PyTorch's and PEFT's, on the same batches: losses and norms of gradients of each step, and what the parameters become.
# The models have the shapes of Qwen 3 and of SmolLM, fewer layers and random weights. Needs Python 3.10 or newer with venv; installs the peer beside the target
# directory.
#   scripts/finetune.sh [--steps N]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/bench-peers.sh"
cargo build --release -p neuroshard-worker --example finetune --example logits
exec "$peers/venv/bin/python" scripts/finetune.py --folder "$peers" --finetune "$CARGO_TARGET_DIR/release/examples/finetune" --logits "$CARGO_TARGET_DIR/release/examples/logits" "$@"
