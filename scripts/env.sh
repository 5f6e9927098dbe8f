# Sourced by the other scripts: one target directory for every checkout on this machine, so that a second clone does
# not compile the SDK again.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/neuroshard/target}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
if ! command -v cargo >/dev/null 2>&1 && [ -r "$HOME/.cargo/env" ]; then
	. "$HOME/.cargo/env"
fi

# Before a WASM is compiled that others will run: the messages of its panics shall name no folder of this machine. Folders must have no spaces.
hide_folders() {
	local folder
	cargo fetch --locked --manifest-path "$root/Cargo.toml"
	WASM_BUILD_RUSTFLAGS="--remap-path-prefix=$root=neuroshard"
	for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
		WASM_BUILD_RUSTFLAGS+=" --remap-path-prefix=$folder=crates"
	done
	export WASM_BUILD_RUSTFLAGS
}
