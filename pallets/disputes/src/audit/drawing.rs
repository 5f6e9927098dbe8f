//! Draws: which rounds wait for theirs, and what comes of it.

use super::{
	lots::{draw, Lot},
	Audit, Noted, Part, EPOCHS,
};
use crate::{
	AuditShare, Audits, Closings, ClosingsSpan, Config, Drawn, Event, Pallet, ReportTime, SealTime, Undrawn, UndrawnSpan, Verifiers,
	WeightInfo,
};
use alloc::vec::Vec;
use codec::Encode;
use frame_support::{
	traits::{Get, Randomness},
	weights::Weight,
};
use neuroshard_graph::merkle::blake2_256;
use neuroshard_types::{
	audit::{sampled_steps, OnAdopted},
	dispute::{ClaimId, ClaimKind, Claims},
	BlockNumber, RoundIndex, RunId, TrainConfig, H256,
};

impl<T: Config> OnAdopted for Pallet<T> {
	fn adopted(run: RunId, round: RoundIndex) {
		if AuditShare::<T>::get().is_zero() || T::Claims::audit_units(run, u32::MAX) == 0 {
			return;
		}
		let noted = Noted { run, round, epoch: T::Epochs::get() };
		UndrawnSpan::<T>::mutate(|span| Undrawn::<T>::insert(span.append(), noted));
	}

	fn can_audit(train: &TrainConfig) -> bool {
		AuditShare::<T>::get().is_zero() || !sampled_steps(train, train.inner_steps).is_empty()
	}
}

/// Blocks that an audit takes from its draw, with as much time for a challenge of a sample as there is for making one.
pub(crate) fn time_needed(seal_time: BlockNumber, report_time: BlockNumber) -> BlockNumber {
	seal_time.saturating_mul(2).saturating_add(report_time)
}

impl<T: Config> Pallet<T> {
	/// Draws audits of the oldest round that waits for it, if it is time. Returns the weight.
	pub(crate) fn draw_due() -> Weight {
		let mut span = UndrawnSpan::<T>::get();
		let idle = T::WeightInfo::draw_idle();
		let Some(number) = span.oldest() else { return idle };
		let drawn = match Undrawn::<T>::get(number) {
			Some(noted) if T::Epochs::get() < noted.epoch.saturating_add(EPOCHS) => return idle,
			Some(Noted { run, round, .. }) => Self::draw_round(run, round),
			None => 0,
		};
		Undrawn::<T>::remove(number);
		span.pass();
		UndrawnSpan::<T>::put(span);
		idle.saturating_add(T::WeightInfo::draw(drawn))
	}

	/// Draws audits of a round and returns how many.
	pub(crate) fn draw_round(run: RunId, round: RoundIndex) -> u32 {
		let Some((closes_at, lots)) = Self::lots_of(run, round) else {
			Self::deposit_event(Event::AuditsSkipped { run, round });
			return 0;
		};
		let drawn_at = Self::now();
		let seal_by = drawn_at.saturating_add(SealTime::<T>::get());
		let report_by = seal_by.saturating_add(ReportTime::<T>::get());
		let mut span = ClosingsSpan::<T>::get();
		let mut drawn = 0u32;
		for Lot { subject, auditors, step, steps } in lots {
			let units = T::Claims::audit_units(run, steps);
			for auditor in &auditors {
				Drawn::<T>::insert(auditor, (run, round), &subject);
			}
			let parts = auditors.clone().map(Part::new);
			let audit = Audit { step, units, drawn_at, seal_by, report_by, closes_at, overdue: false, parts };
			let claim = ClaimId { run, round, kind: ClaimKind::Work, who: subject.clone() };
			Audits::<T>::insert(&claim, audit);
			Closings::<T>::insert(span.append(), claim);
			Self::deposit_event(Event::AuditDrawn { run, round, subject, auditors, step, seal_by });
			drawn = drawn.saturating_add(1);
		}
		ClosingsSpan::<T>::put(span);
		drawn
	}

	/// Returns the lots of a round, and the block in which its audits close. `None` if nothing can be: the record is gone, every state is committed, or
	/// too little is left of the challenge window.
	fn lots_of(run: RunId, round: RoundIndex) -> Option<(BlockNumber, Vec<Lot>)> {
		let closes_at = T::Claims::adopted_at(run, round)?.saturating_add(T::ChallengeWindow::get());
		let needed = time_needed(SealTime::<T>::get(), ReportTime::<T>::get());
		if Self::now().saturating_add(needed) > closes_at {
			return None;
		}
		let claimants = T::Claims::revealed(run, round);
		let train = T::Claims::config(run)?.train;
		if claimants.iter().all(|(_, steps)| sampled_steps(&train, *steps).is_empty()) {
			return None;
		}
		let epoch = T::Epochs::get();
		let verifiers = Verifiers::<T>::get().into_iter().filter(|verifier| verifier.takes_part(epoch));
		let verifiers = verifiers.map(|verifier| verifier.account).collect();
		let (randomness, _) = T::AuditRandomness::random(b"neuroshard/audit");
		let seed = H256(blake2_256(&(b"neuroshard/audit-draw/1", randomness, run, round).encode()));
		Some((closes_at, draw(seed, AuditShare::<T>::get(), claimants, verifiers, |steps| sampled_steps(&train, steps))))
	}
}
