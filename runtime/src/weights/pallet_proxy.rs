//! Weights of `pallet_proxy`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_proxy::WeightInfo for WeightInfo<T> {
	// p: 1 to 31.
	fn proxy(p: u32) -> Weight {
		// Least time in nanoseconds: 17_759.
		Weight::from_parts(19_942_989, 4706)
			.saturating_add(Weight::from_parts(45_507, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(3))
	}
	// a: 0 to 31.
	// p: 1 to 31.
	fn proxy_announced(a: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 43_012.
		Weight::from_parts(45_939_885, 5698)
			.saturating_add(Weight::from_parts(199_887, 0).saturating_mul(a.into()))
			.saturating_add(Weight::from_parts(34_080, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// a: 0 to 31.
	// p: 1 to 31.
	fn remove_announcement(a: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 24_974.
		Weight::from_parts(26_617_752, 5698)
			.saturating_add(Weight::from_parts(189_463, 0).saturating_mul(a.into()))
			.saturating_add(Weight::from_parts(10_016, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// a: 0 to 31.
	// p: 1 to 31.
	fn reject_announcement(a: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 24_360.
		Weight::from_parts(26_628_718, 5698)
			.saturating_add(Weight::from_parts(189_422, 0).saturating_mul(a.into()))
			.saturating_add(Weight::from_parts(10_849, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// a: 0 to 31.
	// p: 1 to 31.
	fn announce(a: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 31_921.
		Weight::from_parts(35_341_683, 5698)
			.saturating_add(Weight::from_parts(202_468, 0).saturating_mul(a.into()))
			.saturating_add(Weight::from_parts(26_228, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// p: 1 to 31.
	fn add_proxy(p: u32) -> Weight {
		// Least time in nanoseconds: 22_640.
		Weight::from_parts(24_786_531, 4706)
			.saturating_add(Weight::from_parts(41_862, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 1 to 31.
	fn remove_proxy(p: u32) -> Weight {
		// Least time in nanoseconds: 22_851.
		Weight::from_parts(24_913_521, 4706)
			.saturating_add(Weight::from_parts(47_403, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 1 to 31.
	fn remove_proxies(p: u32) -> Weight {
		// Least time in nanoseconds: 21_724.
		Weight::from_parts(22_840_059, 4706)
			.saturating_add(Weight::from_parts(1_617_303, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 1 to 31.
	fn create_pure(p: u32) -> Weight {
		// Least time in nanoseconds: 25_309.
		Weight::from_parts(27_916_664, 4706)
			.saturating_add(Weight::from_parts(22_502, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 0 to 30.
	fn kill_pure(p: u32) -> Weight {
		// Least time in nanoseconds: 23_177.
		Weight::from_parts(25_640_551, 4706)
			.saturating_add(Weight::from_parts(33_937, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	fn poke_deposit() -> Weight {
		// Least time in nanoseconds: 41_694.
		Weight::from_parts(45_171_000, 5698).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
}
