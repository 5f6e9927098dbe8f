//! Participants of whom the others hear nothing any more.
//!
//! Whoever has acted in a phase, and hears of none of those that the phase still waits for, reports them. If two thirds of the stake report
//! everybody who is waited for, the deadline of the phase is the next block: nobody waits for the dead. Who decides here could as well have left a delta
//! out by its votes. A report counts for [`REPORTED_FOR`] blocks, so that those of different interruptions do not add up.
//!
//! [`REPORTED_FOR`]: neuroshard_types::run::REPORTED_FOR

use crate::{
	round::Round,
	tally::{stake_of, two_thirds},
	Config, Error, Event, Missing, Pallet, Rounds,
};
use alloc::vec::Vec;
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{ensure, traits::ConstU32, BoundedVec};
use neuroshard_types::{
	run::{is_vote_for, vote_of, MissingReport, Phase, VoteBitmap},
	traits::Providers,
	AccountId, BlockNumber, RoundIndex, RunId, MAX_PARTICIPANTS,
};
use scale_info::TypeInfo;
use sp_runtime::DispatchError;

/// By account bytes ascending, each once.
type Words = BoundedVec<MissingReport, ConstU32<MAX_PARTICIPANTS>>;

/// Reports of participants in one phase.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Reports {
	round: RoundIndex,
	attempt: u32,
	phase: Phase,
	/// Deadline of the phase, which tells it from one that was repeated.
	deadline: Option<BlockNumber>,
	words: Words,
}

impl Reports {
	/// None yet in the phase that `round` is in.
	fn none(round: &Round) -> Self {
		let (phase, deadline) = (round.stage.phase(), round.deadline);
		Self { round: round.round, attempt: round.attempt, phase, deadline, words: Words::default() }
	}

	/// Notes a report in place of what its author reported before. `false` if that is the same, and still counts.
	fn note(&mut self, report: MissingReport) -> bool {
		match self.words.binary_search_by(|other| other.who.cmp(&report.who)) {
			Ok(place) => match self.words.get_mut(place) {
				Some(known) if known.missing != report.missing || !known.counts(report.at) => *known = report,
				_ => return false,
			},
			// All of them are participants of one round.
			Err(place) => return self.words.try_insert(place, report).is_ok(),
		}
		true
	}

	/// Returns whether two thirds of the stake that counts report everybody who is waited for in block `now`.
	fn is_decisive(&self, round: &Round, now: BlockNumber) -> bool {
		let whole = stake_of(round.counted());
		let has_acted = |who: &AccountId| round.participant(who).filter(|one| one.counted && one.has_acted(self.phase));
		let counting = self.words.iter().filter(|word| word.counts(now));
		let reporters: Vec<_> = counting.filter_map(|word| Some((has_acted(&word.who)?, &word.missing))).collect();
		let report = |place: usize| reporters.iter().filter(move |(_, missing)| vote_of(missing, place)).map(|(one, _)| *one);
		let mut waited_for = round.participants.iter().enumerate().filter(|(_, one)| one.counted && !one.has_acted(self.phase)).peekable();
		waited_for.peek().is_some() && waited_for.all(|(place, _)| two_thirds(stake_of(report(place)), whole))
	}

	/// Returns whether this is of the phase that `round` is in.
	fn is_of(&self, round: &Round) -> bool {
		(self.round, self.attempt, self.phase, self.deadline) == (round.round, round.attempt, round.stage.phase(), round.deadline)
	}

	/// Returns whether participants of `round` can have reported this, in the phase it is in or an earlier one.
	pub(crate) fn is_sound(&self, round: &Round) -> bool {
		let ascending = self.words.windows(2).all(|pair| matches!(pair, [before, after] if before.who < after.who));
		let possible = |word: &MissingReport| {
			round.participant(&word.who).is_some_and(|one| one.has_acted(self.phase))
				&& is_vote_for(&word.missing, round.participants.len())
		};
		ascending
			&& !self.words.is_empty()
			&& (self.round, self.attempt) <= (round.round, round.attempt)
			&& (!self.is_of(round) || self.words.iter().all(possible))
	}
}

impl<T: Config> Pallet<T> {
	/// Returns the reports in the phase that `round` of run `id` is in.
	pub(crate) fn reports(id: RunId, round: &Round) -> Reports {
		Missing::<T>::get(id).filter(|known| known.is_of(round)).unwrap_or_else(|| Reports::none(round))
	}

	/// Returns the reports of the phase under way, for the view function.
	pub(crate) fn reported(id: RunId) -> Vec<MissingReport> {
		Rounds::<T>::get(id).map(|round| Self::reports(id, &round).words.into_inner()).unwrap_or_default()
	}

	/// Notes what `who` reports. If that decides it, the deadline of the phase is the next block. Returns the number of places.
	pub(crate) fn do_report_missing(
		who: AccountId,
		id: RunId,
		at: (RoundIndex, u32),
		phase: Phase,
		missing: VoteBitmap,
	) -> Result<u32, DispatchError> {
		let (_, mut round) = Self::open(id)?;
		ensure!(matches!(phase, Phase::Training | Phase::Revealing | Phase::Availability), Error::<T>::WrongPhase);
		let participant = round.place(&who, at, phase).map_err(Error::<T>::from)?;
		ensure!(participant.has_acted(phase), Error::<T>::NotActed);
		ensure!(T::Providers::slashable(&who) >= participant.stake, Error::<T>::StakeGone);
		let (places, now) = (round.participants.len(), Self::now());
		ensure!(is_vote_for(&missing, places), Error::<T>::BadVote);
		let mut reports = Self::reports(id, &round);
		ensure!(reports.note(MissingReport { who: who.clone(), at: now, missing: missing.clone() }), Error::<T>::AlreadyActed);
		Self::deposit_event(Event::ReportedMissing { run: id, round: at.0, who, phase, missing });
		let next = now.saturating_add(1);
		if reports.is_decisive(&round, now) && round.deadline.is_none_or(|deadline| next < deadline) {
			// Who was reported may still act in this block; what was reported is settled.
			Missing::<T>::remove(id);
			round.deadline = Some(next);
			Self::keep(id, round);
		} else {
			Missing::<T>::insert(id, reports);
		}
		Ok(u32::try_from(places).unwrap_or(MAX_PARTICIPANTS))
	}
}
