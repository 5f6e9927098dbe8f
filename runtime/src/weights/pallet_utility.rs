//! Weights of `pallet_utility`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_utility::WeightInfo for WeightInfo<T> {
	// c: 0 to 1000.
	fn batch(c: u32) -> Weight {
		// Least time in nanoseconds: 4_502.
		Weight::from_parts(9_315_623, 3613)
			.saturating_add(Weight::from_parts(5_336_267, 0).saturating_mul(c.into()))
			.saturating_add(T::DbWeight::get().reads(1))
	}
	fn as_derivative() -> Weight {
		// Least time in nanoseconds: 8_357.
		Weight::from_parts(9_976_000, 3613).saturating_add(T::DbWeight::get().reads(2))
	}
	// c: 0 to 1000.
	fn batch_all(c: u32) -> Weight {
		// Least time in nanoseconds: 4_610.
		Weight::from_parts(11_619_922, 3613)
			.saturating_add(Weight::from_parts(5_658_179, 0).saturating_mul(c.into()))
			.saturating_add(T::DbWeight::get().reads(1))
	}
	fn dispatch_as() -> Weight {
		// Least time in nanoseconds: 5_708.
		Weight::from_parts(6_866_000, 0)
	}
	// c: 0 to 1000.
	fn force_batch(c: u32) -> Weight {
		// Least time in nanoseconds: 4_470.
		Weight::from_parts(9_479_708, 3613)
			.saturating_add(Weight::from_parts(5_283_106, 0).saturating_mul(c.into()))
			.saturating_add(T::DbWeight::get().reads(1))
	}
	fn dispatch_as_fallible() -> Weight {
		// Least time in nanoseconds: 6_156.
		Weight::from_parts(6_976_000, 0)
	}
	fn if_else() -> Weight {
		// Least time in nanoseconds: 14_989.
		Weight::from_parts(16_741_000, 6236).saturating_add(T::DbWeight::get().reads(3))
	}
}
