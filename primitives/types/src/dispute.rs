//! Claims that can be disputed, and what they are judged by.

use crate::{run::RunConfig, AccountId, BlockNumber, RoundIndex, RunId, H256};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use scale_info::TypeInfo;

/// What a participant claims in a round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum ClaimKind {
	/// That its [`crate::run::Work`] is what the inner steps from the round's start on its windows give.
	Work,
	/// That the checkpoint it attested is what the outer step gives.
	Attestation,
}

/// One claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct ClaimId {
	/// Run.
	pub run: RunId,
	/// Round of that run; adopted.
	pub round: RoundIndex,
	/// What is claimed.
	pub kind: ClaimKind,
	/// Whose claim it is.
	pub who: AccountId,
}

/// What a claim about inner steps is judged by.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct WorkClaim {
	/// The run.
	pub config: RunConfig,
	/// Root of the checkpoint that the round started from.
	pub start: H256,
	/// Seed of the round's window permutation.
	pub seed: H256,
	/// Place among the round's participants, which gives the windows.
	pub position: u32,
	/// Blake2-256 of the encoded [`crate::run::Work`].
	pub work_hash: H256,
}

/// Outer steps that one Checkpointing takes, one after the other: that of its own round, and after a fraud again those of the rounds
/// since the first one that the fraud touched.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct OuterJob {
	/// Round of the first step.
	pub first_round: RoundIndex,
	/// Root of the checkpoint that the first step starts from.
	pub start: H256,
	/// Delta roots of each step, by account bytes ascending; one step a round, the last one that of the round in Checkpointing.
	///
	/// A step without deltas (all of a redone round's were proven false) leaves parameters and outer momentum as they are, and
	/// counts the round and its inner steps in the checkpoint's header like any other.
	pub steps: Vec<Vec<H256>>,
}

/// What a claim about a checkpoint is judged by.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AttestationClaim {
	/// The run.
	pub config: RunConfig,
	/// What there was to compute when it was attested, whatever was proven since.
	pub job: OuterJob,
	/// The root that is claimed.
	pub checkpoint: H256,
}

/// Claims of adopted rounds. Implemented by `training`.
pub trait Claims {
	/// A participant's claim about its inner steps in an adopted round, included or not; `None` if it revealed none, or the record is gone.
	fn work(run: RunId, round: RoundIndex, who: &AccountId) -> Option<WorkClaim>;
	/// A participant's claim about the checkpoint that an adopted round ended with, whether its root was adopted or not; `None` if it
	/// attested none, or a record that is needed is gone.
	fn attestation(run: RunId, round: RoundIndex, who: &AccountId) -> Option<AttestationClaim>;
	/// Whether [`Self::condemn`] was called for this claim.
	fn is_condemned(claim: &ClaimId) -> bool;
	/// Block in which the round was adopted: claims can be disputed from then on, in every block before this one plus the challenge window.
	fn adopted_at(run: RunId, round: RoundIndex) -> Option<BlockNumber>;
	/// A dispute is open: the proof of the claimant's round does not become final before [`Self::release`]. Holds are counted: one call for
	/// every dispute, while the challenge window is open. Nothing is held if the proof is void.
	fn hold(claim: &ClaimId);
	/// A dispute ended without fraud.
	fn release(claim: &ClaimId);
	/// The claim was proven false, or not defended. Its delta leaves the model with the next checkpoint, or its attestation the tally; all
	/// pending proofs of the account are void, and its membership in the run ends. Ends what [`Self::hold`] noted for this claim, in
	/// all disputes: those that go on may call [`Self::release`] or this once more, which does nothing.
	fn condemn(claim: &ClaimId);
}
