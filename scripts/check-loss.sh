#!/usr/bin/env bash
# Holds the validation loss that a run's workers have attested against other software: transformers and llama.cpp compute it from the exported model, on the held-out
# windows that the dataset in a folder has for it.
#
#   scripts/check-loss.sh MODEL DATASET SEQUENCES SEQ_LEN LOSS [GGUF]
#
# MODEL is what `export` has written of the checkpoint, GGUF the same in f32; SEQUENCES and SEQ_LEN are `train.validation_sequences` and `train.seq_len` of the run,
# LOSS is what `status --run RUN` says of it. llama.cpp is asked for one token at a time: minutes for thousands.
#
# Needs Python 3.10 or newer with venv; the software is 7 GB.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/check-peers.sh"
exec "$python" "$root/scripts/check_loss.py" "$@"
