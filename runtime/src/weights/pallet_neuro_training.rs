//! Weights of `pallet_neuro_training`, measured by `scripts/weights.sh`: 8 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.
//!
//! Added by hand since: the read of whom a signer acts for, and in `reveal` that of the speed that was tested.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_training::WeightInfo for WeightInfo<T> {
	fn create_run() -> Weight {
		// Least time in nanoseconds: 405_555.
		Weight::from_parts(466_840_000, 4008).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(6))
	}
	fn approve_run() -> Weight {
		// Least time in nanoseconds: 17_014.
		Weight::from_parts(21_537_000, 4034).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 1 to 128.
	fn stop_run(p: u32) -> Weight {
		// Least time in nanoseconds: 82_240.
		Weight::from_parts(52_077_739, 30555)
			.saturating_add(Weight::from_parts(27_612_644, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(8))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn force_stop_run(p: u32) -> Weight {
		// Least time in nanoseconds: 79_663.
		Weight::from_parts(22_987_640, 30555)
			.saturating_add(Weight::from_parts(29_151_280, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(8))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	fn halt_model() -> Weight {
		// Least time in nanoseconds: 18_701.
		Weight::from_parts(23_941_000, 4034).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn lift_halt() -> Weight {
		// Least time in nanoseconds: 15_146.
		Weight::from_parts(20_041_000, 3739).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn join() -> Weight {
		// Least time in nanoseconds: 128_086.
		Weight::from_parts(142_723_000, 30555).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn leave() -> Weight {
		// Least time in nanoseconds: 81_930.
		Weight::from_parts(101_679_000, 30555).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	// p: 1 to 128.
	fn commit(p: u32) -> Weight {
		// Least time in nanoseconds: 46_896.
		Weight::from_parts(59_468_260, 30555)
			.saturating_add(Weight::from_parts(794_911, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(7))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// p: 1 to 128.
	fn reveal(p: u32) -> Weight {
		// Least time in nanoseconds: 181_130.
		Weight::from_parts(230_543_395, 30555)
			.saturating_add(Weight::from_parts(1_559_026, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(14))
			.saturating_add(T::DbWeight::get().writes(7))
	}
	// p: 1 to 128.
	fn vote_availability(p: u32) -> Weight {
		// Least time in nanoseconds: 50_979.
		Weight::from_parts(37_987_835, 30555)
			.saturating_add(Weight::from_parts(9_935_157, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(2))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn attest(p: u32) -> Weight {
		// Least time in nanoseconds: 36_080.
		Weight::from_parts(55_277_594, 30555)
			.saturating_add(Weight::from_parts(1_430_079, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	fn check_act() -> Weight {
		// Not measured yet: what the pallet derives counts.
		Weight::zero()
	}
	// r: 0 to 64.
	fn remove_run(r: u32) -> Weight {
		// Least time in nanoseconds: 98_978.
		Weight::from_parts(111_860_012, 23440)
			.saturating_add(Weight::from_parts(3_187_312, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(r).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	fn on_initialize() -> Weight {
		// Least time in nanoseconds: 9_130.
		Weight::from_parts(10_893_000, 30555).saturating_add(T::DbWeight::get().reads(3))
	}
	// p: 2 to 128.
	fn advance(p: u32) -> Weight {
		// Least time in nanoseconds: 74_727.
		Weight::from_parts(58_972_292, 30555)
			.saturating_add(Weight::from_parts(18_625_645, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn settle(p: u32) -> Weight {
		// Least time in nanoseconds: 167_564.
		Weight::from_parts(69_775_610, 30555)
			.saturating_add(Weight::from_parts(57_930_990, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(15))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(5)))
			.saturating_add(T::DbWeight::get().writes(13))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(5)))
			.saturating_add(Weight::from_parts(0, 4633).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn begin(p: u32) -> Weight {
		// Least time in nanoseconds: 57_548.
		Weight::from_parts(51_728_672, 7575)
			.saturating_add(Weight::from_parts(13_818_223, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(9))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	// r: 1 to 64.
	fn claim(r: u32) -> Weight {
		// Least time in nanoseconds: 24_133.
		Weight::from_parts(12_932_255, 4034)
			.saturating_add(Weight::from_parts(15_865_265, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	fn condemn() -> Weight {
		// Least time in nanoseconds: 445_482.
		Weight::from_parts(479_871_000, 30555).saturating_add(T::DbWeight::get().reads(8)).saturating_add(T::DbWeight::get().writes(8))
	}
}
