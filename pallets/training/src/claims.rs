//! Claims of adopted rounds: what they are judged by, and what becomes of those that are proven false.

use crate::{
	expected,
	round::{Round, Stage},
	transition, Config, Event, InnerSteps, Latecomers, Pallet, Participant, Record, Records, Rounds, Run, Runs, Works,
};
use alloc::vec::Vec;
use frame_support::traits::Get;
use neuroshard_types::{
	assignment::{place, Draw},
	dispute::{AttestationClaim, Base, ClaimId, ClaimKind, Claims, OuterJob, WorkClaim},
	run::RunConfig,
	traits::WorkProofs,
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};

/// An outer step of a job.
struct Step {
	/// Roots of its deltas, by account bytes ascending.
	deltas: Vec<H256>,
	/// Inner steps behind each, where deltas weigh by them.
	inner_steps: Option<Vec<u32>>,
}

impl Step {
	/// Of deltas, and inner steps behind them that count if they `weigh`.
	fn of(deltas: impl Iterator<Item = (H256, u32)>, weigh: bool) -> Self {
		let (deltas, inner_steps) = deltas.unzip();
		Self { deltas, inner_steps: weigh.then_some(inner_steps) }
	}

	/// A job of this step alone, from the checkpoint `start`.
	fn alone(self, first_round: RoundIndex, start: H256) -> OuterJob {
		OuterJob { first_round, start, steps: [self.deltas].into(), inner_steps: self.inner_steps.into_iter().collect() }
	}
}

impl<T: Config> Pallet<T> {
	/// Inner steps behind the work of a place, by its number, in an adopted round.
	fn steps_of_places(id: RunId, round: RoundIndex) -> impl Fn(usize) -> Option<u32> {
		let known = InnerSteps::<T>::get(id, round);
		let all = Runs::<T>::get(id).map(|run| run.config.train.inner_steps);
		move |place| known.as_ref().map_or(all, |steps| steps.get(place).copied())
	}

	/// Outer steps of the round under way, if it is in Checkpointing.
	pub(crate) fn job_under_way(id: RunId) -> Option<OuterJob> {
		let (run, round) = (Runs::<T>::get(id)?, Rounds::<T>::get(id)?);
		if !matches!(round.stage, Stage::Checkpointing { .. }) {
			return None;
		}
		let crossed = run.replay.and_then(|_| Self::crossed(id, round.round));
		let counts = |one: &&Participant| one.included && crossed.as_ref().is_none_or(|bridge| bridge.who != one.account);
		let included = round.participants.iter().filter(counts);
		let train = &run.config.train;
		let weighed = |who: &AccountId| Some(if train.weighs_steps() { Works::<T>::get(id, who)?.steps(train)? } else { 0 });
		let own = included.filter_map(|participant| Some((participant.delta_root?, weighed(&participant.account)?)));
		let own = Step::of(own, train.weighs_steps());
		match run.replay {
			None => Some(own.alone(round.round, run.checkpoint)),
			Some(first) => Self::job(id, first, round.round, own),
		}
	}

	/// The outer step of `record`, that of round `index`, as the Checkpointing of `last` takes it, whose first step is that of `first`. `None` if it takes inner steps that
	/// are gone.
	///
	/// Behind the first step, deltas of bridges are left out: they are the difference from a checkpoint with the fraud in it, and would put that back with the opposite sign.
	fn step(id: RunId, index: RoundIndex, record: &Record, (first, last): (RoundIndex, RoundIndex)) -> Option<Step> {
		let known = InnerSteps::<T>::get(id, index);
		let weighed = |place: usize| known.as_ref().map_or(Some(0), |steps| steps.get(place).copied());
		let crossed = Self::crossed(id, index).filter(|_| first < index).and_then(|bridge| record.index(&bridge.who));
		let deltas = record.deltas(last).filter(|(place, _)| Some(*place) != crossed).map(|(place, root)| Some((root, weighed(place)?)));
		let deltas = deltas.collect::<Option<Vec<_>>>()?;
		Some(Step::of(deltas.into_iter(), known.is_some()))
	}

	/// Outer steps of rounds `first` to `last` as the Checkpointing of `last` takes them, whose own step is `own`.
	/// `first` is before `last`. `None` if a record is gone.
	fn job(id: RunId, first: RoundIndex, last: RoundIndex, own: Step) -> Option<OuterJob> {
		let start = Records::<T>::get(id, first)?.start;
		let redone = (first..last).map(|round| Self::step(id, round, &Records::<T>::get(id, round)?, (first, last)));
		let mut steps = redone.collect::<Option<Vec<Step>>>()?;
		steps.push(own);
		let inner_steps = steps.iter_mut().filter_map(|step| step.inner_steps.take()).collect();
		Some(OuterJob { first_round: first, start, steps: steps.into_iter().map(|step| step.deltas).collect(), inner_steps })
	}

	/// Has the outer steps since `index` redone by the next Checkpointing of an active run, and returns the round that they are redone
	/// from. `None` if that is too long ago.
	fn redo(id: RunId, mut run: Run, index: RoundIndex) -> Option<RoundIndex> {
		let mut round = Rounds::<T>::get(id)?;
		let from = run.redo_from(index);
		let before = round.round.checked_sub(from)?;
		if before >= T::MaxReplay::get() {
			return None;
		}
		let restarts = transition::restart_checkpointing(&mut round, Self::now(), &run.config.durations);
		run.replay = Some(from);
		Runs::<T>::insert(id, run);
		if restarts {
			Self::announce_restart(id, round);
		}
		Some(from)
	}

	/// Strikes an account out of the round under way, which may be decided without it. In other runs it finds that its stake is gone.
	fn strike(id: RunId, who: &AccountId) {
		let Some(mut round) = Rounds::<T>::get(id) else { return };
		if round.strike(|participant| participant.account == *who) {
			Self::keep(id, round);
		}
	}

	fn announce_restart(id: RunId, round: Round) {
		Self::deposit_event(Event::phase_started(id, &round));
		Self::keep(id, round);
	}
}

impl<T: Config> Claims for Pallet<T> {
	fn revealed(run: RunId, round: RoundIndex) -> Vec<(AccountId, u32)> {
		let places = Records::<T>::get(run, round).map(|record| record.places).unwrap_or_default();
		let steps = Self::steps_of_places(run, round);
		let places = places.into_iter().enumerate().filter(|(_, place)| place.revealed.is_some());
		places.filter_map(|(number, place)| Some((place.account, steps(number)?))).collect()
	}

	fn audit_units(run: RunId, steps: u32) -> u128 {
		Runs::<T>::get(run).map_or(0, |run| run.paid_units::<T::Units>(steps))
	}

	fn work(run: RunId, round: RoundIndex, who: &AccountId) -> Option<WorkClaim> {
		let record = Records::<T>::get(run, round)?;
		let work_hash = record.place(who)?.revealed?.work_hash;
		let steps = Self::steps_of_places(run, round)(record.index(who)?)?;
		let position = place(record.places.iter().map(|place| &place.account), &Latecomers::<T>::get(run, round), who)?;
		let Run { config, shape, dataset_root, .. } = Runs::<T>::get(run)?;
		let bridge = Self::crossed(run, round).filter(|bridge| bridge.who == *who);
		let quorum = Self::quorum_of(run, round, record.seed, who);
		let draw = Draw::new(&config, (run, round), record.seed, &shape);
		let base = bridge.as_ref().map(|_| Base { checkpoint: record.start, round });
		let start = bridge.map(|bridge| (bridge.checkpoint, bridge.round));
		let (start, start_round) = start.unwrap_or_else(|| Self::inner_start(run, round, record.start));
		Some(WorkClaim { config, shape, dataset_root, start, start_round, base, draw, position, work_hash, steps, quorum })
	}

	fn attestation(run: RunId, round: RoundIndex, who: &AccountId) -> Option<AttestationClaim> {
		let record = Records::<T>::get(run, round)?;
		let checkpoint = record.place(who)?.attested?;
		let own = Self::step(run, round, &record, (record.first_round, round))?;
		let job = if record.first_round < round { Self::job(run, record.first_round, round, own)? } else { own.alone(round, record.start) };
		Some(AttestationClaim { config: Runs::<T>::get(run)?.config, job, checkpoint })
	}

	fn config(run: RunId) -> Option<RunConfig> {
		Runs::<T>::get(run).map(|run| run.config)
	}

	fn is_condemned(claim: &ClaimId) -> bool {
		Records::<T>::get(claim.run, claim.round).is_some_and(|record| record.is_condemned(claim.kind, &claim.who))
	}

	fn adopted_at(run: RunId, round: RoundIndex) -> Option<BlockNumber> {
		Records::<T>::get(run, round).map(|record| record.adopted_at)
	}

	fn hold(who: &AccountId) {
		T::Proofs::hold(who);
	}

	fn release(who: &AccountId) {
		T::Proofs::release(who);
	}

	fn exclude(claim: &ClaimId) {
		let ClaimId { run: id, round: index, kind, who } = claim;
		if *kind != ClaimKind::Work {
			return;
		}
		let run = Runs::<T>::get(id);
		let redo = match Records::<T>::get(id, index) {
			Some(mut record) => {
				let next = run.as_ref().map_or(RoundIndex::MAX, |run| run.rounds_adopted);
				let Some(redo) = record.exclude(who, next) else { return };
				Records::<T>::insert(id, index, record);
				redo
			}
			None => false,
		};
		Self::void_place(*id, *index, who, expected::proof_key(*id, *index));
		Self::forget_residual(*id, who);
		let run = run.filter(|run| redo && run.finished_at.is_none());
		let replay = run.and_then(|run| Self::redo(*id, run, *index));
		Self::deposit_event(Event::WorkExcluded { claim: claim.clone(), replay });
	}

	fn condemn(claim: &ClaimId, culprit: &AccountId) {
		let ClaimId { run: id, round: index, kind, who } = claim;
		let run = Runs::<T>::get(id);
		let redo = match Records::<T>::get(id, index) {
			// It is in no record.
			_ if matches!(kind, ClaimKind::Audit | ClaimKind::Answer(_)) => false,
			Some(mut record) => {
				let next = run.as_ref().map_or(RoundIndex::MAX, |run| run.rounds_adopted);
				let Some(redo) = record.condemn(*kind, who, next) else { return };
				Records::<T>::insert(id, index, record);
				redo
			}
			// The dispute has outlived the record: the claim is punished, but the round cannot be redone.
			None => false,
		};
		match kind {
			ClaimKind::Work => Self::void_place(*id, *index, who, expected::proof_key(*id, *index)),
			ClaimKind::Attestation => T::Proofs::void(who, expected::proof_key(*id, *index)),
			ClaimKind::Audit | ClaimKind::Answer(_) => {}
		}
		T::Proofs::condemn(culprit);
		if *kind == ClaimKind::Work {
			Self::forget_residual(*id, who);
		}
		let mut replay = None;
		if let Some(run) = run.filter(|run| run.finished_at.is_none()) {
			Self::remove_member(*id, &run, who.clone());
			Self::strike(*id, who);
			replay = if redo { Self::redo(*id, run, *index) } else { None };
		}
		Self::deposit_event(Event::ClaimCondemned { claim: claim.clone(), replay });
	}
}
