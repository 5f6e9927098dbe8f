//! Weights of the calls, derived by hand.
//!
//! Each weight is the call's database accesses, counted in the code and priced by the runtime's `DbWeight`, plus a fixed
//! allowance for computation. A stored dataset has less than 1 KiB. What `staking` does on a call's behalf is counted with what it needs there.

use crate::MAX_CHALLENGES;
use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet's calls.
pub trait WeightInfo {
	/// Weight of `propose`.
	fn propose() -> Weight;
	/// Weight of `activate`.
	fn activate() -> Weight;
	/// Weight of `retire`, no run using the dataset.
	fn retire() -> Weight;
	/// Weight of `force_retire`, no run using the dataset.
	fn force_retire() -> Weight;
	/// Weight of `remove`.
	fn remove() -> Weight;
	/// Weight of `attest`, the attestation being new.
	fn attest() -> Weight;
	/// Weight of `withdraw_attestation`, the attestation having expired.
	fn withdraw_attestation() -> Weight;
	/// Weight of `challenge_shard`.
	fn challenge_shard() -> Weight;
	/// Weight of `answer_challenge`.
	fn answer_challenge() -> Weight;
	/// Weight of looking at an answer before it gets into a block.
	fn check_answer() -> Weight;
	/// Weight of `conclude_challenge`, as many challenges as there can be being open.
	fn conclude_challenge() -> Weight;
	/// Weight of `condemn`, no run using the dataset.
	fn condemn() -> Weight;
}

/// Computation of a call that decodes, checks and encodes one dataset: 50 microseconds.
const COMPUTE: Weight = Weight::from_parts(50_000_000, 0);
/// Hashing a chunk and two proofs, 6 KiB at 10 ns a byte, and looking through the tokens: 100 microseconds.
const OPENING: Weight = Weight::from_parts(100_000_000, 0);
/// Computation for one bond that goes back: 20 microseconds.
const BOND: Weight = Weight::from_parts(20_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn with(reads: u64, writes: u64) -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(reads, writes))
	}

	/// An attestation ends. Reads: number of attestations, list of the attester's, account, holds, provider. Writes: these and the attestation.
	fn end() -> Weight {
		Self::with(5, 6)
	}

	/// All challenges of an attestation are moot. Reads and writes for each: itself, account, holds.
	fn moot() -> Weight {
		BOND.saturating_add(T::DbWeight::get().reads_writes(3, 3)).saturating_mul(MAX_CHALLENGES.into())
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads and writes: counter, next identifier, dataset, account, holds.
	fn propose() -> Weight {
		Self::with(5, 5)
	}
	/// Reads and writes: dataset.
	fn activate() -> Weight {
		Self::with(1, 1)
	}
	/// Reads and writes: dataset, whether it leaves. Reads and writes the counter, as every insertion of a dataset.
	fn retire() -> Weight {
		Self::with(3, 3)
	}
	/// Reads and writes: those of `retire`.
	fn force_retire() -> Weight {
		Self::with(3, 3)
	}
	/// Reads: dataset, counter, since when it leaves, time for an answer, account, holds. Writes: the same but the time.
	fn remove() -> Weight {
		Self::with(6, 5)
	}
	/// Reads: owner of an operator, dataset, provider, attestation, number of attestations, list of the attester's, account, holds, period. Writes: attestation, number,
	/// list, account, holds, provider.
	fn attest() -> Weight {
		Self::with(9, 6)
	}
	/// Reads: owner of an operator, attestation, dataset. And the end of the attestation.
	fn withdraw_attestation() -> Weight {
		Self::end().saturating_add(T::DbWeight::get().reads(3))
	}
	/// Reads: dataset, whether it leaves, attestation, challenge, account, holds, time for the answer. Writes: attestation, challenge, account, holds.
	fn challenge_shard() -> Weight {
		Self::with(7, 4)
	}
	/// Reads: owner of an operator, challenge, dataset, attestation, challenger's account and holds, attester's account. Writes: challenge, attestation,
	/// challenger's account and holds, attester's account.
	fn answer_challenge() -> Weight {
		Self::with(7, 5).saturating_add(OPENING)
	}
	/// Reads: owner of an operator, challenge, dataset.
	fn check_answer() -> Weight {
		Self::with(3, 0).saturating_add(OPENING)
	}
	/// Reads: challenge, attestation, challenger's account and holds, attester's account and holds, minimum bond, terms of verifiers, number of active
	/// providers, penalties. Writes: challenge, both accounts and holds, number of active providers. And the end of the attestation and of all
	/// its challenges.
	fn conclude_challenge() -> Weight {
		Self::end().saturating_add(Self::moot()).saturating_add(Self::with(10, 6))
	}
	/// Reads: dataset, counter, whether it leaves, proposer's account and holds, reporter's account. Writes: the same.
	fn condemn() -> Weight {
		Self::with(6, 6).saturating_add(OPENING)
	}
}

/// Computation alone, for tests.
impl WeightInfo for () {
	fn propose() -> Weight {
		COMPUTE
	}
	fn activate() -> Weight {
		COMPUTE
	}
	fn retire() -> Weight {
		COMPUTE
	}
	fn force_retire() -> Weight {
		COMPUTE
	}
	fn remove() -> Weight {
		COMPUTE
	}
	fn attest() -> Weight {
		COMPUTE
	}
	fn withdraw_attestation() -> Weight {
		COMPUTE
	}
	fn challenge_shard() -> Weight {
		COMPUTE
	}
	fn answer_challenge() -> Weight {
		COMPUTE
	}
	fn check_answer() -> Weight {
		COMPUTE
	}
	fn conclude_challenge() -> Weight {
		COMPUTE
	}
	fn condemn() -> Weight {
		COMPUTE
	}
}
