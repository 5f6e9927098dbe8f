//! Weights of `frame_system`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> frame_system::WeightInfo for WeightInfo<T> {
	// b: 0 to 3932160.
	fn remark(b: u32) -> Weight {
		// Least time in nanoseconds: 1_940.
		Weight::from_parts(19_325_072, 0).saturating_add(Weight::from_parts(338, 0).saturating_mul(b.into()))
	}
	// b: 0 to 3932160.
	fn remark_with_event(b: u32) -> Weight {
		// Least time in nanoseconds: 5_221.
		Weight::from_parts(5_593_000, 0).saturating_add(Weight::from_parts(1_669, 0).saturating_mul(b.into()))
	}
	fn set_heap_pages() -> Weight {
		// Least time in nanoseconds: 3_460.
		Weight::from_parts(4_343_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	fn set_code() -> Weight {
		// Least time in nanoseconds: 130_662_769.
		Weight::from_parts(138_074_141_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	// i: 0 to 1000.
	fn set_storage(i: u32) -> Weight {
		// Least time in nanoseconds: 1_892.
		Weight::from_parts(2_148_000, 0)
			.saturating_add(Weight::from_parts(776_811, 0).saturating_mul(i.into()))
			.saturating_add(T::DbWeight::get().writes(u64::from(i).saturating_mul(1)))
	}
	// i: 0 to 1000.
	fn kill_storage(i: u32) -> Weight {
		// Least time in nanoseconds: 1_900.
		Weight::from_parts(2_161_000, 0)
			.saturating_add(Weight::from_parts(565_385, 0).saturating_mul(i.into()))
			.saturating_add(T::DbWeight::get().writes(u64::from(i).saturating_mul(1)))
	}
	// p: 0 to 1000.
	fn kill_prefix(p: u32) -> Weight {
		// Least time in nanoseconds: 3_594.
		Weight::from_parts(3_982_000, 63)
			.saturating_add(Weight::from_parts(1_159_466, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 70).saturating_mul(p.into()))
	}
	fn authorize_upgrade() -> Weight {
		// Least time in nanoseconds: 16_770.
		Weight::from_parts(19_293_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	fn apply_authorized_upgrade() -> Weight {
		// Least time in nanoseconds: 149_361_478.
		Weight::from_parts(153_481_318_000, 1518).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(2))
	}
}
