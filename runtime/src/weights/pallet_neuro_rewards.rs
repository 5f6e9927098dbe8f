//! Weights of `pallet_neuro_rewards`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-23, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_rewards::WeightInfo for WeightInfo<T> {
	fn claim() -> Weight {
		// Least time in nanoseconds: 43_949.
		Weight::from_parts(50_115_000, 3621).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn claim_for() -> Weight {
		// Least time in nanoseconds: 48_047.
		Weight::from_parts(54_916_000, 3621).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn set_shares() -> Weight {
		// Least time in nanoseconds: 4_391.
		Weight::from_parts(5_488_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	// n: 0 to 31.
	fn rotate(n: u32) -> Weight {
		// Least time in nanoseconds: 55_517.
		Weight::from_parts(63_122_614, 3621)
			.saturating_add(Weight::from_parts(4_068_325, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(13))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(9))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2600).saturating_mul(n.into()))
	}
}
