//! Weights of `frame_system_extensions`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> frame_system::ExtensionsWeightInfo for WeightInfo<T> {
	fn check_genesis() -> Weight {
		// Least time in nanoseconds: 1_606.
		Weight::from_parts(1_820_000, 0)
	}
	fn check_mortality_mortal_transaction() -> Weight {
		// Least time in nanoseconds: 3_517.
		Weight::from_parts(4_046_000, 0)
	}
	fn check_mortality_immortal_transaction() -> Weight {
		// Least time in nanoseconds: 3_522.
		Weight::from_parts(3_968_000, 0)
	}
	fn check_non_zero_sender() -> Weight {
		// Least time in nanoseconds: 504.
		Weight::from_parts(604_000, 0)
	}
	fn check_nonce() -> Weight {
		// Least time in nanoseconds: 6_699.
		Weight::from_parts(7_592_000, 3593).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn check_spec_version() -> Weight {
		// Least time in nanoseconds: 394.
		Weight::from_parts(468_000, 0)
	}
	fn check_tx_version() -> Weight {
		// Least time in nanoseconds: 398.
		Weight::from_parts(485_000, 0)
	}
	fn check_weight() -> Weight {
		// Least time in nanoseconds: 3_382.
		Weight::from_parts(3_901_000, 0)
	}
	fn weight_reclaim() -> Weight {
		// Least time in nanoseconds: 1_883.
		Weight::from_parts(2_233_000, 0)
	}
}
