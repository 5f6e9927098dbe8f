//! Benchmarks of every call in its most expensive case.

use crate::{
	Call, Config, Cooldown, HoldReason, MinBond, Operators, OwnerOf, Pallet, Providers, VerifierMinimums, MAX_LOCK_DAYS,
	MAX_UNBONDING_CHUNKS, SWEPT,
};
use alloc::vec;
use frame_benchmarking::v2::*;
use frame_support::{
	traits::fungible::{Inspect, InspectHold, Mutate},
	BoundedVec,
};
use frame_system::{pallet_prelude::BlockNumberFor, RawOrigin};
use neuroshard_types::{
	provider::{HardwareProfile, ProviderInfo, ProviderStatus, Role, Roles},
	AccountId, Balance, H256,
};

/// The largest info there is, different for every `tag`.
fn info(tag: u8) -> ProviderInfo {
	let mut ponw_key = [tag; 33];
	ponw_key[0] = 2;
	let mut peer_id = vec![tag; 44];
	(peer_id[0], peer_id[1]) = (0, 42);
	let address: BoundedVec<u8, _> = BoundedVec::truncate_from(vec![tag; 128]);
	ProviderInfo {
		roles: Roles::only(Role::Worker).with(Role::Verifier),
		hardware: HardwareProfile { gflops: 200, memory_mib: 8_192, bandwidth_kib_s: 12_500 },
		ponw_key,
		peer_id: BoundedVec::truncate_from(peer_id),
		addresses: BoundedVec::truncate_from(vec![address; 8]),
	}
}

/// An amount that is worth bonding and keeps an account alive.
fn unit<T: Config>() -> Balance {
	let verifiers = VerifierMinimums::<T>::get().least(1);
	MinBond::<T>::get().max(T::Currency::minimum_balance()).max(verifiers).max(1_000)
}

/// An account with 1,000 units to spend.
fn funded<T: Config>() -> AccountId {
	let who = whitelisted_caller();
	T::Currency::set_balance(&who, unit::<T>().saturating_mul(1_000));
	who
}

fn held<T: Config>(who: &AccountId) -> Balance {
	T::Currency::balance_on_hold(&HoldReason::Bond.into(), who)
}

/// Returns the answer that a provider must give to prove its arithmetic.
fn answer<T: Config>(who: &AccountId) -> H256 {
	match Providers::<T>::get(who).map(|provider| provider.status) {
		Some(ProviderStatus::Unproven { challenge }) => H256(neuroshard_kernels::kat::drawn(challenge.0)),
		_ => H256::zero(),
	}
}

/// A provider with an active bond of 100 units and `chunks` more units unbonding, each in its own block.
fn provider<T: Config>(chunks: u32) -> Result<AccountId, BenchmarkError> {
	let who = funded::<T>();
	let origin = || RawOrigin::Signed(who.clone());
	let bond = unit::<T>().saturating_mul(100u128.saturating_add(chunks.into()));
	Pallet::<T>::register(origin().into(), info(1), bond)?;
	Pallet::<T>::prove_arithmetic(origin().into(), answer::<T>(&who))?;
	for block in 1..=chunks {
		frame_system::Pallet::<T>::set_block_number(block.into());
		Pallet::<T>::unbond(origin().into(), unit::<T>())?;
	}
	Ok(who)
}

/// An operator of `owner` that serves it.
fn operator<T: Config>(owner: &AccountId) -> Result<AccountId, BenchmarkError> {
	let operator = AccountId::new([0x0b; 32]);
	Pallet::<T>::set_operator(RawOrigin::Signed(owner.clone()).into(), Some(operator.clone()))?;
	Pallet::<T>::serve(RawOrigin::Signed(operator.clone()).into(), Some(owner.clone()))?;
	Ok(operator)
}

/// Goes on to the block in which everything that is unbonding now has unlocked.
fn unlock_all<T: Config>() {
	let now = frame_system::Pallet::<T>::block_number();
	frame_system::Pallet::<T>::set_block_number(now + BlockNumberFor::<T>::from(Cooldown::<T>::get()));
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn register() {
		let who = funded::<T>();

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), info(1), unit::<T>());

		assert!(Providers::<T>::contains_key(&who));
	}

	/// By a faster machine, which is tested.
	#[benchmark]
	fn update_info() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;
		let mut faster = info(2);
		faster.hardware.gflops = faster.hardware.gflops.saturating_add(1);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), faster.clone());

		let provider = Providers::<T>::get(&who).ok_or(BenchmarkError::Stop("a provider"))?;
		assert!(provider.info == faster && matches!(provider.status, ProviderStatus::Unproven { .. }));
		Ok(())
	}

	#[benchmark]
	fn bond_extra() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;
		let before = held::<T>(&who);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), unit::<T>());

		assert_eq!(held::<T>(&who), before + unit::<T>());
		Ok(())
	}

	#[benchmark]
	fn unbond() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS - 1)?;
		frame_system::Pallet::<T>::set_block_number(MAX_UNBONDING_CHUNKS.into());

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), unit::<T>());

		assert_eq!(Providers::<T>::get(&who).map(|provider| provider.bond.unbonding.is_full()), Some(true));
		Ok(())
	}

	#[benchmark]
	fn withdraw_unbonded() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS - 1)?;
		operator::<T>(&who)?;
		Pallet::<T>::deregister(RawOrigin::Signed(who.clone()).into())?;
		unlock_all::<T>();

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert!(!Providers::<T>::contains_key(&who));
		Ok(())
	}

	#[benchmark]
	fn chill() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert_eq!(Providers::<T>::get(&who).map(|provider| provider.status), Some(ProviderStatus::Chilled));
		Ok(())
	}

	#[benchmark]
	fn activate() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;
		Pallet::<T>::chill(RawOrigin::Signed(who.clone()).into())?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert_eq!(Providers::<T>::get(&who).map(|provider| provider.status), Some(ProviderStatus::Active));
		Ok(())
	}

	#[benchmark]
	fn deregister() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS - 1)?;
		frame_system::Pallet::<T>::set_block_number(MAX_UNBONDING_CHUNKS.into());

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()));

		assert_eq!(Providers::<T>::get(&who).map(|provider| provider.bond.active), Some(0));
		Ok(())
	}

	#[benchmark]
	fn prove_arithmetic() -> Result<(), BenchmarkError> {
		let who = funded::<T>();
		Pallet::<T>::register(RawOrigin::Signed(who.clone()).into(), info(1), unit::<T>())?;
		let digest = answer::<T>(&who);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), digest);

		assert_eq!(Providers::<T>::get(&who).map(|provider| provider.status), Some(ProviderStatus::Active));
		Ok(())
	}

	#[benchmark]
	fn lock() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), MAX_LOCK_DAYS);

		assert!(Providers::<T>::get(&who).is_some_and(|provider| provider.locked_until > 0));
		Ok(())
	}

	#[benchmark]
	fn report_sybil() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;

		#[extrinsic_call]
		_(RawOrigin::Root, who.clone());

		assert_eq!(held::<T>(&who), 0);
		Ok(())
	}

	#[benchmark]
	fn set_operator() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;
		let before = operator::<T>(&who)?;
		let next = AccountId::new([0x0c; 32]);

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), Some(next.clone()));

		assert_eq!((Operators::<T>::get(&who), OwnerOf::<T>::get(&before)), (Some(next), None));
		Ok(())
	}

	#[benchmark]
	fn serve() -> Result<(), BenchmarkError> {
		let who = provider::<T>(MAX_UNBONDING_CHUNKS)?;
		let operator = operator::<T>(&who)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(operator.clone()), None);

		assert_eq!((Operators::<T>::get(&who), OwnerOf::<T>::get(&operator)), (None, None));
		Ok(())
	}

	#[benchmark]
	fn sweep_idle() -> Result<(), BenchmarkError> {
		provider::<T>(0)?;

		#[block]
		{
			Pallet::<T>::sweep();
		}

		Ok(())
	}

	#[benchmark]
	fn sweep() -> Result<(), BenchmarkError> {
		let first = provider::<T>(MAX_UNBONDING_CHUNKS)?;
		let stored = Providers::<T>::get(&first).ok_or(BenchmarkError::Stop("a provider"))?;
		for number in 1..u8::try_from(SWEPT).map_err(|_| BenchmarkError::Stop("few are looked at"))? {
			Providers::<T>::insert(AccountId::new([number; 32]), &stored);
		}
		VerifierMinimums::<T>::mutate(|bonds| {
			bonds.steps.iter_mut().for_each(|(_, bond)| *bond = Balance::MAX);
			bonds.above = Balance::MAX;
		});

		#[block]
		{
			Pallet::<T>::sweep();
		}

		let verifiers = Providers::<T>::iter_values().filter(|provider| provider.info.roles.contains(Role::Verifier)).count();
		assert_eq!(verifiers, 0);
		Ok(())
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
