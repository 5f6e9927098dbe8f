//! Weights of `pallet_sudo`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_sudo::WeightInfo for WeightInfo<T> {
	fn set_key() -> Weight {
		// Least time in nanoseconds: 8_867.
		Weight::from_parts(10_460_000, 1517).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn sudo() -> Weight {
		// Least time in nanoseconds: 9_202.
		Weight::from_parts(10_738_000, 1517).saturating_add(T::DbWeight::get().reads(1))
	}
	fn sudo_as() -> Weight {
		// Least time in nanoseconds: 9_373.
		Weight::from_parts(10_984_000, 1517).saturating_add(T::DbWeight::get().reads(1))
	}
	fn remove_key() -> Weight {
		// Least time in nanoseconds: 7_942.
		Weight::from_parts(9_334_000, 1517).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn check_only_sudo_account() -> Weight {
		// Least time in nanoseconds: 4_691.
		Weight::from_parts(5_665_000, 1517).saturating_add(T::DbWeight::get().reads(1))
	}
}
