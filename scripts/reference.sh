#!/usr/bin/env bash
# Writes docs/reference from the code.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/scripts/build.sh" neuroshard-reference
. "$root/scripts/env.sh"
exec "$CARGO_TARGET_DIR/release/neuroshard-reference"
