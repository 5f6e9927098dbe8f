//! Life of a run: creation, approval, membership, end and removal.

use crate::{
	expected::{self, Unfit},
	replay::{self, Spans},
	round::Accounts,
	Absences, Active, Bridges, Config, Drawn, Error, Event, Halted, HoldReason, InnerSteps, Latecomers, Led, Members, Missing, NextRun,
	Pallet, Quorums, Records, Refusals, Residuals, Round, Rounds, Runs, Stage, Starts,
};
use alloc::vec::Vec;
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{
	ensure,
	traits::{
		fungible::{InspectHold, MutateHold},
		tokens::Precision,
		Get,
	},
};
use neuroshard_types::{
	audit::OnAdopted,
	dataset::DatasetShape,
	provider::Role,
	quorum::led_by,
	run::{RunConfig, RunStart, RunStatus},
	traits::{ActiveDataset, Datasets, ModelShares, Providers, WorkProofs, WorkUnits},
	AccountId, Balance, BlockNumber, ConfigError, RoundIndex, RunId, H256, MAX_PARTICIPANTS,
};
use scale_info::TypeInfo;
use sp_runtime::{DispatchError, DispatchResult};

/// A run as it is stored.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Run {
	/// Account that created it and whose deposit is held.
	pub sponsor: AccountId,
	/// Deposit held, in planck.
	pub deposit: Balance,
	/// Configuration that was fixed.
	pub config: RunConfig,
	/// Shape of its dataset. It is kept here, with the root, since claims are judged by them when the dataset may be gone.
	pub shape: DatasetShape,
	/// Root of its dataset.
	pub dataset_root: H256,
	/// True if its work draws issuance.
	pub approved: bool,
	/// Rounds adopted so far.
	pub rounds_adopted: RoundIndex,
	/// Root of the newest adopted checkpoint.
	pub checkpoint: H256,
	/// First round whose outer step the next Checkpointing redoes, if a fraud was proven since the last one. Earlier than the round
	/// under way.
	pub replay: Option<RoundIndex>,
	/// Outer steps that were redone.
	pub spans: Spans,
	/// Block in which it ended; `None` while it is active.
	pub finished_at: Option<BlockNumber>,
}

impl Run {
	/// Life.
	pub fn status(&self) -> RunStatus {
		match self.finished_at {
			None => RunStatus::Active,
			Some(_) => RunStatus::Finished,
		}
	}

	/// Work units of one participant's round of so many inner steps.
	pub fn units<U: WorkUnits>(&self, steps: u32) -> u128 {
		U::of_round(&self.config.model, &self.config.train, steps)
	}

	/// Work units that one participant's round of so many inner steps is paid by; zero unless the run's work draws issuance.
	pub fn paid_units<U: WorkUnits>(&self, steps: u32) -> u128 {
		if self.approved {
			self.units::<U>(steps)
		} else {
			0
		}
	}

	/// Round that outer steps are redone from if a claim of `round` is proven false, or are to be redone from anyway if that is earlier.
	pub fn redo_from(&self, round: RoundIndex) -> RoundIndex {
		let from = replay::good_start(&self.spans, round);
		self.replay.map_or(from, |pending| pending.min(from))
	}
}

/// An active run and when it is looked at next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct ActiveRun {
	/// The run.
	pub run: RunId,
	/// First block in which something may be due without a call; `None` while too few have joined.
	pub due: Option<BlockNumber>,
}

impl<T> From<Unfit> for Error<T> {
	fn from(unfit: Unfit) -> Self {
		match unfit {
			Unfit::Name => Self::BadName,
			Unfit::Participants => Self::BadParticipants,
			Unfit::Durations => Self::BadDurations,
			Unfit::Limits => Self::BadLimits,
			Unfit::Overlap => Self::BadOverlap,
			Unfit::Config(ConfigError::Dimension) => Self::BadDimension,
			Unfit::Config(ConfigError::Heads) => Self::BadHeads,
			Unfit::Config(ConfigError::TooLarge) => Self::ModelTooLarge,
			Unfit::Config(ConfigError::ArithmeticVersion) => Self::ArithmeticVersion,
			Unfit::Config(ConfigError::CommitInterval) => Self::CommitInterval,
			Unfit::Config(ConfigError::Hyperparameter) => Self::BadHyperparameter,
			Unfit::Config(ConfigError::Code) => Self::BadCode,
			Unfit::Config(ConfigError::LeastSteps) => Self::BadLeastSteps,
			Unfit::Config(ConfigError::Adapter) => Self::BadAdapter,
			Unfit::Config(ConfigError::Optimizer) => Self::BadOptimizer,
		}
	}
}

impl<T: Config> Pallet<T> {
	/// Run `id`, if it is active.
	pub(crate) fn active(id: RunId) -> Result<Run, Error<T>> {
		match Runs::<T>::get(id) {
			None => Err(Error::UnknownRun),
			Some(run) if run.finished_at.is_some() => Err(Error::RunFinished),
			Some(run) => Ok(run),
		}
	}

	/// Deposit for a run of so many rounds: for itself, and for every record that it may keep at a time.
	pub fn deposit(rounds: Option<RoundIndex>) -> Balance {
		let kept = T::RecordsKept::get();
		let records = rounds.map_or(kept, |rounds| rounds.min(kept));
		T::RunDeposit::get().saturating_add(T::RecordDeposit::get().saturating_mul(records.into()))
	}

	pub(crate) fn do_create_run(sponsor: AccountId, config: RunConfig) -> DispatchResult {
		expected::check(&config, T::MaxPhaseDuration::get()).map_err(Error::<T>::from)?;
		let dataset = config.dataset;
		let ActiveDataset { shape, vocab, masked, tokenizer, root: dataset_root } =
			T::Datasets::active(dataset).ok_or(Error::<T>::DatasetNotActive)?;
		ensure!((config.model.vocab, config.tokenizer) == (vocab, tokenizer), Error::<T>::WrongVocabulary);
		ensure!(config.train.masked == masked, Error::<T>::WrongMask);
		ensure!(expected::enough_to_train(&config, &shape), Error::<T>::DatasetTooSmall);
		ensure!(expected::enough_to_validate(&config, &shape), Error::<T>::HeldOutTooSmall);
		Self::check_start(&config)?;

		let id = NextRun::<T>::get();
		let next = id.checked_add(1).ok_or(Error::<T>::RunIdsExhausted)?;
		Active::<T>::try_mutate(|active| active.try_push(ActiveRun { run: id, due: None })).map_err(|_| Error::<T>::TooManyRuns)?;
		let deposit = Self::deposit(config.rounds);
		T::Currency::hold(&HoldReason::Run.into(), &sponsor, deposit)?;
		T::Datasets::acquire(dataset)?;

		NextRun::<T>::put(next);
		let genesis_root = config.genesis_root;
		Rounds::<T>::insert(id, Round::joining(0, 0, None));
		let run = Run {
			sponsor: sponsor.clone(),
			deposit,
			config,
			shape,
			dataset_root,
			approved: false,
			rounds_adopted: 0,
			checkpoint: genesis_root,
			replay: None,
			spans: Spans::default(),
			finished_at: None,
		};
		Runs::<T>::insert(id, run);
		Self::deposit_event(Event::RunCreated { run: id, sponsor, dataset, genesis_root, deposit });
		Ok(())
	}

	/// Checks that the checkpoint that a run is to start from has the root that its configuration states, and is that of the run that this names, which trains
	/// the same.
	fn check_start(config: &RunConfig) -> Result<(), Error<T>> {
		let RunStart::Given { of, .. } = config.start else { return Ok(()) };
		ensure!(config.start.root(0, 0) == Some(config.genesis_root), Error::<T>::WrongStart);
		let Some((other, round)) = of else { return Ok(()) };
		let run = Runs::<T>::get(other).ok_or(Error::<T>::UnknownRun)?;
		let [mine, theirs] = [config, &run.config].map(|config| config.train.adapter.map(|adapter| adapter.place()));
		ensure!(mine == theirs, Error::<T>::WrongStart);
		let checkpoint = match round.checked_sub(1) {
			None => Some(run.config.genesis_root),
			Some(before) => Records::<T>::get(other, before).filter(|record| !record.fallen).map(|record| record.checkpoint),
		};
		let steps = u64::from(round).saturating_mul(run.config.train.inner_steps.into());
		ensure!(checkpoint.is_some() && config.start.root(round, steps) == checkpoint, Error::<T>::WrongStart);
		Ok(())
	}

	pub(crate) fn do_approve_run(id: RunId) -> DispatchResult {
		let mut run = Self::active(id)?;
		ensure!(!run.approved, Error::<T>::AlreadyApproved);
		ensure!(T::OnAdopted::can_audit(&run.config.train), Error::<T>::NotAuditable);
		run.approved = true;
		Runs::<T>::insert(id, run);
		Self::deposit_event(Event::RunApproved { run: id });
		Ok(())
	}

	/// Stops run `id` in the name of `sponsor`. Returns the places of the round under way.
	pub(crate) fn do_stop_run(sponsor: AccountId, id: RunId) -> Result<u32, DispatchError> {
		let run = Self::active(id)?;
		ensure!(sponsor == run.sponsor, Error::<T>::NotSponsor);
		Self::stop(id, run)
	}

	/// Ends an active run before its last round. Returns the places of the round under way.
	pub(crate) fn stop(id: RunId, run: Run) -> Result<u32, DispatchError> {
		let round = Rounds::<T>::get(id).ok_or(Error::<T>::UnknownRun)?;
		Self::void_all(id, &round);
		Self::finish(id, run, true);
		Ok(u32::try_from(round.participants.len()).unwrap_or(MAX_PARTICIPANTS))
	}

	/// Ends run `id`. All proofs of its round have been confirmed or voided.
	pub(crate) fn finish(id: RunId, mut run: Run, stopped: bool) {
		Rounds::<T>::remove(id);
		Members::<T>::remove(id);
		Absences::<T>::remove(id);
		Refusals::<T>::remove(id);
		Missing::<T>::remove(id);
		Residuals::<T>::remove(id);
		Quorums::<T>::remove(id);
		Drawn::<T>::remove(id);
		// Of the round under way: what adopted ones started from stays as long as their records.
		Starts::<T>::remove(id, run.rounds_adopted);
		Latecomers::<T>::remove(id, run.rounds_adopted);
		Bridges::<T>::remove(id, run.rounds_adopted);
		Self::forget_led(id, run.rounds_adopted);
		Self::leave_family(id);
		Active::<T>::mutate(|active| active.retain(|entry| entry.run != id));
		T::Datasets::release(run.config.dataset);
		T::Proofs::finish_run(id);
		// Nothing comes after it that could redo an outer step.
		run.replay = None;
		run.finished_at = Some(Self::now());
		Self::deposit_event(Event::RunFinished { run: id, rounds: run.rounds_adopted, checkpoint: run.checkpoint, stopped });
		Runs::<T>::insert(id, run);
	}

	/// Returns how many records were removed.
	pub(crate) fn do_remove_run(who: AccountId, id: RunId, limit: u32) -> Result<u32, DispatchError> {
		let run = Runs::<T>::get(id).ok_or(Error::<T>::UnknownRun)?;
		ensure!(who == run.sponsor, Error::<T>::NotSponsor);
		let finished_at = run.finished_at.ok_or(Error::<T>::RunActive)?;
		ensure!(Self::now() >= finished_at.saturating_add(T::HistoryPeriod::get()), Error::<T>::HistoryNeeded);
		// One more than the limit is looked at, to know whether any is left.
		let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
		let rounds: Vec<RoundIndex> = Records::<T>::iter_key_prefix(id).take(wanted.saturating_add(1)).collect();
		let records = u32::try_from(rounds.len()).unwrap_or(u32::MAX).min(limit);
		for round in rounds.iter().take(wanted) {
			Self::remove_record(id, *round);
		}
		if rounds.len() > wanted {
			Self::deposit_event(Event::HistoryRemoved { run: id, records });
		} else {
			T::Currency::release(&HoldReason::Run.into(), &run.sponsor, run.deposit, Precision::BestEffort)?;
			if T::Shares::exist(id) {
				T::Currency::hold(&HoldReason::Model.into(), &run.sponsor, T::ModelDeposit::get())?;
			}
			Runs::<T>::remove(id);
			Halted::<T>::remove(id);
			Self::deposit_event(Event::RunRemoved { run: id });
		}
		Ok(records)
	}

	/// Removes the record of an adopted round, and what is kept as long as that.
	pub(crate) fn remove_record(id: RunId, round: RoundIndex) {
		Records::<T>::remove(id, round);
		InnerSteps::<T>::remove(id, round);
		Starts::<T>::remove(id, round);
		Latecomers::<T>::remove(id, round);
		Bridges::<T>::remove(id, round);
		Led::<T>::remove(id, round);
	}

	/// The bond of `who`, if it may take part in a run with this smallest bond.
	pub(crate) fn stake(who: &AccountId, min_bond: Balance) -> Result<Balance, Error<T>> {
		ensure!(T::Providers::is_active(who, Role::Worker), Error::<T>::NotActiveWorker);
		let bond = T::Providers::bond(who);
		ensure!(bond >= min_bond, Error::<T>::BondTooSmall);
		Ok(bond)
	}

	/// See [`crate::Call::join`]. Returns how many members the quorum has that `who` leads.
	pub(crate) fn do_join(who: AccountId, id: RunId) -> Result<u32, DispatchError> {
		let (run, seats) = (Self::active(id)?, Quorums::<T>::get(id));
		let stake = Self::stake_of_place(&seats, &who, run.config.min_bond)?;
		Self::ensure_waited(id, &who)?;
		let mut members = Members::<T>::get(id);
		let place = members.binary_search(&who).err().ok_or(Error::<T>::AlreadyMember)?;
		ensure!(count(&members) < run.config.max_participants, Error::<T>::RunFull);
		members.try_insert(place, who.clone()).map_err(|_| Error::<T>::RunFull)?;
		Self::deposit_event(Event::Joined { run: id, who: who.clone() });
		Self::let_in(id, &run, &who, stake);
		Self::members_changed(id, &run, members);
		Ok(u32::try_from(led_by(&seats, &who).count()).unwrap_or(u32::MAX))
	}

	pub(crate) fn do_leave(who: AccountId, id: RunId) -> DispatchResult {
		let run = Self::active(id)?;
		ensure!(Self::remove_member(id, &run, who.clone()) || Self::leave_quorum(id, &run, &who), Error::<T>::NotMember);
		Ok(())
	}

	/// Ends the membership of `who` in an active run. Returns whether it was a member.
	pub(crate) fn remove_member(id: RunId, run: &Run, who: AccountId) -> bool {
		let mut members = Members::<T>::get(id);
		let Ok(place) = members.binary_search(&who) else { return false };
		members.remove(place);
		Self::deposit_event(Event::Left { run: id, who });
		Self::members_changed(id, run, members);
		true
	}

	/// Stores the members and, while Joining, sets or clears the deadline that depends on their number.
	fn members_changed(id: RunId, run: &Run, members: Accounts) {
		if let Some(mut round) = Rounds::<T>::get(id).filter(|round| round.stage == Stage::Joining) {
			let deadline = match round.deadline {
				_ if count(&members) < run.config.min_participants => None,
				None => Some(Self::now().saturating_add(run.config.durations.joining)),
				set => set,
			};
			if round.deadline != deadline {
				round.deadline = deadline;
				Self::deposit_event(Event::phase_started(id, &round));
			}
			Self::keep_joining(id, run, round, &members);
		}
		Members::<T>::insert(id, members);
	}

	/// Notes when run `id` is looked at next.
	pub(crate) fn schedule(id: RunId, due: Option<BlockNumber>) {
		Active::<T>::mutate(|active| {
			if let Some(entry) = active.iter_mut().find(|entry| entry.run == id) {
				entry.due = due;
			}
		});
	}

	/// Returns the amount that is held of `who` for runs, in planck.
	pub fn held(who: &AccountId) -> Balance {
		T::Currency::balance_on_hold(&HoldReason::Run.into(), who)
	}
}

fn count(members: &Accounts) -> u32 {
	u32::try_from(members.len()).unwrap_or(MAX_PARTICIPANTS)
}
