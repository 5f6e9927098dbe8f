//! Weights of the calls and hooks, derived by hand.
//!
//! Each weight is the database accesses, counted in the code and priced by the runtime's `DbWeight`, plus an allowance for computation.
//! A credit is weighed by whoever makes proofs final: it reads the rates, the era, its total, the provider, the count of its role and the
//! account's points, and writes the total and the account's points; its multiplier takes 20 microseconds. The reward of a block is weighed by
//! whoever notes its author: it reads the era, its length, an account, the issuance and a total, and writes all of them but the length. A fee
//! is weighed by whoever charges it.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet.
pub trait WeightInfo {
	/// Weight of `claim`.
	fn claim() -> Weight;
	/// Weight of `claim_for`.
	fn claim_for() -> Weight;
	/// Weight of `set_shares`.
	fn set_shares() -> Weight;
	/// Weight of the end of an era together with the removal of `n` accounts of an expired one.
	fn rotate(n: u32) -> Weight;
}

/// One division of 256 bits and coding of small entries: 30 microseconds.
const COMPUTE: Weight = Weight::from_parts(30_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads: current era, history depth, era, points, account, total issuance, claimed, total claimed. Writes: the last six.
	fn claim() -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(8, 6))
	}
	/// As `claim`.
	fn claim_for() -> Weight {
		Self::claim()
	}
	/// Writes: the shares.
	fn set_shares() -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(0, 1))
	}
	/// Reads: current era, its length and total, the treasury's account, total issuance, what the treasury got, total budget, unminted, shares,
	/// curve, history depth, oldest era, the expired era. Writes: current era, its total, the treasury's account, total issuance, what the
	/// treasury got, total budget, unminted, the ended and the expired era, oldest era. Each account: one read to find it, one to take it, one
	/// write.
	fn rotate(n: u32) -> Weight {
		let each = T::DbWeight::get().reads_writes(2, 1);
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(13, 10)).saturating_add(each.saturating_mul(n.into()))
	}
}

/// No weight at all, for tests.
impl WeightInfo for () {
	fn claim() -> Weight {
		Weight::zero()
	}
	fn claim_for() -> Weight {
		Weight::zero()
	}
	fn set_shares() -> Weight {
		Weight::zero()
	}
	fn rotate(_: u32) -> Weight {
		Weight::zero()
	}
}
