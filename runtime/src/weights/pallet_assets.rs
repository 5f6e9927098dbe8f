//! Weights of `pallet_assets`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-23, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_assets::WeightInfo for WeightInfo<T> {
	fn create() -> Weight {
		// Least time in nanoseconds: 23_135.
		Weight::from_parts(26_550_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn force_create() -> Weight {
		// Least time in nanoseconds: 8_866.
		Weight::from_parts(10_579_000, 3675).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn start_destroy() -> Weight {
		// Least time in nanoseconds: 11_355.
		Weight::from_parts(13_262_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	// c: 0 to 256.
	fn destroy_accounts(c: u32) -> Weight {
		// Least time in nanoseconds: 14_109.
		Weight::from_parts(15_545_000, 3675)
			.saturating_add(Weight::from_parts(15_714_801, 0).saturating_mul(c.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().reads(u64::from(c).saturating_mul(3)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(c).saturating_mul(2)))
			.saturating_add(Weight::from_parts(0, 2615).saturating_mul(c.into()))
	}
	// a: 0 to 256.
	fn destroy_approvals(a: u32) -> Weight {
		// Least time in nanoseconds: 15_042.
		Weight::from_parts(16_434_000, 3675)
			.saturating_add(Weight::from_parts(16_050_126, 0).saturating_mul(a.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().reads(u64::from(a).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(a).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2623).saturating_mul(a.into()))
	}
	fn finish_destroy() -> Weight {
		// Least time in nanoseconds: 11_742.
		Weight::from_parts(13_613_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn mint() -> Weight {
		// Least time in nanoseconds: 19_332.
		Weight::from_parts(22_141_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn burn() -> Weight {
		// Least time in nanoseconds: 32_226.
		Weight::from_parts(36_954_000, 3675).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn transfer() -> Weight {
		// Least time in nanoseconds: 42_490.
		Weight::from_parts(49_468_000, 6208).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn transfer_keep_alive() -> Weight {
		// Least time in nanoseconds: 37_419.
		Weight::from_parts(42_894_000, 6208).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn force_transfer() -> Weight {
		// Least time in nanoseconds: 43_694.
		Weight::from_parts(49_809_000, 6208).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn freeze() -> Weight {
		// Least time in nanoseconds: 13_601.
		Weight::from_parts(15_866_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn thaw() -> Weight {
		// Least time in nanoseconds: 13_239.
		Weight::from_parts(15_749_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn freeze_asset() -> Weight {
		// Least time in nanoseconds: 9_610.
		Weight::from_parts(11_315_000, 3675).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn thaw_asset() -> Weight {
		// Least time in nanoseconds: 9_938.
		Weight::from_parts(11_313_000, 3675).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn transfer_ownership() -> Weight {
		// Least time in nanoseconds: 10_749.
		Weight::from_parts(12_884_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn set_team() -> Weight {
		// Least time in nanoseconds: 9_400.
		Weight::from_parts(10_955_000, 3675).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	// n: 0 to 5.
	fn set_reserves(n: u32) -> Weight {
		// Least time in nanoseconds: 10_267.
		Weight::from_parts(12_045_293, 3675)
			.saturating_add(Weight::from_parts(27_659, 0).saturating_mul(n.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// n: 0 to 50.
	// s: 0 to 50.
	fn set_metadata(n: u32, s: u32) -> Weight {
		// Least time in nanoseconds: 11_749.
		Weight::from_parts(13_810_712, 3675)
			.saturating_add(Weight::from_parts(1_846, 0).saturating_mul(n.into()))
			.saturating_add(Weight::from_parts(3_278, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	fn clear_metadata() -> Weight {
		// Least time in nanoseconds: 12_368.
		Weight::from_parts(14_296_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	// n: 0 to 50.
	// s: 0 to 50.
	fn force_set_metadata(n: u32, s: u32) -> Weight {
		// Least time in nanoseconds: 10_210.
		Weight::from_parts(11_603_834, 3675)
			.saturating_add(Weight::from_parts(1_986, 0).saturating_mul(n.into()))
			.saturating_add(Weight::from_parts(2_637, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	fn force_clear_metadata() -> Weight {
		// Least time in nanoseconds: 11_876.
		Weight::from_parts(14_095_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn force_asset_status() -> Weight {
		// Least time in nanoseconds: 8_920.
		Weight::from_parts(10_546_000, 3675).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn approve_transfer() -> Weight {
		// Least time in nanoseconds: 26_363.
		Weight::from_parts(29_054_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn transfer_approved() -> Weight {
		// Least time in nanoseconds: 60_009.
		Weight::from_parts(64_701_000, 6208).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn cancel_approval() -> Weight {
		// Least time in nanoseconds: 27_679.
		Weight::from_parts(31_922_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn force_cancel_approval() -> Weight {
		// Least time in nanoseconds: 29_836.
		Weight::from_parts(33_855_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn set_min_balance() -> Weight {
		// Least time in nanoseconds: 9_845.
		Weight::from_parts(11_565_000, 3675).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn touch() -> Weight {
		// Least time in nanoseconds: 28_190.
		Weight::from_parts(31_503_000, 3675).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn touch_other() -> Weight {
		// Least time in nanoseconds: 25_961.
		Weight::from_parts(29_200_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn refund() -> Weight {
		// Least time in nanoseconds: 29_748.
		Weight::from_parts(33_657_000, 3675).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(3))
	}
	fn refund_other() -> Weight {
		// Least time in nanoseconds: 28_183.
		Weight::from_parts(31_991_000, 3675).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn block() -> Weight {
		// Least time in nanoseconds: 13_375.
		Weight::from_parts(15_220_000, 3675).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn transfer_all() -> Weight {
		// Least time in nanoseconds: 55_242.
		Weight::from_parts(62_610_000, 6208).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn total_issuance() -> Weight {
		// Least time in nanoseconds: 4_593.
		Weight::from_parts(5_380_000, 3675).saturating_add(T::DbWeight::get().reads(1))
	}
	fn balance() -> Weight {
		// Least time in nanoseconds: 5_397.
		Weight::from_parts(6_355_000, 3599).saturating_add(T::DbWeight::get().reads(1))
	}
	fn allowance() -> Weight {
		// Least time in nanoseconds: 7_888.
		Weight::from_parts(9_251_000, 3613).saturating_add(T::DbWeight::get().reads(1))
	}
	fn migration_v2_foreign_asset_set_reserve_weight() -> Weight {
		// Least time in nanoseconds: 5_922.
		Weight::from_parts(6_771_000, 3675).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn get_metadata() -> Weight {
		// Least time in nanoseconds: 4_806.
		Weight::from_parts(5_574_000, 3605).saturating_add(T::DbWeight::get().reads(1))
	}
}
