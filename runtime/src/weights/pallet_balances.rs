//! Weights of `pallet_balances`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_balances::WeightInfo for WeightInfo<T> {
	fn transfer_allow_death() -> Weight {
		// Least time in nanoseconds: 45_262.
		Weight::from_parts(47_789_000, 3593).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn transfer_keep_alive() -> Weight {
		// Least time in nanoseconds: 35_313.
		Weight::from_parts(39_397_000, 3593).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn force_set_balance_creating() -> Weight {
		// Least time in nanoseconds: 17_711.
		Weight::from_parts(19_797_000, 3593).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn force_set_balance_killing() -> Weight {
		// Least time in nanoseconds: 18_392.
		Weight::from_parts(19_991_000, 3593).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn force_transfer() -> Weight {
		// Least time in nanoseconds: 47_739.
		Weight::from_parts(50_993_000, 6196).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn transfer_all() -> Weight {
		// Least time in nanoseconds: 44_793.
		Weight::from_parts(49_146_000, 3593).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn force_unreserve() -> Weight {
		// Least time in nanoseconds: 15_171.
		Weight::from_parts(17_253_000, 3593).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	// u: 1 to 1000.
	fn upgrade_accounts(u: u32) -> Weight {
		// Least time in nanoseconds: 15_145.
		Weight::from_parts(16_484_000, 990)
			.saturating_add(Weight::from_parts(14_490_708, 0).saturating_mul(u.into()))
			.saturating_add(T::DbWeight::get().reads(u64::from(u).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(u64::from(u).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2603).saturating_mul(u.into()))
	}
	fn force_adjust_total_issuance() -> Weight {
		// Least time in nanoseconds: 4_842.
		Weight::from_parts(5_764_000, 0)
	}
	fn burn_allow_death() -> Weight {
		// Least time in nanoseconds: 28_005.
		Weight::from_parts(29_989_000, 0)
	}
	fn burn_keep_alive() -> Weight {
		// Least time in nanoseconds: 18_440.
		Weight::from_parts(20_827_000, 0)
	}
}
