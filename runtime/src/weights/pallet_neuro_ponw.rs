//! Weights of `pallet_neuro_ponw`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_ponw::WeightInfo for WeightInfo<T> {
	fn submit_uptime() -> Weight {
		// Least time in nanoseconds: 77_895.
		Weight::from_parts(90_147_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(2))
	}
	// n: 0 to 64.
	fn settle(n: u32) -> Weight {
		// Least time in nanoseconds: 6_316.
		Weight::from_parts(40_156_187, 5384)
			.saturating_add(Weight::from_parts(74_263_737, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(11))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(2)))
			.saturating_add(T::DbWeight::get().writes(7))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(2)))
			.saturating_add(Weight::from_parts(0, 2570).saturating_mul(n.into()))
	}
	fn clean() -> Weight {
		// Least time in nanoseconds: 148_822.
		Weight::from_parts(157_819_000, 84777).saturating_add(T::DbWeight::get().reads(45)).saturating_add(T::DbWeight::get().writes(33))
	}
	fn hold() -> Weight {
		// Least time in nanoseconds: 2_662.
		Weight::from_parts(3_167_000, 0).saturating_add(T::DbWeight::get().writes(2))
	}
	fn release() -> Weight {
		// Least time in nanoseconds: 10_899.
		Weight::from_parts(13_406_000, 3530).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
}
