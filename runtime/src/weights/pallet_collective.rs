//! Weights of `pallet_collective`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-23, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_collective::WeightInfo for WeightInfo<T> {
	// m: 0 to 32.
	// n: 0 to 32.
	// p: 0 to 32.
	fn set_members(m: u32, _n: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 8_674.
		Weight::from_parts(9_357_000, 12687)
			.saturating_add(Weight::from_parts(1_673_308, 0).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(4_584_898, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(2))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 652).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(0, 2918).saturating_mul(p.into()))
	}
	// b: 2 to 1024.
	// m: 1 to 32.
	fn execute(b: u32, m: u32) -> Weight {
		// Least time in nanoseconds: 16_649.
		Weight::from_parts(17_384_398, 3613)
			.saturating_add(Weight::from_parts(1_662, 0).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(23_731, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(Weight::from_parts(0, 32).saturating_mul(m.into()))
	}
	// b: 2 to 1024.
	// m: 1 to 32.
	fn propose_execute(b: u32, m: u32) -> Weight {
		// Least time in nanoseconds: 18_620.
		Weight::from_parts(19_810_546, 3613)
			.saturating_add(Weight::from_parts(1_399, 0).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(25_030, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(Weight::from_parts(0, 32).saturating_mul(m.into()))
	}
	// b: 2 to 1024.
	// m: 2 to 32.
	// p: 1 to 32.
	fn propose_proposed(b: u32, m: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 65_070.
		Weight::from_parts(68_024_865, 3802)
			.saturating_add(Weight::from_parts(3_852, 0).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(2_980, 0).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(559_064, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().writes(6))
			.saturating_add(Weight::from_parts(0, 33).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(0, 48).saturating_mul(p.into()))
	}
	// m: 5 to 32.
	fn vote(m: u32) -> Weight {
		// Least time in nanoseconds: 18_665.
		Weight::from_parts(23_211_871, 4102)
			.saturating_add(Weight::from_parts(39_521, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(Weight::from_parts(0, 64).saturating_mul(m.into()))
	}
	// m: 4 to 32.
	// p: 1 to 32.
	fn close_early_disapproved(m: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 22_359.
		Weight::from_parts(23_889_680, 3648)
			.saturating_add(Weight::from_parts(31_220, 0).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(365_148, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 66).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(0, 46).saturating_mul(p.into()))
	}
	// b: 2 to 1024.
	// m: 4 to 32.
	// p: 1 to 32.
	fn close_early_approved(b: u32, m: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 37_950.
		Weight::from_parts(39_787_572, 3742)
			.saturating_add(Weight::from_parts(2_700, 0).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(42_124, 0).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(583_239, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(6))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 1).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(0, 66).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(0, 59).saturating_mul(p.into()))
	}
	// m: 4 to 32.
	// p: 1 to 32.
	fn close_disapproved(m: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 27_006.
		Weight::from_parts(28_200_329, 3740)
			.saturating_add(Weight::from_parts(22_669, 0).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(371_761, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 51).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(0, 46).saturating_mul(p.into()))
	}
	// b: 2 to 1024.
	// m: 4 to 32.
	// p: 1 to 32.
	fn close_approved(b: u32, m: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 42_548.
		Weight::from_parts(43_165_528, 3762)
			.saturating_add(Weight::from_parts(2_346, 0).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(48_713, 0).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(566_307, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(7))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 1).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(0, 66).saturating_mul(m.into()))
			.saturating_add(Weight::from_parts(0, 59).saturating_mul(p.into()))
	}
	// p: 1 to 32.
	fn disapprove_proposal(p: u32) -> Weight {
		// Least time in nanoseconds: 12_639.
		Weight::from_parts(13_926_880, 1674)
			.saturating_add(Weight::from_parts(280_650, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 32).saturating_mul(p.into()))
	}
	// d: 0 to 1.
	// p: 1 to 32.
	fn kill(d: u32, p: u32) -> Weight {
		// Least time in nanoseconds: 30_123.
		Weight::from_parts(19_066_997, 4785)
			.saturating_add(Weight::from_parts(35_488_484, 0).saturating_mul(d.into()))
			.saturating_add(Weight::from_parts(516_896, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().reads(u64::from(d).saturating_mul(2)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(d).saturating_mul(3)))
			.saturating_add(Weight::from_parts(0, 1901).saturating_mul(d.into()))
			.saturating_add(Weight::from_parts(0, 61).saturating_mul(p.into()))
	}
	fn release_proposal_cost() -> Weight {
		// Least time in nanoseconds: 60_160.
		Weight::from_parts(66_882_000, 4923).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(3))
	}
}
