//! Benchmarks of every call and transition, and of what a dispute asks for, in its most expensive case.

mod setup;

use crate::{round::Accounts, Active, Call, Config, Halted, HoldReason, Members, Pallet, Records, Round, Rounds, Runs};
use alloc::vec::Vec;
use frame_benchmarking::v2::*;
use frame_support::{
	traits::{fungible::InspectHold, Get},
	weights::Weight,
};
use frame_system::RawOrigin;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, Claims},
	run::{Act, Phase},
	AccountId,
};
pub use setup::BenchmarkHelper;
use setup::*;

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn create_run() -> Result<(), BenchmarkError> {
		let sponsor = T::BenchmarkHelper::sponsor();
		crowd::<T>();
		let config = going_on::<T>()?;

		#[extrinsic_call]
		_(RawOrigin::Signed(sponsor), config);

		assert_eq!(Runs::<T>::iter_keys().count(), 2);
		Ok(())
	}

	#[benchmark]
	fn approve_run() -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;

		#[extrinsic_call]
		_(T::BenchmarkHelper::approver() as T::RuntimeOrigin, run);

		assert!(stored::<T>(run)?.approved);
		Ok(())
	}

	#[benchmark]
	fn stop_run(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, ..) = waiting::<T>(p, Phase::Checkpointing)?;
		T::BenchmarkHelper::retire();
		let sponsor = stored::<T>(run)?.sponsor;

		#[extrinsic_call]
		_(RawOrigin::Signed(sponsor), run);

		assert!(stored::<T>(run)?.finished_at.is_some());
		Ok(())
	}

	#[benchmark]
	fn force_stop_run(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, ..) = waiting::<T>(p, Phase::Checkpointing)?;
		T::BenchmarkHelper::retire();

		#[extrinsic_call]
		_(T::BenchmarkHelper::stopper() as T::RuntimeOrigin, run, reason());

		assert!(stored::<T>(run)?.finished_at.is_some());
		Ok(())
	}

	#[benchmark]
	fn halt_model() -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;

		#[extrinsic_call]
		_(T::BenchmarkHelper::stopper() as T::RuntimeOrigin, run, reason());

		assert!(Halted::<T>::contains_key(run));
		Ok(())
	}

	#[benchmark]
	fn lift_halt() -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;
		Pallet::<T>::halt_model(T::BenchmarkHelper::stopper(), run, reason())?;

		#[extrinsic_call]
		_(T::BenchmarkHelper::stopper() as T::RuntimeOrigin, run, reason());

		assert!(!Halted::<T>::contains_key(run));
		Ok(())
	}

	#[benchmark]
	fn join() -> Result<(), BenchmarkError> {
		let (run, members) = joined::<T>(128)?;
		let last = members.last().cloned().ok_or("a member")?;
		Pallet::<T>::leave(origin::<T>(&last), run)?;
		drop_out::<T>(run, &members);

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run);

		assert_eq!(Members::<T>::get(run).len(), 128);
		Ok(())
	}

	#[benchmark]
	fn leave() -> Result<(), BenchmarkError> {
		let (run, members) = joined::<T>(128)?;
		let first = members.first().cloned().ok_or("a member")?;

		#[extrinsic_call]
		_(RawOrigin::Signed(first), run);

		assert_eq!(Members::<T>::get(run).len(), 127);
		Ok(())
	}

	#[benchmark]
	fn commit(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(p, Phase::Training)?;
		let sealed = sealed::<T>(run, &last, &work::<T>(members.len() - 1));

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, index::<T>(), 0, sealed);

		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Revealing));
		Ok(())
	}

	#[benchmark]
	fn reveal(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(p, Phase::Revealing)?;
		let work = work::<T>(members.len() - 1);
		let (proof, signature) = proven::<T>(run, &last, &work);

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, index::<T>(), 0, SALT, work, proof, signature);

		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Availability));
		Ok(())
	}

	#[benchmark]
	fn vote_availability(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(p, Phase::Availability)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, index::<T>(), 0, everybody(&members));

		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Checkpointing));
		Ok(())
	}

	/// Everybody attests something else.
	#[benchmark]
	fn attest(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, _, last) = waiting::<T>(p, Phase::Checkpointing)?;
		Rounds::<T>::mutate_extant(run, |round| {
			let words = round.participants.iter_mut().filter_map(|participant| participant.attestation.as_mut());
			words.enumerate().for_each(|(place, word)| word.checkpoint = work::<T>(place).delta_root);
		});

		#[extrinsic_call]
		_(RawOrigin::Signed(last), run, index::<T>(), 0, attestation());

		let next = Pallet::<T>::now().saturating_add(1);
		assert!(Active::<T>::get().iter().any(|entry| entry.run == run && entry.due == Some(next)));
		Ok(())
	}

	/// It is refused, as those of all others were before.
	#[benchmark]
	fn check_act() -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(128, Phase::Training)?;
		Runs::<T>::mutate_extant(run, |run| run.approved = true);
		let act = Act { run, round: index::<T>(), attempt: 0, phase: Phase::Training };
		let deadline = Rounds::<T>::get(run).and_then(|round| round.deadline).ok_or("a deadline")?;
		members.iter().filter(|who| **who != last).for_each(|who| Pallet::<T>::note_refused(who, act, deadline));
		let room;

		#[block]
		{
			room = Pallet::<T>::has_room(&last, &act);
			Pallet::<T>::note_refused(&last, act, deadline);
		}

		assert_eq!((room, Pallet::<T>::has_room(&last, &act)), (Some(deadline), None));
		Ok(())
	}

	/// The model has an owner, and is halted.
	#[benchmark]
	fn remove_run(r: Linear<0, 64>) -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;
		(0..r).for_each(|round| Records::<T>::insert(run, round, record()));
		T::BenchmarkHelper::own(run);
		Pallet::<T>::halt_model(T::BenchmarkHelper::stopper(), run, reason())?;
		Pallet::<T>::force_stop_run(T::BenchmarkHelper::stopper(), run, reason()).map_err(|e| e.error)?;
		let end = Pallet::<T>::now().saturating_add(T::HistoryPeriod::get());
		frame_system::Pallet::<T>::set_block_number(end.into());
		let sponsor = stored::<T>(run)?.sponsor;

		#[extrinsic_call]
		_(RawOrigin::Signed(sponsor.clone()), run, r);

		assert!(!Runs::<T>::contains_key(run) && Records::<T>::iter_prefix(run).next().is_none());
		assert_eq!(T::Currency::balance_on_hold(&HoldReason::Model.into(), &sponsor), T::ModelDeposit::get());
		Ok(())
	}

	/// All runs are due, and there is no time for any but the first, which there is not: moving a run on is weighed apart.
	#[benchmark]
	fn on_initialize() {
		crowd::<T>();
		Active::<T>::mutate(|active| active.iter_mut().for_each(|entry| entry.due = Some(0)));
		let weight;

		#[block]
		{
			weight = Pallet::<T>::advance_due(Weight::zero());
		}

		assert_eq!(weight, <T::WeightInfo as crate::WeightInfo>::on_initialize());
	}

	/// All but one miss the vote on the deltas, which are included by that one. It has so much of the stake that the others are no mass: all that
	/// is remembered of dropouts makes room for theirs.
	#[benchmark]
	fn advance(p: Linear<2, 128>) -> Result<(), BenchmarkError> {
		let (run, ..) = waiting::<T>(p, Phase::Availability)?;
		drop_out::<T>(run, &[]);
		Rounds::<T>::mutate_extant(run, |round| {
			round.participants.iter_mut().skip(1).for_each(|participant| (participant.vote, participant.stake) = (None, 1));
		});
		let deadline = Rounds::<T>::get(run).and_then(|round| round.deadline).ok_or("a deadline")?;
		frame_system::Pallet::<T>::set_block_number(deadline.into());

		#[block]
		{
			Pallet::<T>::advance_due(Weight::MAX);
		}

		assert_eq!(Members::<T>::get(run).len(), 1);
		assert_eq!(Rounds::<T>::get(run).map(|round| round.stage.phase()), Some(Phase::Checkpointing));
		Ok(())
	}

	/// The last round of an approved run is adopted, outer steps having been redone for it: it is noted for audits, the oldest record goes, all who
	/// took part are forgiven their dropouts, and the dataset leaves with the run.
	#[benchmark]
	fn settle(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members, last) = waiting::<T>(p, Phase::Checkpointing)?;
		let round = index::<T>();
		Pallet::<T>::attest(origin::<T>(&last), run, round, 0, attestation()).map_err(|e| e.error)?;
		drop_out::<T>(run, &members);
		Records::<T>::insert(run, 0, record());
		T::BenchmarkHelper::note_adopted();
		T::BenchmarkHelper::retire();
		Runs::<T>::mutate_extant(run, |run| {
			run.approved = true;
			run.config.rounds = Some(round.saturating_add(1));
			run.replay = round.checked_sub(1);
		});
		let next = Pallet::<T>::now().saturating_add(1);
		frame_system::Pallet::<T>::set_block_number(next.into());

		#[block]
		{
			Pallet::<T>::advance_due(Weight::MAX);
		}

		assert!(stored::<T>(run)?.finished_at.is_some() && !Records::<T>::contains_key(run, 0));
		let first_rounds = Records::<T>::iter_prefix_values(run).map(|record| record.first_round);
		assert_eq!(first_rounds.collect::<Vec<_>>(), [round.saturating_sub(1)]);
		Ok(())
	}

	/// A round starts whose places are those of other accounts but for one, and all other members have too small a bond by now.
	#[benchmark]
	fn begin(p: Linear<1, 128>) -> Result<(), BenchmarkError> {
		let (run, members) = joined::<T>(p)?;
		members.iter().skip(1).for_each(T::BenchmarkHelper::impoverish);
		Runs::<T>::mutate_extant(run, |run| (run.config.min_participants, run.config.min_bond, run.config.overlaps) = (1, 2, true));
		let others = (1..p).map(|number| account("place", number, 0));
		let mut places: Vec<AccountId> = members.first().cloned().into_iter().chain(others).collect();
		places.sort();
		let (stored, places) = (stored::<T>(run)?, Accounts::truncate_from(places));

		#[block]
		{
			Pallet::<T>::begin(run, &stored, index::<T>(), 1, Some(places));
		}

		let places = Rounds::<T>::get(run).filter(|round| round.stage.phase() == Phase::Training).map(|round| round.participants.len());
		assert_eq!((places, Members::<T>::get(run).len()), (usize::try_from(p).ok(), 1));
		Ok(())
	}

	#[benchmark]
	fn claim(r: Linear<1, 64>) -> Result<(), BenchmarkError> {
		let (run, _) = joined::<T>(1)?;
		let record = record();
		(0..r).for_each(|round| Records::<T>::insert(run, round, record.clone()));
		let who = record.places.first().map(|place| place.account.clone()).ok_or("a place")?;
		let found;

		#[block]
		{
			found = Pallet::<T>::attestation(run, r - 1, &who);
		}

		assert_eq!(found.map(|found| found.job.steps.len()), usize::try_from(r).ok());
		Ok(())
	}

	/// A delta is false, and the next round is in Checkpointing.
	#[benchmark]
	fn condemn() -> Result<(), BenchmarkError> {
		let (run, before) = adopted::<T>()?;
		let places = Rounds::<T>::get(run).ok_or("a round under way")?;
		Rounds::<T>::insert(run, Round { round: places.round, attempt: places.attempt, ..before });
		let who = Members::<T>::get(run).first().cloned().ok_or("a member")?;

		#[block]
		{
			Pallet::<T>::condemn(&ClaimId { run, round: index::<T>(), kind: ClaimKind::Work, who: who.clone() }, &who);
		}

		assert_eq!((stored::<T>(run)?.replay, Members::<T>::get(run).len()), (Some(index::<T>()), 127));
		Ok(())
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
