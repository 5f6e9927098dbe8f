//! Weights of the calls, derived by hand.
//!
//! Each weight is the call's database accesses, counted in the code and priced by the runtime's `DbWeight`, plus an allowance for computation.
//! What other pallets do on a call's behalf is counted with what it needs there. An offer has less than 3 KiB.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet's calls.
pub trait WeightInfo {
	/// Weight of `offer`, in place of another one: each ring has m members, and all of the former have agreed.
	fn offer(m: u32) -> Weight;
	/// Weight of `join`, the last one of the largest ring.
	fn join() -> Weight;
	/// Weight of `leave`, the largest ring.
	fn leave() -> Weight;
	/// Weight of `withdraw_offer`, m members having agreed.
	fn withdraw_offer(m: u32) -> Weight;
	/// Weight of `open_session`, with a provider that has the largest ring.
	fn open_session() -> Weight;
	/// Weight of `top_up`.
	fn top_up() -> Weight;
	/// Weight of `claim`, the ring having m spans of as many members, all of which have agreed.
	fn claim(m: u32) -> Weight;
	/// Weight of `close_session`.
	fn close_session() -> Weight;
	/// Weight of `settle`, p providers having claimed.
	fn settle(p: u32) -> Weight;
}

/// Coding of an offer with the largest ring, and of small entries: 60 microseconds.
const COMPUTE: Weight = Weight::from_parts(60_000_000, 0);
/// For each member of a ring: 15 microseconds.
const MEMBER: Weight = Weight::from_parts(15_000_000, 0);
/// Check of who computes each layer, wherever that may change: 250 microseconds for the largest ring, and 60 for its hash.
const RING: Weight = Weight::from_parts(310_000_000, 0);
/// Two signatures, one over the bytes as they are and one over the wrapped ones: 250 microseconds.
const SIGNATURES: Weight = Weight::from_parts(250_000_000, 0);
/// For what an account is paid: 30 microseconds.
const PAYMENT: Weight = Weight::from_parts(30_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn with(reads: u64, writes: u64) -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(reads, writes))
	}

	fn each(compute: Weight, reads: u64, writes: u64, count: u32) -> Weight {
		compute.saturating_add(T::DbWeight::get().reads_writes(reads, writes)).saturating_mul(count.into())
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads: owner of an operator, provider, run, halt, two records, offer, account, holds. Writes: offer, provider, account, holds. For each member:
	/// a provider of the new ring is read, and one of the former read and written.
	fn offer(m: u32) -> Weight {
		RING.saturating_add(Self::with(9, 4)).saturating_add(Self::each(MEMBER, 2, 1, m))
	}
	/// Reads: owner of an operator, offer, provider. Writes: offer, provider.
	fn join() -> Weight {
		Self::with(3, 2)
	}
	/// As `join`.
	fn leave() -> Weight {
		Self::join()
	}
	/// Reads: owner of an operator. Reads and writes: offer, provider, account, holds; a provider for each member.
	fn withdraw_offer(m: u32) -> Weight {
		Self::with(5, 4).saturating_add(Self::each(MEMBER, 1, 1, m))
	}
	/// Reads: provider, run, halt. Reads and writes: offer, next identifier, list of the user's sessions, account, holds. Writes: session.
	fn open_session() -> Weight {
		Self::with(8, 6)
	}
	/// Reads and writes: session, account, holds.
	fn top_up() -> Weight {
		Self::with(3, 3)
	}
	/// Reads: owner of an operator, offer, condemnation, run, halt, genesis hash, author of the block, candidate and commission of the author, share of audited
	/// answers, epoch. Writes: what is noted for their draw. Reads and writes: numbers of the notes in use; session, claim, account and holds of the user; model, pot of the owners; driver, its provider, treasury; pot of the validators, rewards of the
	/// author and those who stand behind it; issuance, inactive issuance, sum of what was burned. For each span: account and provider, read and written.
	fn claim(m: u32) -> Weight {
		let fixed = SIGNATURES.saturating_add(PAYMENT.saturating_mul(6)).saturating_add(Self::with(28, 18));
		fixed.saturating_add(Self::each(PAYMENT.saturating_add(MEMBER), 2, 2, m))
	}
	/// Reads: owner of an operator, session. Writes: session.
	fn close_session() -> Weight {
		Self::with(2, 1)
	}
	/// Reads and writes: session, offer, list of the user's sessions, account, holds, a condemnation; each claim, and its condemnation.
	fn settle(p: u32) -> Weight {
		Self::with(6, 6).saturating_add(Self::each(Weight::zero(), 2, 2, p))
	}
}
