//! Weights of `pallet_neuro_inference`, measured by `scripts/weights.sh`: 20 steps, 10 repetitions, 2026-11-26, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_inference::WeightInfo for WeightInfo<T> {
	// m: 0 to 32.
	fn offer(m: u32) -> Weight {
		// Least time in nanoseconds: 105_533.
		Weight::from_parts(123_714_821, 45890)
			.saturating_add(Weight::from_parts(20_963_568, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(7))
			.saturating_add(T::DbWeight::get().reads(u64::from(m).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(m).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(m.into()))
	}
	fn join() -> Weight {
		// Least time in nanoseconds: 88_467.
		Weight::from_parts(103_839_000, 6075).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn leave() -> Weight {
		// Least time in nanoseconds: 78_949.
		Weight::from_parts(92_488_000, 6075).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	// m: 0 to 32.
	fn withdraw_offer(m: u32) -> Weight {
		// Least time in nanoseconds: 91_150.
		Weight::from_parts(104_095_970, 6075)
			.saturating_add(Weight::from_parts(13_625_752, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().reads(u64::from(m).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(m).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(m.into()))
	}
	fn open_session() -> Weight {
		// Least time in nanoseconds: 180_177.
		Weight::from_parts(204_106_000, 6075).saturating_add(T::DbWeight::get().reads(8)).saturating_add(T::DbWeight::get().writes(6))
	}
	fn top_up() -> Weight {
		// Least time in nanoseconds: 75_733.
		Weight::from_parts(88_982_000, 3856).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
	// m: 1 to 32.
	fn claim(m: u32) -> Weight {
		// Least time in nanoseconds: 505_584.
		Weight::from_parts(547_020_387, 11402)
			.saturating_add(Weight::from_parts(49_020_590, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(23))
			.saturating_add(T::DbWeight::get().reads(u64::from(m).saturating_mul(2)))
			.saturating_add(T::DbWeight::get().writes(13))
			.saturating_add(T::DbWeight::get().writes(u64::from(m).saturating_mul(2)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(m.into()))
	}
	fn close_session() -> Weight {
		// Least time in nanoseconds: 35_669.
		Weight::from_parts(43_270_000, 3587).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 0 to 16.
	fn settle(p: u32) -> Weight {
		// Least time in nanoseconds: 148_193.
		Weight::from_parts(161_659_257, 6075)
			.saturating_add(Weight::from_parts(2_393_279, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2607).saturating_mul(p.into()))
	}
}
