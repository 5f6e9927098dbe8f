//! Weights of `pallet_transaction_payment`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_transaction_payment::WeightInfo for WeightInfo<T> {
	fn charge_transaction_payment() -> Weight {
		// Least time in nanoseconds: 53_140.
		Weight::from_parts(56_152_000, 0)
	}
}
