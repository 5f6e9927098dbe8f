//! Claims of adopted rounds: what they are judged by, and what becomes of those that are proven false.

use crate::{
	expected,
	round::{Round, Stage},
	transition, Config, Event, Pallet, Records, Rounds, Run, Runs,
};
use alloc::vec::Vec;
use frame_support::traits::Get;
use neuroshard_types::{
	dispute::{AttestationClaim, ClaimId, ClaimKind, Claims, OuterJob, WorkClaim},
	run::RunConfig,
	traits::WorkProofs,
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};

impl<T: Config> Pallet<T> {
	/// Outer steps of the round under way, if it is in Checkpointing.
	pub(crate) fn job_under_way(id: RunId) -> Option<OuterJob> {
		let (run, round) = (Runs::<T>::get(id)?, Rounds::<T>::get(id)?);
		if !matches!(round.stage, Stage::Checkpointing { .. }) {
			return None;
		}
		let included = round.participants.iter().filter(|participant| participant.included);
		let own = included.filter_map(|participant| participant.delta_root).collect();
		match run.replay {
			None => Some(OuterJob { first_round: round.round, start: run.checkpoint, steps: [own].into() }),
			Some(first) => Self::job(id, first, round.round, own),
		}
	}

	/// Outer steps of rounds `first` to `last` as the Checkpointing of `last` takes them, whose own step takes the deltas `own`.
	/// `first` is before `last`. `None` if a record is gone.
	fn job(id: RunId, first: RoundIndex, last: RoundIndex, own: Vec<H256>) -> Option<OuterJob> {
		let start = Records::<T>::get(id, first)?.start;
		let redone = (first..last).map(|round| Some(Records::<T>::get(id, round)?.deltas(last).collect()));
		let mut steps = redone.collect::<Option<Vec<Vec<H256>>>>()?;
		steps.push(own);
		Some(OuterJob { first_round: first, start, steps })
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
	fn revealed(run: RunId, round: RoundIndex) -> Vec<AccountId> {
		let places = Records::<T>::get(run, round).map(|record| record.places).unwrap_or_default();
		places.into_iter().filter(|place| place.revealed.is_some()).map(|place| place.account).collect()
	}

	fn audit_units(run: RunId) -> u128 {
		Runs::<T>::get(run).map_or(0, |run| run.paid_units::<T::Units>())
	}

	fn work(run: RunId, round: RoundIndex, who: &AccountId) -> Option<WorkClaim> {
		let record = Records::<T>::get(run, round)?;
		let work_hash = record.place(who)?.revealed?.work_hash;
		let position = u32::try_from(record.index(who)?).ok()?;
		let Run { config, shape, dataset_root, .. } = Runs::<T>::get(run)?;
		Some(WorkClaim { config, shape, dataset_root, start: record.start, seed: record.seed, position, work_hash })
	}

	fn attestation(run: RunId, round: RoundIndex, who: &AccountId) -> Option<AttestationClaim> {
		let record = Records::<T>::get(run, round)?;
		let checkpoint = record.place(who)?.attested?;
		let own = record.deltas(round).collect();
		let job = if record.first_round < round {
			Self::job(run, record.first_round, round, own)?
		} else {
			OuterJob { first_round: round, start: record.start, steps: [own].into() }
		};
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
		T::Proofs::void(who, expected::proof_key(*id, *index));
		Self::forget_residual(*id, who);
		let run = run.filter(|run| redo && run.finished_at.is_none());
		let replay = run.and_then(|run| Self::redo(*id, run, *index));
		Self::deposit_event(Event::WorkExcluded { claim: claim.clone(), replay });
	}

	fn condemn(claim: &ClaimId) {
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
		if matches!(kind, ClaimKind::Work | ClaimKind::Attestation) {
			T::Proofs::void(who, expected::proof_key(*id, *index));
		}
		T::Proofs::condemn(who);
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
