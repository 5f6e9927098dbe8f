//! Weights of `pallet_preimage`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_preimage::WeightInfo for WeightInfo<T> {
	// s: 0 to 4194304.
	fn note_preimage(s: u32) -> Weight {
		// Least time in nanoseconds: 54_498.
		Weight::from_parts(56_358_000, 3802)
			.saturating_add(Weight::from_parts(2_612, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().writes(3))
	}
	// s: 0 to 4194304.
	fn note_requested_preimage(s: u32) -> Weight {
		// Least time in nanoseconds: 15_434.
		Weight::from_parts(16_089_000, 3556)
			.saturating_add(Weight::from_parts(2_441, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// s: 0 to 4194304.
	fn note_no_deposit_preimage(s: u32) -> Weight {
		// Least time in nanoseconds: 14_551.
		Weight::from_parts(15_266_000, 3556)
			.saturating_add(Weight::from_parts(2_339, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	fn unnote_preimage() -> Weight {
		// Least time in nanoseconds: 93_512.
		Weight::from_parts(108_222_000, 3802).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn unnote_no_deposit_preimage() -> Weight {
		// Least time in nanoseconds: 54_097.
		Weight::from_parts(65_812_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn request_preimage() -> Weight {
		// Least time in nanoseconds: 41_402.
		Weight::from_parts(50_247_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn request_no_deposit_preimage() -> Weight {
		// Least time in nanoseconds: 27_535.
		Weight::from_parts(36_210_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn request_unnoted_preimage() -> Weight {
		// Least time in nanoseconds: 25_703.
		Weight::from_parts(28_767_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn request_requested_preimage() -> Weight {
		// Least time in nanoseconds: 11_363.
		Weight::from_parts(12_993_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn unrequest_preimage() -> Weight {
		// Least time in nanoseconds: 47_803.
		Weight::from_parts(56_498_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn unrequest_unnoted_preimage() -> Weight {
		// Least time in nanoseconds: 11_681.
		Weight::from_parts(13_152_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn unrequest_multi_referenced_preimage() -> Weight {
		// Least time in nanoseconds: 11_296.
		Weight::from_parts(12_796_000, 3556).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	// n: 1 to 1024.
	fn ensure_updated(n: u32) -> Weight {
		// Least time in nanoseconds: 61_181.
		Weight::from_parts(64_115_000, 990)
			.saturating_add(Weight::from_parts(65_487_193, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 2812).saturating_mul(n.into()))
	}
}
