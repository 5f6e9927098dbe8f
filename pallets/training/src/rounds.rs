//! Life of a round: what participants do in it, how it moves on, how it starts and ends.

use crate::{
	cohorts::{self, Sealed},
	expected::{self, Mismatch},
	quorums::{self, free_stakes},
	record::{Place, Record, Revealed, StepsOfPlaces},
	replay::{self, Span},
	round::{Accounts, Commitment},
	tally,
	transition::{self, AbortReason, Limits, Outcome},
	Active, Bridges, Config, Drawn, Error, Event, InnerSteps, Latecomers, Led, Members, Pallet, Participant, Quorums, Records, Round,
	Rounds, Run, Runs, Stage, Starts, WeightInfo, Works,
};
use alloc::vec::Vec;
use frame_support::{ensure, traits::Get, weights::Weight, BoundedVec};
use neuroshard_types::{
	audit::OnAdopted,
	proof::{Proof, ProofSignature},
	quorum::led_by,
	run::{is_vote_for, Attestation, Phase, VoteBitmap, Work},
	traits::{Clock, Providers, WorkProofs},
	AccountId, BlockNumber, RoundIndex, RunId, H256, MAX_PARTICIPANTS,
};
use sp_runtime::DispatchError;

impl<T: Config> Event<T> {
	/// That the phase of `round` began.
	pub(crate) fn phase_started(run: RunId, round: &Round) -> Self {
		let (phase, deadline) = (round.stage.phase(), round.deadline);
		Self::PhaseStarted { run, round: round.round, attempt: round.attempt, phase, deadline }
	}
}

impl<T> From<Mismatch> for Error<T> {
	fn from(mismatch: Mismatch) -> Self {
		match mismatch {
			Mismatch::StateRoots => Self::WrongStateRoots,
			Mismatch::Tokens => Self::WrongTokens,
			Mismatch::DeltaBytes => Self::WrongDeltaBytes,
		}
	}
}

/// Numbers that an act is weighed by.
#[derive(Clone, Copy)]
pub(crate) struct Acted {
	/// Places of the round.
	pub(crate) places: u32,
	/// True if the stake behind each of them was read.
	pub(crate) stakes_read: bool,
}

// What participants do; `at` is the round and its attempt.
impl<T: Config> Pallet<T> {
	pub(crate) fn open(id: RunId) -> Result<(Run, Round), Error<T>> {
		let run = Self::active(id)?;
		let round = Rounds::<T>::get(id).ok_or(Error::UnknownRun)?;
		Ok((run, round))
	}

	/// The place of `who`, if it may do now what `phase` asks for and as much of its bond can be slashed as its votes weigh. A part may
	/// have left since the round started, before a reveal keeps it where it is, or may have been slashed.
	pub(crate) fn actor<'a>(
		round: &'a mut Round,
		who: &AccountId,
		at: (RoundIndex, u32),
		phase: Phase,
	) -> Result<&'a mut Participant, Error<T>> {
		let participant = round.actor(who, at, phase)?;
		ensure!(T::Providers::slashable(who) >= participant.stake, Error::<T>::StakeGone);
		Ok(participant)
	}

	pub(crate) fn do_commit(who: AccountId, id: RunId, at: (RoundIndex, u32), sealed: H256) -> Result<Acted, DispatchError> {
		let (run, mut round) = Self::open(id)?;
		let participant = Self::actor(&mut round, &who, at, Phase::Training)?;
		participant.commitment = Some(Commitment { sealed, at: T::Clock::now() });
		Self::deposit_event(Event::Committed { run: id, round: at.0, who, sealed });
		Ok(Self::acted(id, run, round))
	}

	pub(crate) fn do_reveal(
		who: AccountId,
		id: RunId,
		at: (RoundIndex, u32),
		salt: &[u8; 32],
		work: Work,
		proof: &Proof,
		signature: &ProofSignature,
	) -> Result<Acted, DispatchError> {
		let (index, _) = at;
		let (run, mut round) = Self::open(id)?;
		let started_ms = Starts::<T>::get(id, index).map_or(round.started_at.1, |start| start.drawn_at);
		let participant = Self::actor(&mut round, &who, at, Phase::Revealing)?;
		let commitment = participant.commitment.ok_or(Error::<T>::DroppedOut)?;
		let genesis = frame_system::Pallet::<T>::block_hash(frame_system::pallet_prelude::BlockNumberFor::<T>::default());
		let sealed = Sealed { genesis, who: &who, salt, work: &work };
		ensure!(Self::opens(id, at, commitment.sealed, sealed), Error::<T>::SealBroken);
		expected::check_work(&work, &run.config.model, &run.config.train).map_err(Error::<T>::from)?;
		Self::ensure_residual(id, &run.config, &who, &work)?;
		let work_hash = expected::work_hash(&work);
		ensure!(proof.key == expected::proof_key(id, index) && proof.work_hash == work_hash, Error::<T>::WrongProof);
		let mut claim = expected::claim(&run.config, work.tokens, started_ms, commitment.at);
		// Its hardware has done what is its own of it.
		claim.flops = Self::own_part(&run, &Led::<T>::get(id, index), &who, claim.flops);
		T::Proofs::submit(&who, proof, signature, claim)?;

		let delta_root = work.delta_root;
		participant.delta_root = Some(delta_root);
		Works::<T>::insert(id, &who, work);
		Self::deposit_event(Event::Revealed { run: id, round: index, who, delta_root });
		Ok(Self::acted(id, run, round))
	}

	pub(crate) fn do_vote(who: AccountId, id: RunId, at: (RoundIndex, u32), vote: VoteBitmap) -> Result<Acted, DispatchError> {
		let (run, mut round) = Self::open(id)?;
		let revealed = round.revealed().count();
		let participant = Self::actor(&mut round, &who, at, Phase::Availability)?;
		ensure!(is_vote_for(&vote, revealed), Error::<T>::BadVote);
		participant.vote = Some(vote.clone());
		Self::deposit_event(Event::Voted { run: id, round: at.0, who, vote });
		Ok(Self::acted(id, run, round))
	}

	pub(crate) fn do_attest(who: AccountId, id: RunId, at: (RoundIndex, u32), attestation: Attestation) -> Result<Acted, DispatchError> {
		let (run, mut round) = Self::open(id)?;
		let participant = Self::actor(&mut round, &who, at, Phase::Checkpointing)?;
		participant.attestation = Some(attestation);
		Self::deposit_event(Event::Attested { run: id, round: at.0, who, attestation });
		Ok(Self::acted(id, run, round))
	}

	/// Stores `round` after somebody acted; moves it on if that is cheap, else has it looked at in the next block.
	fn acted(id: RunId, run: Run, mut round: Round) -> Acted {
		let places = count(round.participants.len());
		// First, since what it decides is cheap only as long as nobody else is to go.
		let stakes_read = round.stage.phase() == Phase::Availability && round.all_acted();
		if stakes_read {
			Self::strike_gone(&mut round);
		}
		if transition::moves_lightly(&round) {
			Self::move_on(id, run, round);
		} else {
			Self::keep(id, round);
		}
		Acted { places, stakes_read }
	}
}

// How a round moves on.
impl<T: Config> Pallet<T> {
	/// Moves runs on that are due, longest due first, until `budget` is used up; at least one. The rest is due in the next block.
	pub(crate) fn advance_due(budget: Weight) -> Weight {
		let now = Self::now();
		let entries = Active::<T>::get().into_iter();
		let mut due: Vec<_> = entries.filter_map(|entry| Some((entry.due.filter(|due| *due <= now)?, entry.run))).collect();
		due.sort_unstable();
		let mut weight = T::WeightInfo::on_initialize();
		for (moved, (_, id)) in due.into_iter().enumerate() {
			if moved > 0 && weight.any_gt(budget) {
				break;
			}
			if let (Some(run), Some(round)) = (Runs::<T>::get(id), Rounds::<T>::get(id)) {
				weight = weight.saturating_add(Self::advance(id, run, round));
			}
		}
		weight
	}

	/// Stores a round that waits for members, and when it is looked at next.
	pub(crate) fn keep_joining(id: RunId, run: &Run, round: Round, members: &Accounts) {
		let full = count(members.len()) >= run.config.max_participants;
		Self::schedule(id, if full { Some(Self::now().saturating_add(1)) } else { round.deadline });
		Rounds::<T>::insert(id, round);
	}

	/// Stores a round with participants, and when it is looked at next.
	pub(crate) fn keep(id: RunId, round: Round) {
		Self::schedule(id, transition::due(&round, Self::now()));
		Rounds::<T>::insert(id, round);
	}

	fn advance(id: RunId, run: Run, mut round: Round) -> Weight {
		let weight = T::WeightInfo::advance(count(round.participants.len()));
		if round.stage == Stage::Joining {
			// Due, so either the deadline has passed or no more members are taken.
			return weight.saturating_add(Self::begin(id, &run, round.round, round.attempt, None));
		}
		if matches!(round.stage.phase(), Phase::Availability | Phase::Checkpointing) {
			Self::strike_gone(&mut round);
		}
		Self::move_on(id, run, round)
	}

	/// Strikes out those who revealed and have lost of their stake since, for claims in another run: what is included and adopted has the
	/// stakes behind it that it counts with.
	fn strike_gone(round: &mut Round) {
		round.strike(|participant| participant.delta_root.is_some() && T::Providers::slashable(&participant.account) < participant.stake);
	}

	/// Moves a round with participants on, if its phase is over.
	fn move_on(id: RunId, run: Run, mut round: Round) -> Weight {
		let weight = T::WeightInfo::advance(count(round.participants.len()));
		let phase = round.stage.phase();
		let members = Members::<T>::get(id);
		let limits = Limits { durations: &run.config.durations, repeats: T::MaxRepeats::get() };
		let (absent, outcome) = transition::advance(&mut round, &members, Self::now(), limits);
		Self::drop_out(id, &run, &round, phase, members, absent);
		match outcome {
			Outcome::Adopts(root) => return weight.saturating_add(Self::adopt(id, run, round, root)),
			Outcome::Aborts(reason) => return weight.saturating_add(Self::abort(id, &run, &round, reason)),
			Outcome::Moved => Self::announce(id, &round),
			Outcome::Repeats => Self::announce_repeat(id, &round),
			Outcome::Waits => {}
		}
		Self::keep(id, round);
		weight
	}

	fn announce(id: RunId, round: &Round) {
		if round.stage.phase() == Phase::Checkpointing {
			let included = round.participants.iter().filter(|participant| participant.included);
			let included = included.map(|participant| participant.account.clone()).collect();
			Self::deposit_event(Event::DeltasIncluded { run: id, round: round.round, included });
		}
		Self::deposit_event(Event::phase_started(id, round));
	}

	fn announce_repeat(id: RunId, round: &Round) {
		if let Stage::Availability { repeats } | Stage::Checkpointing { repeats, .. } = round.stage {
			let (phase, deadline) = (round.stage.phase(), round.deadline);
			Self::deposit_event(Event::PhaseRepeated { run: id, round: round.round, attempt: round.attempt, phase, repeats, deadline });
		}
	}

	fn drop_out(id: RunId, run: &Run, round: &Round, phase: Phase, mut members: Accounts, absent: Vec<AccountId>) {
		if absent.is_empty() {
			return;
		}
		members.retain(|member| absent.binary_search(member).is_err());
		Members::<T>::insert(id, members);
		Self::note_absent(id, run, round, &absent);
		for who in absent {
			T::Providers::note_failure(&who, 1);
			Self::deposit_event(Event::DroppedOut { run: id, round: round.round, who, phase });
		}
	}
}

// How a round starts and ends.
impl<T: Config> Pallet<T> {
	/// Starts an attempt with the holders of `places`, or with all members, or waits for more. Where rounds overlap, those of a round that was drawn
	/// hold its places, and `places` are those of the next one.
	///
	/// Members that are no longer eligible lose their membership. A given place whose holder is no member stays, uncounted.
	pub(crate) fn begin(id: RunId, run: &Run, index: RoundIndex, attempt: u32, places: Option<Accounts>) -> Weight {
		// Whoever came late to an aborted attempt is there from the beginning of the next one.
		Latecomers::<T>::remove(id, index);
		Self::forget_led(id, index);
		// An attempt after an aborted one is another than was drawn.
		let drawn = Drawn::<T>::take(id).filter(|_| attempt == 0);
		let mut members = Members::<T>::get(id);
		let seats = Quorums::<T>::get(id);
		let seen = seats.len();
		let mut stakes = Vec::new();
		members.retain(|who| match Self::stake_of_place(&seats, who, run.config.min_bond) {
			Ok(stake) => {
				stakes.push(stake);
				true
			}
			Err(_) => {
				Self::deposit_event(Event::Left { run: id, who: who.clone() });
				false
			}
		});
		let next = places.unwrap_or_else(|| members.clone());
		let places = drawn.as_ref().map_or_else(|| next.clone(), |drawn| drawn.places.clone());
		let mut participants = BoundedVec::new();
		for account in places {
			let stake = members.binary_search(&account).ok().and_then(|member| stakes.get(member));
			let counted = stake.is_some();
			// As many as in `places`, which has the same bound.
			let _ = participants.try_push(Participant::new(account, stake.copied().unwrap_or(0), counted));
		}
		let weight = T::WeightInfo::begin(count(participants.len().max(members.len())))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(cohorts::at_begin::<T>())
			.saturating_add(quorums::at_begin::<T>(seen));

		let now = Self::now();
		let counted = participants.iter().filter(|participant| participant.counted).count();
		if count(counted) >= run.config.min_participants {
			let checkpoint = run.checkpoint;
			let seed = drawn.as_ref().map_or_else(|| Self::draw_seed(id, run, index, attempt), |drawn| drawn.seed);
			let deadline = now.saturating_add(run.config.durations.training);
			let names = participants.iter().map(|participant| participant.account.clone()).collect();
			Self::deposit_event(Event::RoundStarted { run: id, round: index, attempt, checkpoint, seed, participants: names, deadline });
			let (adoptable_at, started_at) = (now.saturating_add(Self::shortest_round()), (now, T::Clock::now()));
			let (stage, deadline) = (Stage::Training, Some(deadline));
			if run.config.overlaps {
				Starts::<T>::insert(id, index, drawn.map_or_else(|| Self::start_now(run), |drawn| drawn.start));
				Self::draw_ahead(id, run, (index, attempt), next);
			}
			let round = Round { round: index, attempt, stage, deadline, adoptable_at, seed, started_at, participants };
			Self::draw_bridge(id, run, &round);
			Self::note_led(id, index, seats, |who| round.participant(who).is_some_and(|one| one.counted));
			Self::keep(id, round);
		} else {
			Starts::<T>::remove(id, index);
			Bridges::<T>::remove(id, index);
			let enough = count(members.len()) >= run.config.min_participants;
			let round = Round::joining(index, attempt, enough.then(|| now.saturating_add(run.config.durations.joining)));
			Self::deposit_event(Event::phase_started(id, &round));
			Self::keep_joining(id, run, round, &members);
		}
		Members::<T>::insert(id, members);
		weight
	}

	/// Fewest blocks from the start of a round to its adoption: so many that no record is removed that a dispute may still need.
	///
	/// The record of round q goes when round `q + RecordsKept` is adopted. A claim that it is needed for is one of a round before
	/// `q + MaxReplay`, whose attestation may be about the outer step of q.
	pub fn shortest_round() -> BlockNumber {
		let rounds = T::RecordsKept::get().saturating_sub(T::MaxReplay::get()).saturating_add(1);
		T::DisputePeriod::get().div_ceil(rounds)
	}

	/// Ends a round with the checkpoint `root`, settles all proofs, and starts the next round.
	fn adopt(id: RunId, mut run: Run, round: Round, root: H256) -> Weight {
		let index = round.round;
		let seats = Led::<T>::get(id, index);
		let weight = T::WeightInfo::settle(count(round.participants.len()))
			.saturating_add(T::DbWeight::get().writes(2))
			.saturating_add(quorums::at_adoption::<T>(seats.len()));
		let key = expected::proof_key(id, index);
		let train = &run.config.train;
		let paid_units = run.paid_units::<T::Units>(train.inner_steps);
		let mut places = Vec::with_capacity(round.participants.len());
		let mut inner_steps = Vec::with_capacity(round.participants.len());
		let mut residuals = Vec::new();
		for participant in &round.participants {
			let who = &participant.account;
			let mut steps = 0;
			let revealed = participant.delta_root.and_then(|delta_root| {
				let work = Works::<T>::take(id, who)?;
				steps = work.steps(train)?;
				let left = work.residuals(train).filter(|_| participant.stake > 0);
				// What the code of a delta says that is not included is not part of the model: it goes on with what it began with.
				residuals.extend(left.map(|[before, after]| (who.clone(), if participant.included { after } else { before })));
				let work_hash = expected::work_hash(&work);
				Some(Revealed { delta_root, work_hash })
			});
			// The open claim of its proof has kept the stake so far. It ends, or may end, before the claims of this round.
			if revealed.is_some() {
				T::Providers::note_disputable(who);
				led_by(&seats, who).filter(|seat| seat.who != *who).for_each(|seat| T::Providers::note_disputable(&seat.who));
			}
			if participant.included {
				Self::confirm_place(&run, &seats, who, key, run.units::<T::Units>(steps));
			} else if revealed.is_some() {
				T::Proofs::void(who, key);
				// A dropout's failure was noted when it dropped out; a success is noted when the proof becomes final.
				if participant.counted {
					T::Providers::note_failure(who, 1);
				}
			}
			places.push(Place::new(participant, revealed));
			inner_steps.push(steps);
		}
		free_stakes::<T>(&seats);
		if train.weighs_steps() {
			InnerSteps::<T>::insert(id, index, StepsOfPlaces::truncate_from(inner_steps));
		}
		Self::forgive(id, &round);
		Self::keep_residuals(id, &run.config, residuals);
		let included = round.participants.iter().filter(|participant| participant.included).count();
		// Whoever attests `root` attests a loss, and there is a quorum of them.
		let validation_loss = tally::median_loss(&round.participants, root).unwrap_or_default();
		let first_round = run.replay.take().unwrap_or(index);
		let record = Record {
			seed: round.seed,
			start: run.checkpoint,
			first_round,
			places: BoundedVec::truncate_from(places),
			checkpoint: root,
			fallen: false,
			validation_loss,
			adopted_at: Self::now(),
		};
		Records::<T>::insert(id, index, record);
		T::OnAdopted::adopted(id, index);
		if let Some(old) = index.checked_sub(T::RecordsKept::get()) {
			Self::remove_record(id, old);
		}
		if first_round < index {
			// Longer ago, nothing can be redone any more.
			let oldest = index.saturating_sub(T::MaxReplay::get());
			replay::note(&mut run.spans, Span { from: first_round, until: index }, oldest);
		}
		let next_places = match round.stage {
			Stage::Checkpointing { next, .. } => Some(next),
			_ => None,
		};
		let included = count(included);
		Self::deposit_event(Event::RoundAdopted { run: id, round: index, checkpoint: root, validation_loss, included, units: paid_units });

		run.rounds_adopted = run.rounds_adopted.saturating_add(1);
		run.checkpoint = root;
		let next = run.rounds_adopted;
		if !Self::has_round(&run, next) {
			Self::finish(id, run, false);
			return weight.saturating_add(cohorts::at_end::<T>());
		}
		let weight = weight.saturating_add(Self::begin(id, &run, next, 0, next_places));
		Runs::<T>::insert(id, run);
		weight
	}

	/// Ends an attempt without a checkpoint and starts the next one from the same.
	fn abort(id: RunId, run: &Run, round: &Round, reason: AbortReason) -> Weight {
		Self::void_all(id, round);
		Self::deposit_event(Event::RoundAborted { run: id, round: round.round, attempt: round.attempt, reason });
		T::WeightInfo::settle(count(round.participants.len())).saturating_add(Self::begin(
			id,
			run,
			round.round,
			round.attempt.saturating_add(1),
			None,
		))
	}

	/// Voids every proof of `round`.
	pub(crate) fn void_all(id: RunId, round: &Round) {
		for participant in round.revealed() {
			Works::<T>::remove(id, &participant.account);
			T::Proofs::void(&participant.account, expected::proof_key(id, round.round));
		}
	}
}

/// A number of places or members: never more than [`MAX_PARTICIPANTS`].
fn count(len: usize) -> u32 {
	u32::try_from(len).unwrap_or(MAX_PARTICIPANTS)
}
