//! Weights of `pallet_tx_pause`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_tx_pause::WeightInfo for WeightInfo<T> {
	fn pause() -> Weight {
		// Least time in nanoseconds: 8_787.
		Weight::from_parts(10_329_000, 3613).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn unpause() -> Weight {
		// Least time in nanoseconds: 11_532.
		Weight::from_parts(13_317_000, 3613).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
}
