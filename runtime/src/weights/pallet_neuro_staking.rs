//! Weights of `pallet_neuro_staking`, measured by `scripts/weights.sh`: 20 steps, 10 repetitions, 2026-11-26, Intel(R) Xeon(R) Processor.
//! Added by hand, from what is accessed: the speed that was tested in `update_info`, with a draw and the number of active ones, and in `prove_arithmetic`,
//! `withdraw_unbonded` and `deregister`.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_staking::WeightInfo for WeightInfo<T> {
	fn register() -> Weight {
		// Least time in nanoseconds: 109_818.
		Weight::from_parts(126_078_000, 5384).saturating_add(T::DbWeight::get().reads(11)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn update_info() -> Weight {
		// Least time in nanoseconds: 55_838.
		Weight::from_parts(64_329_000, 5384).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(7))
	}
	fn bond_extra() -> Weight {
		// Least time in nanoseconds: 89_209.
		Weight::from_parts(97_812_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn unbond() -> Weight {
		// Least time in nanoseconds: 43_761.
		Weight::from_parts(48_820_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn withdraw_unbonded() -> Weight {
		// Least time in nanoseconds: 101_280.
		Weight::from_parts(110_499_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(7))
	}
	fn chill() -> Weight {
		// Least time in nanoseconds: 37_374.
		Weight::from_parts(43_188_000, 5384).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn activate() -> Weight {
		// Least time in nanoseconds: 45_328.
		Weight::from_parts(50_511_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn deregister() -> Weight {
		// Least time in nanoseconds: 47_081.
		Weight::from_parts(51_394_000, 5384).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn prove_arithmetic() -> Weight {
		// Least time in nanoseconds: 6_803_452.
		Weight::from_parts(7_188_165_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn lock() -> Weight {
		// Least time in nanoseconds: 32_441.
		Weight::from_parts(37_397_000, 5384).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn report_sybil() -> Weight {
		// Least time in nanoseconds: 104_047.
		Weight::from_parts(116_532_000, 5384).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn set_operator() -> Weight {
		// Least time in nanoseconds: 44_452.
		Weight::from_parts(49_046_000, 9778).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn serve() -> Weight {
		// Least time in nanoseconds: 31_286.
		Weight::from_parts(35_246_000, 3545).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn sweep_idle() -> Weight {
		// Least time in nanoseconds: 15_649.
		Weight::from_parts(18_695_000, 1581).saturating_add(T::DbWeight::get().reads(3))
	}
	fn sweep() -> Weight {
		// Least time in nanoseconds: 159_756.
		Weight::from_parts(182_499_000, 40536).saturating_add(T::DbWeight::get().reads(13)).saturating_add(T::DbWeight::get().writes(10))
	}
}
