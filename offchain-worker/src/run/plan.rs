//! What to do next, as a pure function of what the chain says and what this machine has.
//!
//! [`plan`] is asked again after every new best block and after every finished task; it keeps no memory of its own, so a restart, a
//! reorganisation or a missed block needs no special case: whatever is still to be done follows from the two views. A task that failed
//! is simply asked for again with the next block.

use neuroshard_types::{
	dispute::OuterJob,
	run::{vote_bitmap, Attestation, ParticipantView, Phase, RoundView, RunStatus, RunView, VoteBitmap},
	AccountId, Balance, BlockNumber, DatasetId, RoundIndex, RunId, H256,
};
use std::collections::BTreeMap;

/// A vote waits for missing deltas until this many blocks before its deadline: it must get into a block.
pub const VOTE_MARGIN: BlockNumber = 3;

/// What the chain says at its best block (and where noted, at its finalized one).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainView {
	/// Height of the best block.
	pub best: BlockNumber,
	/// This worker's account.
	pub me: AccountId,
	/// Whether the account is a registered, active provider with the worker role.
	pub active: bool,
	/// The chain's test of arithmetic that the provider has to pass first, and has the bond for.
	pub challenge: Option<H256>,
	/// Its active bond, in planck.
	pub bond: Balance,
	/// The run this worker takes part in, if there is one.
	pub run: Option<RunState>,
	/// Chain time in whole hours since the epoch: the number of an uptime proof.
	pub hour: u32,
	/// What can be claimed according to both the best and the *finalized* block, in planck.
	pub claimable: Balance,
	/// Its free balance, in planck.
	pub free: Balance,
	/// What of it must stay for the fees of a dispute; see [`crate::chain::ChainAt::reserve`].
	pub reserve: Balance,
}

impl ChainView {
	/// Whether a dispute could cost more than the account has: who cannot pay for a move loses its stake.
	pub fn is_short(&self) -> bool {
		self.free < self.reserve
	}
}

/// One run on chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunState {
	/// Its number.
	pub id: RunId,
	/// The run.
	pub view: RunView,
	/// Its current round; `None` when there is none (any more).
	pub round: Option<RoundView>,
	/// Outer steps that are to be attested, in Checkpointing.
	pub job: Option<OuterJob>,
	/// Who takes part, in the current round or from the next one on.
	pub members: Vec<AccountId>,
	/// This account's sealed commitment to the current round, as of the *finalized* block.
	pub finalized_seal: Option<H256>,
	/// First block in which this account may join again after dropouts in a row; `None` if it need not wait, or is a member.
	pub next_join: Option<BlockNumber>,
}

/// Whether this worker trains or only hands out what others ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
	/// Trains.
	Train,
	/// Keeps the newest checkpoint and serves it.
	ServeOnly,
}

/// Finished training that is not revealed yet. It is on disk before its commitment is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingWork {
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// Seed that the windows were drawn with: a round that was started anew has another one.
	pub seed: H256,
	/// The commitment.
	pub seal: H256,
}

/// The result of outer steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextCheckpoint {
	/// Run.
	pub run: RunId,
	/// The steps that were taken.
	pub job: OuterJob,
	/// What is attested.
	pub attestation: Attestation,
}

/// What this machine knows of a delta.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delta {
	/// It is here, and one of the run's model.
	Held,
	/// It is here, and can be applied, but is larger than inner steps can have made it ([`crate::train::reach`]): no vote for it.
	Excessive,
	/// Its bytes have the root that was revealed, but are no finite delta of the run's model: asking again gives the same bytes.
	Unsound,
}

/// What this machine has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalState {
	/// Trains or serves.
	pub mode: Mode,
	/// Root of the checkpoint that is loaded.
	pub checkpoint: Option<H256>,
	/// Dataset whose list of shards is at hand, so that its shards can be had.
	pub dataset: Option<DatasetId>,
	/// Finished training.
	pub pending: Option<PendingWork>,
	/// A checkpoint besides the loaded one that is in the store, for outer steps to be redone from.
	pub stored: Option<H256>,
	/// What is known of the deltas of the current round, and of those that are redone in it, by root. One that is not listed has not come
	/// yet.
	pub deltas: BTreeMap<H256, Delta>,
	/// Result of the newest outer steps.
	pub next: Option<NextCheckpoint>,
	/// A round, by its seed, that ended in divergence here: it is not tried again.
	pub diverged: Option<H256>,
	/// Hour of the newest uptime proof.
	pub uptime: Option<u32>,
	/// Earnings below this stay on chain: a claim costs a fee.
	pub claim_from: Balance,
	/// The operator asked to leave: the round is finished, no new one is begun.
	pub leaving: bool,
}

impl LocalState {
	/// Checkpoints that were in memory are not there any more: those that are needed are loaded again.
	pub fn unloaded(&mut self) {
		(self.checkpoint, self.next) = (None, None);
	}
}

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
	/// Make the checkpoint of round 0 from the run's seed and compare it with the run's genesis root.
	BuildGenesis,
	/// Get the checkpoint with this root from disk or peers.
	FetchCheckpoint {
		/// Its root.
		root: H256,
	},
	/// Make the attested result of the outer step the loaded checkpoint.
	Adopt {
		/// Its root.
		root: H256,
	},
	/// Get the list of a dataset's shards, without which this worker could not train.
	FindDataset {
		/// The run's dataset.
		id: DatasetId,
	},
	/// Become a member: take part from the next round on.
	Join,
	/// Be no member any more; the round at hand is finished all the same.
	Leave,
	/// Run the inner steps and store salt, work and delta.
	Train {
		/// Place among the participants: decides the windows.
		position: u32,
	},
	/// Send the sealed commitment.
	Commit,
	/// Send salt, work and proof.
	Reveal,
	/// Get deltas by root, from those who revealed them or others who have them.
	FetchDeltas {
		/// Rounds that they were revealed in, and roots.
		wanted: Vec<(RoundIndex, H256)>,
	},
	/// Say which deltas could be fetched and checked.
	Vote {
		/// One bit per revealed delta.
		vote: VoteBitmap,
	},
	/// Get the checkpoint with this root into the store, to redo outer steps from it. The loaded one stays.
	FetchStart {
		/// Its root.
		root: H256,
	},
	/// Take the outer steps, and measure the validation loss of what they end with.
	OuterSteps {
		/// The steps.
		job: OuterJob,
	},
	/// Send the attestation.
	Attest {
		/// What is attested.
		attestation: Attestation,
	},
	/// Answer the chain's test of arithmetic, without which the provider does not become active.
	ProveArithmetic {
		/// Seed of the test's inputs.
		challenge: H256,
	},
	/// Prove to be reachable in this hour.
	ProveUptime {
		/// Hour since the epoch.
		hour: u32,
	},
	/// Collect earnings.
	Claim,
}

/// The most urgent thing to do, if there is one.
pub fn plan(chain: &ChainView, local: &LocalState) -> Option<Task> {
	plan_without(chain, local, |_| false)
}

/// [`plan`], passing over tasks that are `barred` for now: what comes after them need not wait for them.
pub fn plan_without(chain: &ChainView, local: &LocalState, barred: impl Fn(&Task) -> bool) -> Option<Task> {
	let test = chain.challenge.filter(|_| local.mode == Mode::Train && !local.leaving).map(|challenge| Task::ProveArithmetic { challenge });
	let for_run = chain.run.as_ref().and_then(|run| for_run(chain, run, local));
	test.into_iter().chain(for_run).chain(housekeeping(chain, local)).find(|task| !barred(task))
}

/// Of all runs the one to take part in: the one asked for; else the one at hand while it lasts; else the first active run that draws
/// issuance; else the first active one; else the one at hand, whose last checkpoint is still to be had and served.
pub fn choose_run(runs: &[(RunId, RunStatus, bool)], asked: Option<RunId>, at_hand: Option<RunId>) -> Option<RunId> {
	let known = |id: RunId| runs.iter().find(|(other, ..)| *other == id);
	if let Some(id) = asked {
		return known(id).map(|_| id);
	}
	let active = || runs.iter().filter(|(_, status, _)| *status == RunStatus::Active);
	let at_hand = at_hand.and_then(known);
	at_hand
		.filter(|(_, status, _)| *status == RunStatus::Active)
		.or_else(|| active().find(|(_, _, approved)| *approved))
		.or_else(|| active().next())
		.or(at_hand)
		.or_else(|| runs.last())
		.map(|(id, ..)| *id)
}

/// Whether nothing more is expected of this worker in its run: it is no member, and has no part in the round at hand.
pub fn has_left(chain: &ChainView) -> bool {
	chain.run.as_ref().is_none_or(|run| {
		let acting = run.round.iter().flat_map(|round| &round.participants).any(|one| one.account == chain.me && one.counted);
		run.view.status == RunStatus::Finished || (!acting && !run.members.contains(&chain.me))
	})
}

/// What a worker that was asked to leave does first, for people.
pub fn farewell(chain: &ChainView) -> String {
	let round = chain.run.as_ref().and_then(|run| run.round.as_ref()).filter(|_| !has_left(chain));
	let acts = |round: &&RoundView| round.participants.iter().any(|one| one.account == chain.me && one.counted);
	match round.filter(acts) {
		Some(round) => format!("leaving as asked: finishes round {} first, then takes the bond out and ends", round.round),
		None => "leaving as asked: takes no part in another round, takes the bond out and ends".into(),
	}
}

impl Task {
	/// Whether it may take longer than the phase that asked for it, so that it is given up when the plan changes.
	pub fn is_long(&self) -> bool {
		matches!(
			self,
			Self::FetchCheckpoint { .. }
				| Self::FindDataset { .. }
				| Self::Train { .. }
				| Self::FetchDeltas { .. }
				| Self::FetchStart { .. }
		)
	}

	/// Whether this task still does what a plan made since wants.
	pub fn is_part_of(&self, plan: Option<&Self>) -> bool {
		match (self, plan) {
			// What was revealed meanwhile must not wait for what may never come. Nothing that has arrived is lost by starting anew.
			(Self::FetchDeltas { wanted }, Some(Self::FetchDeltas { wanted: now })) => now.iter().all(|one| wanted.contains(one)),
			// The round at hand is finished all the same: the membership ends when the training is done.
			(Self::Train { .. }, Some(Self::Leave)) => true,
			(this, now) => Some(this) == now,
		}
	}
}

impl std::fmt::Display for Task {
	/// What the worker is doing, for people.
	fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		match self {
			Self::BuildGenesis => formatter.write_str("computing the first checkpoint"),
			Self::FetchCheckpoint { root } => write!(formatter, "fetching checkpoint {root}"),
			Self::Adopt { root } => write!(formatter, "taking over checkpoint {root}"),
			Self::FindDataset { id } => write!(formatter, "getting the list of shards of dataset {id}"),
			Self::Join => formatter.write_str("joining the run"),
			Self::Leave => formatter.write_str("leaving the run"),
			Self::Train { .. } => formatter.write_str("training"),
			Self::Commit => formatter.write_str("committing"),
			Self::Reveal => formatter.write_str("revealing"),
			Self::FetchDeltas { wanted } => write!(formatter, "fetching {} deltas", wanted.len()),
			Self::Vote { .. } => formatter.write_str("voting on the deltas"),
			Self::FetchStart { root } => write!(formatter, "fetching checkpoint {root}, to redo outer steps from it"),
			Self::OuterSteps { job } => {
				let deltas = job.steps.iter().map(Vec::len).fold(0, usize::saturating_add);
				match job.steps.len() {
					0 | 1 => write!(formatter, "applying {deltas} deltas and validating"),
					steps => write!(formatter, "redoing {steps} outer steps from round {} on, with {deltas} deltas", job.first_round),
				}
			}
			Self::Attest { .. } => formatter.write_str("attesting the checkpoint"),
			Self::ProveArithmetic { .. } => formatter.write_str("answering the chain's test of this machine's arithmetic"),
			Self::ProveUptime { .. } => formatter.write_str("proving uptime"),
			Self::Claim => formatter.write_str("claiming earnings"),
		}
	}
}

fn for_run(chain: &ChainView, run: &RunState, local: &LocalState) -> Option<Task> {
	if local.checkpoint != Some(run.view.checkpoint) {
		return Some(catch_up(run, local));
	}
	if local.mode == Mode::ServeOnly || run.view.status == RunStatus::Finished {
		return None;
	}
	let member = run.members.contains(&chain.me);
	let leaving = local.leaving || chain.is_short();
	if leaving && member {
		return Some(Task::Leave);
	}
	let round = run.round.as_ref()?;
	let position = round.participants.iter().position(|one| one.account == chain.me);
	let acting = position.and_then(|position| round.participants.get(position).map(|me| (position, me))).filter(|(_, me)| me.counted);
	match acting {
		Some((position, me)) if member || leaving => in_round(chain, run, round, position, me, local),
		_ if member || leaving || !may_join(chain, run) => None,
		// Joins with the checkpoint in hand and the dataset in reach, so that nobody waits for a newcomer's download.
		_ if local.dataset == Some(run.view.config.dataset) => Some(Task::Join),
		_ => Some(Task::FindDataset { id: run.view.config.dataset }),
	}
}

/// Whether the chain would take this worker in. A refused call costs a fee.
pub(super) fn may_join(chain: &ChainView, run: &RunState) -> bool {
	let room = u32::try_from(run.members.len()).is_ok_and(|count| count < run.view.config.max_participants);
	room && chain.active && chain.bond >= run.view.config.min_bond && run.next_join.is_none()
}

/// The loaded checkpoint is not the run's newest one.
fn catch_up(run: &RunState, local: &LocalState) -> Task {
	let root = run.view.checkpoint;
	let own = local.next.as_ref().is_some_and(|next| next.run == run.id && next.attestation.checkpoint == root);
	match run.view.rounds_adopted {
		_ if own => Task::Adopt { root },
		0 => Task::BuildGenesis,
		_ => Task::FetchCheckpoint { root },
	}
}

fn in_round(
	chain: &ChainView,
	run: &RunState,
	round: &RoundView,
	position: usize,
	me: &ParticipantView,
	local: &LocalState,
) -> Option<Task> {
	let pending = local.pending.as_ref().filter(|work| work.run == run.id && work.round == round.round && work.seed == round.seed);
	match round.phase {
		Phase::Joining => None,
		Phase::Training => match (me.sealed, pending) {
			(Some(_), _) => None,
			(None, Some(_)) => Some(Task::Commit),
			(None, None) if local.diverged == Some(round.seed) || chain.is_short() => None,
			(None, None) => u32::try_from(position).ok().map(|position| Task::Train { position }),
		},
		Phase::Revealing if me.work.is_none() => {
			// The salt leaves this machine only when the commitment can no longer be reorganised away: otherwise somebody could
			// commit to this very work first.
			let mine = pending.filter(|work| me.sealed == Some(work.seal));
			mine.filter(|work| run.finalized_seal == Some(work.seal)).map(|_| Task::Reveal)
		}
		Phase::Revealing => fetch(of(round), local),
		Phase::Availability if me.work.is_none() || me.vote.is_some() => None,
		Phase::Availability => {
			let urgent = round.deadline.is_some_and(|deadline| chain.best.saturating_add(VOTE_MARGIN) >= deadline);
			let missing = if urgent { None } else { fetch(of(round), local) };
			missing.or_else(|| ballot(round, local).map(|vote| Task::Vote { vote }))
		}
		Phase::Checkpointing if me.work.is_none() || me.attestation.is_some() => None,
		Phase::Checkpointing => run.job.as_ref().and_then(|job| checkpoint(run, job, local)),
	}
}

/// What comes next on the way to the attestation of `job`. It may change while a phase lasts, when the chain finds a delta or a checkpoint
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
	let due = chain.active && !chain.is_short() && local.uptime.is_none_or(|proven| proven < chain.hour);
	claim.into_iter().chain(due.then_some(Task::ProveUptime { hour: chain.hour }))
}

#[cfg(test)]
pub(crate) mod tests;
