#!/usr/bin/env bash
# Everything that must hold: formatting, lints, unit tests, and end-to-end tests with real processes.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/scripts/setup.sh"
"$root/scripts/clients.sh"
. "$root/scripts/env.sh"
cd "$root"
cargo fmt --all --check
scripts/build.sh --cheat
cargo clippy --release --workspace --all-targets -- -D warnings
exec cargo test --release --workspace --all-targets
