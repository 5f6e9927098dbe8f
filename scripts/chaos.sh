#!/usr/bin/env bash
# Builds everything, and has a network train while its processes are killed and frozen, its clocks are wrong and its lines are cut.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
for argument in "$@"; do
	if [ "$argument" = -h ] || [ "$argument" = --help ]; then
		cat <<'HELP'
Usage: scripts/chaos.sh [OPTIONS]

Builds everything, the first time for a quarter of an hour and more, and starts two validators and some workers, each on a
machine of its own: a network namespace on this one, whose line delays and loses packets, and is thin on some. They train a
model while one after the other is killed (kill -9) or frozen (SIGSTOP), while the clock of one is wrong by up to 5 minutes,
while the disk of one is full, and while machines are cut off from each other for a minute. Faults and lines follow from the
seed. Exit code 0 only if everybody is back after each fault, the run goes on, all that was earned is minted, no invariant of
the chain was broken in any block, nobody was slashed, and every worker ends with the chain's checkpoint. Namespaces take
root; --loopback does without.

  --minutes N      stop after N minutes of faults; with 0 there are none [default: 10]
  --kills N        stop after N kills, if that comes first
  --only-kill      only kill: freeze nothing, fill no disk, set no clock and cut no line
  --seed S         seed of faults and lines [default: 1]
  --workers N      2 to 16 workers [default: 4]
  --liars N        0 to 8 workers beside them that lie, each in a round of its own: the others check everything, every liar must
                   lose its stake, and nobody else [default: 0]
  --quorum N       2 to 8 workers beside them that hold one place together, each a part of the model, and are killed as well; at the
                   end, all rounds are computed again by one machine; only with --loopback, not with --liars or --overlap
  --preset NAME    tiny: rounds of a minute [default]; large: 13.8 million parameters; devnet
  --inner-steps N  inner steps of a round [default: those of the preset, and of tiny twice as many]
  --overlap        inner steps of a round begin while the round before is exchanged
  --least-steps N  each takes as many inner steps as its machine does in time, N at least: whoever comes while a round is trained
                   takes part at once; not with --overlap
  --equal-lines    100 Mbit/s, round trips of 52 ms and no losses on every machine; not with --loopback
  --loopback       all processes on the loopback interface, with perfect lines that nobody cuts, and one right clock
  --json FILE      write the report to FILE as JSON
HELP
		exit 0
	fi
done
"$root/scripts/build.sh"
. "$root/scripts/env.sh"
exec "$CARGO_TARGET_DIR/release/neuroshard-chaos" "$@"
