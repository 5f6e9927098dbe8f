#!/usr/bin/env bash
# Installs the clients that the end-to-end tests run against nodes and workers, exactly those of tests/clients/package-lock.json and
# requirements.txt. Does nothing where they are installed already, so that only the first run in a checkout needs package registries or caches.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../tests/clients"

cannot() {
	echo "clients: $1" >&2
	exit 1
}

way="install Node.js 20 or newer with npm (packages nodejs and npm of Debian 13 or Ubuntu 25.04, or nvm install 22)"
command -v node >/dev/null 2>&1 || cannot "no Node.js: $way"
command -v npm >/dev/null 2>&1 || cannot "no npm: $way"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || cannot "Node.js $(node --version) is too old: $way"

wanted="$(cat .npmrc package.json package-lock.json | cksum)"
if [ "$(cat node_modules/.installed 2>/dev/null || true)" != "$wanted" ]; then
	npm ci --prefer-offline --loglevel=error || cannot "npm could not install what tests/clients/package-lock.json lists: see above"
	printf '%s\n' "$wanted" >node_modules/.installed
fi

wanted="$(cksum <requirements.txt)"
if [ "$(cat venv/.installed 2>/dev/null || true)" != "$wanted" ]; then
	python3 -c 'import ensurepip, venv' 2>/dev/null || cannot "no Python 3.10 or newer with venv: install it (packages python3 and python3-venv of Debian and Ubuntu)"
	rm -rf venv
	python3 -m venv venv
	venv/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --requirement requirements.txt ||
		cannot "pip could not install what tests/clients/requirements.txt lists: see above"
	printf '%s\n' "$wanted" >venv/.installed
fi
