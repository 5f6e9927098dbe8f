#!/usr/bin/env bash
# Installs or checks what building NeuroShard needs: system packages and the WASM target. Safe to run again.
#   scripts/setup.sh [--tests]     with --tests also what only tests need: a device that speaks OpenCL and computes on the CPU
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
. "$root/scripts/env.sh"

cannot() {
	echo "setup: $1" >&2
	exit 1
}

tests=
case "${1:-}" in
'') ;;
--tests) tests=yes ;;
*) cannot "there is no option $1" ;;
esac

command -v rustc >/dev/null 2>&1 || cannot "no Rust toolchain: install rustup with a stable toolchain of at least 1.95"

# System packages: what the SDK's build scripts call.
missing=()
command -v protoc >/dev/null 2>&1 || missing+=(protobuf-compiler)
command -v clang >/dev/null 2>&1 || missing+=(clang)
command -v cmake >/dev/null 2>&1 || missing+=(cmake)
command -v pkg-config >/dev/null 2>&1 || missing+=(pkg-config)
pkg-config --exists openssl 2>/dev/null || missing+=(libssl-dev)
command -v cc >/dev/null 2>&1 || missing+=(build-essential)
command -v xz >/dev/null 2>&1 || missing+=(xz-utils)
compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || compgen -G '/usr/lib*/libclang*.so*' >/dev/null || missing+=(libclang-dev)
if [ -n "$tests" ]; then
	compgen -G '/usr/lib*/libOpenCL.so.1' >/dev/null || compgen -G '/usr/lib/*/libOpenCL.so.1' >/dev/null || missing+=(ocl-icd-libopencl1)
	compgen -G '/etc/OpenCL/vendors/*pocl*.icd' >/dev/null || missing+=(pocl-opencl-icd)
fi
if [ "${#missing[@]}" -gt 0 ]; then
	command -v apt-get >/dev/null 2>&1 || cannot "install these packages by your system's means: ${missing[*]}"
	sudo=()
	[ "$(id -u)" -eq 0 ] || sudo=(sudo)
	"${sudo[@]}" apt-get update -qq || cannot "apt-get update failed, and these packages are missing: ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
		cannot "apt-get could not install: ${missing[*]}"
fi
for component in rustfmt clippy; do
	cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component" >/dev/null 2>&1 ||
		cannot "the Rust component $component is missing: rustup component add $component"
done

# WASM target of the runtime.
"$root/scripts/wasm-target.sh" || exit 1
echo "setup: ready ($(rustc --version))"
