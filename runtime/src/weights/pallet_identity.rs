//! Weights of `pallet_identity`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-23, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_identity::WeightInfo for WeightInfo<T> {
	// r: 1 to 15.
	fn add_registrar(r: u32) -> Weight {
		// Least time in nanoseconds: 8_189.
		Weight::from_parts(9_441_415, 2398)
			.saturating_add(Weight::from_parts(116_345, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 16.
	fn remove_registrar(r: u32) -> Weight {
		// Least time in nanoseconds: 8_366.
		Weight::from_parts(9_399_819, 2398)
			.saturating_add(Weight::from_parts(109_081, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 16.
	fn set_identity(r: u32) -> Weight {
		// Least time in nanoseconds: 37_595.
		Weight::from_parts(42_688_245, 5206)
			.saturating_add(Weight::from_parts(215_265, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 0 to 32.
	fn set_subs_new(s: u32) -> Weight {
		// Least time in nanoseconds: 12_842.
		Weight::from_parts(24_388_155, 5206)
			.saturating_add(Weight::from_parts(4_498_258, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().reads(u64::from(s).saturating_mul(1)))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(s).saturating_mul(1)))
			.saturating_add(Weight::from_parts(0, 2589).saturating_mul(s.into()))
	}
	// p: 0 to 32.
	fn set_subs_old(p: u32) -> Weight {
		// Least time in nanoseconds: 12_653.
		Weight::from_parts(24_694_846, 5206)
			.saturating_add(Weight::from_parts(1_880_592, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(1))
			.saturating_add(T::DbWeight::get().writes(u64::from(p).saturating_mul(1)))
	}
	// r: 1 to 16.
	// s: 0 to 32.
	fn clear_identity(r: u32, s: u32) -> Weight {
		// Least time in nanoseconds: 35_144.
		Weight::from_parts(36_404_682, 5206)
			.saturating_add(Weight::from_parts(319_940, 0).saturating_mul(r.into()))
			.saturating_add(Weight::from_parts(1_638_377, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(2))
			.saturating_add(T::DbWeight::get().writes(u64::from(s).saturating_mul(1)))
	}
	// r: 1 to 16.
	fn request_judgement(r: u32) -> Weight {
		// Least time in nanoseconds: 38_961.
		Weight::from_parts(43_747_201, 5206)
			.saturating_add(Weight::from_parts(132_253, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 16.
	fn cancel_request(r: u32) -> Weight {
		// Least time in nanoseconds: 35_124.
		Weight::from_parts(39_427_540, 5206)
			.saturating_add(Weight::from_parts(90_568, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 15.
	fn set_fee(r: u32) -> Weight {
		// Least time in nanoseconds: 5_536.
		Weight::from_parts(6_510_179, 2398)
			.saturating_add(Weight::from_parts(79_885, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 15.
	fn set_account_id(r: u32) -> Weight {
		// Least time in nanoseconds: 5_674.
		Weight::from_parts(6_749_071, 2398)
			.saturating_add(Weight::from_parts(83_072, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 15.
	fn set_fields(r: u32) -> Weight {
		// Least time in nanoseconds: 5_794.
		Weight::from_parts(6_652_030, 2398)
			.saturating_add(Weight::from_parts(79_137, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 15.
	fn provide_judgement(r: u32) -> Weight {
		// Least time in nanoseconds: 32_021.
		Weight::from_parts(36_407_391, 5206)
			.saturating_add(Weight::from_parts(94_491, 0).saturating_mul(r.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// r: 1 to 16.
	// s: 0 to 32.
	fn kill_identity(r: u32, s: u32) -> Weight {
		// Least time in nanoseconds: 47_916.
		Weight::from_parts(49_537_470, 6196)
			.saturating_add(Weight::from_parts(490_687, 0).saturating_mul(r.into()))
			.saturating_add(Weight::from_parts(1_607_630, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(4))
			.saturating_add(T::DbWeight::get().writes(4))
			.saturating_add(T::DbWeight::get().writes(u64::from(s).saturating_mul(1)))
	}
	// s: 0 to 31.
	fn add_sub(s: u32) -> Weight {
		// Least time in nanoseconds: 25_767.
		Weight::from_parts(32_174_368, 5206)
			.saturating_add(Weight::from_parts(139_053, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// s: 1 to 32.
	fn rename_sub(s: u32) -> Weight {
		// Least time in nanoseconds: 15_038.
		Weight::from_parts(18_290_443, 5206)
			.saturating_add(Weight::from_parts(73_064, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 1 to 32.
	fn remove_sub(s: u32) -> Weight {
		// Least time in nanoseconds: 29_756.
		Weight::from_parts(36_160_533, 5206)
			.saturating_add(Weight::from_parts(136_891, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// s: 0 to 31.
	fn quit_sub(s: u32) -> Weight {
		// Least time in nanoseconds: 21_693.
		Weight::from_parts(24_880_526, 4546)
			.saturating_add(Weight::from_parts(181_692, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	fn add_username_authority() -> Weight {
		// Least time in nanoseconds: 5_805.
		Weight::from_parts(7_026_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	fn remove_username_authority() -> Weight {
		// Least time in nanoseconds: 8_509.
		Weight::from_parts(10_026_000, 3517).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 0 to 1.
	fn set_username_for(_p: u32) -> Weight {
		// Least time in nanoseconds: 65_239.
		Weight::from_parts(94_173_687, 3593).saturating_add(T::DbWeight::get().reads(5)).saturating_add(T::DbWeight::get().writes(4))
	}
	fn accept_username() -> Weight {
		// Least time in nanoseconds: 19_310.
		Weight::from_parts(21_438_000, 3567).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(3))
	}
	// p: 0 to 1.
	fn remove_expired_approval(_p: u32) -> Weight {
		// Least time in nanoseconds: 25_604.
		Weight::from_parts(82_768_392, 3593).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn set_primary_username() -> Weight {
		// Least time in nanoseconds: 11_653.
		Weight::from_parts(13_318_000, 3563).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn unbind_username() -> Weight {
		// Least time in nanoseconds: 15_657.
		Weight::from_parts(18_171_000, 3563).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn remove_username() -> Weight {
		// Least time in nanoseconds: 21_198.
		Weight::from_parts(23_208_000, 3563).saturating_add(T::DbWeight::get().reads(4)).saturating_add(T::DbWeight::get().writes(3))
	}
	// p: 0 to 1.
	fn kill_username(_p: u32) -> Weight {
		// Least time in nanoseconds: 19_125.
		Weight::from_parts(55_992_039, 6196).saturating_add(T::DbWeight::get().reads(6)).saturating_add(T::DbWeight::get().writes(5))
	}
	fn migration_v2_authority_step() -> Weight {
		// Least time in nanoseconds: 7_401.
		Weight::from_parts(8_553_000, 6086).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn migration_v2_username_step() -> Weight {
		// Least time in nanoseconds: 7_546.
		Weight::from_parts(8_508_000, 6098).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn migration_v2_identity_step() -> Weight {
		// Least time in nanoseconds: 22_982.
		Weight::from_parts(24_473_000, 9422).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn migration_v2_pending_username_step() -> Weight {
		// Least time in nanoseconds: 6_569.
		Weight::from_parts(7_596_000, 6144).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn migration_v2_cleanup_authority_step() -> Weight {
		// Least time in nanoseconds: 10_290.
		Weight::from_parts(11_405_000, 6044).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn migration_v2_cleanup_username_step() -> Weight {
		// Least time in nanoseconds: 9_190.
		Weight::from_parts(10_330_000, 6136).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(1))
	}
}
