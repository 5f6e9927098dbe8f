//! Weights of `pallet_transaction_payment`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_transaction_payment::WeightInfo for WeightInfo<T> {
	fn charge_transaction_payment() -> Weight {
		// Least time in nanoseconds: 53_445.
		Weight::from_parts(58_453_000, 6196).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
}
