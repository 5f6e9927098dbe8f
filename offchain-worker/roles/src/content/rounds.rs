//! Content of rounds: the labels under which the store keeps it, and what of it can go.

use super::{Content, WorkerError};
use neuroshard_store::Store;
use neuroshard_training::kept;
use neuroshard_types::{run::RoundRecord, RoundIndex, RunId, H256};
use std::{
	collections::{BTreeMap, BTreeSet},
	ops::Range,
};

/// Label under which the blobs of a round are kept.
pub fn round_label(run: RunId, round: RoundIndex) -> String {
	format!("run-{run}-round-{round}")
}

/// Label under which a participant keeps the residuals that its own delta of a round begins with and leaves.
pub fn residual_label(run: RunId, round: RoundIndex) -> String {
	format!("residual-of-run-{run}-round-{round}")
}

/// Label under which whoever is a bridge in a round, or judges its work, keeps the checkpoint of another cohort that the work started from.
pub fn bridge_label(run: RunId, round: RoundIndex) -> String {
	format!("bridge-of-run-{run}-round-{round}")
}

/// Label under which the model is kept that a run's adapter is beside.
pub fn base_label(run: RunId) -> String {
	format!("base-of-run-{run}")
}

/// Run of a label that [`base_label`] made.
fn labelled_base(label: &str) -> Option<RunId> {
	let run = label.strip_prefix("base-of-run-")?.parse().ok()?;
	(base_label(run) == label).then_some(run)
}

/// Run and round of a label that [`round_label`] or [`bridge_label`] made. Whoever could not judge the work of a bridge may have nothing of the round but what that started from.
pub fn labelled_round(label: &str) -> Option<(RunId, RoundIndex)> {
	let label = label.strip_prefix("bridge-of-").unwrap_or(label);
	let (run, round) = label.strip_prefix("run-")?.split_once("-round-")?;
	let (run, round) = (run.parse().ok()?, round.parse().ok()?);
	(round_label(run, round) == label).then_some((run, round))
}

/// Rounds, ascending, whose blobs are kept, by run.
pub fn rounds_by_run(labels: impl IntoIterator<Item = String>) -> BTreeMap<RunId, BTreeSet<RoundIndex>> {
	let mut rounds = BTreeMap::<_, BTreeSet<_>>::new();
	for (run, round) in labels.into_iter().filter_map(|label| labelled_round(&label)) {
		rounds.entry(run).or_default().insert(round);
	}
	rounds
}

/// The first of these rounds, all adopted, that is open; their end if there is none. Rounds are adopted one after the other, so that none
/// is open before one that is not.
pub async fn first_open(
	rounds: Range<RoundIndex>,
	is_open: impl AsyncFn(RoundIndex) -> Result<bool, WorkerError>,
) -> Result<RoundIndex, WorkerError> {
	let Range { start: mut first, end: mut until } = rounds;
	while first < until {
		let middle = first.midpoint(until);
		match is_open(middle).await? {
			true => until = middle,
			false => first = middle.saturating_add(1),
		}
	}
	Ok(until)
}

/// Unpins all blobs of a round, its residuals and its bridge, and removes its inner states and the notes on the checkpoints that it started from. Blocks.
pub fn forget_round(store: &Store, run: RunId, round: RoundIndex, record: Option<RoundRecord>) -> Result<(), WorkerError> {
	let labels = [round_label, residual_label, bridge_label].map(|label| label(run, round));
	for root in record.into_iter().flat_map(|record| [Some(record.start), record.bridge.map(|bridge| bridge.checkpoint)]).flatten() {
		// Another cohort's round may have started from it as well, or a bridge to this one.
		if !is_kept_beside(store, run, root, &labels)? {
			store.remove_note(root)?;
		}
	}
	kept::forget(store, run, round)?;
	labels.iter().try_for_each(|label| store.unpin_label(label))?;
	// With the last of the run's rounds goes the model that its adapter is beside.
	if !rounds_by_run(store.labels()).contains_key(&run) {
		store.unpin_label(&base_label(run))?;
	}
	Ok(())
}

/// Unpins the models that adapters of runs are beside of which no round is kept, but for the run at hand: whoever was to judge work of a run, or to join
/// it, may have got no further. Blocks.
pub fn forget_bases(store: &Store, at_hand: Option<RunId>) -> Result<(), WorkerError> {
	let labels = store.labels();
	let bases: Vec<RunId> = labels.iter().filter_map(|label| labelled_base(label)).collect();
	let rounds = rounds_by_run(labels);
	let over = bases.into_iter().filter(|run| !rounds.contains_key(run) && at_hand != Some(*run));
	over.into_iter().try_for_each(|run| Ok(store.unpin_label(&base_label(run))?))
}

/// Returns whether the parameters of checkpoint `root` are kept for the sake of another label than these. Blocks.
fn is_kept_beside(store: &Store, run: RunId, root: H256, labels: &[String]) -> Result<bool, WorkerError> {
	let Some(header) = Content::stored_header(store, run, root)? else { return Ok(false) };
	let others = store.labels().into_iter().filter(|label| !labels.contains(label));
	Ok(others.into_iter().any(|label| store.pinned(&label).contains(&header.params)))
}

/// Unpins what is no included delta of an adopted round, nor part of the checkpoint that it started from, or that its bridge did: deltas of aborted attempts, checkpoints that were
/// computed and not adopted, and those of other cohorts that no work started from. Blocks.
pub fn trim_round(store: &Store, run: RunId, round: RoundIndex, record: Option<RoundRecord>) -> Result<(), WorkerError> {
	let Some(record) = record else { return Ok(()) };
	match record.bridge.filter(|bridge| bridge.taken) {
		None => store.unpin_label(&bridge_label(run, round))?,
		Some(bridge) => {
			if let Some(start) = Content::stored_header(store, run, bridge.checkpoint)? {
				keep_only(store, &bridge_label(run, round), &BTreeSet::from([start.params, start.momentum]))?;
			}
		}
	}
	let Some(start) = Content::stored_header(store, run, record.start)? else { return Ok(()) };
	let taken: BTreeSet<H256> = record.included.iter().map(|(_, root)| *root).chain([start.params, start.momentum]).collect();
	keep_only(store, &round_label(run, round), &taken)
}

/// Unpins what is under `label` but is none of these.
fn keep_only(store: &Store, label: &str, kept: &BTreeSet<H256>) -> Result<(), WorkerError> {
	store.pinned(label).into_iter().filter(|root| !kept.contains(root)).try_for_each(|root| Ok(store.unpin(root, label)?))
}

#[cfg(test)]
pub mod tests {
	use super::*;
	use codec::Encode;
	use neuroshard_training::checkpoint::Header;
	use neuroshard_types::{run::Bridge, AccountId, F32};
	use std::cell::Cell;

	/// A record of a round that started from `start` and included `deltas`.
	pub fn record(start: H256, deltas: &[H256]) -> RoundRecord {
		RoundRecord {
			seed: H256::zero(),
			start,
			inner_start: start,
			first_round: 0,
			participants: Vec::new(),
			late: Vec::new(),
			bridge: None,
			included: deltas.iter().map(|root| (AccountId::new([1; 32]), *root)).collect(),
			excluded: Vec::new(),
			attested: Vec::new(),
			checkpoint: H256::zero(),
			fallen: false,
			validation_loss: F32::new(1.0),
			adopted_at: 7,
		}
	}

	#[test]
	fn inner_states_go_with_their_round() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let names = ["0000000003-0000000005-0000000010", "0000000003-0000000006-0000000010"];
		for name in names {
			assert!(store.put_spare(name, &[b"state"], 1 << 10).unwrap());
		}
		forget_round(&store, 3, 5, None).unwrap();
		assert_eq!(store.spares(""), [names[1]]);
	}

	#[test]
	fn an_adopted_round_keeps_what_it_took_until_it_is_forgotten_as_a_whole() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let label = round_label(3, 5);
		let [params, momentum, included, aborted, stale] =
			[1, 2, 3, 4, 5].map(|byte| store.put_pinned(&[byte; 4096], &label).unwrap().root);
		let elsewhere = store.put_pinned(&[6; 4096], &round_label(3, 6)).unwrap().root;
		let header = Header { run: 3, round: 5, adopted_steps: 50, params, momentum };
		let adopted = || Some(record(header.root(), &[included]));

		trim_round(&store, 3, 5, adopted()).unwrap();
		assert!(store.pinned(&label).contains(&aborted), "without the note it is not known what the checkpoint is made of");
		store.set_note(header.root(), &header.encode()).unwrap();
		trim_round(&store, 3, 5, None).unwrap();
		assert_eq!(store.pinned(&label).len(), 5);
		trim_round(&store, 3, 5, adopted()).unwrap();
		let kept: BTreeSet<H256> = store.pinned(&label).into_iter().collect();
		assert_eq!(kept, BTreeSet::from([params, momentum, included]));
		assert!(store.contains(stale), "it is only not kept any more");

		forget_round(&store, 3, 5, adopted()).unwrap();
		assert_eq!((store.pinned(&label), store.note(header.root()).unwrap()), (vec![], None));
		assert_eq!(store.pinned(&round_label(3, 6)), [elsewhere]);
	}

	#[test]
	fn the_model_beside_an_adapter_goes_with_the_last_round_of_its_run() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let base = store.put(&[1; 4096]).unwrap().root;
		[3, 9].iter().for_each(|run| store.pin(base, &base_label(*run)).unwrap());
		[5, 6].iter().for_each(|round| _ = store.put_pinned(&[2; 4096], &round_label(3, *round)).unwrap());
		forget_round(&store, 3, 5, None).unwrap();
		assert_eq!(store.pinned(&base_label(3)), [base], "round 6 needs it");
		forget_round(&store, 3, 6, None).unwrap();
		assert_eq!((store.pinned(&base_label(3)), store.pinned(&base_label(9))), (vec![], vec![base]));
	}

	#[test]
	fn models_of_runs_of_which_there_is_nothing_else_go_but_for_that_of_the_run_at_hand() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let base = store.put_pinned(&[1; 4096], "base-of-run-03").unwrap().root;
		[3, 4, 5].iter().for_each(|run| store.pin(base, &base_label(*run)).unwrap());
		store.put_pinned(&[2; 4096], &round_label(4, 0)).unwrap();
		forget_bases(&store, Some(5)).unwrap();
		let kept: BTreeSet<String> = store.labels().into_iter().collect();
		let others = ["base-of-run-03".to_owned(), round_label(4, 0)];
		assert_eq!(kept, [base_label(4), base_label(5)].into_iter().chain(others).collect());
		forget_bases(&store, None).unwrap();
		assert!(store.pinned(&base_label(5)).is_empty() && store.pinned(&base_label(4)) == [base]);
	}

	#[test]
	fn a_checkpoint_that_a_bridge_started_from_is_kept_as_long_as_any_round_needs_it() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let [params, momentum] = [1, 2].map(|byte| store.put(&[byte; 4096]).unwrap().root);
		let header = Header { run: 9, round: 5, adopted_steps: 50, params, momentum };
		let other = header.root();
		store.set_note(other, &header.encode()).unwrap();
		// Two rounds of run 3 had a bridge to it, and round 5 of its own run starts from it.
		let labels = [bridge_label(3, 6), bridge_label(3, 7), round_label(9, 5)];
		labels.iter().for_each(|label| store.pin_all([params, momentum], label).unwrap());
		let bridge = Bridge { who: AccountId::new([1; 32]), run: 9, round: 5, checkpoint: other, taken: true };
		let of = |start| RoundRecord { bridge: Some(bridge.clone()), ..record(start, &[]) };
		let known = || Content::stored_header(&store, 3, other).unwrap().is_some();
		for (run, round, gone) in [(3, 6, of(H256::zero())), (9, 5, record(other, &[]))] {
			forget_round(&store, run, round, Some(gone)).unwrap();
			assert!(known(), "round 7 needs it");
		}
		assert_eq!(store.labels(), [bridge_label(3, 7)]);
		forget_round(&store, 3, 7, Some(of(H256::zero()))).unwrap();
		assert!(!known() && store.labels().is_empty());
	}

	#[test]
	fn of_checkpoints_of_other_cohorts_only_the_one_that_work_started_from_is_kept() {
		let dir = tempfile::tempdir().unwrap();
		let store = Store::open(dir.path(), 1 << 20).unwrap();
		let label = bridge_label(3, 6);
		let [params, momentum, of_an_aborted_attempt] = [1, 2, 3].map(|byte| store.put_pinned(&[byte; 4096], &label).unwrap().root);
		let header = Header { run: 9, round: 5, adopted_steps: 50, params, momentum };
		let bridge = |taken| Some(Bridge { who: AccountId::new([1; 32]), run: 9, round: 5, checkpoint: header.root(), taken });
		let trim = |taken| trim_round(&store, 3, 6, Some(RoundRecord { bridge: bridge(taken), ..record(H256::zero(), &[]) })).unwrap();
		let kept = || store.pinned(&label).into_iter().collect::<BTreeSet<_>>();
		trim(true);
		assert_eq!(kept().len(), 3, "without the note it is not known what the checkpoint is made of");
		store.set_note(header.root(), &header.encode()).unwrap();
		trim(true);
		assert_eq!(kept(), BTreeSet::from([params, momentum]));
		assert!(store.contains(of_an_aborted_attempt), "it is only not kept any more");
		trim(false);
		assert!(kept().is_empty());
	}

	#[tokio::test]
	async fn the_first_open_round_is_found_with_few_questions() {
		for first in 0..40 {
			let asked = Cell::new(0);
			let is_open = async |round| {
				asked.set(asked.get() + 1);
				Ok(round >= first)
			};
			assert_eq!(first_open(5..35, is_open).await.unwrap(), first.clamp(5, 35));
			assert!(asked.get() <= 5, "{} of 30", asked.get());
		}
		let never = async |_| Err(WorkerError::Stopped);
		assert_eq!(first_open(Range { start: 7, end: 5 }, never).await.unwrap(), 5, "all that is here is recent");
		assert!(first_open(5..7, never).await.is_err());
	}

	#[test]
	fn rounds_of_all_runs_are_pruned_oldest_first_however_many_there_are() {
		let labels = (0..200).rev().map(|round| round_label(3, round)).chain([round_label(1, 9), bridge_label(5, 2), "dataset-0".into()]);
		let rounds = rounds_by_run(labels);
		assert_eq!(rounds.keys().copied().collect::<Vec<_>>(), [1, 3, 5]);
		assert!(rounds[&3].iter().copied().eq(0..200));
	}

	#[test]
	fn labels_of_rounds_are_read_back_and_others_are_not() {
		assert_eq!([round_label(3, 14), bridge_label(3, 15)].map(|label| labelled_round(&label)), [Some((3, 14)), Some((3, 15))]);
		for other in ["bridge-of-dataset-3", "dataset-3", "run-3", "run-3-round-", "run--round-4", "run-3-round-4-", "run-+3-round-4", ""] {
			assert_eq!(labelled_round(other), None, "{other}");
		}
	}
}
