//! Benchmarks of every call and hook in its most expensive case.

use crate::{
	BarPeriod, Call, Candidates, Config, Cooldown, Exposure, HoldReason, MinNomination, MinSelfBond, Nominations, NominationsOf, Offenders,
	Owed, Pallet, Sessions, Status, ValidatorCount, MAX_NOMINATIONS, MAX_NOMINATORS, MAX_UNBONDING_CHUNKS,
};
use alloc::{vec, vec::Vec};
use frame_benchmarking::v2::*;
#[cfg(feature = "runtime-benchmarks")]
use frame_support::traits::EnsureOrigin;
use frame_support::traits::{
	fungible::{Inspect, Mutate},
	Get,
};
use frame_system::{pallet_prelude::BlockNumberFor, RawOrigin};
use neuroshard_types::{AccountId, Balance, BlockNumber};
use sp_runtime::Perbill;
use sp_staking::offence::{OffenceDetails, OnOffenceHandler};

/// An amount that is worth bonding and nominating, and keeps an account alive.
fn unit<T: Config>() -> Balance {
	MinSelfBond::<T>::get().max(MinNomination::<T>::get()).max(T::Currency::minimum_balance()).max(1_000)
}

/// The account number `index` of some kind, with 1,000 units to spend and session keys.
fn funded<T: Config>(kind: &'static str, index: u32) -> AccountId {
	let who = account(kind, index, 0);
	T::Currency::set_balance(&who, unit::<T>().saturating_mul(1_000));
	T::Sessions::register(&who);
	who
}

fn set_block<T: Config>(block: BlockNumber) {
	frame_system::Pallet::<T>::set_block_number(BlockNumberFor::<T>::from(block));
}

/// Goes on to the block in which everything that is unbonding now has unlocked.
fn unlock_all<T: Config>() {
	let now = frame_system::Pallet::<T>::block_number();
	frame_system::Pallet::<T>::set_block_number(now + BlockNumberFor::<T>::from(Cooldown::<T>::get()));
}

/// A candidate with 100 units and a commission, `chunks` more units unbonding, and `nominators` nominations of two units.
fn candidate<T: Config>(kind: &'static str, chunks: u32, nominators: u32) -> Result<AccountId, BenchmarkError> {
	let who = funded::<T>(kind, 0);
	let origin = || RawOrigin::Signed(who.clone());
	let bond = unit::<T>().saturating_mul(100u128.saturating_add(chunks.into()));
	Pallet::<T>::bond(origin().into(), bond, Perbill::from_percent(5))?;
	for index in 0..nominators {
		let nominator = funded::<T>("nominator", index);
		Pallet::<T>::nominate(RawOrigin::Signed(nominator).into(), who.clone(), unit::<T>().saturating_mul(2))
			.map_err(|failed| failed.error)?;
	}
	for block in 1..=chunks {
		set_block::<T>(block);
		Pallet::<T>::unbond(origin().into(), unit::<T>())?;
	}
	Ok(who)
}

/// A nomination of 100 units for a candidate, with `chunks` more units unbonding and as many other nominations as there can be.
fn nomination<T: Config>(chunks: u32) -> Result<(AccountId, AccountId), BenchmarkError> {
	let who = funded::<T>("who", 0);
	let origin = || RawOrigin::Signed(who.clone());
	for index in 1..MAX_NOMINATIONS.min(T::MaxCandidates::get()) {
		let other = funded::<T>("other", index);
		if Candidates::<T>::count() < T::MaxCandidates::get().saturating_sub(1) {
			Pallet::<T>::bond(RawOrigin::Signed(other.clone()).into(), unit::<T>(), Perbill::zero())?;
			Pallet::<T>::nominate(origin().into(), other, unit::<T>()).map_err(|failed| failed.error)?;
		}
	}
	let id = candidate::<T>("candidate", 0, 0)?;
	let amount = unit::<T>().saturating_mul(100u128.saturating_add(chunks.into()));
	Pallet::<T>::nominate(origin().into(), id.clone(), amount).map_err(|failed| failed.error)?;
	for block in 1..=chunks {
		set_block::<T>(block);
		Pallet::<T>::unnominate(origin().into(), id.clone(), unit::<T>())?;
	}
	Ok((who, id))
}

/// Most validators of which there can be twice as many candidates.
fn most_validators<T: Config>() -> u32 {
	T::MaxValidators::get().min(T::MaxCandidates::get() / 2)
}

/// So many candidates with so many units each.
fn candidates<T: Config>(kind: &'static str, count: u32, units: Balance) -> Result<Vec<AccountId>, BenchmarkError> {
	let bonded = |index| {
		let who = funded::<T>(kind, index);
		Pallet::<T>::bond(RawOrigin::Signed(who.clone()).into(), unit::<T>().saturating_mul(units), Perbill::zero())?;
		Ok(who)
	};
	(0..count).map(bonded).collect()
}

/// Lets none of `chilled` be elected, and all of `active`.
fn chill_only<T: Config>(chilled: &[AccountId], active: &[AccountId]) {
	for (list, status) in [(chilled, Status::Chilled), (active, Status::Active)] {
		for who in list {
			Candidates::<T>::mutate(who, |entry| entry.iter_mut().for_each(|it| it.status = status));
		}
	}
}

/// Pays the candidate `id` a reward of a unit.
fn earn<T: Config>(id: &AccountId) -> Result<(), BenchmarkError> {
	T::Currency::mint_into(&Pallet::<T>::pot(), unit::<T>())?;
	Pallet::<T>::reward(id, unit::<T>());
	Ok(())
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn bond() {
		let who = funded::<T>("candidate", 0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), unit::<T>(), Perbill::from_percent(5));

		assert!(Candidates::<T>::contains_key(&who));
	}

	#[benchmark]
	fn bond_extra() -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS, 1)?;
		earn::<T>(&who)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), unit::<T>());

		assert_eq!(Candidates::<T>::get(&who).map(|it| it.own.stake.active), Some(unit::<T>().saturating_mul(101)));
		Ok(())
	}

	#[benchmark]
	fn unbond() -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS - 1, 1)?;
		earn::<T>(&who)?;
		set_block::<T>(MAX_UNBONDING_CHUNKS);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), unit::<T>());

		assert_eq!(Candidates::<T>::get(&who).map(|it| it.own.stake.unbonding.is_full()), Some(true));
		Ok(())
	}

	#[benchmark]
	fn withdraw_unbonded(n: Linear<0, MAX_NOMINATORS>) -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS - 1, n)?;
		earn::<T>(&who)?;
		Pallet::<T>::unbond(RawOrigin::Signed(who.clone()).into(), unit::<T>().saturating_mul(100))?;
		unlock_all::<T>();

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert!(!Candidates::<T>::contains_key(&who));
		Ok(())
	}

	#[benchmark]
	fn chill() -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS, 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert_eq!(Candidates::<T>::get(&who).map(|it| it.status), Some(Status::Chilled));
		Ok(())
	}

	#[benchmark]
	fn activate() -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS, 0)?;
		Pallet::<T>::chill(RawOrigin::Signed(who.clone()).into())?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert_eq!(Candidates::<T>::get(&who).map(|it| it.status), Some(Status::Active));
		Ok(())
	}

	#[benchmark]
	fn set_commission() -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS, 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), Perbill::from_percent(50));

		assert!(Candidates::<T>::get(&who).is_some_and(|it| it.next_commission.is_some()));
		Ok(())
	}

	/// Either there is room, or all nominations are read.
	#[benchmark]
	fn nominate(n: Linear<0, 1>) -> Result<(), BenchmarkError> {
		let id = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS, n.saturating_mul(MAX_NOMINATORS))?;
		earn::<T>(&id)?;
		let who = funded::<T>("who", 0);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), id.clone(), unit::<T>().saturating_mul(3));

		assert!(Nominations::<T>::contains_key(&id, &who));
		Ok(())
	}

	#[benchmark]
	fn unnominate() -> Result<(), BenchmarkError> {
		let (who, id) = nomination::<T>(MAX_UNBONDING_CHUNKS - 1)?;
		earn::<T>(&id)?;
		set_block::<T>(MAX_UNBONDING_CHUNKS);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), id.clone(), unit::<T>());

		assert_eq!(Nominations::<T>::get(&id, &who).map(|it| it.stake.unbonding.is_full()), Some(true));
		Ok(())
	}

	#[benchmark]
	fn withdraw_nomination() -> Result<(), BenchmarkError> {
		let (who, id) = nomination::<T>(MAX_UNBONDING_CHUNKS - 1)?;
		earn::<T>(&id)?;
		Pallet::<T>::unnominate(RawOrigin::Signed(who.clone()).into(), id.clone(), unit::<T>().saturating_mul(100))?;
		unlock_all::<T>();

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), id.clone());

		assert!(!NominationsOf::<T>::get(&who).contains(&id));
		Ok(())
	}

	#[benchmark]
	fn claim_rewards() -> Result<(), BenchmarkError> {
		let (who, id) = nomination::<T>(MAX_UNBONDING_CHUNKS)?;
		earn::<T>(&id)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), id);

		assert_eq!(Owed::<T>::get(&who), 0);
		Ok(())
	}

	#[benchmark]
	fn set_validator_count() -> Result<(), BenchmarkError> {
		// The trait has this function for benchmarks alone; who may call is root in the mock.
		#[cfg(feature = "runtime-benchmarks")]
		let origin = T::AdminOrigin::try_successful_origin().map_err(|_| BenchmarkError::Weightless)?;
		#[cfg(not(feature = "runtime-benchmarks"))]
		let origin = T::RuntimeOrigin::from(RawOrigin::Root);

		#[extrinsic_call]
		_(origin as T::RuntimeOrigin, 1);

		assert_eq!(ValidatorCount::<T>::get(), 1);
		Ok(())
	}

	#[benchmark]
	fn note_author() -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS, 1)?;

		#[block]
		{
			earn::<T>(&who)?;
		}

		assert!(Owed::<T>::get(&who) > 0);
		Ok(())
	}

	#[benchmark]
	fn punish(n: Linear<0, MAX_NOMINATORS>) -> Result<(), BenchmarkError> {
		let who = candidate::<T>("candidate", MAX_UNBONDING_CHUNKS, n)?;
		earn::<T>(&who)?;
		let offender = OffenceDetails { offender: (who.clone(), Exposure::default()), reporters: vec![] };

		#[block]
		{
			let _ = <Pallet<T> as OnOffenceHandler<_, _, _>>::on_offence(&[offender], &[Perbill::from_percent(50)], 0);
		}

		let until = frame_system::Pallet::<T>::block_number() + BlockNumberFor::<T>::from(BarPeriod::<T>::get());
		assert_eq!(Offenders::<T>::get(&who).map(|it| BlockNumberFor::<T>::from(it.barred_until)), Some(until));
		assert!(Pallet::<T>::held(HoldReason::SelfBond, &who) < unit::<T>().saturating_mul(100));
		Ok(())
	}

	/// All validators leave, others begin, and the first ones are planned again, with `c` candidates beside them.
	#[benchmark]
	fn rotate_session(
		c: Linear<0, { T::MaxCandidates::get() - 2 * most_validators::<T>() }>,
		v: Linear<1, { most_validators::<T>() }>,
	) -> Result<(), BenchmarkError> {
		let _ = Candidates::<T>::clear(u32::MAX, None);
		let (one, other) = (candidates::<T>("one", v, 2)?, candidates::<T>("other", v, 2)?);
		candidates::<T>("candidate", c, 1)?;
		ValidatorCount::<T>::put(v);
		chill_only::<T>(&other, &one);
		T::Sessions::rotate();
		chill_only::<T>(&one, &other);
		T::Sessions::rotate();
		chill_only::<T>(&other, &one);
		let session = T::Sessions::current();

		#[block]
		{
			T::Sessions::rotate();
		}

		assert_eq!(T::Sessions::current(), session + 1);
		assert!(T::Sessions::validators().iter().all(|who| other.contains(who)));
		assert!(T::Sessions::queued().iter().all(|(who, _)| one.contains(who)));
		let left = |who: &AccountId| Candidates::<T>::get(who).is_some_and(|it| it.reportable_until > 0);
		assert!(one.iter().all(left));
		Ok(())
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
