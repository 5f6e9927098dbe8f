//! Weights of `pallet_neuro_validators`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_validators::WeightInfo for WeightInfo<T> {
	fn bond() -> Weight {
		// Least time in nanoseconds: 61_969.
		Weight::from_parts(66_131_000, 4260).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn bond_extra() -> Weight {
		// Least time in nanoseconds: 60_330.
		Weight::from_parts(64_460_000, 3944).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn unbond() -> Weight {
		// Least time in nanoseconds: 21_565.
		Weight::from_parts(23_319_000, 3944).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(2))
	}
	// n: 0 to 64.
	fn withdraw_unbonded(n: u32) -> Weight {
		// Least time in nanoseconds: 73_046.
		Weight::from_parts(86_582_964, 18768)
			.saturating_add(Weight::from_parts(48_633_628, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(10))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(5)))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(5)))
			.saturating_add(Weight::from_parts(0, 3036).saturating_mul(n.into()))
	}
	fn chill() -> Weight {
		// Least time in nanoseconds: 12_401.
		Weight::from_parts(14_018_000, 3944).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn activate() -> Weight {
		// Least time in nanoseconds: 22_567.
		Weight::from_parts(25_862_000, 4535).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn set_commission() -> Weight {
		// Least time in nanoseconds: 14_854.
		Weight::from_parts(16_158_000, 3944).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	// n: 0 to 1.
	fn nominate(n: u32) -> Weight {
		// Least time in nanoseconds: 64_651.
		Weight::from_parts(69_266_282, 4026)
			.saturating_add(Weight::from_parts(321_685_364, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(6))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(69)))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(5)))
			.saturating_add(Weight::from_parts(0, 190060).saturating_mul(n.into()))
	}
	fn unnominate() -> Weight {
		// Least time in nanoseconds: 37_816.
		Weight::from_parts(42_012_000, 3944).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn withdraw_nomination() -> Weight {
		// Least time in nanoseconds: 70_227.
		Weight::from_parts(80_093_000, 4026).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn claim_rewards() -> Weight {
		// Least time in nanoseconds: 73_440.
		Weight::from_parts(82_897_000, 6196).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn set_validator_count() -> Weight {
		// Least time in nanoseconds: 3_901.
		Weight::from_parts(4_839_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	fn note_author() -> Weight {
		// Least time in nanoseconds: 35_974.
		Weight::from_parts(40_538_000, 3944).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	// n: 0 to 64.
	fn punish(n: u32) -> Weight {
		// Least time in nanoseconds: 59_355.
		Weight::from_parts(54_081_383, 3944)
			.saturating_add(Weight::from_parts(33_728_480, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(8))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(4)))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 2924).saturating_mul(n.into()))
	}
	// c: 0 to 800.
	// v: 1 to 100.
	fn rotate_session(c: u32, v: u32) -> Weight {
		// Least time in nanoseconds: 1_839_658.
		Weight::from_parts(1_841_159_000, 18768)
			.saturating_add(Weight::from_parts(7_748_461, 0).saturating_mul(c.into()))
			.saturating_add(Weight::from_parts(8_511_776, 0).saturating_mul(v.into()))
			.saturating_add(T::DbWeight::get().reads(23))
			.saturating_add(T::DbWeight::get().reads(u64::from(c).saturating_mul(2)))
			.saturating_add(T::DbWeight::get().reads(u64::from(v).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(19))
			.saturating_add(T::DbWeight::get().writes(u64::from(v).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2954).saturating_mul(c.into()))
			.saturating_add(Weight::from_parts(0, 5908).saturating_mul(v.into()))
	}
}
