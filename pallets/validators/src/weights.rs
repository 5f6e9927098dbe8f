//! Weights of the calls, derived by hand.
//!
//! Each weight is the call's database accesses, counted in the code and priced by the runtime's `DbWeight`, plus a fixed allowance for
//! computation. A stored candidate or nomination has less than 500 bytes. The hold of an account is its account and its list of holds.

use core::marker::PhantomData;
use frame_support::{traits::Get, weights::Weight};

/// Weights of this pallet's calls and hooks.
pub trait WeightInfo {
	/// Weight of `bond`.
	fn bond() -> Weight;
	/// Weight of `bond_extra`.
	fn bond_extra() -> Weight;
	/// Weight of `unbond`.
	fn unbond() -> Weight;
	/// Weight of `withdraw_unbonded` that releases `n` nominations.
	fn withdraw_unbonded(n: u32) -> Weight;
	/// Weight of `chill`.
	fn chill() -> Weight;
	/// Weight of `activate`.
	fn activate() -> Weight;
	/// Weight of `set_commission`.
	fn set_commission() -> Weight;
	/// Weight of `nominate` that reads `n` nominations to displace the smallest; none if there is room.
	fn nominate(n: u32) -> Weight;
	/// Weight of `unnominate`.
	fn unnominate() -> Weight;
	/// Weight of `withdraw_nomination`.
	fn withdraw_nomination() -> Weight;
	/// Weight of `claim_rewards`.
	fn claim_rewards() -> Weight;
	/// Weight of `set_validator_count`.
	fn set_validator_count() -> Weight;
	/// Weight of the reward of an authored block.
	fn note_author() -> Weight;
	/// Weight of an offence of a candidate with `n` nominations.
	fn punish(n: u32) -> Weight;
	/// Weight of the end of a session with `c` candidates and `v` validators.
	fn rotate_session(c: u32, v: u32) -> Weight;
}

/// Computation of a call that decodes, changes and encodes a candidate and a nomination: 50 microseconds.
const COMPUTE: Weight = Weight::from_parts(50_000_000, 0);
/// Computation for each further nomination, candidate or validator: 20 microseconds.
const EACH: Weight = Weight::from_parts(20_000_000, 0);

/// The hand-derived weights, priced by the runtime's database weights.
pub struct SubstrateWeight<T>(PhantomData<T>);

impl<T: frame_system::Config> SubstrateWeight<T> {
	fn with(reads: u64, writes: u64) -> Weight {
		COMPUTE.saturating_add(T::DbWeight::get().reads_writes(reads, writes))
	}

	/// `n` times so many accesses.
	fn each(n: u32, reads: u64, writes: u64) -> Weight {
		EACH.saturating_add(T::DbWeight::get().reads_writes(reads, writes)).saturating_mul(n.into())
	}
}

impl<T: frame_system::Config> WeightInfo for SubstrateWeight<T> {
	/// Reads: candidate, offender, session keys, minimum, number of candidates, account, holds. Writes: candidate, their number, account, holds.
	fn bond() -> Weight {
		Self::with(7, 4)
	}
	/// Reads: offender, candidate, owed, account, holds, minimum. Writes: candidate, owed, account, holds.
	fn bond_extra() -> Weight {
		Self::with(6, 4)
	}
	/// Reads: cooldown, candidate, minimum, owed. Writes: candidate, owed.
	fn unbond() -> Weight {
		Self::with(4, 2)
	}
	/// Reads: candidate, running session, planned session, two sets, account, holds, owed, number of candidates. Writes: candidate, their
	/// number, account, holds, owed. For each nomination reads and writes: the nomination, owed, account, holds, list of the nominator.
	fn withdraw_unbonded(n: u32) -> Weight {
		Self::with(9, 5).saturating_add(Self::each(n, 5, 5))
	}
	/// Reads and writes: candidate.
	fn chill() -> Weight {
		Self::with(1, 1)
	}
	/// Reads: candidate, offender, session keys, minimum. Writes: candidate.
	fn activate() -> Weight {
		Self::with(4, 1)
	}
	/// Reads: candidate, cooldown. Writes: candidate.
	fn set_commission() -> Weight {
		Self::with(2, 1)
	}
	/// Reads: candidate, nomination, list of the nominator, owed, account, holds, minimum. Writes: candidate, nomination, list, owed, account,
	/// holds. Each nomination that is looked at is a read; the one that is displaced also reads owed, account, holds and list of its nominator, and
	/// writes these and itself.
	fn nominate(n: u32) -> Weight {
		Self::with(7, 6).saturating_add(Self::each(n, 1, 0)).saturating_add(Self::each(n.min(1), 4, 5))
	}
	/// Reads: nomination, candidate, minimum, owed, cooldown. Writes: nomination, candidate, owed.
	fn unnominate() -> Weight {
		Self::with(5, 3)
	}
	/// Reads and writes: nomination, candidate, account, holds, owed, list of the nominator.
	fn withdraw_nomination() -> Weight {
		Self::with(6, 6)
	}
	/// Reads and writes: candidate, nomination, owed, the pot, account.
	fn claim_rewards() -> Weight {
		Self::with(5, 5)
	}
	/// Writes: the number.
	fn set_validator_count() -> Weight {
		Self::with(0, 1)
	}
	/// Reads and writes: candidate, owed, the pot, total issuance, and the author's account, into which a block's fees may be paid. And what an
	/// issuance looks up and notes: three reads, two writes.
	fn note_author() -> Weight {
		Self::with(8, 7)
	}
	/// Reads: offender, bar period, candidate, owed, account, holds, number of candidates, issuance. Writes: offender, candidate, their number, owed,
	/// account, holds, issuance. For each nomination reads and writes: the nomination, owed, account, holds, list of the nominator.
	fn punish(n: u32) -> Weight {
		Self::with(8, 7).saturating_add(Self::each(n, 5, 5))
	}
	/// Reads: nine of this pallet (sets and exposures of three sessions, their first sessions, what is planned, the number of validators), four
	/// of the session pallet, ten of block production, five of finality. Writes: seven, five, eleven and five. For each candidate it reads where
	/// the next one is, the candidate, and whether it has keys; for each validator its keys and its candidate, which it writes.
	fn rotate_session(c: u32, v: u32) -> Weight {
		Self::with(28, 28).saturating_add(Self::each(c, 3, 0)).saturating_add(Self::each(v, 2, 1))
	}
}

/// Computation alone, for tests.
impl WeightInfo for () {
	fn bond() -> Weight {
		COMPUTE
	}
	fn bond_extra() -> Weight {
		COMPUTE
	}
	fn unbond() -> Weight {
		COMPUTE
	}
	fn withdraw_unbonded(n: u32) -> Weight {
		COMPUTE.saturating_add(EACH.saturating_mul(n.into()))
	}
	fn chill() -> Weight {
		COMPUTE
	}
	fn activate() -> Weight {
		COMPUTE
	}
	fn set_commission() -> Weight {
		COMPUTE
	}
	fn nominate(n: u32) -> Weight {
		COMPUTE.saturating_add(EACH.saturating_mul(n.into()))
	}
	fn unnominate() -> Weight {
		COMPUTE
	}
	fn withdraw_nomination() -> Weight {
		COMPUTE
	}
	fn claim_rewards() -> Weight {
		COMPUTE
	}
	fn set_validator_count() -> Weight {
		COMPUTE
	}
	fn note_author() -> Weight {
		COMPUTE
	}
	fn punish(n: u32) -> Weight {
		COMPUTE.saturating_add(EACH.saturating_mul(n.into()))
	}
	fn rotate_session(c: u32, v: u32) -> Weight {
		COMPUTE.saturating_add(EACH.saturating_mul(c.into())).saturating_add(EACH.saturating_mul(v.into()))
	}
}
