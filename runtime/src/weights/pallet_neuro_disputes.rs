//! Weights of `pallet_neuro_disputes`, measured by `scripts/weights.sh`: 8 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.
//!
//! Added by hand since: the read of whom a signer acts for, what notes who paid a bond, `challenge_answer`, and all of audits of answers.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_disputes::WeightInfo for WeightInfo<T> {
	fn challenge_work() -> Weight {
		// Least time in nanoseconds: 149_748.
		Weight::from_parts(171_043_000, 23440).saturating_add(T::DbWeight::get().reads(12)).saturating_add(T::DbWeight::get().writes(10))
	}
	// r: 1 to 64.
	fn challenge_attestation(r: u32) -> Weight {
		// Least time in nanoseconds: 142_915.
		Weight::from_parts(152_553_508, 5384)
			.saturating_add(Weight::from_parts(15_912_569, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(11))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(10))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	// b: 128 to 1048576.
	// r: 1 to 64.
	fn play(b: u32, r: u32) -> Weight {
		// Least time in nanoseconds: 1_008_746.
		Weight::from_parts(1_060_407_000, 4034)
			.saturating_add(Weight::from_parts(4_808, 0).saturating_mul(b.into()))
			.saturating_add(Weight::from_parts(7_091_456, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	fn decide() -> Weight {
		// Least time in nanoseconds: 500_877.
		Weight::from_parts(561_201_000, 30555).saturating_add(T::DbWeight::get().reads(35)).saturating_add(T::DbWeight::get().writes(29))
	}
	// p: 0 to 16.
	fn end_due(p: u32) -> Weight {
		// Least time in nanoseconds: 6_276.
		Weight::from_parts(8_064_528, 3522)
			.saturating_add(Weight::from_parts(2_827_431, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(Weight::from_parts(0, 2576).saturating_mul(p.into()))
	}
	fn end_moot() -> Weight {
		// Least time in nanoseconds: 297_489.
		Weight::from_parts(332_670_000, 26575).saturating_add(T::DbWeight::get().reads(24)).saturating_add(T::DbWeight::get().writes(22))
	}
	fn end_late() -> Weight {
		// Least time in nanoseconds: 555_472.
		Weight::from_parts(616_175_000, 30555).saturating_add(T::DbWeight::get().reads(40)).saturating_add(T::DbWeight::get().writes(29))
	}
	fn check_turn() -> Weight {
		// Least time in nanoseconds: 13_075.
		Weight::from_parts(15_027_000, 3939).saturating_add(T::DbWeight::get().reads(3))
	}
	fn check_report() -> Weight {
		// Least time in nanoseconds: 31_375.
		Weight::from_parts(35_802_000, 5384).saturating_add(T::DbWeight::get().reads(6))
	}
	fn enroll() -> Weight {
		// Least time in nanoseconds: 36_888.
		Weight::from_parts(43_302_000, 26575).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn resign() -> Weight {
		// Least time in nanoseconds: 21_942.
		Weight::from_parts(26_041_000, 26575).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn sweep() -> Weight {
		// Least time in nanoseconds: 36_560.
		Weight::from_parts(42_048_000, 26575).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn seal_audit() -> Weight {
		// Least time in nanoseconds: 40_620.
		Weight::from_parts(47_154_000, 5384).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn report_audit() -> Weight {
		// Least time in nanoseconds: 142_889.
		Weight::from_parts(163_741_000, 30555).saturating_add(T::DbWeight::get().reads(13)).saturating_add(T::DbWeight::get().writes(8))
	}
	fn challenge_audit() -> Weight {
		// Least time in nanoseconds: 161_756.
		Weight::from_parts(184_534_000, 23440).saturating_add(T::DbWeight::get().reads(14)).saturating_add(T::DbWeight::get().writes(10))
	}
	// Not measured.
	fn challenge_answer() -> Weight {
		Weight::zero()
	}
	// Not measured. t: 1 to 16384. l: 0 to 255.
	fn check_delivery(_: u32, _: u32) -> Weight {
		Weight::zero()
	}
	// Not measured.
	fn demand_answer() -> Weight {
		Weight::zero()
	}
	// Not measured. t: 1 to 16384. l: 0 to 255.
	fn deliver_answer(_: u32, _: u32) -> Weight {
		Weight::zero()
	}
	// Not measured. n: 0 to 16.
	fn end_demands(_: u32) -> Weight {
		Weight::zero()
	}
	// Not measured.
	fn end_demand() -> Weight {
		Weight::zero()
	}
	// Not measured. n: 0 to 64.
	fn close_answers(_: u32) -> Weight {
		Weight::zero()
	}
	// Not measured.
	fn draw_answers_idle() -> Weight {
		Weight::zero()
	}
	// Not measured. c: 1 to 64. d: 0 to 256.
	fn draw_answers(_: u32, _: u32) -> Weight {
		Weight::zero()
	}
	fn draw_idle() -> Weight {
		// Least time in nanoseconds: 9_715.
		Weight::from_parts(11_269_000, 3497).saturating_add(T::DbWeight::get().reads(3))
	}
	// n: 1 to 128.
	fn draw(n: u32) -> Weight {
		// Least time in nanoseconds: 492_738.
		Weight::from_parts(531_307_290, 26575)
			.saturating_add(Weight::from_parts(11_407_955, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(14))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(4)))
	}
	fn close_idle() -> Weight {
		// Least time in nanoseconds: 13_970.
		Weight::from_parts(16_238_000, 3759).saturating_add(T::DbWeight::get().reads(3))
	}
	fn close() -> Weight {
		// Least time in nanoseconds: 210_006.
		Weight::from_parts(236_285_000, 26575).saturating_add(T::DbWeight::get().reads(19)).saturating_add(T::DbWeight::get().writes(13))
	}
}
