#!/usr/bin/env bash
# Builds what it takes, and runs a whole network on this machine: two validators and three workers that train a model.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
binaries=(neuroshard-node neuroshard-worker neuroshard-devnet)
# Told here, not by the program: it may have to be built first.
for argument in "$@"; do
	case "$argument" in --cheat | --cheat=*) binaries+=(neuroshard-cheat) ;; esac
	if [ "$argument" = -h ] || [ "$argument" = --help ]; then
		cat <<'HELP'
Usage: scripts/devnet.sh [OPTIONS]

Builds what it takes, the first time for a quarter of an hour and more, and runs two validators and some workers on this machine,
which train a model. Ctrl-C stops every process that was started.

  --rounds N         stop after N rounds; exit code 0 only if everything is as it must be
  --serve            with --rounds: have three workers serve the model then, as a ring that is paid, until Ctrl-C
  --cheat KIND       have one more worker cheat in round 1 and the others check everything; without --rounds. Stop when it is
                     judged and the next checkpoint is adopted; exit code 0 only if it lost its stake and nobody else lost
                     anything.
                     noise: random numbers instead of work; fewer-steps: half of the inner steps; copied-delta: the work of
                     an accomplice; wrong-shard: other text than assigned; bit-flip: one wrong bit of one weight;
                     wrong-embedding, wrong-loss, wrong-scatter: one wrong number where a step is as wide as the vocabulary;
                     wrong-aggregate: a delta counted twice, another not at all; wrong-outer-step: an outer step twice as
                     long; silence: a wrong bit, and no word when it is disputed;
                     lazy-auditor: random reports of what it is drawn to audit
                     Three kinds cheat with answers: N rounds are trained honestly [default: 2], then a worker serves the model
                     and cheats, and a user asks it and computes every answer anew; stop when it is judged.
                     wrong-token: some tokens are others than the model gives; wrong-layer: one weight of a layer is wrong;
                     stale-checkpoint: an older checkpoint than the one that is offered
  --summary FILE     with --rounds or --cheat: write a JSON summary to FILE at the end
  --workers N        1 to 64 workers, without a cheater and its accomplice [default: 3]
  --preset NAME      devnet: learns visibly within four rounds of about a minute [default]; large: 13.8 million
                     parameters; tiny: rounds of seconds
  --corpus PATH      text file or folder to train on [default: sources and READMEs in the cargo registry]
  --base-path DIR    new or empty folder for everything the network writes [default: a temporary one, of which only the model
                     stays, in neuroshard/last-devnet below ~/.cache, until the next one; the command for text from it is
                     printed]
  --port-base PORT   first of the consecutive ports to use [default: free ones]
  --pace TIMES       how many times as long as on a machine of two fast cores everything may take, 1 to 100: blocks, and what is
                     counted in them; for a machine that gets busier, name more than the seconds between the blocks that are
                     announced without it [default: measured at the start]

Exit codes: 0 if everything is as it must be, or after Ctrl-C without --rounds and --cheat; 1 if something failed; 2 for
wrong options; 130 after Ctrl-C with --rounds or --cheat, or after a second Ctrl-C. If the build fails, the build's own.
HELP
		exit 0
	fi
done
"$root/scripts/build.sh" "${binaries[@]}"
. "$root/scripts/env.sh"
exec "$CARGO_TARGET_DIR/release/neuroshard-devnet" "$@"
