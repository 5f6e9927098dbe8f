//! Weights of `pallet_neuro_ownership`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-23, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_ownership::WeightInfo for WeightInfo<T> {
	fn deposit_revenue() -> Weight {
		// Least time in nanoseconds: 47_830.
		Weight::from_parts(51_995_000, 3593).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn claim() -> Weight {
		// Least time in nanoseconds: 56_835.
		Weight::from_parts(61_550_000, 3605).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn claim_for() -> Weight {
		// Least time in nanoseconds: 60_087.
		Weight::from_parts(65_667_000, 6196).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn enrol() -> Weight {
		// Least time in nanoseconds: 31_948.
		Weight::from_parts(34_844_000, 3605).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn release() -> Weight {
		// Least time in nanoseconds: 56_919.
		Weight::from_parts(64_073_000, 3605).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn transfer() -> Weight {
		// Least time in nanoseconds: 114_607.
		Weight::from_parts(123_873_000, 6220).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(7))
	}
	fn final_work() -> Weight {
		// Least time in nanoseconds: 43_629.
		Weight::from_parts(50_086_000, 3675).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
}
