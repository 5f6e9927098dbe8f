//! Weights of `pallet_neuro_dataset`, measured by `scripts/weights.sh`: 8 steps, 6 repetitions, 2026-11-22, Intel(R) Xeon(R) Processor.
//!
//! Added by hand since: the read of whom a signer acts for.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_dataset::WeightInfo for WeightInfo<T> {
	fn propose() -> Weight {
		// Least time in nanoseconds: 54_123.
		Weight::from_parts(61_498_000, 4008).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn activate() -> Weight {
		// Least time in nanoseconds: 15_117.
		Weight::from_parts(17_797_000, 4008).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn retire() -> Weight {
		// Least time in nanoseconds: 18_434.
		Weight::from_parts(21_064_000, 4008).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn force_retire() -> Weight {
		// Least time in nanoseconds: 20_190.
		Weight::from_parts(22_640_000, 4008).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn remove() -> Weight {
		// Least time in nanoseconds: 55_494.
		Weight::from_parts(62_017_000, 4008).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn attest() -> Weight {
		// Least time in nanoseconds: 91_302.
		Weight::from_parts(106_029_000, 5384).saturating_add(T::DbWeight::get().reads(9)).saturating_add(T::DbWeight::get().writes(6))
	}
	fn withdraw_attestation() -> Weight {
		// Least time in nanoseconds: 71_772.
		Weight::from_parts(80_313_000, 5384).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(6))
	}
	fn challenge_shard() -> Weight {
		// Least time in nanoseconds: 68_256.
		Weight::from_parts(73_842_000, 4008).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn answer_challenge() -> Weight {
		// Least time in nanoseconds: 110_218.
		Weight::from_parts(127_220_000, 6196).saturating_add(T::DbWeight::get().reads(7)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn check_answer() -> Weight {
		// Least time in nanoseconds: 32_771.
		Weight::from_parts(37_205_000, 4008).saturating_add(T::DbWeight::get().reads(3))
	}
	fn conclude_challenge() -> Weight {
		// Least time in nanoseconds: 880_301.
		Weight::from_parts(984_227_000, 48794).saturating_add(T::DbWeight::get().reads(59)).saturating_add(T::DbWeight::get().writes(55))
	}
	fn condemn() -> Weight {
		// Least time in nanoseconds: 107_072.
		Weight::from_parts(122_884_000, 6196).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(5))
	}
}
