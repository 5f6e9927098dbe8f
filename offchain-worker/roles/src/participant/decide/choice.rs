//! Choice of the run that this worker takes part in: the one that the operator named, or an approved one; and none that cannot be trained here.
//!
//! Anybody may create a run, with a false first checkpoint or a model of any size. Work for a run that nobody approved is paid nothing, so that
//! such a run is never chosen unless it is named. Among several approved ones it is the one that [promises](super::prospect) this machine most.

use super::prospect::{self, Machine, Prospect};
use crate::WorkerError;
use codec::Encode;
use neuroshard_chain_client::ChainAt;
use neuroshard_graph::merkle::blake2_256;
use neuroshard_support::memory::available_memory;
use neuroshard_training::{checkpoint::CheckpointError, engine::EngineError, outer::OuterError, round::TrainError};
use neuroshard_types::{
	run::{RunStatus, RunView},
	AccountId, BlockNumber, RunId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds between blocks of an ordinary chain, by which the time for training is judged before a run is joined.
const BLOCK_MS: u64 = 3_000;
/// Blocks until a run is tried again that did not fit, or failed in a way that may pass.
const REST: BlockNumber = 100;

/// A run, as far as the choice of one depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownRun {
	/// Its number.
	pub id: RunId,
	/// Its life.
	pub status: RunStatus,
	/// True if its work draws issuance.
	pub approved: bool,
	/// Prospect for this machine, if that was looked at.
	pub prospect: Option<Prospect>,
	/// Of cohorts of a family, which promise the same, the one with the largest is taken: see [`spread`].
	pub spread: u64,
}

/// A number by which workers spread over the cohorts of a family, whose rounds start with no `fewest` members or more: larger for those with fewer members, and of equal ones another
/// order for every account, since many join at a time. But cohorts that have too few for a round come before them, by number, so that workers wait for others in one of them, and not a
/// few in each.
fn spread(run: RunId, (members, fewest): (usize, u32), who: &AccountId) -> u64 {
	let members = u32::try_from(members).unwrap_or(u32::MAX);
	if members < fewest {
		// More than any number below: a cohort with a member has less than `u32::MAX` in the upper half.
		return u64::MAX.saturating_sub(run.into());
	}
	let [a, b, c, d, ..] = blake2_256(&(b"neuroshard/cohort/1", run, who).encode());
	let free = u32::MAX.saturating_sub(members);
	u64::from(free) << 32 | u64::from(u32::from_le_bytes([a, b, c, d]))
}

/// Of these runs, by number ascending, the one to take part in: the one asked for; else, of those that are approved, the one at hand while it
/// lasts; else the active one that promises most, of equal ones the cohort that it is [`spread`] to, or the first; else the one at hand, whose last checkpoint is still to be had and served; else the newest. One that is
/// `barred` is none of them.
pub fn choose_run(runs: &[KnownRun], asked: Option<RunId>, at_hand: Option<RunId>, barred: impl Fn(RunId) -> bool) -> Option<RunId> {
	let is_open = |run: &&KnownRun| asked.map_or(run.approved, |id| run.id == id) && !barred(run.id);
	let open = || runs.iter().filter(is_open);
	let is_active = |run: &&KnownRun| run.status == RunStatus::Active;
	let at_hand = at_hand.and_then(|id| open().find(|run| run.id == id));
	let best = || open().filter(is_active).rev().max_by_key(|run| (run.prospect.map(Prospect::rank), run.spread));
	at_hand.filter(is_active).or_else(best).or(at_hand).or_else(|| open().last()).map(|run| run.id)
}

/// For how long a run is barred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::participant) enum Bar {
	/// For [`REST`] blocks.
	Resting,
	/// As long as this worker runs.
	Lasting,
}

#[derive(Debug)]
struct Barred {
	until: BlockNumber,
	why: String,
}

/// Chooses runs.
#[derive(Debug, Default)]
pub(in crate::participant) struct Choice {
	/// The run that the operator named.
	asked: Option<RunId>,
	barred: BTreeMap<RunId, Barred>,
	/// Finished runs that nobody had approved: they stay as they are.
	passed_over: BTreeSet<RunId>,
	/// Message about the last choice.
	told: Option<String>,
}

impl Choice {
	/// Chooses the run that is `asked` for, if there is one.
	pub(in crate::participant) fn new(asked: Option<RunId>) -> Self {
		Self { asked, ..Default::default() }
	}

	/// Returns whether the operator named this run: then no other one is chosen in its place.
	pub(in crate::participant) fn is_asked(&self, run: RunId) -> bool {
		self.asked == Some(run)
	}

	/// Has `run` not be chosen from block `now` on, and says why.
	pub(in crate::participant) fn bar(&mut self, run: RunId, bar: Bar, why: String, now: BlockNumber) {
		let until = match bar {
			Bar::Resting => now.saturating_add(REST),
			Bar::Lasting => BlockNumber::MAX,
		};
		let is_for_good = |until| until == BlockNumber::MAX;
		let told = self.barred.get(&run).is_some_and(|before| is_for_good(before.until) == is_for_good(until));
		let barred = Barred { until, why };
		// What rests again is said once.
		match told {
			true => tracing::debug!("{}", barred.words(run)),
			false => tracing::error!("{}", barred.words(run)),
		}
		self.barred.insert(run, barred);
	}

	/// Returns whether `run` is not to be chosen at block `now`.
	pub(in crate::participant) fn is_barred(&self, run: RunId, now: BlockNumber) -> bool {
		self.barred.get(&run).is_some_and(|barred| now < barred.until)
	}

	/// The runs that are barred at block `now`, and why, for people.
	pub(in crate::participant) fn words(&self, now: BlockNumber) -> Vec<String> {
		let barred = self.barred.iter().filter(|(_, barred)| now < barred.until);
		barred.map(|(run, barred)| barred.words(*run)).collect()
	}

	/// The run for `me` to take part in, whose machine has so many GFLOP/s: the one that it is a member of, if it is of any. The other runs are looked at only
	/// if there is neither one that was named nor one at hand that goes on.
	///
	/// # Errors
	/// [`WorkerError::UnknownRun`] for one that was named and does not exist, and if the node gives no answer.
	pub(in crate::participant) async fn find(
		&mut self,
		at: &ChainAt,
		at_hand: Option<RunId>,
		me: &AccountId,
		gflops: impl AsyncFnOnce() -> Result<u64, WorkerError>,
	) -> Result<Option<(RunId, RunView)>, WorkerError> {
		let now = at.block().number;
		if let Some(asked) = self.asked {
			let view = at.run(asked).await?.ok_or(WorkerError::UnknownRun(asked))?;
			return Ok((!self.is_barred(asked, now)).then_some((asked, view)));
		}
		if let Some(id) = at_hand.filter(|id| !self.is_barred(*id, now)) {
			if let Some(view) = at.run(id).await?.filter(|view| view.approved && view.status == RunStatus::Active) {
				return Ok(Some((id, view)));
			}
		}
		let ids = at.runs().await?;
		self.passed_over.retain(|id| ids.binary_search(id).is_ok());
		let new = ids.into_iter().filter(|id| !self.passed_over.contains(id));
		let mut views = at.run_views(new).await?;
		let of =
			|(id, view): (&RunId, &RunView)| KnownRun { id: *id, status: view.status, approved: view.approved, prospect: None, spread: 0 };
		let mut known: Vec<_> = views.iter().map(of).collect();
		self.passed_over.extend(known.iter().filter(|run| !run.approved && run.status == RunStatus::Finished).map(|run| run.id));
		let mut prospects = Vec::new();
		let waits = |run: &KnownRun| run.approved && run.status == RunStatus::Active && !self.is_barred(run.id, now);
		if known.iter().filter(|run| waits(run)).count() > 1 {
			let machine = Machine { gflops: gflops().await?, memory: available_memory(), block_ms: BLOCK_MS };
			for run in known.iter_mut().filter(|run| waits(run)) {
				let members = at.members(run.id).await?;
				if members.binary_search(me).is_ok() {
					return Ok(views.remove_entry(&run.id));
				}
				run.prospect = views.get(&run.id).map(|view| Prospect::new(view, members.len(), machine));
				// A run in no family is alone.
				let in_family = !at.cohorts(run.id).await?.is_empty();
				if let Some(view) = views.get(&run.id).filter(|_| in_family) {
					run.spread = spread(run.id, (members.len(), view.config.min_participants), me);
				}
				prospects.extend(run.prospect.map(|prospect| (run.id, prospect)));
			}
		}
		let chosen = choose_run(&known, None, at_hand, |id| self.is_barred(id, now));
		let told = chosen.and_then(|id| prospect::words(id, &prospects));
		if let Some(words) = told.as_ref().filter(|_| self.told != told) {
			tracing::info!("{words}");
		}
		self.told = told;
		Ok(chosen.and_then(|id| views.remove_entry(&id)))
	}
}

impl WorkerError {
	/// For how long the run is barred that a task failed for; `None` if the run is not to blame.
	pub(in crate::participant) fn bar(&self) -> Option<Bar> {
		match self {
			// The same seed and configuration give the same again.
			Self::Genesis { .. }
			| Self::FalseStart { .. }
			| Self::Engine(EngineError::Setup(_))
			| Self::Outer(OuterError::Train(TrainError::Engine(EngineError::Setup(_))))
			| Self::Checkpoint(CheckpointError::Config(_)) => Some(Bar::Lasting),
			// There may be more memory later, and a panic may have had other causes.
			Self::TooLittleMemory { .. } | Self::Panicked { .. } | Self::Engine(EngineError::Device(_)) => Some(Bar::Resting),
			_ => None,
		}
	}
}

impl Barred {
	fn words(&self, run: RunId) -> String {
		let why = &self.why;
		match self.until {
			BlockNumber::MAX => format!("run {run} is not taken: {why}"),
			until => format!("run {run} is not taken before block {until}: {why}"),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_chain_client::ChainError;
	use neuroshard_compute::exec::SetupError;
	use neuroshard_graph::ConfigError;
	use neuroshard_types::H256;

	#[test]
	fn a_run_that_does_not_fit_is_tried_again_later_and_a_false_one_never() {
		let mut choice = Choice::new(None);
		choice.bar(3, Bar::Resting, "too large".into(), 50);
		choice.bar(4, Bar::Lasting, "false".into(), 50);
		assert!(choice.is_barred(3, 149) && !choice.is_barred(3, 150));
		assert!(choice.is_barred(4, BlockNumber::MAX - 1) && !choice.is_barred(5, 50));
	}

	#[test]
	fn what_a_run_is_to_blame_for_bars_it_and_ends_nothing() {
		let genesis = WorkerError::Genesis { run: 3, expected: H256::zero(), found: H256::zero() };
		let refused = WorkerError::Engine(EngineError::Setup(SetupError::from(ConfigError::TooLarge)));
		let large = WorkerError::TooLittleMemory { needed: 2 << 30, available: 1 << 30 };
		let panicked = WorkerError::Panicked { what: "a computation", words: "index out of bounds".into() };
		for (error, bar) in [(genesis, Bar::Lasting), (refused, Bar::Lasting), (large, Bar::Resting), (panicked, Bar::Resting)] {
			assert!(error.bar() == Some(bar) && !error.is_fatal(), "{error}");
		}
		let missing = ChainError::Missing { what: "call Training.commit".into() };
		for error in [WorkerError::UnknownRun(1), WorkerError::Stopped, WorkerError::Outdated(missing)] {
			assert!(error.bar().is_none() && error.is_fatal(), "{error}");
		}
	}

	#[test]
	fn the_reason_stands_in_the_status_as_long_as_the_run_is_barred() {
		let mut choice = Choice::new(None);
		assert!(choice.words(0).is_empty());
		choice.bar(4, Bar::Lasting, "false".into(), 50);
		choice.bar(3, Bar::Resting, "too large".into(), 50);
		assert_eq!(choice.words(50), ["run 3 is not taken before block 150: too large", "run 4 is not taken: false"]);
		assert_eq!(choice.words(150), ["run 4 is not taken: false"]);
	}

	#[test]
	fn an_approved_run_is_kept_while_it_lasts_and_none_that_nobody_approved_is_taken_unless_it_is_named() {
		use RunStatus::{Active, Finished};
		let known = |(id, status, approved)| KnownRun { id, status, approved, prospect: None, spread: 0 };
		let runs = [(0, Finished, true), (1, Active, false), (2, Active, true), (3, Active, true), (4, Finished, false)].map(known);
		let choose = |runs, asked, at_hand| choose_run(runs, asked, at_hand, |_| false);
		assert_eq!(choose(&runs, None, None), Some(2));
		assert_eq!(choose(&runs, None, Some(3)), Some(3));
		assert_eq!(choose(&runs, None, Some(0)), Some(2), "a finished run is left for an active one");
		assert_eq!(choose(&runs, None, Some(1)), Some(2), "it was approved on a branch that is gone");
		assert_eq!(choose(&runs, Some(1), Some(3)), Some(1));
		assert_eq!(choose(&runs, Some(9), None), None);
		assert_eq!(choose(&runs[..1], None, None), Some(0));
		assert_eq!(
			choose(&runs[..2], None, Some(0)),
			Some(0),
			"the last checkpoint of a run that ended is served, whatever a stranger creates beside it"
		);
		assert_eq!(choose(&runs[1..2], None, None), None);
		assert_eq!(choose(&runs[4..], None, None), None, "nor is one that a stranger has stopped");
		assert_eq!(choose(&[], None, None), None);
	}

	#[test]
	fn a_barred_run_is_passed_over_for_the_next_one() {
		use RunStatus::{Active, Finished};
		let known = |(id, status)| KnownRun { id, status, approved: true, prospect: None, spread: 0 };
		let runs = [(0, Finished), (1, Active), (2, Active)].map(known);
		let choose = |asked, at_hand, bars: &[RunId]| choose_run(&runs, asked, at_hand, |id| bars.contains(&id));
		assert_eq!(choose(None, Some(1), &[1]), Some(2));
		assert_eq!(choose(None, None, &[1, 2]), Some(0));
		assert_eq!(choose(None, None, &[0, 1, 2]), None);
		assert_eq!(choose(Some(1), Some(1), &[1]), None, "no other one than the one that was named");
	}

	#[test]
	fn of_several_runs_the_one_that_promises_most_is_taken_and_one_at_hand_is_kept() {
		let pays = |units_per_hour| Some(Prospect::Pays { units_per_hour });
		let runs = [(1, Some(Prospect::Full)), (2, pays(5)), (3, pays(7)), (4, pays(7)), (5, None)];
		let runs = runs.map(|(id, prospect)| KnownRun { id, status: RunStatus::Active, approved: true, prospect, spread: 0 });
		assert_eq!(choose_run(&runs, None, None, |_| false), Some(3), "of equal ones the first");
		assert_eq!(choose_run(&runs, None, None, |id| id == 3), Some(4));
		assert_eq!(choose_run(&runs, None, Some(2), |_| false), Some(2), "nobody leaves a run for another one");
		assert_eq!(choose_run(&runs, Some(1), None, |_| false), Some(1), "the operator's word counts");
		assert_eq!(choose_run(&runs[..1], None, None, |_| false), Some(1), "a place may become free");
	}

	#[test]
	fn workers_spread_over_the_cohorts_of_a_family() {
		let pays = Some(Prospect::Pays { units_per_hour: 7 });
		let choose = |members: [usize; 4], who: &AccountId| {
			let runs = [2, 3, 5, 8].iter().zip(members);
			let runs = runs.map(|(&id, members)| (id, spread(id, (members, 2), who)));
			let runs: Vec<_> =
				runs.map(|(id, spread)| KnownRun { id, status: RunStatus::Active, approved: true, prospect: pays, spread }).collect();
			choose_run(&runs, None, None, |_| false)
		};
		let workers: Vec<_> = (0..=255).map(|number| AccountId::new([number; 32])).collect();
		// Whoever sees them alike, as all do who come at a time, goes to each alike.
		let chosen = |id| workers.iter().filter(|who| choose([2; 4], who) == Some(id)).count();
		assert!([2, 3, 5, 8].map(chosen).iter().all(|count| (40..=90).contains(count)), "{:?}", [2, 3, 5, 8].map(chosen));
		// Later the emptiest one is taken, whoever comes.
		assert!(workers.iter().all(|who| choose([3, 3, 2, 3], who) == Some(5)));
		// But first of all each has so many that its rounds can start, one cohort after the other: else six workers in three cohorts that take three would wait for ever.
		for (members, chosen) in [([0; 4], 2), ([1, 0, 0, 0], 2), ([2, 0, 0, 0], 3), ([9, 1, 0, 1], 3), ([9, 9, 1, 0], 5)] {
			assert!(workers.iter().all(|who| choose(members, who) == Some(chosen)), "{members:?}");
		}
	}

	proptest::proptest! {
		#[test]
		fn whatever_strangers_create_the_chosen_run_is_approved_and_not_barred_or_the_one_that_was_named(
			runs in proptest::collection::vec((proptest::bool::ANY, proptest::bool::ANY, proptest::bool::ANY), 0..12),
			asked in proptest::option::of(0u32..12),
			at_hand in proptest::option::of(0u32..12),
		) {
			let status = |active| if active { RunStatus::Active } else { RunStatus::Finished };
			let known: Vec<_> = (0..).zip(&runs).map(|(id, (active, approved, _))| KnownRun { id, status: status(*active), approved: *approved, prospect: None, spread: 0 }).collect();
			let is_barred = |id: RunId| runs[id as usize].2;
			let chosen = choose_run(&known, asked, at_hand, is_barred);
			// Whoever has no money for an approval changes nothing.
			let approved: Vec<_> = known.iter().copied().filter(|run| run.approved || asked == Some(run.id)).collect();
			proptest::prop_assert_eq!(chosen, choose_run(&approved, asked, at_hand, is_barred));
			if let Some(id) = chosen {
				let (active, approved, barred) = runs[id as usize];
				proptest::prop_assert!(!barred && asked.map_or(approved, |asked| asked == id));
				let waits = |(active, approved, barred): &(bool, bool, bool)| *active && *approved && !barred;
				proptest::prop_assert!(asked.is_some() || active || !runs.iter().any(waits), "a finished one only if no active one is left");
			} else {
				let open = |(id, (_, approved, barred)): (RunId, &(bool, bool, bool))| !barred && asked.map_or(*approved, |asked| asked == id);
				proptest::prop_assert!(!(0..).zip(&runs).any(open));
			}
		}
	}
}
