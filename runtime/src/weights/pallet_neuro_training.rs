//! Weights of `pallet_neuro_training`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_training::WeightInfo for WeightInfo<T> {
	fn create_run() -> Weight {
		// Least time in nanoseconds: 77_272.
		Weight::from_parts(82_120_000, 4008).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(6))
	}
	fn approve_run() -> Weight {
		// Least time in nanoseconds: 13_941.
		Weight::from_parts(16_407_000, 4034).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 1 to 128.
	fn stop_run(p: u32) -> Weight {
		// Least time in nanoseconds: 67_918.
		Weight::from_parts(41_384_095, 30555)
			.saturating_add(Weight::from_parts(26_009_578, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(7))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn force_stop_run(p: u32) -> Weight {
		// Least time in nanoseconds: 70_079.
		Weight::from_parts(26_989_063, 30555)
			.saturating_add(Weight::from_parts(26_749_678, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(7))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	fn halt_model() -> Weight {
		// Least time in nanoseconds: 15_403.
		Weight::from_parts(18_302_000, 4034).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn lift_halt() -> Weight {
		// Least time in nanoseconds: 12_885.
		Weight::from_parts(15_137_000, 3739).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn join() -> Weight {
		// Least time in nanoseconds: 94_989.
		Weight::from_parts(106_340_000, 30555).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn leave() -> Weight {
		// Least time in nanoseconds: 75_839.
		Weight::from_parts(87_679_000, 30555).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(3))
	}
	// p: 1 to 128.
	fn commit(p: u32) -> Weight {
		// Least time in nanoseconds: 38_960.
		Weight::from_parts(43_747_684, 30555)
			.saturating_add(Weight::from_parts(759_078, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(6))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// p: 1 to 128.
	fn reveal(p: u32) -> Weight {
		// Least time in nanoseconds: 159_394.
		Weight::from_parts(192_965_355, 30555)
			.saturating_add(Weight::from_parts(1_799_488, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(12))
			.saturating_add(T::DbWeight::get().writes(7))
	}
	// p: 1 to 128.
	fn vote_availability(p: u32) -> Weight {
		// Least time in nanoseconds: 46_539.
		Weight::from_parts(19_924_648, 30555)
			.saturating_add(Weight::from_parts(9_224_950, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(2))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn attest(p: u32) -> Weight {
		// Least time in nanoseconds: 32_038.
		Weight::from_parts(48_582_084, 30555)
			.saturating_add(Weight::from_parts(1_324_170, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// r: 0 to 64.
	fn remove_run(r: u32) -> Weight {
		// Least time in nanoseconds: 146_237.
		Weight::from_parts(149_954_563, 23440)
			.saturating_add(Weight::from_parts(3_154_017, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(r).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	fn on_initialize() -> Weight {
		// Least time in nanoseconds: 5_215.
		Weight::from_parts(5_935_000, 2639).saturating_add(T::DbWeight::get().reads(1))
	}
	// p: 2 to 128.
	fn advance(p: u32) -> Weight {
		// Least time in nanoseconds: 40_593.
		Weight::from_parts(11_015_166, 30555)
			.saturating_add(Weight::from_parts(10_721_740, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 4296).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn settle(p: u32) -> Weight {
		// Least time in nanoseconds: 114_180.
		Weight::from_parts(35_754_061, 30555)
			.saturating_add(Weight::from_parts(51_698_691, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(12))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(5)))
			.saturating_add(T::DbWeight::get().writes(9))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(5)))
			.saturating_add(Weight::from_parts(0, 4633).saturating_mul(p.into()))
	}
	// p: 1 to 128.
	fn begin(p: u32) -> Weight {
		// Least time in nanoseconds: 55_197.
		Weight::from_parts(55_116_009, 30555)
			.saturating_add(Weight::from_parts(10_236_552, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(11))
			.saturating_add(T::DbWeight::get().reads(u64::from(p).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(3))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(p.into()))
	}
	// r: 1 to 64.
	fn claim(r: u32) -> Weight {
		// Least time in nanoseconds: 52_390.
		Weight::from_parts(20_251_965, 4034)
			.saturating_add(Weight::from_parts(17_414_352, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().reads(u64::from(r).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 22450).saturating_mul(r.into()))
	}
	fn condemn() -> Weight {
		// Least time in nanoseconds: 448_529.
		Weight::from_parts(477_322_000, 30555).saturating_add(T::DbWeight::get().reads(8)).saturating_add(T::DbWeight::get().writes(8))
	}
}
