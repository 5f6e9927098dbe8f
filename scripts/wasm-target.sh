#!/usr/bin/env bash
# Makes the target wasm32v1-none available: by rustup where its server can be reached, else built from the standard
# library's sources of exactly this rustc version (Debian's rust-src, or the archive named by NEUROSHARD_RUST_SRC).
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"

target=wasm32v1-none
sysroot="$(rustc --print sysroot)"
version="$(rustc --version | cut -d' ' -f2)"
libs="$sysroot/lib/rustlib/$target/lib"

present() { compgen -G "$libs/libcore-*.rlib" >/dev/null && compgen -G "$libs/liballoc-*.rlib" >/dev/null; }

present && exit 0
if command -v rustup >/dev/null 2>&1 && timeout 120 rustup target add "$target" >/dev/null 2>&1 && present; then
	exit 0
fi

work="$(mktemp -d)"
source_link="$sysroot/lib/rustlib/src/rust/library"
made_source=false
cleanup() {
	rm -rf "$work"
	if $made_source; then rm -rf "$source_link"; fi
}
trap cleanup EXIT

# The standard library itself, and not one of the imitations that cargo's tests carry.
find_library() {
	library="$(find "$1" -type d -name library -exec test -e '{}/Cargo.lock' -a -e '{}/core/src/num/f32.rs' ';' -print -quit)"
}

unpack_debian() {
	# apt-get download picks the newest candidate unless told otherwise: ask for a build of this version.
	command -v apt-cache >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
	local candidate
	candidate="$(apt-cache madison rust-src 2>/dev/null | awk -F'|' '{gsub(/ /,"",$2); print $2}' | grep -m1 "^$version" || true)"
	if [ -n "$candidate" ]; then
		(cd "$work" && apt-get download -qq "rust-src=$candidate" >/dev/null 2>&1) || return 1
	else
		# Not in the configured suites: look in the backports suite of the mirror that this machine already uses.
		local base
		base="$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 '/debian/*$' || true)"
		[ -n "$base" ] || return 1
		local index="$work/Packages.xz"
		curl -fsS -m 60 -o "$index" "${base%/}/dists/trixie-backports/main/binary-all/Packages.xz" 2>/dev/null ||
			curl -fsS -m 60 -o "$index" "${base%/}/dists/trixie-backports/main/binary-amd64/Packages.xz" 2>/dev/null || return 1
		local file
		file="$(xz -dc "$index" | awk -v v="$version" '/^Package: /{p=$2} /^Version: /{n=$2} /^Filename: /{if (p=="rust-src" && index(n,v)==1) {print $2; exit}}')"
		[ -n "$file" ] || return 1
		curl -fsS -m 300 -o "$work/rust-src.deb" "${base%/}/$file" || return 1
	fi
	mkdir -p "$work/deb"
	dpkg-deb -x "$work"/*.deb "$work/deb" || return 1
	find_library "$work/deb"
	[ -n "$library" ]
}

unpack_archive() {
	local archive="${NEUROSHARD_RUST_SRC:-}"
	[ -r "$archive" ] || return 1
	mkdir -p "$work/archive"
	tar -xJf "$archive" -C "$work/archive" || return 1
	find_library "$work/archive"
	[ -n "$library" ]
}

library=
if [ ! -e "$source_link/core/Cargo.toml" ]; then
	unpack_debian || unpack_archive || {
		echo "setup: no $target for rustc $version: rustup cannot fetch it and no matching rust-src was found; set NEUROSHARD_RUST_SRC to an archive of the standard library's sources" >&2
		exit 1
	}
	mkdir -p "$(dirname "$source_link")"
	rm -rf "$source_link"
	made_source=true
	cp -r "$library" "$source_link"
fi

mkdir -p "$work/std/src"
cat >"$work/std/Cargo.toml" <<'TOML'
[package]
name = "wasm-std"
version = "0.0.0"
edition = "2021"
[workspace]
TOML
echo '#![no_std]' >"$work/std/src/lib.rs"
# The runtime is linked with LTO, which needs the bitcode of these libraries.
(
	cd "$work/std"
	env -u CARGO_BUILD_TARGET CARGO_TARGET_DIR="$work/target" RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes \
		cargo build --quiet --release --target "$target" -Zbuild-std=core,alloc
) || {
	echo "setup: building $target from source failed; see the messages above" >&2
	exit 1
}
mkdir -p "$libs"
cp "$work/target/$target/release/deps/"lib{core,alloc,compiler_builtins}-*.rlib "$libs/"
present || {
	echo "setup: $target was built but its libraries are not in place under $libs" >&2
	exit 1
}
# Runtimes built against other libraries of the same name would not link.
rm -rf "$CARGO_TARGET_DIR"/*/wbuild
