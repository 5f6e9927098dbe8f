//! Weights of `pallet_neuro_validators`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_validators::WeightInfo for WeightInfo<T> {
	fn bond() -> Weight {
		// Least time in nanoseconds: 60_397.
		Weight::from_parts(68_589_000, 4260).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn bond_extra() -> Weight {
		// Least time in nanoseconds: 58_463.
		Weight::from_parts(64_134_000, 3944).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn unbond() -> Weight {
		// Least time in nanoseconds: 21_613.
		Weight::from_parts(23_940_000, 3944).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(2))
	}
	// n: 0 to 64.
	fn withdraw_unbonded(n: u32) -> Weight {
		// Least time in nanoseconds: 71_612.
		Weight::from_parts(73_621_433, 18768)
			.saturating_add(Weight::from_parts(49_028_060, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(10))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(5)))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(5)))
			.saturating_add(Weight::from_parts(0, 3036).saturating_mul(n.into()))
	}
	fn chill() -> Weight {
		// Least time in nanoseconds: 12_237.
		Weight::from_parts(13_863_000, 3944).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn activate() -> Weight {
		// Least time in nanoseconds: 22_042.
		Weight::from_parts(24_978_000, 4535).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn set_commission() -> Weight {
		// Least time in nanoseconds: 14_687.
		Weight::from_parts(17_125_000, 3944).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	// n: 0 to 1.
	fn nominate(n: u32) -> Weight {
		// Least time in nanoseconds: 62_506.
		Weight::from_parts(70_228_565, 4026)
			.saturating_add(Weight::from_parts(340_469_118, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(6))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(69)))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(5)))
			.saturating_add(Weight::from_parts(0, 190060).saturating_mul(n.into()))
	}
	fn unnominate() -> Weight {
		// Least time in nanoseconds: 38_275.
		Weight::from_parts(45_073_000, 3944).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn withdraw_nomination() -> Weight {
		// Least time in nanoseconds: 69_172.
		Weight::from_parts(78_990_000, 4026).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn claim_rewards() -> Weight {
		// Least time in nanoseconds: 71_032.
		Weight::from_parts(82_841_000, 6196).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn set_validator_count() -> Weight {
		// Least time in nanoseconds: 3_945.
		Weight::from_parts(4_932_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	fn note_author() -> Weight {
		// Least time in nanoseconds: 35_662.
		Weight::from_parts(40_959_000, 3944).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	// n: 0 to 64.
	fn punish(n: u32) -> Weight {
		// Least time in nanoseconds: 58_898.
		Weight::from_parts(61_139_397, 3944)
			.saturating_add(Weight::from_parts(35_610_687, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(8))
			.saturating_add(T::DbWeight::get().reads(u64::from(n).saturating_mul(4)))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(u64::from(n).saturating_mul(4)))
			.saturating_add(Weight::from_parts(0, 2924).saturating_mul(n.into()))
	}
}
