//! Weights of `pallet_neuro_staking`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-23, Intel(R) Xeon(R) Processor.
//!
//! Added by hand since: the read of whom a signer acts for, and what forgets an operator.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_staking::WeightInfo for WeightInfo<T> {
	fn register() -> Weight {
		// Least time in nanoseconds: 71_023.
		Weight::from_parts(80_248_000, 5384).saturating_add(T::DbWeight::get().reads(11)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn update_info() -> Weight {
		// Least time in nanoseconds: 35_610.
		Weight::from_parts(41_869_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn bond_extra() -> Weight {
		// Least time in nanoseconds: 61_350.
		Weight::from_parts(69_560_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn unbond() -> Weight {
		// Least time in nanoseconds: 27_929.
		Weight::from_parts(31_807_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn withdraw_unbonded() -> Weight {
		// Least time in nanoseconds: 58_314.
		Weight::from_parts(66_598_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(6))
	}
	fn chill() -> Weight {
		// Least time in nanoseconds: 22_112.
		Weight::from_parts(25_944_000, 5384).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn activate() -> Weight {
		// Least time in nanoseconds: 26_883.
		Weight::from_parts(30_695_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn deregister() -> Weight {
		// Least time in nanoseconds: 30_647.
		Weight::from_parts(35_409_000, 5384).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn prove_arithmetic() -> Weight {
		// Least time in nanoseconds: 6_024_751.
		Weight::from_parts(6_620_655_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn lock() -> Weight {
		// Least time in nanoseconds: 22_034.
		Weight::from_parts(27_289_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn report_sybil() -> Weight {
		// Least time in nanoseconds: 70_306.
		Weight::from_parts(81_701_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	// Not measured yet: what the pallet derives from its accesses holds.
	fn set_operator() -> Weight {
		Weight::zero()
	}
	fn serve() -> Weight {
		Weight::zero()
	}
	fn sweep_idle() -> Weight {
		// Least time in nanoseconds: 9_197.
		Weight::from_parts(10_730_000, 1581).saturating_add(T::DbWeight::get().reads(3))
	}
	fn sweep() -> Weight {
		// Least time in nanoseconds: 106_160.
		Weight::from_parts(120_965_000, 40536).saturating_add(T::DbWeight::get().reads(13)).saturating_add(T::DbWeight::get().writes(10))
	}
}
