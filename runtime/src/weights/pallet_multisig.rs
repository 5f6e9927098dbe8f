//! Weights of `pallet_multisig`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_multisig::WeightInfo for WeightInfo<T> {
	// z: 0 to 10000.
	fn as_multi_threshold_1(z: u32) -> Weight {
		// Least time in nanoseconds: 19_248.
		Weight::from_parts(22_088_718, 3613)
			.saturating_add(Weight::from_parts(2_525, 0).saturating_mul(z.into()))
			.saturating_add(T::DbWeight::get().reads(2))
	}
	// s: 2 to 32.
	// z: 0 to 10000.
	fn as_multi_create(s: u32, z: u32) -> Weight {
		// Least time in nanoseconds: 32_379.
		Weight::from_parts(30_363_081, 4634)
			.saturating_add(Weight::from_parts(161_906, 0).saturating_mul(s.into()))
			.saturating_add(Weight::from_parts(2_552, 0).saturating_mul(z.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 3 to 32.
	// z: 0 to 10000.
	fn as_multi_approve(s: u32, z: u32) -> Weight {
		// Least time in nanoseconds: 20_182.
		Weight::from_parts(17_721_638, 4634)
			.saturating_add(Weight::from_parts(147_192, 0).saturating_mul(s.into()))
			.saturating_add(Weight::from_parts(2_546, 0).saturating_mul(z.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 2 to 32.
	// z: 0 to 10000.
	fn as_multi_complete(s: u32, z: u32) -> Weight {
		// Least time in nanoseconds: 46_717.
		Weight::from_parts(41_832_668, 4634)
			.saturating_add(Weight::from_parts(323_089, 0).saturating_mul(s.into()))
			.saturating_add(Weight::from_parts(2_780, 0).saturating_mul(z.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// s: 2 to 32.
	fn approve_as_multi_create(s: u32) -> Weight {
		// Least time in nanoseconds: 26_726.
		Weight::from_parts(29_374_341, 4634)
			.saturating_add(Weight::from_parts(170_532, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 2 to 32.
	fn approve_as_multi_approve(s: u32) -> Weight {
		// Least time in nanoseconds: 15_239.
		Weight::from_parts(16_647_001, 4634)
			.saturating_add(Weight::from_parts(150_935, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 2 to 32.
	fn cancel_as_multi(s: u32) -> Weight {
		// Least time in nanoseconds: 27_607.
		Weight::from_parts(29_498_769, 4634)
			.saturating_add(Weight::from_parts(159_884, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 2 to 32.
	fn poke_deposit(s: u32) -> Weight {
		// Least time in nanoseconds: 25_283.
		Weight::from_parts(27_191_845, 4634)
			.saturating_add(Weight::from_parts(154_074, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
}
