//! Proof of Neural Work: a provider's signed statement that it did a piece of work, stamped with chain time.

use crate::{AccountId, Moment, RoundIndex, RunId, H256};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// Oldest and newest age of a proof against chain time, milliseconds.
pub const FRESHNESS_MS: Moment = 5 * 60 * 1000;
/// Most proofs of one account in an hour of chain time.
pub const MAX_PROOFS_PER_HOUR: u32 = 120;

/// Kind of work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum ProofKind {
	/// A training round. Pays by the run's configuration.
	Training,
	/// Being reachable. Feeds reputation only; `run` and `round` are an hour's number and 0.
	Uptime,
}

/// Identity of a piece of work: nothing is ever paid twice under one key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct ProofKey {
	/// Run (for uptime: chain time in whole hours).
	pub run: RunId,
	/// Round (for uptime: 0).
	pub round: RoundIndex,
	/// Kind.
	pub kind: ProofKind,
}

/// Proof that a provider signs with its secp256k1 key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Proof {
	/// Identity of the work.
	pub key: ProofKey,
	/// Chain time at signing.
	pub timestamp: Moment,
	/// Blake2-256 of the SCALE-encoded work ([`crate::run::Work`]); zero for uptime.
	pub work_hash: H256,
}

/// secp256k1 ECDSA signature (r, s, v) over the Blake2-256 hash of [`Proof::message`].
pub type ProofSignature = [u8; 65];

impl Proof {
	/// The bytes that are signed: domain, chain, account, proof.
	pub fn message(&self, genesis: H256, who: &AccountId) -> alloc::vec::Vec<u8> {
		(b"neuroshard/ponw/1", genesis, who, self).encode()
	}
}

/// Facts that the chain itself knows of claimed work, for the plausibility check against the registered hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkClaim {
	/// Floating-point operations that the run's configuration implies.
	pub flops: u128,
	/// Chain time that passed from the start of the work to its commitment, milliseconds.
	pub elapsed_ms: Moment,
}

/// A proof on its way to payment, as the view function `Ponw::pending` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct PendingProof {
	/// Work units it will be paid by; 0 until its work is included.
	pub units: u128,
	/// Block at which it becomes final; `None` until its work is included.
	pub final_at: Option<crate::BlockNumber>,
}

/// Use of an account's proof rate, as the view function `Ponw::rate` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct RateView {
	/// Proofs accepted within the last hour of chain time.
	pub used: u32,
	/// Most that are accepted within any hour: [`MAX_PROOFS_PER_HOUR`].
	pub limit: u32,
	/// Chain time from which one more is accepted; now, if one is accepted already.
	pub next_allowed_at: Moment,
}
