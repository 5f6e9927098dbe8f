//! Weights of the calls, derived by hand.
//!
//! Each weight is the call's database accesses, counted in the code and priced by the runtime's `DbWeight`, plus a fixed
//! allowance for computation. A stored provider has at most about 2 KiB, and no call loops over more than 32 chunks. The answer to a
//! challenge is measured.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet's calls.
pub trait WeightInfo {
	/// Weight of `register`.
	fn register() -> Weight;
	/// Weight of `update_info`.
	fn update_info() -> Weight;
	/// Weight of `bond_extra`.
	fn bond_extra() -> Weight;
	/// Weight of `unbond`.
	fn unbond() -> Weight;
	/// Weight of `withdraw_unbonded`, with the end of the registration.
	fn withdraw_unbonded() -> Weight;
	/// Weight of `chill`.
	fn chill() -> Weight;
	/// Weight of `activate`.
	fn activate() -> Weight;
	/// Weight of `deregister`.
	fn deregister() -> Weight;
	/// Weight of `prove_arithmetic`.
	fn prove_arithmetic() -> Weight;
	/// Weight of `lock`.
	fn lock() -> Weight;
	/// Weight of `report_sybil`.
	fn report_sybil() -> Weight;
	/// Weight of `set_operator` that replaces one that serves.
	fn set_operator() -> Weight;
	/// Weight of `serve`, with or without an owner.
	fn serve() -> Weight;
	/// Weight of finding that no verifier can have too small a bond.
	fn sweep_idle() -> Weight;
	/// Weight of looking at [`SWEPT`](crate::SWEPT) providers and demoting all of them.
	fn sweep() -> Weight;
}

/// Computation of a call that decodes, checks and encodes one provider: 50 microseconds.
const COMPUTE: Weight = Weight::from_parts(50_000_000, 0);

/// The answer to a challenge, computed by the kernels inside the runtime's WASM: 7 milliseconds were measured in the chain's executor
/// (`runtime/tests/kernels.rs` measures it), and 15 are charged, since machines differ.
const ANSWER: Weight = Weight::from_parts(15_000_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn with(reads: u64, writes: u64) -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(reads, writes))
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads: provider, owner of an operator, minimum bond, verifiers' bonds and number, key owner, peer id owner, account, holds, and three for the
	/// randomness (the author's VRF output, or an epoch's randomness and beginning). Writes: provider, key owner, peer id owner, account, holds.
	fn register() -> Weight {
		Self::with(12, 5)
	}
	/// Reads: owner of an operator, provider, verifiers' bonds and number, two owners of the new identity, tested speed, randomness. Writes: provider, number, two
	/// owners removed, two added, tested speed.
	fn update_info() -> Weight {
		Self::with(8, 7)
	}
	/// Reads and writes: provider, account, holds.
	fn bond_extra() -> Weight {
		Self::with(3, 3)
	}
	/// Reads: provider, cooldown, minimum bond, verifiers' bonds and number. Writes: provider, number.
	fn unbond() -> Weight {
		Self::with(5, 2)
	}
	/// Reads: provider, account, holds, its operator and the owner of that. Writes: the same, key owner, peer id owner, tested speed.
	fn withdraw_unbonded() -> Weight {
		Self::with(5, 8)
	}
	/// Reads: owner of an operator, provider, number of active ones. Writes: provider, number.
	fn chill() -> Weight {
		Self::with(3, 2)
	}
	/// Reads: owner of an operator, provider, minimum bond, verifiers' bonds and number. Writes: provider, number.
	fn activate() -> Weight {
		Self::with(5, 2)
	}
	/// Reads: provider, cooldown, minimum bond, verifiers' bonds and number, its operator and the owner of that. Writes: provider, number, key owner,
	/// peer id owner, operator, its owner, tested speed.
	fn deregister() -> Weight {
		Self::with(7, 7)
	}
	/// Reads: owner of an operator, provider, minimum bond, verifiers' bonds and number. Writes: provider, number, tested speed. And the answer.
	fn prove_arithmetic() -> Weight {
		Self::with(5, 3).saturating_add(ANSWER)
	}
	/// Reads: provider, minimum bond. Writes: provider.
	fn lock() -> Weight {
		Self::with(2, 1)
	}
	/// Reads: provider, penalties, account, holds, total issuance, minimum bond, number of active ones. Writes: provider, account, holds, total
	/// issuance, number.
	fn report_sybil() -> Weight {
		Self::with(7, 5)
	}
	/// Reads: provider, the new operator's provider, the operator twice, the owner of that. Writes: operator twice, its owner.
	fn set_operator() -> Weight {
		Self::with(5, 3)
	}
	/// Reads: owner, operator, provider. Writes: owner, operator.
	fn serve() -> Weight {
		Self::with(3, 2)
	}
	/// Reads: verifiers' bonds and number, minimum bond.
	fn sweep_idle() -> Weight {
		Self::with(3, 0)
	}
	/// Reads: as above, cursor, eight providers. Writes: cursor, number, eight providers.
	fn sweep() -> Weight {
		COMPUTE.saturating_mul(7).saturating_add(Self::with(12, 10))
	}
}

/// Computation alone, for tests.
impl WeightInfo for () {
	fn register() -> Weight {
		COMPUTE
	}
	fn update_info() -> Weight {
		COMPUTE
	}
	fn bond_extra() -> Weight {
		COMPUTE
	}
	fn unbond() -> Weight {
		COMPUTE
	}
	fn withdraw_unbonded() -> Weight {
		COMPUTE
	}
	fn chill() -> Weight {
		COMPUTE
	}
	fn activate() -> Weight {
		COMPUTE
	}
	fn deregister() -> Weight {
		COMPUTE
	}
	fn prove_arithmetic() -> Weight {
		COMPUTE.saturating_add(ANSWER)
	}
	fn lock() -> Weight {
		COMPUTE
	}
	fn report_sybil() -> Weight {
		COMPUTE
	}
	fn set_operator() -> Weight {
		COMPUTE
	}
	fn serve() -> Weight {
		COMPUTE
	}
	fn sweep_idle() -> Weight {
		COMPUTE
	}
	fn sweep() -> Weight {
		COMPUTE
	}
}
