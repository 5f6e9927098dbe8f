//! Weights of `pallet_neuro_disputes`, measured by `scripts/weights.sh`: 20 steps, 10 repetitions, 2026-11-26, Intel(R) Xeon(R) Processor.
//! Added by hand, from what is accessed: in `draw_answers` the price of a draw, and for each answer whether it is audited already.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_disputes::WeightInfo for WeightInfo<T> {
	fn challenge_work() -> Weight {
		// Least time in nanoseconds: 222_750.
		Weight::from_parts(262_747_000, 23440).saturating_add(T::DbWeight::get().reads(13)).saturating_add(T::DbWeight::get().writes(9))
	}
	// r: 1 to 64.
	fn challenge_attestation(r: u32) -> Weight {
		// Least time in nanoseconds: 213_329.
		Weight::from_parts(233_277_904, 5384)
			.saturating_add(Weight::from_parts(23_412_108, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(11))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(9))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	// b: 128 to 1048576.
	// r: 1 to 64.
	fn play(b: u32, r: u32) -> Weight {
		// Least time in nanoseconds: 1_478_596.
		Weight::from_parts(1_533_647_000, 4034)
			.saturating_add(Weight::from_parts(5_097, 0).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(10_022_524, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(4))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	fn decide() -> Weight {
		// Least time in nanoseconds: 742_218.
		Weight::from_parts(814_849_000, 30555).saturating_add(T::DbWeight::get().reads(36)).saturating_add(T::DbWeight::get().writes(29))
	}
	// p: 0 to 16.
	fn end_due(p: u32) -> Weight {
		// Least time in nanoseconds: 9_344.
		Weight::from_parts(11_902_801, 3554)
			.saturating_add(Weight::from_parts(3_929_467, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(Weight::from_parts(0, 2608).saturating_mul(p.into()))
	}
	fn end_moot() -> Weight {
		// Least time in nanoseconds: 436_137.
		Weight::from_parts(492_716_000, 26575).saturating_add(T::DbWeight::get().reads(24)).saturating_add(T::DbWeight::get().writes(22))
	}
	fn end_late() -> Weight {
		// Least time in nanoseconds: 806_711.
		Weight::from_parts(914_188_000, 30555).saturating_add(T::DbWeight::get().reads(42)).saturating_add(T::DbWeight::get().writes(30))
	}
	fn check_turn() -> Weight {
		// Least time in nanoseconds: 19_007.
		Weight::from_parts(22_873_000, 3971).saturating_add(T::DbWeight::get().reads(2))
	}
	fn check_report() -> Weight {
		// Least time in nanoseconds: 48_677.
		Weight::from_parts(56_236_000, 5384).saturating_add(T::DbWeight::get().reads(5))
	}
	fn enroll() -> Weight {
		// Least time in nanoseconds: 61_756.
		Weight::from_parts(74_387_000, 26575).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn resign() -> Weight {
		// Least time in nanoseconds: 40_710.
		Weight::from_parts(47_843_000, 26575).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn sweep() -> Weight {
		// Least time in nanoseconds: 54_938.
		Weight::from_parts(65_366_000, 26575).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn seal_audit() -> Weight {
		// Least time in nanoseconds: 67_050.
		Weight::from_parts(78_359_000, 5384).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn report_audit() -> Weight {
		// Least time in nanoseconds: 213_748.
		Weight::from_parts(244_750_000, 30555).saturating_add(T::DbWeight::get().reads(13)).saturating_add(T::DbWeight::get().writes(8))
	}
	fn challenge_audit() -> Weight {
		// Least time in nanoseconds: 252_521.
		Weight::from_parts(288_203_000, 23440).saturating_add(T::DbWeight::get().reads(14)).saturating_add(T::DbWeight::get().writes(9))
	}
	fn challenge_answer() -> Weight {
		// Least time in nanoseconds: 399_034.
		Weight::from_parts(461_085_000, 5384).saturating_add(T::DbWeight::get().reads(16)).saturating_add(T::DbWeight::get().writes(10))
	}
	// t: 1 to 16384.
	// l: 0 to 255.
	fn check_delivery(t: u32, l: u32) -> Weight {
		// Least time in nanoseconds: 280_056.
		Weight::from_parts(112_637_902, 5384)
			.saturating_add(Weight::from_parts(11_582, 0).saturating_mul(t.into()))
			.saturating_add(Weight::from_parts(1_231_348, 0).saturating_mul(l.into()))
			.saturating_add(T::DbWeight::get().reads(6))
	}
	fn demand_answer() -> Weight {
		// Least time in nanoseconds: 139_181.
		Weight::from_parts(160_554_000, 5384).saturating_add(T::DbWeight::get().reads(10)).saturating_add(T::DbWeight::get().writes(5))
	}
	// t: 1 to 16384.
	// l: 0 to 255.
	fn deliver_answer(t: u32, l: u32) -> Weight {
		// Least time in nanoseconds: 363_072.
		Weight::from_parts(195_396_406, 5384)
			.saturating_add(Weight::from_parts(13_272, 0).saturating_mul(t.into()))
			.saturating_add(Weight::from_parts(1_296_349, 0).saturating_mul(l.into()))
			.saturating_add(T::DbWeight::get().reads(9))
			.saturating_add(T::DbWeight::get().writes(3))
	}
	// n: 0 to 16.
	fn end_demands(n: u32) -> Weight {
		// Least time in nanoseconds: 8_925.
		Weight::from_parts(19_910_675, 3731)
			.saturating_add(Weight::from_parts(9_582_880, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2535).saturating_mul(n.into()))
	}
	fn end_demand() -> Weight {
		// Least time in nanoseconds: 340_428.
		Weight::from_parts(389_069_000, 30555).saturating_add(T::DbWeight::get().reads(23)).saturating_add(T::DbWeight::get().writes(12))
	}
	// n: 0 to 64.
	fn close_answers(n: u32) -> Weight {
		// Least time in nanoseconds: 7_079.
		Weight::from_parts(7_771_137, 1501)
			.saturating_add(Weight::from_parts(26_387_133, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 2741).saturating_mul(n.into()))
	}
	fn draw_answers_idle() -> Weight {
		// Least time in nanoseconds: 15_787.
		Weight::from_parts(18_864_000, 3613).saturating_add(T::DbWeight::get().reads(3))
	}
	// c: 1 to 64.
	// d: 0 to 256.
	fn draw_answers(c: u32, d: u32) -> Weight {
		// Least time in nanoseconds: 395_751.
		Weight::from_parts(428_601_000, 26575)
			.saturating_add(Weight::from_parts(132_555_918, 0).saturating_mul(c.into()))
			.saturating_add(Weight::from_parts(29_218_919, 0).saturating_mul(d.into()))
			.saturating_add(T::DbWeight::get().reads(12))
			.saturating_add(T::DbWeight::get().reads(u64::from(c).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().reads(u64::from(d)))
			.saturating_add(T::DbWeight::get().writes(16))
			.saturating_add(T::DbWeight::get().writes(u64::from(c).saturating_mul(5)))
			.saturating_add(T::DbWeight::get().writes(u64::from(d).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2623).saturating_mul(c.into()))
			.saturating_add(Weight::from_parts(0, 2741).saturating_mul(d.into()))
	}
	fn draw_idle() -> Weight {
		// Least time in nanoseconds: 17_187.
		Weight::from_parts(19_820_000, 3497).saturating_add(T::DbWeight::get().reads(3))
	}
	// n: 1 to 128.
	fn draw(n: u32) -> Weight {
		// Least time in nanoseconds: 659_710.
		Weight::from_parts(745_667_805, 26575)
			.saturating_add(Weight::from_parts(15_176_900, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(14))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(4)))
	}
	fn close_idle() -> Weight {
		// Least time in nanoseconds: 23_090.
		Weight::from_parts(27_203_000, 3791).saturating_add(T::DbWeight::get().reads(3))
	}
	fn close() -> Weight {
		// Least time in nanoseconds: 320_771.
		Weight::from_parts(368_165_000, 26575).saturating_add(T::DbWeight::get().reads(19)).saturating_add(T::DbWeight::get().writes(13))
	}
}
