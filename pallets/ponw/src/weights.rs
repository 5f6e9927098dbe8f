//! Weights of the call and of the hooks, derived by hand.
//!
//! Each weight is the database accesses, counted in the code and priced by the runtime's `DbWeight`, plus an allowance for
//! computation. Accesses of the other pallets behind the traits are counted too: a provider is one entry, its bond included.

use crate::cleaning::{FORGOTTEN_PER_BLOCK, SWEPT_PER_BLOCK};
use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet.
pub trait WeightInfo {
	/// Weight of `submit_uptime`.
	fn submit_uptime() -> Weight;
	/// Weight of making `n` proofs final at the beginning of a block.
	fn settle(n: u32) -> Weight;
	/// Weight of one block's share of the cleaning.
	fn clean() -> Weight;
	/// Weight of `WorkProofs::hold`, for whoever calls it.
	fn hold() -> Weight;
	/// Weight of `WorkProofs::release` of an account with an overdue proof, for whoever calls it.
	fn release() -> Weight;
}

/// Recovering a secp256k1 key takes about 50 microseconds natively; with hashing and coding, 150 are allowed.
const VERIFY: Weight = Weight::from_parts(150_000_000, 0);
/// Coding of small entries and a stake multiplier: 20 microseconds.
const SMALL: Weight = Weight::from_parts(20_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads: owner of an operator, provider, chain time, activity, genesis hash. Writes: activity, provider.
	fn submit_uptime() -> Weight {
		VERIFY.saturating_add(T::DbWeight::get().reads_writes(5, 2))
	}
	/// Reads: the queue's bounds and first entry, a released account. Writes: the bounds. Each proof reads the next queue entry, or the
	/// next released account and its overdue proof, the pending proof, whether the account is held, its standing, the provider, and for
	/// its credit the era, the rates, the count of the role, the era's points and the account's points: eleven at most. It writes six of
	/// them. Its share of the model reads seven more and writes six: the class of shares and its metadata, the model, and the account with
	/// its shares and what they earn.
	fn settle(n: u32) -> Weight {
		let each = SMALL.saturating_mul(2).saturating_add(T::DbWeight::get().reads_writes(18, 12));
		T::DbWeight::get().reads_writes(3, 1).saturating_add(each.saturating_mul(n.into()))
	}
	/// Reads: a finished run, chain time, cursor, and each entry and activity, once to find it and once to take it. Writes: the entries, the
	/// run, the cursor and the activities.
	fn clean() -> Weight {
		let entries = u64::from(FORGOTTEN_PER_BLOCK).saturating_add(SWEPT_PER_BLOCK.into());
		let reads_writes = T::DbWeight::get().reads_writes(entries.saturating_mul(2).saturating_add(4), entries.saturating_add(2));
		SMALL.saturating_mul(SWEPT_PER_BLOCK.into()).saturating_add(reads_writes)
	}
	/// Writes: held and released account.
	fn hold() -> Weight {
		SMALL.saturating_add(T::DbWeight::get().reads_writes(0, 2))
	}
	/// Reads: held account, an overdue proof. Writes: held and released account.
	fn release() -> Weight {
		SMALL.saturating_add(T::DbWeight::get().reads_writes(2, 2))
	}
}

/// No weight at all, for tests.
impl WeightInfo for () {
	fn submit_uptime() -> Weight {
		Weight::zero()
	}
	fn settle(_: u32) -> Weight {
		Weight::zero()
	}
	fn clean() -> Weight {
		Weight::zero()
	}
	fn hold() -> Weight {
		Weight::zero()
	}
	fn release() -> Weight {
		Weight::zero()
	}
}
