# For other scripts, which have named the project's folder `root`: goes there and installs the peers that benchmarks compare with, once. Their folder is
# `peers`.
. "$root/scripts/env.sh"
"$root/scripts/setup.sh"
. "$root/scripts/env.sh"
cd "$root"
peers="$CARGO_TARGET_DIR/bench-serve"
mkdir -p "$peers"
wanted="$(cksum <scripts/bench-peers.txt)"
if [ "$(cat "$peers/venv/.installed" 2>/dev/null || true)" != "$wanted" ]; then
	rm -rf "$peers/venv"
	python3 -m venv "$peers/venv"
	"$peers/venv/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/bench-peers.txt
	printf '%s\n' "$wanted" >"$peers/venv/.installed"
fi
