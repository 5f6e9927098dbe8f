//! Weights of `pallet_neuro_staking`, measured by `scripts/weights.sh`: 12 steps, 8 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// What was measured.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_staking::WeightInfo for WeightInfo<T> {
	fn register() -> Weight {
		// Least time in nanoseconds: 67_827.
		Weight::from_parts(72_540_000, 5384).saturating_add(T::DbWeight::get().reads(10)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn update_info() -> Weight {
		// Least time in nanoseconds: 34_184.
		Weight::from_parts(40_477_000, 5384).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn bond_extra() -> Weight {
		// Least time in nanoseconds: 62_081.
		Weight::from_parts(72_966_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn unbond() -> Weight {
		// Least time in nanoseconds: 28_708.
		Weight::from_parts(33_398_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn withdraw_unbonded() -> Weight {
		// Least time in nanoseconds: 59_519.
		Weight::from_parts(70_178_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn chill() -> Weight {
		// Least time in nanoseconds: 22_436.
		Weight::from_parts(27_878_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn activate() -> Weight {
		// Least time in nanoseconds: 26_789.
		Weight::from_parts(31_395_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn deregister() -> Weight {
		// Least time in nanoseconds: 30_274.
		Weight::from_parts(33_439_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn prove_arithmetic() -> Weight {
		// Least time in nanoseconds: 5_752_560.
		Weight::from_parts(6_204_528_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn lock() -> Weight {
		// Least time in nanoseconds: 23_074.
		Weight::from_parts(27_142_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn report_sybil() -> Weight {
		// Least time in nanoseconds: 72_212.
		Weight::from_parts(92_170_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn sweep_idle() -> Weight {
		// Least time in nanoseconds: 10_212.
		Weight::from_parts(11_529_000, 1581).saturating_add(T::DbWeight::get().reads(3))
	}
	fn sweep() -> Weight {
		// Least time in nanoseconds: 106_036.
		Weight::from_parts(120_881_000, 40536).saturating_add(T::DbWeight::get().reads(13)).saturating_add(T::DbWeight::get().writes(10))
	}
}
