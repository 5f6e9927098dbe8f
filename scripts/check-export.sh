#!/usr/bin/env bash
# Holds exported models against other software: transformers reads a folder, llama.cpp and the `gguf` package a GGUF file, and both must give the logits and the
# loss that the worker gives for the same tokens.
#
#   scripts/check-export.sh                      a small model of each family, tied and not, with random weights
#   scripts/check-export.sh TOKENIZER.json       a small model that reads this tokenizer
#   scripts/check-export.sh FOLDER [GGUF [TEXT]] this model, and its GGUF file; the tokens of this text
#
# Needs Python 3.10 or newer with venv; the software is 7 GB.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/check-peers.sh"
cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p neuroshard-worker --example families --example logits
built="$CARGO_TARGET_DIR/release/examples"
if [ -d "${1:-}" ]; then
	exec "$python" "$root/scripts/check_export.py" "$built/logits" "${3:-$root/README.md}" "$1" "${2:-}"
fi
models="$(mktemp -d)"
trap 'rm -rf "$models"' EXIT
"$built/families" "$models" "$@" >"$models/list"
failed=0
while read -r folder; do
	for precision in f32 f16 bf16; do
		"$python" "$root/scripts/check_export.py" "$built/logits" "$root/README.md" "$folder" "$folder.$precision.gguf" || failed=1
	done
done <"$models/list"
exit "$failed"
