//! Weights of `pallet_neuro_ponw`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.
//!
//! Added by hand since: the read of whom a signer acts for.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_ponw::WeightInfo for WeightInfo<T> {
	fn submit_uptime() -> Weight {
		// Least time in nanoseconds: 77_062.
		Weight::from_parts(87_393_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(2))
	}
	// n: 0 to 64.
	fn settle(n: u32) -> Weight {
		// Least time in nanoseconds: 5_268.
		Weight::from_parts(8_436_575, 3513)
			.saturating_add(Weight::from_parts(104_271_481, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(12)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(11)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(n.into()))
	}
	fn clean() -> Weight {
		// Least time in nanoseconds: 162_003.
		Weight::from_parts(170_500_000, 84777).saturating_add(T::DbWeight::get().reads(45)).saturating_add(T::DbWeight::get().writes(41))
	}
	fn hold() -> Weight {
		// Least time in nanoseconds: 2_624.
		Weight::from_parts(3_126_000, 0).saturating_add(T::DbWeight::get().writes(2))
	}
	fn release() -> Weight {
		// Least time in nanoseconds: 10_680.
		Weight::from_parts(12_306_000, 3530).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
}
