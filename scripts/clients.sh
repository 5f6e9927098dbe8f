#!/usr/bin/env bash
# Installs the clients that the end-to-end tests run against a node, exactly those of tests/clients/package-lock.json. Does nothing where
# they are installed already, so that only the first run in a checkout needs a package registry or npm's cache.
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
[ "$(cat node_modules/.installed 2>/dev/null || true)" != "$wanted" ] || exit 0
npm ci --prefer-offline --loglevel=error || cannot "npm could not install what tests/clients/package-lock.json lists: see above"
printf '%s\n' "$wanted" >node_modules/.installed
