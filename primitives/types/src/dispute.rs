//! Claims that can be disputed, and what they are judged by.

use crate::{
	assignment::Draw, dataset::DatasetShape, inference::Receipt, quorum::QuorumClaim, run::RunConfig, AccountId, Balance, BlockNumber,
	RoundIndex, RunId, H256,
};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_graph::game::{Move, Position, Ruling, Side};
use scale_info::TypeInfo;

/// Kind of a claim, and with it what is claimed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum ClaimKind {
	/// That its [`crate::run::Work`] is what the inner steps from the round's start on its windows give.
	Work,
	/// That the checkpoint it attested is what the outer step gives.
	Attestation,
	/// That the sample it reported as an auditor ([`crate::audit`]) is the state after the drawn inner step of the audited work. The
	/// account is the auditor; it audits one claim of a round at most.
	Audit,
	/// That the answer with this receipt ([`Receipt::hash`]) is the one that the model gives. The account is the provider that signed it.
	/// Where it has lost for not handing an answer over ([`crate::answer_audit`]), nobody knows that receipt: the root of all receipts is in its place.
	Answer(H256),
}

/// One claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct ClaimId {
	/// Run.
	pub run: RunId,
	/// Adopted round of that run; of an answer the round that starts from the checkpoint it was computed with.
	pub round: RoundIndex,
	/// Kind of the claim.
	pub kind: ClaimKind,
	/// Account that claims it.
	pub who: AccountId,
}

/// A checkpoint that a delta is the difference from, beside the one that its inner steps start from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Base {
	/// Its root.
	pub checkpoint: H256,
	/// Round that starts from it.
	pub round: RoundIndex,
}

/// Grounds that a claim about inner steps is judged by.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct WorkClaim {
	/// The run.
	pub config: RunConfig,
	/// Shape of its dataset.
	pub shape: DatasetShape,
	/// Root of its dataset.
	pub dataset_root: H256,
	/// Root of the checkpoint that the inner steps started from.
	pub start: H256,
	/// Round that starts from this checkpoint: the claim's, or where rounds overlap an earlier one; of work that was [bridged](crate::run::Bridge) one of
	/// another cohort. The learning rates are those of that round.
	pub start_round: RoundIndex,
	/// Checkpoint that the delta is the difference from, if that is not [`Self::start`]: of work that was bridged, the checkpoint that the round started from.
	pub base: Option<Base>,
	/// What the round's windows are drawn by.
	pub draw: Draw,
	/// Place among the round's participants, which gives the windows.
	pub position: u32,
	/// Blake2-256 of the encoded [`crate::run::Work`].
	pub work_hash: H256,
	/// Its inner steps.
	pub steps: u32,
	/// Whose work it is, if the place is held by a quorum.
	pub quorum: Option<QuorumClaim>,
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
	/// Where several are taken, those after the first leave out deltas of [bridges](crate::run::Bridge), which are the difference from a checkpoint that the fraud
	/// has touched.
	///
	/// A step without deltas (all of a redone round's were proven false) leaves parameters and outer momentum as they are, and
	/// counts the round and its inner steps in the checkpoint's header like any other.
	pub steps: Vec<Vec<H256>>,
	/// Inner steps behind each of them in a run whose deltas weigh by them; else empty.
	pub inner_steps: Vec<Vec<u32>>,
}

/// Grounds that a claim about a checkpoint is judged by.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AttestationClaim {
	/// The run.
	pub config: RunConfig,
	/// Outer steps that there were to compute when it was attested, whatever was proven since.
	pub job: OuterJob,
	/// The root that is claimed.
	pub checkpoint: H256,
}

/// Grounds that a claim about an answer is judged by.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct AnswerClaim {
	/// The run whose model answered.
	pub config: RunConfig,
	/// Receipt that the provider signed.
	pub receipt: Receipt,
}

/// Claims of adopted rounds. Implemented by `training`.
///
/// Those of the kinds [`ClaimKind::Audit`] and [`ClaimKind::Answer`] are none of them: `disputes` keeps them itself, and calls only
/// [`Self::condemn`] for them.
pub trait Claims {
	/// Participants that revealed work in an adopted round, included or not, by account bytes ascending, and its inner steps; none if the record is gone.
	fn revealed(run: RunId, round: RoundIndex) -> Vec<(AccountId, u32)>;
	/// A participant's claim about its inner steps in an adopted round, included or not; `None` if it revealed none, or the record is gone.
	fn work(run: RunId, round: RoundIndex, who: &AccountId) -> Option<WorkClaim>;
	/// A participant's claim about the checkpoint that an adopted round ended with, whether its root was adopted or not; `None` if it
	/// attested none, or a record that is needed is gone.
	fn attestation(run: RunId, round: RoundIndex, who: &AccountId) -> Option<AttestationClaim>;
	/// Configuration of a run; `None` for an unknown one.
	fn config(run: RunId) -> Option<RunConfig>;
	/// Returns whether [`Self::condemn`] was called for this claim.
	fn is_condemned(claim: &ClaimId) -> bool;
	/// Block in which the round was adopted: claims can be disputed from then on, in every block before this one plus the challenge window.
	fn adopted_at(run: RunId, round: RoundIndex) -> Option<BlockNumber>;
	/// The first dispute about anything that `who` claims is open: none of its proofs becomes final before [`Self::release`].
	fn hold(who: &AccountId);
	/// The last dispute about anything that `who` claims has ended. If it was by fraud, [`Self::condemn`] follows in the same block.
	fn release(who: &AccountId);
	/// The work of the claim is left out without anybody having cheated: its delta leaves the model as with [`Self::condemn`], and the
	/// round's proof is void. Everything else of the account stays as it is, and the claim may still be condemned. Does nothing for a
	/// claim of another kind, or if it was excluded or condemned before.
	fn exclude(claim: &ClaimId);
	/// Work units that audited work of so many inner steps is worth to whoever runs it again: those of a round of it, if the run draws issuance;
	/// zero otherwise, and for an unknown run.
	fn audit_units(run: RunId, steps: u32) -> u128;
	/// The claim was proven false, or not defended, by the fault of `culprit`: of the account that claims it, or of a member of the quorum that leads. Its delta leaves the
	/// model with the next checkpoint, or its attestation the tally; the proofs of all who have a part in it are void, and so are all pending ones of
	/// the culprit; the claimant's membership in the run ends. Does nothing if it was called for this claim before.
	fn condemn(claim: &ClaimId, culprit: &AccountId);
}

/// Decision of a dispute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Decision {
	/// The claim is false, or goes on after a step that ended the job in divergence, so that there was nothing to claim.
	Fraud,
	/// The statement that the challenger disagreed with is right. It says nothing about the rest of the claim.
	Unfounded,
	/// The defender let its time run out, which costs as much as fraud.
	DefenderLate,
	/// The challenger let its time run out, which costs as much as an unfounded challenge and says nothing about the claim.
	ChallengerLate,
}

impl Decision {
	/// Returns whether the claimant loses by this decision.
	pub fn condemns(self) -> bool {
		matches!(self, Self::Fraud | Self::DefenderLate)
	}
}

impl From<Ruling> for Decision {
	fn from(ruling: Ruling) -> Self {
		match ruling {
			Ruling::Fraud => Self::Fraud,
			Ruling::Unfounded => Self::Unfounded,
		}
	}
}

/// Kinds of [`Move`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs, reason = "every kind is the move of the same name")]
pub enum MoveKind {
	Steps,
	Nodes,
	Ends,
	Checkpoints,
	Outer,
	Hashes,
	States,
	Step,
	Node,
	Vector,
	Hash,
	Piece,
	Read,
	Choice,
	Aggregate,
	/// What the members of a quorum have signed.
	Records,
	/// Which record is false, and where.
	Record,
	/// Nodes of a member's part of a step.
	SpanNodes,
}

impl From<&Move> for MoveKind {
	fn from(action: &Move) -> Self {
		match action {
			Move::Steps(_) => Self::Steps,
			Move::Nodes { .. } => Self::Nodes,
			Move::Ends { .. } => Self::Ends,
			Move::Checkpoints(_) => Self::Checkpoints,
			Move::Outer { .. } => Self::Outer,
			Move::Hashes(_) => Self::Hashes,
			Move::States(_) => Self::States,
			Move::Step { .. } => Self::Step,
			Move::Node { .. } => Self::Node,
			Move::Vector(_) => Self::Vector,
			Move::Hash { .. } => Self::Hash,
			Move::Piece { .. } => Self::Piece,
			Move::Read { .. } => Self::Read,
			Move::Choice { .. } => Self::Choice,
			Move::Aggregate { .. } => Self::Aggregate,
			Move::Records(_) => Self::Records,
			Move::Record { .. } => Self::Record,
			Move::SpanNodes(_) => Self::SpanNodes,
		}
	}
}

/// A dispute as the view function `Disputes::game` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct GameView {
	/// Position of the game.
	pub position: Position,
	/// Side whose turn it is.
	pub turn: Side,
	/// Last block that the move of that side may be in.
	pub deadline: BlockNumber,
	/// Blocks that the other side has left, without what it gains when its turn comes.
	pub reserve: BlockNumber,
	/// Blocks whose bodies have the moves so far, the opening first: the lists that were posted are in extrinsics only.
	pub moves: Vec<BlockNumber>,
	/// Bond of the challenger, in planck.
	pub bond: Balance,
	/// Account whose turn it is as a defender: the claimant, or the member of its quorum whose record is disputed.
	pub defender: AccountId,
}

/// Rules that hold for every dispute, as the view function `Disputes::terms` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Terms {
	/// Blocks after the adoption of a round in which its claims can be challenged: the last of them is the one before this many.
	pub window: BlockNumber,
	/// Blocks that each side has for all its moves.
	pub clock: BlockNumber,
	/// Blocks that a side gains whenever its turn comes, the defender for every game that is open against it, but at most a whole clock.
	pub extension: BlockNumber,
	/// Least bond that a challenge takes, in planck. The view function `Disputes::bond_against` says what that of a claimant's claims takes.
	pub bond: Balance,
	/// Most games that are open against one account at once, without those of auditors that were drawn for what they dispute.
	pub most_games: u32,
}

impl Terms {
	/// Blocks from the adoption of a round until the last game about its claims has been decided. An audit's sample can be challenged in
	/// the same window as the work that it is about, so that games about samples are among them.
	pub fn period(&self) -> BlockNumber {
		self.window.saturating_add(longest_game(self.clock, self.extension))
	}
}

/// Most entries of a page of the view functions `games`, `games_of`, `audits_of`, `answer_audits_of` and `answers_demanded_of` of `Disputes`. Whoever depends on
/// what is listed asks for pages until one has fewer.
pub const PAGE: u32 = 256;

/// Most moves of a game: opening, steps, step, nodes, node, hashes, hash, hashes, hash, states, piece; about outer steps as many. Where the work is a quorum's, records,
/// record, steps and step come before the nodes.
pub const MAX_MOVES: u32 = 15;

/// Most blocks that a defender gains when its turn comes, however many games are open against it: a whole clock.
pub fn most_gained(clock: BlockNumber, extension: BlockNumber) -> BlockNumber {
	clock.max(extension)
}

/// Most blocks, after that of the opening, in which a game can be played: both clocks, that of a member of a quorum which defends from then on, and what each side
/// gains whenever its turn comes. That is after every move but the last at most, and for the defender after the opening and for both alternately.
pub fn longest_game(clock: BlockNumber, extension: BlockNumber) -> BlockNumber {
	let turns = MAX_MOVES / 2;
	let gained = extension.saturating_add(most_gained(clock, extension)).saturating_mul(turns);
	clock.saturating_mul(3).saturating_add(gained)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn claims_can_be_in_dispute_for_the_window_and_the_longest_game() {
		// Where a chain spec says nothing: a day; three clocks of 4,800 blocks, and in seven turns of each side 600 and at most 4,800 more.
		let terms = Terms { window: 28_800, clock: 4_800, extension: 600, bond: 0, most_games: 32 };
		assert_eq!(terms.period(), 28_800 + 3 * 4_800 + 7 * (600 + 4_800));
		assert_eq!(terms.period(), 81_000);
		assert_eq!(Terms { window: 10, clock: 40, extension: 20, ..terms }.period(), 10 + 540);
		assert_eq!(Terms { window: BlockNumber::MAX, ..terms }.period(), BlockNumber::MAX);
	}
}
