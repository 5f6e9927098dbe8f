#!/usr/bin/env bash
# Builds what it takes, and measures how a ring of workers on this machine bears load while its members are killed.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# Told here, not by the program: it may have to be built first.
for argument in "$@"; do
	if [ "$argument" = -h ] || [ "$argument" = --help ]; then
		cat <<'HELP'
Usage: scripts/load-serve.sh [OPTIONS]

Builds what it takes, the first time for half an hour and more, starts a ring of four workers on this machine, of which two
hold each half of a small model, and has many clients ask it. Some read slowly, go away, send half a request, or bodies
that are too large or no UTF-8. A member is killed with kill -9 every 30 seconds and started again. Every complete answer
is compared with that of one process. Says how many answers there were, what was refused, how much memory driver and
holders had after a minute and in the end, and how long clients waited. Exit code 0 only if no answer was wrong, and
every client that stayed got all of its answer.

  --seconds N          how long [default: 600]
  --clients N          clients at a time [default: 32]
  --json FILE          write what was measured to FILE, as JSON
HELP
		exit 0
	fi
done
"$root/scripts/build.sh" neuroshard-node neuroshard-worker neuroshard-load-serve
. "$root/scripts/env.sh"
exec "$CARGO_TARGET_DIR/release/neuroshard-load-serve" "$@"
