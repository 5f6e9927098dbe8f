//! Weights of `pallet_neuro_ownership`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_ownership::WeightInfo for WeightInfo<T> {
	fn deposit_revenue() -> Weight {
		// Least time in nanoseconds: 44_145.
		Weight::from_parts(47_253_000, 3593).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn claim() -> Weight {
		// Least time in nanoseconds: 51_975.
		Weight::from_parts(55_333_000, 3605).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn claim_for() -> Weight {
		// Least time in nanoseconds: 55_323.
		Weight::from_parts(60_085_000, 6196).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn enrol() -> Weight {
		// Least time in nanoseconds: 28_988.
		Weight::from_parts(32_387_000, 3605).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn release() -> Weight {
		// Least time in nanoseconds: 18_005.
		Weight::from_parts(19_764_000, 3605).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn transfer() -> Weight {
		// Least time in nanoseconds: 72_384.
		Weight::from_parts(77_110_000, 6220).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(7))
	}
	fn final_work() -> Weight {
		// Least time in nanoseconds: 43_205.
		Weight::from_parts(46_168_000, 3675).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
}
