//! Benchmarks of every call in its most expensive case.

use crate::{Call, Config, Datasets, Pallet};
use alloc::vec;
use frame_benchmarking::v2::*;
use frame_support::{
	traits::fungible::{Inspect, Mutate},
	BoundedVec,
};
use frame_system::RawOrigin;
use neuroshard_types::{
	dataset::{DatasetShape, DatasetStatus, Manifest, MAX_SHARDS, MAX_TOKENS_PER_SHARD},
	AccountId, H256,
};

/// The largest manifest there is.
fn manifest() -> Manifest {
	Manifest {
		name: BoundedVec::truncate_from(vec![b'n'; 64]),
		licence: BoundedVec::truncate_from(vec![b'l'; 64]),
		source: BoundedVec::truncate_from(vec![b's'; 256]),
		tokenizer_hash: H256::repeat_byte(1),
		vocab: 65_536,
		shape: DatasetShape { tokens_per_shard: MAX_TOKENS_PER_SHARD, shard_count: MAX_SHARDS, held_out: 1 },
		root: H256::repeat_byte(2),
		bytes: u64::MAX,
	}
}

/// An account that can pay the deposit twice.
fn funded<T: Config>() -> AccountId {
	let who = whitelisted_caller();
	let deposit = Pallet::<T>::deposit_for(manifest());
	T::Currency::set_balance(&who, deposit.saturating_add(T::Currency::minimum_balance()).saturating_mul(2));
	who
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn propose() {
		let who = funded::<T>();

		#[extrinsic_call]
		_(RawOrigin::Signed(who), manifest());

		assert_eq!(Datasets::<T>::count(), 1);
	}

	#[benchmark]
	fn activate() -> Result<(), BenchmarkError> {
		let who = funded::<T>();
		Pallet::<T>::propose(RawOrigin::Signed(who.clone()).into(), manifest())?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), 0);

		assert_eq!(Datasets::<T>::get(0).map(|dataset| dataset.status), Some(DatasetStatus::Active));
		Ok(())
	}

	#[benchmark]
	fn retire() -> Result<(), BenchmarkError> {
		let who = funded::<T>();
		Pallet::<T>::propose(RawOrigin::Signed(who.clone()).into(), manifest())?;
		Pallet::<T>::activate(RawOrigin::Signed(who.clone()).into(), 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), 0);

		assert_eq!(Datasets::<T>::count(), 0);
		Ok(())
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
