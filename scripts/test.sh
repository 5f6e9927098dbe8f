#!/usr/bin/env bash
# Everything that must hold: formatting, lints, unit tests, and end-to-end tests with real processes.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"
"$root/scripts/setup.sh"
. "$root/scripts/env.sh"
cd "$root"
cargo fmt --all --check
# The binaries that the end-to-end tests start. devnet.sh builds them by the same command.
cargo build --release --workspace --all-targets
cargo clippy --release --workspace --all-targets -- -D warnings
exec cargo test --release --workspace --all-targets
