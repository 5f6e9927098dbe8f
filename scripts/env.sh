# Sourced by the other scripts: one target directory for every checkout on this machine, so that a second clone does
# not compile the SDK again.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/neuroshard/target}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
if ! command -v cargo >/dev/null 2>&1 && [ -r "$HOME/.cargo/env" ]; then
	. "$HOME/.cargo/env"
fi
