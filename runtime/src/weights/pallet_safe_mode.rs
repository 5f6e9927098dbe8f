//! Weights of `pallet_safe_mode`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_safe_mode::WeightInfo for WeightInfo<T> {
	fn on_initialize_noop() -> Weight {
		// Least time in nanoseconds: 1_824.
		Weight::from_parts(2_235_000, 1489).saturating_add(T::DbWeight::get().reads(1))
	}
	fn on_initialize_exit() -> Weight {
		// Least time in nanoseconds: 5_466.
		Weight::from_parts(6_383_000, 1489).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn enter() -> Weight {
		// Least time in nanoseconds: 0.
		Weight::from_parts(0, 0)
	}
	fn force_enter() -> Weight {
		// Least time in nanoseconds: 6_164.
		Weight::from_parts(7_525_000, 1489).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn extend() -> Weight {
		// Least time in nanoseconds: 0.
		Weight::from_parts(0, 0)
	}
	fn force_extend() -> Weight {
		// Least time in nanoseconds: 7_117.
		Weight::from_parts(8_411_000, 1489).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn force_exit() -> Weight {
		// Least time in nanoseconds: 6_988.
		Weight::from_parts(8_232_000, 1489).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn release_deposit() -> Weight {
		// Least time in nanoseconds: 0.
		Weight::from_parts(0, 0)
	}
	fn force_release_deposit() -> Weight {
		// Least time in nanoseconds: 41_033.
		Weight::from_parts(45_110_000, 3802).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn force_slash_deposit() -> Weight {
		// Least time in nanoseconds: 31_936.
		Weight::from_parts(35_293_000, 3802).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
}
