//! Plan of what to do next, as a pure function of what the chain says and what this machine has.
//!
//! [`plan_without`] is asked again after every new best block and after every finished task; it keeps no memory of its own, so a restart, a
//! reorganisation or a missed block needs no special case: whatever is still to be done follows from the two views. A task that failed
//! is simply asked for again with the next block.

use super::{
	task::{Drawn, Task},
	view::{ChainView, Delta, LocalState, RunState, Sibling},
};
use crate::{journal::PendingWork, parts::Mode};
use neuroshard_types::{
	dispute::OuterJob,
	run::{vote_bitmap, Bridge, ParticipantView, Phase, RoundView, RunConfig, RunStart, RunStatus, VoteBitmap},
	BlockNumber, RoundIndex, H256,
};

/// A vote waits for missing deltas until this many blocks before its deadline: it must get into a block.
pub const VOTE_MARGIN: BlockNumber = 3;
/// A reveal waits for finality until this many blocks before its deadline, if the commitment is deep enough by then.
pub const REVEAL_MARGIN: BlockNumber = 5;
/// So many blocks of the best chain on a commitment make it deep enough to be revealed without finality.
pub const DEEP: BlockNumber = 5;

/// The most urgent thing to do, if there is one. Tasks that are `barred` for now are passed over: what comes after them need not wait for them.
pub fn plan_without(chain: &ChainView, local: &LocalState, barred: impl Fn(&Task) -> bool) -> Option<Task> {
	let test = chain.challenge.filter(|_| local.mode == Mode::Train && !local.leaving).map(|challenge| Task::ProveArithmetic { challenge });
	let leave = chain.run.as_ref().and_then(|run| leave(chain, run, local));
	let for_run = chain.run.as_ref().and_then(|run| for_run(chain, run, local));
	let ahead = chain.run.as_ref().and_then(|run| ahead(chain, run, local)).map(|drawn| Task::Train { drawn });
	test.into_iter().chain(leave).chain(for_run).chain(housekeeping(chain, local)).chain(ahead).find(|task| !barred(task))
}

/// Returns whether inner steps of the round with this `seed`, which are under way beside all else, still lead to something.
pub fn is_drawn(chain: &ChainView, seed: H256) -> bool {
	let Some(run) = &chain.run else { return false };
	let at_hand = run.round.as_ref().filter(|round| round.seed == seed && round.phase == Phase::Training);
	let drawn = run.round.as_ref().and_then(|round| round.ahead.as_ref()).filter(|ahead| ahead.seed == seed);
	let is_member = run.members.contains(&chain.me);
	at_hand.is_some_and(|round| is_to_commit(chain, round)) || drawn.is_some_and(|ahead| is_member && ahead.places.contains(&chain.me))
}

/// The next round's inner steps, once those of the round at hand are done, if this worker has a place there.
fn ahead(chain: &ChainView, run: &RunState, local: &LocalState) -> Option<Drawn> {
	let round = run.round.as_ref()?;
	let ahead = round.ahead.as_ref()?;
	let position = ahead.places.binary_search(&chain.me).ok().and_then(|position| u32::try_from(position).ok())?;
	let begins =
		takes_part(run, local) && !is_leaving(chain, local) && run.members.contains(&chain.me) && local.checkpoint == Some(ahead.start);
	let drawn = Drawn { round: ahead.round, attempt: 0, seed: ahead.seed, start: ahead.start, base: None, position };
	(begins && !local.has_trained(ahead.seed) && !trains_first(chain, round, local)).then_some(drawn)
}

/// Returns whether inner steps of the round at hand are still to be taken.
fn trains_first(chain: &ChainView, round: &RoundView, local: &LocalState) -> bool {
	round.phase == Phase::Training && is_to_commit(chain, round) && !local.has_trained(round.seed)
}

/// Returns whether this worker has a place in `round` that counts, and has not committed to anything.
fn is_to_commit(chain: &ChainView, round: &RoundView) -> bool {
	round.participants.iter().any(|one| one.account == chain.me && one.counted && one.sealed.is_none())
}

/// Returns whether nothing more is expected of this worker in its run: it is no member, and has no part in the round at hand.
pub fn has_left(chain: &ChainView) -> bool {
	chain.run.as_ref().is_none_or(|run| {
		let acting = run.round.iter().flat_map(|round| &round.participants).any(|one| one.account == chain.me && one.counted);
		run.view.status == RunStatus::Finished || (!acting && !run.members.contains(&chain.me))
	})
}

/// Describes what a worker that was asked to leave does first, for people.
pub fn farewell(chain: &ChainView) -> String {
	let round = chain.run.as_ref().and_then(|run| run.round.as_ref()).filter(|_| !has_left(chain));
	let acts = |round: &&RoundView| round.participants.iter().any(|one| one.account == chain.me && one.counted);
	match round.filter(acts) {
		Some(round) => format!("leaving as asked: finishes round {} first, then takes the bond out and ends", round.round),
		None => "leaving as asked: takes no part in another round, takes the bond out and ends".into(),
	}
}

/// Returns whether this worker takes part in rounds of `run`, or could.
fn takes_part(run: &RunState, local: &LocalState) -> bool {
	local.checkpoint == Some(run.view.checkpoint) && local.mode == Mode::Train && run.view.status == RunStatus::Active
}

/// Returns whether this worker begins no new round.
fn is_leaving(chain: &ChainView, local: &LocalState) -> bool {
	local.leaving || chain.is_short()
}

fn leave(chain: &ChainView, run: &RunState, local: &LocalState) -> Option<Task> {
	let wanted = takes_part(run, local) && is_leaving(chain, local) && run.members.contains(&chain.me);
	wanted.then_some(Task::Leave)
}

fn for_run(chain: &ChainView, run: &RunState, local: &LocalState) -> Option<Task> {
	if local.checkpoint != Some(run.view.checkpoint) {
		return Some(catch_up(run, local));
	}
	if !takes_part(run, local) {
		return None;
	}
	let (member, leaving) = (run.members.contains(&chain.me), is_leaving(chain, local));
	let round = run.round.as_ref()?;
	let acting = round.participants.iter().find(|one| one.account == chain.me && one.counted);
	match acting {
		Some(me) if member || leaving => in_round(chain, run, round, me, local),
		_ if member || leaving || !may_join(chain, run) => None,
		// Joins with the checkpoint in hand and the dataset in reach, so that nobody waits for a newcomer's download.
		_ if local.dataset == Some(run.view.config.dataset) => Some(Task::Join),
		_ => Some(Task::FindDataset { id: run.view.config.dataset }),
	}
}

/// Returns whether the chain would take this worker in. A refused call costs a fee.
pub(in crate::participant) fn may_join(chain: &ChainView, run: &RunState) -> bool {
	let room = u32::try_from(run.members.len()).is_ok_and(|count| count < run.view.config.max_participants);
	room && chain.active && chain.bond >= run.view.config.min_bond && run.next_join.is_none()
}

/// The loaded checkpoint is not the run's newest one.
fn catch_up(run: &RunState, local: &LocalState) -> Task {
	let root = run.view.checkpoint;
	let own = local.next.as_ref().is_some_and(|next| next.run == run.id && next.attestation.checkpoint == root);
	match run.view.rounds_adopted {
		_ if own => Task::Adopt { root },
		0 if run.view.config.start == RunStart::Seed => Task::BuildGenesis,
		_ => Task::FetchCheckpoint { root },
	}
}

fn in_round(chain: &ChainView, run: &RunState, round: &RoundView, me: &ParticipantView, local: &LocalState) -> Option<Task> {
	let bridge = round.bridge.as_ref().filter(|bridge| bridge.who == me.account);
	// On another branch of the chain, another checkpoint may have been drawn.
	let fits = |work: &&PendingWork| work.bridged.is_none_or(|root| bridge.is_some_and(|bridge| bridge.checkpoint == root));
	let pending = local.pending_of(round.seed).filter(|work| work.run == run.id && work.round == round.round).filter(fits);
	let start = ![local.checkpoint, local.stored].contains(&Some(round.start));
	let start = start.then_some(Task::FetchStart { root: round.start });
	let own = match round.phase {
		Phase::Joining => None,
		Phase::Training => match (me.sealed, pending) {
			(Some(_), _) => None,
			(None, Some(_)) => Some(Task::Commit),
			(None, None) if local.diverged.contains(&round.seed) || chain.is_short() => None,
			(None, None) => start.or_else(|| {
				let position = round.position(&me.account)?;
				// Work in another place would be false, and what is known of a round goes by its seed.
				if round.late.contains(&me.account) && run.finalized_place != Some(position) {
					return None;
				}
				let (attempt, seed) = (round.attempt, round.seed);
				let (start, base) = match bridge {
					Some(bridge) if local.sibling == Some(Sibling::Here(bridge.checkpoint)) => (bridge.checkpoint, Some(round.start)),
					Some(bridge)
						if local.sibling != Some(Sibling::Unfit(bridge.checkpoint))
							&& !local.in_a_hurry && may_wait(chain.best, &run.view.config, round) =>
					{
						let Bridge { run, round, checkpoint, .. } = *bridge;
						return Some(Task::FetchSibling { run, round, root: checkpoint });
					}
					_ => (round.start, None),
				};
				Some(Task::Train { drawn: Drawn { round: round.round, attempt, seed, start, base, position } })
			}),
		},
		Phase::Revealing if me.work.is_none() => {
			// The salt leaves this machine only when the commitment can no longer be reorganised away: otherwise somebody could
			// commit to this very work first. The round would be lost without a reveal, too, and for sure.
			let mine = pending.filter(|work| me.sealed == Some(work.seal));
			let last_call = is_last_call(chain.best, round.deadline, run.view.config.durations.revealing);
			mine.filter(|work| last_call || run.finalized_seal == Some(work.seal)).map(|_| Task::Reveal)
		}
		Phase::Revealing => start.or_else(|| fetch(of(round), local)),
		Phase::Availability if me.work.is_none() || me.vote.is_some() => None,
		Phase::Availability => {
			let urgent = round.deadline.is_some_and(|deadline| chain.best.saturating_add(VOTE_MARGIN) >= deadline);
			let missing = if urgent { None } else { start.or_else(|| fetch(of(round), local)) };
			missing.or_else(|| ballot(round, local).map(|vote| Task::Vote { vote }))
		}
		Phase::Checkpointing if me.work.is_none() || me.attestation.is_some() => None,
		Phase::Checkpointing => run.job.as_ref().and_then(|job| checkpoint(run, job, local)),
	};
	own.or_else(|| report_missing(chain, run, round, me, local).filter(|_| !chain.is_short()))
}

/// Bytes of a checkpoint that come between two blocks over a slow line, one of 10 Mbit/s.
const BYTES_A_BLOCK: u64 = 3_750_000;
/// Blocks that whoever has it takes to answer.
const ANSWERING: BlockNumber = 10;

/// Returns whether a bridge that is in no hurry goes on trying to get the checkpoint of another cohort: as long as a slow line takes for it, and in
/// the first quarter of the time for training at most. Then it starts from its own, so that its cohort hardly waits for another one.
pub(in crate::participant) fn may_wait(best: BlockNumber, config: &RunConfig, round: &RoundView) -> bool {
	let (began, _) = round.started_at;
	let quarter = round.deadline.map_or(0, |deadline| deadline.saturating_sub(began) / 4);
	// Parameters and momentum of what is trained.
	let parameters = config.train.adapter.map_or_else(|| config.model.parameters(), |adapter| adapter.parameters(&config.model));
	let bytes = parameters.saturating_mul(8);
	let takes = ANSWERING.saturating_add(BlockNumber::try_from(bytes / BYTES_A_BLOCK).unwrap_or(BlockNumber::MAX));
	best < began.saturating_add(quarter.min(takes))
}

/// Returns whether a participant has done what `phase` asks for.
pub(in crate::participant) fn has_acted(one: &ParticipantView, phase: Phase) -> bool {
	match phase {
		Phase::Joining => true,
		Phase::Training => one.sealed.is_some(),
		Phase::Revealing => one.work.is_some(),
		Phase::Availability => one.vote.is_some(),
		Phase::Checkpointing => one.attestation.is_some(),
	}
}

/// Nobody waits for the dead: once all whom a phase waits for are missing, this worker says so, if it has done its own part. A checkpoint
/// needs no more than two thirds anyway.
fn report_missing(chain: &ChainView, run: &RunState, round: &RoundView, me: &ParticipantView, local: &LocalState) -> Option<Task> {
	let is_waited_for = |one: &ParticipantView| one.counted && !has_acted(one, round.phase);
	let mut waited_for = round.participants.iter().filter(|one| is_waited_for(one)).peekable();
	if matches!(round.phase, Phase::Joining | Phase::Checkpointing) || is_waited_for(me) || waited_for.peek().is_none() {
		return None;
	}
	let all_missing = waited_for.all(|one| local.missing.contains(&one.account));
	let missing = vote_bitmap(round.participants.iter().map(is_waited_for)).filter(|_| all_missing)?;
	let said = run.reported.iter().any(|said| said.who == me.account && said.missing == missing && said.counts(chain.best));
	(!said).then_some(Task::ReportMissing { missing })
}

/// Returns whether a reveal waits for finality no longer at block `best`, in a phase of this `duration`. No commitment is later than the phase's
/// beginning, so that as many blocks are on it as on that.
fn is_last_call(best: BlockNumber, deadline: Option<BlockNumber>, duration: BlockNumber) -> bool {
	deadline.is_some_and(|deadline| {
		let began = deadline.saturating_sub(duration);
		best.saturating_add(REVEAL_MARGIN) >= deadline && best >= began.saturating_add(DEEP)
	})
}

/// Returns the next task on the way to the attestation of `job`. It may change while a phase lasts, when the chain finds a delta or a checkpoint
/// to be false: what was computed for another job counts for nothing then.
fn checkpoint(run: &RunState, job: &OuterJob, local: &LocalState) -> Option<Task> {
	if let Some(done) = local.next.as_ref().filter(|next| next.run == run.id && next.job == *job) {
		return Some(Task::Attest { attestation: done.attestation });
	}
	let rounds = (job.first_round..=RoundIndex::MAX).zip(&job.steps);
	let deltas = || rounds.clone().flat_map(|(round, step)| step.iter().map(move |root| (round, *root)));
	// Two thirds say that they could read it: a worker that cannot has nothing to attest.
	if deltas().any(|(_, root)| local.deltas.get(&root) == Some(&Delta::Unsound)) {
		return None;
	}
	if ![local.checkpoint, local.stored].contains(&Some(job.start)) {
		return Some(Task::FetchStart { root: job.start });
	}
	fetch(deltas(), local).or_else(|| Some(Task::OuterSteps { job: job.clone() }))
}

/// Delta roots that were revealed, by account ascending.
fn revealed(round: &RoundView) -> impl Iterator<Item = H256> + '_ {
	round.participants.iter().filter_map(|one| one.work.as_ref().map(|work| work.delta_root))
}

/// The same with the round's number.
fn of(round: &RoundView) -> impl Iterator<Item = (RoundIndex, H256)> + '_ {
	revealed(round).map(|root| (round.round, root))
}

/// Fetches what has not come yet.
fn fetch(deltas: impl Iterator<Item = (RoundIndex, H256)>, local: &LocalState) -> Option<Task> {
	let wanted: Vec<_> = deltas.filter(|(_, root)| !local.deltas.contains_key(root)).collect();
	(!wanted.is_empty()).then_some(Task::FetchDeltas { wanted })
}

/// The vote: a bit for every revealed delta, set if it is held and checked.
fn ballot(round: &RoundView, local: &LocalState) -> Option<VoteBitmap> {
	vote_bitmap(revealed(round).map(|root| local.deltas.get(&root) == Some(&Delta::Held)))
}

fn housekeeping(chain: &ChainView, local: &LocalState) -> impl Iterator<Item = Task> {
	let claim = (chain.claimable > 0 && chain.claimable >= local.claim_from).then_some(Task::Claim);
	let due = chain.hour.filter(|hour| chain.active && !chain.is_short() && local.uptime.is_none_or(|proven| proven < *hour));
	claim.into_iter().chain(due.map(|hour| Task::ProveUptime { hour }))
}

#[cfg(test)]
pub mod tests;
