# For other scripts, which have named the project's folder `root`: installs the software that exports and scores are held against, once. Their folder is `peers`;
# `python` has them.
. "$root/scripts/env.sh"
peers="$CARGO_TARGET_DIR/check-peers"
python="$peers/venv/bin/python"
mkdir -p "$peers"
wanted="$(cksum <"$root/scripts/check-peers.txt")"
if [ "$(cat "$peers/venv/.installed" 2>/dev/null || true)" != "$wanted" ]; then
	rm -rf "$peers/venv"
	python3 -m venv "$peers/venv"
	"$peers/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$root/scripts/check-peers.txt"
	printf '%s\n' "$wanted" >"$peers/venv/.installed"
fi
