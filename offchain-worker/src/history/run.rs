//! What the blocks say of one run.

use super::{HistoryError, State};
use neuroshard_training::replay::AdoptedRound;
use neuroshard_types::{
	dataset::Manifest,
	dispute::OuterJob,
	run::{Phase, RoundView, RunConfig, RunStatus, RunView, Work},
	AccountId, RoundIndex, RunId,
};

/// A run as it went, gathered from the state after every block.
///
/// Work that was revealed is in the state until its round is adopted or its attempt aborted, and a round is adopted before any call of
/// a block: so what counted is the work in the state before the block of the adoption. The same is true of the outer steps that were to
/// be attested.
pub struct RunHistory {
	id: RunId,
	seen: Option<Seen>,
	rounds: Vec<AdoptedRound>,
	changes: u32,
}

/// The run in the last block.
struct Seen {
	manifest: Manifest,
	run: RunView,
	round: Option<RoundView>,
	job: Option<OuterJob>,
}

impl RunHistory {
	/// From `state` on, the one that blocks are going to be executed on.
	///
	/// # Errors
	/// [`HistoryError::StartsTooLate`] if rounds were adopted before; else as [`Self::observe`].
	pub fn new(id: RunId, state: &State) -> Result<Self, HistoryError> {
		let mut history = Self { id, seen: None, rounds: Vec::new(), changes: 0 };
		history.observe(state)?;
		Ok(Self { changes: 0, ..history })
	}

	/// Notes what the last block of `state` did to the run; to be called after each.
	///
	/// # Errors
	/// [`HistoryError::StartsTooLate`] if rounds were adopted unseen; [`HistoryError::NoRecord`] or [`HistoryError::NoDataset`] if the
	/// state contradicts itself; or it cannot be asked.
	pub fn observe(&mut self, state: &State) -> Result<(), HistoryError> {
		let number = state.head().number;
		let Some(run) = state.run(self.id)? else { return Ok(()) };
		let round = state.round(self.id)?;
		let attesting = round.as_ref().is_some_and(|round| round.phase == Phase::Checkpointing);
		let job = if attesting { state.outer_job(self.id)? } else { None };
		let seen = match self.seen.take() {
			Some(seen) if (&seen.run, &seen.round, &seen.job) == (&run, &round, &job) => {
				self.seen = Some(seen);
				return Ok(());
			}
			Some(seen) => seen,
			None if run.rounds_adopted > 0 => return Err(HistoryError::StartsTooLate { run: self.id, number }),
			None => {
				let dataset = run.config.dataset;
				let view = state.dataset(dataset)?.ok_or(HistoryError::NoDataset { run: self.id, dataset, number })?;
				Seen { manifest: view.manifest, run: run.clone(), round: None, job: None }
			}
		};
		self.changes = self.changes.saturating_add(1);
		for index in seen.run.rounds_adopted..run.rounds_adopted {
			let record = state.record(self.id, index)?.ok_or(HistoryError::NoRecord { round: index, number })?;
			let job = seen.job.clone().ok_or(HistoryError::NoJob { round: index, number })?;
			self.rounds.push(AdoptedRound { record, job, works: works(index, seen.round.as_ref()) });
		}
		self.seen = Some(Seen { run, round, job, ..seen });
		Ok(())
	}

	/// Takes over what was found of adopted rounds since their adoption, as `state`, the one after the last block that was observed, has
	/// it. Rounds whose records are gone stay as they were at their adoption.
	///
	/// # Errors
	/// The state cannot be asked.
	pub fn note_findings(&mut self, state: &State) -> Result<(), HistoryError> {
		for (index, round) in (0..=RoundIndex::MAX).zip(&mut self.rounds) {
			if let Some(record) = state.record(self.id, index)? {
				round.record = record;
			}
		}
		Ok(())
	}

	/// What was fixed when the run was created; `None` if it was not seen.
	pub fn config(&self) -> Option<&RunConfig> {
		self.seen.as_ref().map(|seen| &seen.run.config)
	}

	/// What the chain says of its dataset; `None` if it was not seen.
	pub fn manifest(&self) -> Option<&Manifest> {
		self.seen.as_ref().map(|seen| &seen.manifest)
	}

	/// Whether no more rounds can come.
	pub fn is_finished(&self) -> bool {
		self.seen.as_ref().is_some_and(|seen| seen.run.status == RunStatus::Finished)
	}

	/// Its adopted rounds, from the first one on.
	pub fn rounds(&self) -> &[AdoptedRound] {
		&self.rounds
	}

	/// Blocks that changed something of it.
	pub fn changes(&self) -> u32 {
		self.changes
	}
}

/// Work that is revealed in `round`, if that is the round with this number.
fn works(index: RoundIndex, round: Option<&RoundView>) -> Vec<(AccountId, Work)> {
	let round = round.filter(|round| round.round == index);
	let participants = round.into_iter().flat_map(|round| &round.participants);
	participants.filter_map(|one| Some((one.account.clone(), one.work.clone()?))).collect()
}
