//! Weights of `pallet_scheduler`, measured by `scripts/weights.sh`: 10 steps, 6 repetitions, 2026-11-23, Intel(R) Xeon(R) Processor.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// Measured weights.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_scheduler::WeightInfo for WeightInfo<T> {
	fn service_agendas_base() -> Weight {
		// Least time in nanoseconds: 5_008.
		Weight::from_parts(5_973_000, 1489).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 0 to 32.
	fn service_agenda_base(s: u32) -> Weight {
		// Least time in nanoseconds: 3_446.
		Weight::from_parts(6_133_198, 10166)
			.saturating_add(Weight::from_parts(456_661, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	fn service_task_base() -> Weight {
		// Least time in nanoseconds: 2_687.
		Weight::from_parts(3_215_000, 0)
	}
	// s: 128 to 4194304.
	fn service_task_fetched(s: u32) -> Weight {
		// Least time in nanoseconds: 18_393.
		Weight::from_parts(19_341_000, 3604)
			.saturating_add(Weight::from_parts(1_556, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(3))
			.saturating_add(T::DbWeight::get().writes(2))
			.saturating_add(Weight::from_parts(0, 1).saturating_mul(s.into()))
	}
	fn service_task_named() -> Weight {
		// Least time in nanoseconds: 3_994.
		Weight::from_parts(4_787_000, 0).saturating_add(T::DbWeight::get().writes(1))
	}
	fn service_task_periodic() -> Weight {
		// Least time in nanoseconds: 2_686.
		Weight::from_parts(3_200_000, 0)
	}
	fn execute_dispatch_signed() -> Weight {
		// Least time in nanoseconds: 6_279.
		Weight::from_parts(7_552_000, 3613).saturating_add(T::DbWeight::get().reads(2))
	}
	fn execute_dispatch_unsigned() -> Weight {
		// Least time in nanoseconds: 1_988.
		Weight::from_parts(2_398_000, 0)
	}
	// s: 0 to 31.
	fn schedule(s: u32) -> Weight {
		// Least time in nanoseconds: 9_259.
		Weight::from_parts(12_946_409, 10166)
			.saturating_add(Weight::from_parts(464_665, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(1))
	}
	// s: 1 to 32.
	fn cancel(s: u32) -> Weight {
		// Least time in nanoseconds: 14_790.
		Weight::from_parts(16_558_051, 10166)
			.saturating_add(Weight::from_parts(653_198, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(3))
	}
	// s: 0 to 31.
	fn schedule_named(s: u32) -> Weight {
		// Least time in nanoseconds: 12_691.
		Weight::from_parts(17_643_540, 10166)
			.saturating_add(Weight::from_parts(532_049, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	// s: 1 to 32.
	fn cancel_named(s: u32) -> Weight {
		// Least time in nanoseconds: 18_613.
		Weight::from_parts(19_895_731, 10166)
			.saturating_add(Weight::from_parts(735_042, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(2))
			.saturating_add(T::DbWeight::get().writes(3))
	}
	// s: 1 to 32.
	fn schedule_retry(s: u32) -> Weight {
		// Least time in nanoseconds: 9_344.
		Weight::from_parts(10_486_752, 10166)
			.saturating_add(Weight::from_parts(27_700, 0).saturating_mul(s.into()))
			.saturating_add(T::DbWeight::get().reads(1))
			.saturating_add(T::DbWeight::get().writes(2))
	}
	fn set_retry() -> Weight {
		// Least time in nanoseconds: 19_575.
		Weight::from_parts(23_806_000, 10166).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn set_retry_named() -> Weight {
		// Least time in nanoseconds: 24_287.
		Weight::from_parts(28_034_000, 10166).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn cancel_retry() -> Weight {
		// Least time in nanoseconds: 18_783.
		Weight::from_parts(21_796_000, 10166).saturating_add(T::DbWeight::get().reads(1)).saturating_add(T::DbWeight::get().writes(1))
	}
	fn cancel_retry_named() -> Weight {
		// Least time in nanoseconds: 23_272.
		Weight::from_parts(26_821_000, 10166).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
}
