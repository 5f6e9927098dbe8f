#!/usr/bin/env bash
# Compares serving with llama.cpp and transformers, side by side in one run: tokens a second of decoding and of reading prompts, on one model of
# random weights after the other. Compares rings with one process, checks of answers with the answers, and says how long the loss of a holder is felt.
# Needs Python 3.10 or newer with venv; installs the peers beside the target directory.
#   scripts/bench-serve.sh [--json FILE] [--threads N] [--sizes 13.8M,110M] [--repeat N] [--failovers N] [--only peers|ring|check|failover]
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
"$root/scripts/build.sh"
. "$root/scripts/env.sh"
cd "$root"
cargo build --release --workspace --example random_model
folder="$CARGO_TARGET_DIR/bench-serve"
mkdir -p "$folder"
wanted="$(cksum <scripts/bench-serve.txt)"
if [ "$(cat "$folder/venv/.installed" 2>/dev/null || true)" != "$wanted" ]; then
	rm -rf "$folder/venv"
	python3 -m venv "$folder/venv"
	"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/bench-serve.txt
	printf '%s\n' "$wanted" >"$folder/venv/.installed"
fi
exec "$folder/venv/bin/python" scripts/bench_serve.py --folder "$folder" --worker "$CARGO_TARGET_DIR/release/neuroshard-worker" \
	--random-model "$CARGO_TARGET_DIR/release/examples/random_model" "$@"
