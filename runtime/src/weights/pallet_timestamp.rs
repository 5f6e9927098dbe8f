//! Weights of `pallet_timestamp`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_timestamp::WeightInfo for WeightInfo<T> {
	fn set() -> Weight {
		// Least time in nanoseconds: 5_879.
		Weight::from_parts(7_100_000, 1493).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn on_finalize() -> Weight {
		// Least time in nanoseconds: 757.
		Weight::from_parts(956_000, 0)
	}
}
