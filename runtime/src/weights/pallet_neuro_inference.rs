//! Weights of `pallet_neuro_inference`, in the form in which `scripts/weights.sh` writes them. They are not measured: each is the time that calls like it
//! were measured to take, rounded up, and the accesses that the benchmark of its most expensive case makes. The calls are `offer` of an offer that
//! replaces another one, as `Dataset::attest` with 64 providers more; `claim`, as `Ownership::deposit_revenue`, two signatures, and a transfer of each part
//! of a fee; the others, as those of `Dataset` and `Staking` that hold and release deposits.

use core::marker::PhantomData;
#[allow(unused_imports)] // `Get` prices accesses, which not everything makes.
use frame_support::{traits::Get, weights::Weight};

/// What is assumed.
pub struct WeightInfo<T>(PhantomData<T>);

impl<T: frame_system::Config> pallet_neuro_inference::WeightInfo for WeightInfo<T> {
	// m: 0 to 32.
	fn offer(m: u32) -> Weight {
		Weight::from_parts(450_000_000, 6196)
			.saturating_add(Weight::from_parts(30_000_000, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(9))
			.saturating_add(T::DbWeight::get().reads(u64::from(m).saturating_mul(2)))
			.saturating_add(T::DbWeight::get().writes(4))
			.saturating_add(T::DbWeight::get().writes(m.into()))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(m.into()))
	}
	fn join() -> Weight {
		Weight::from_parts(120_000_000, 5384).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	fn leave() -> Weight {
		Weight::from_parts(120_000_000, 5384).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(2))
	}
	// m: 0 to 32.
	fn withdraw_offer(m: u32) -> Weight {
		Weight::from_parts(120_000_000, 6196)
			.saturating_add(Weight::from_parts(20_000_000, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(m.into()))
			.saturating_add(T::DbWeight::get().writes(4))
			.saturating_add(T::DbWeight::get().writes(m.into()))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(m.into()))
	}
	fn open_session() -> Weight {
		Weight::from_parts(160_000_000, 6196).saturating_add(T::DbWeight::get().reads(8)).saturating_add(T::DbWeight::get().writes(6))
	}
	fn top_up() -> Weight {
		Weight::from_parts(80_000_000, 3621).saturating_add(T::DbWeight::get().reads(3)).saturating_add(T::DbWeight::get().writes(3))
	}
	// m: 1 to 32.
	fn claim(m: u32) -> Weight {
		Weight::from_parts(650_000_000, 8799)
			.saturating_add(Weight::from_parts(60_000_000, 0).saturating_mul(m.into()))
			.saturating_add(T::DbWeight::get().reads(26))
			.saturating_add(T::DbWeight::get().reads(u64::from(m).saturating_mul(2)))
			.saturating_add(T::DbWeight::get().writes(17))
			.saturating_add(T::DbWeight::get().writes(u64::from(m).saturating_mul(2)))
			.saturating_add(Weight::from_parts(0, 4394).saturating_mul(m.into()))
	}
	fn close_session() -> Weight {
		Weight::from_parts(30_000_000, 3621).saturating_add(T::DbWeight::get().reads(2)).saturating_add(T::DbWeight::get().writes(1))
	}
	// p: 0 to 16.
	fn settle(p: u32) -> Weight {
		Weight::from_parts(160_000_000, 6196)
			.saturating_add(Weight::from_parts(3_000_000, 0).saturating_mul(p.into()))
			.saturating_add(T::DbWeight::get().reads(5))
			.saturating_add(T::DbWeight::get().reads(p.into()))
			.saturating_add(T::DbWeight::get().writes(5))
			.saturating_add(T::DbWeight::get().writes(p.into()))
			.saturating_add(Weight::from_parts(0, 2600).saturating_mul(p.into()))
	}
}
