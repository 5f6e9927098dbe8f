//! Training runs and rounds.
//!
//! ```text
//! Joining -> Training -> Revealing -> Availability -> Checkpointing -> Training of the next round ...
//! ```

use crate::{
	assignment::place, dataset::Tokenizer, AccountId, Aggregator, Balance, BlockNumber, DatasetId, Family, ModelConfig, Moment, Optimizer,
	Products, RopeScaling, RoundIndex, RunId, TrainConfig, F32, H256, MAX_PARTICIPANTS, MAX_STATE_ROOTS,
};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_graph::{
	commit::checkpoint_root,
	merkle::{blake2_256, uniform_root},
	tiles::leaf_hash,
};
use scale_info::TypeInfo;
use sp_core::{bounded::BoundedVec, ConstU32};

/// Longest duration of each phase, in blocks. A phase ends early when everybody acted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct PhaseDurations {
	/// Wait for participants, counted from when `min_participants` have joined.
	pub joining: BlockNumber,
	/// Inner steps and the commit.
	pub training: BlockNumber,
	/// Reveals.
	pub revealing: BlockNumber,
	/// Fetching and checking each other's deltas, and the vote.
	pub availability: BlockNumber,
	/// Outer step and attestations.
	pub checkpointing: BlockNumber,
}

/// Configuration that a model sponsor fixes when creating a run.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct RunConfig {
	/// Name, UTF-8.
	pub name: BoundedVec<u8, ConstU32<64>>,
	/// Dataset that windows are drawn from.
	pub dataset: DatasetId,
	/// The tokenizer: that of the dataset.
	pub tokenizer: Tokenizer,
	/// The model; its vocabulary is that of the dataset.
	pub model: ModelConfig,
	/// Training configuration; it is masked if the dataset is.
	pub train: TrainConfig,
	/// Root of the checkpoint that round 0 starts from.
	pub genesis_root: H256,
	/// Origin of that checkpoint.
	pub start: RunStart,
	/// A round starts with no fewer participants.
	pub min_participants: u32,
	/// And with no more; at most [`MAX_PARTICIPANTS`].
	pub max_participants: u32,
	/// Smallest active bond of a participant, in planck.
	pub min_bond: Balance,
	/// Rounds to train; `None` goes on until stopped.
	pub rounds: Option<RoundIndex>,
	/// Deadlines.
	pub durations: PhaseDurations,
	/// True if the inner steps of a round begin while the round before is under way, so that nobody waits for what is exchanged. They then start from the
	/// checkpoint before the newest one. Not where deltas weigh by inner steps, or leave a residual.
	pub overlaps: bool,
	/// True if training reads in epochs: no window comes again before as many rounds as the dataset has new ones for, each for `max_participants`, are over.
	/// Else each round draws from all windows.
	pub epochs: bool,
}

/// Origin of the checkpoint that round 0 starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum RunStart {
	/// Theta_0 of `train.seed`, and zero momentum. Workers derive it, and refuse to join if its root differs.
	#[default]
	Seed,
	/// A checkpoint that is given, whatever it was made of: an imported model, or one of another run. Workers get it from peers.
	Given {
		/// Root of the parameters.
		params: H256,
		/// Root of the outer momentum.
		momentum: H256,
		/// Run and round that start from the same parameters and momentum: the chain has seen that they do.
		of: Option<(RunId, RoundIndex)>,
	},
}

impl RunStart {
	/// Root of a given checkpoint as one that round `round` starts from, after so many adopted inner steps; `None` for one that is derived.
	pub fn root(&self, round: RoundIndex, adopted_steps: u64) -> Option<H256> {
		match self {
			Self::Seed => None,
			Self::Given { params, momentum, .. } => Some(H256(checkpoint_root(&params.0, &momentum.0, round, adopted_steps))),
		}
	}
}

impl RunConfig {
	/// Returns whether a run can have [bridges](Bridge). Where rounds overlap, and where codes leave residuals, what a bridge says would be said again later, when it
	/// is old.
	pub fn takes_bridges(&self) -> bool {
		!self.overlaps && !self.train.leaves_residual()
	}
}

/// A [`ModelConfig`] as it was stored before there were families of models.
#[derive(Encode, Decode)]
struct OldModelConfig {
	vocab: u32,
	dim: u32,
	layers: u32,
	heads: u32,
	kv_heads: u32,
	ffn: u32,
	max_seq: u32,
	tied: bool,
	rope_theta: u32,
	norm_eps: F32,
}

impl From<OldModelConfig> for ModelConfig {
	fn from(old: OldModelConfig) -> Self {
		let OldModelConfig { vocab, dim, layers, heads, kv_heads, ffn, max_seq, tied, rope_theta, norm_eps } = old;
		let (family, head_dim, rope_scaling) = (Family::Llama, None, RopeScaling::None);
		Self { vocab, dim, layers, heads, kv_heads, ffn, max_seq, tied, rope_theta, norm_eps, family, head_dim, rope_scaling }
	}
}

/// A [`TrainConfig`] as it was stored before datasets could be masked.
#[derive(Encode, Decode)]
struct OldTrainConfig {
	arithmetic_version: u16,
	seed: [u8; 32],
	batch: u32,
	seq_len: u32,
	inner_steps: u32,
	commit_interval: u32,
	lr: F32,
	lr_min: F32,
	warmup_steps: u32,
	total_steps: u32,
	beta1: F32,
	beta2: F32,
	eps: F32,
	weight_decay: F32,
	clip: F32,
	outer_lr: F32,
	outer_beta: F32,
	aggregator: Aggregator,
	validation_sequences: u32,
}

impl From<OldTrainConfig> for TrainConfig {
	fn from(old: OldTrainConfig) -> Self {
		Self {
			arithmetic_version: old.arithmetic_version,
			seed: old.seed,
			batch: old.batch,
			seq_len: old.seq_len,
			inner_steps: old.inner_steps,
			commit_interval: old.commit_interval,
			lr: old.lr,
			lr_min: old.lr_min,
			warmup_steps: old.warmup_steps,
			total_steps: old.total_steps,
			beta1: old.beta1,
			beta2: old.beta2,
			eps: old.eps,
			weight_decay: old.weight_decay,
			clip: old.clip,
			outer_lr: old.outer_lr,
			outer_beta: old.outer_beta,
			aggregator: old.aggregator,
			validation_sequences: old.validation_sequences,
			masked: false,
			adapter: None,
			products: Products::F32,
			optimizer: Optimizer::AdamW,
		}
	}
}

/// A [`RunConfig`] as it was stored before runs said what texts are made of and what counts of them, models of which family they
/// are, and where these start, for migrations.
#[derive(Encode, Decode)]
pub struct OldRunConfig {
	name: BoundedVec<u8, ConstU32<64>>,
	dataset: DatasetId,
	model: OldModelConfig,
	train: OldTrainConfig,
	genesis_root: H256,
	min_participants: u32,
	max_participants: u32,
	min_bond: Balance,
	rounds: Option<RoundIndex>,
	durations: PhaseDurations,
	overlaps: bool,
}

impl From<OldRunConfig> for RunConfig {
	fn from(old: OldRunConfig) -> Self {
		let OldRunConfig {
			name,
			dataset,
			model,
			train,
			genesis_root,
			min_participants,
			max_participants,
			min_bond,
			rounds,
			durations,
			overlaps,
		} = old;
		Self {
			name,
			dataset,
			tokenizer: Tokenizer::BYTES,
			model: model.into(),
			train: train.into(),
			genesis_root,
			start: RunStart::Seed,
			min_participants,
			max_participants,
			min_bond,
			rounds,
			durations,
			overlaps,
			epochs: false,
		}
	}
}

/// Life of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum RunStatus {
	/// Rounds go on. Left by `stop_run` or `force_stop_run`, or after the last round.
	Active,
	/// All rounds done, or stopped by its sponsor.
	Finished,
}

/// Part of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Phase {
	/// Waits for participants. Left when `min_participants` have joined and the joining time is over, or `max_participants` have.
	Joining,
	/// Participants train and commit. Left when all have committed, or at the deadline without those who have not.
	Training,
	/// Participants reveal what they committed to. Left when all have revealed, or at the deadline without those who have not.
	Revealing,
	/// Participants vote on whose deltas they could fetch and check. Left when all voted or at the deadline; repeats without the absent if no delta reached two thirds.
	Availability,
	/// Participants attest the next checkpoint. Left when two thirds attest one root; repeats without the absent otherwise.
	Checkpointing,
}

/// Action that a participant has to take once in a phase of an attempt: to commit, reveal, vote or attest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Act {
	/// Run.
	pub run: RunId,
	/// Round of that run.
	pub round: RoundIndex,
	/// Attempt at that round.
	pub attempt: u32,
	/// Phase that asks for it.
	pub phase: Phase,
}

/// Work of a participant in a round. The sealed commitment is [`seal`] of it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Work {
	/// State root after every `commit_interval` inner steps, and after the last one. Where deltas are sent as a code that leaves a residual, the roots of
	/// the residual before the round and after it follow.
	pub state_roots: BoundedVec<H256, ConstU32<MAX_STATE_ROOTS>>,
	/// Merkle root over the tiles of what is sent: theta_r - theta_H, or its code.
	pub delta_root: H256,
	/// Bytes of the encoded delta.
	pub delta_bytes: u64,
	/// Tokens trained on, which tell the inner steps: so many times `batch * seq_len` of the run.
	pub tokens: u64,
}

impl Work {
	/// Inner steps; `None` for tokens that no round of such a run can have.
	pub fn steps(&self, train: &TrainConfig) -> Option<u32> {
		train.steps_of(self.tokens)
	}

	/// Roots of the residual before the round and after it, under a configuration whose deltas are sent as a code that leaves one.
	pub fn residuals(&self, train: &TrainConfig) -> Option<[H256; 2]> {
		let states = train.state_roots_after(self.steps(train)?);
		let first = usize::try_from(states).ok().filter(|_| train.leaves_residual())?;
		self.state_roots.get(first..)?.first_chunk().copied()
	}
}

/// Merkle root over so many tiles of zeros.
pub fn zeros_root(tiles: u32) -> H256 {
	H256(uniform_root(leaf_hash(&[]), tiles))
}

/// Commitment that binds a participant to its work before anybody reveals.
///
/// The attempt is part of it: work for the windows of an aborted attempt opens no seal of the next one.
pub fn seal(genesis: H256, run: RunId, round: RoundIndex, attempt: u32, who: &AccountId, salt: &[u8; 32], work: &Work) -> H256 {
	H256(blake2_256(&(b"neuroshard/commit/1", genesis, run, round, attempt, who, salt, work).encode()))
}

/// Commitment to work that was [bridged](Bridge): what [`seal`] gives, and the `checkpoint` of the other cohort that its inner steps started from.
///
/// So it is known before anybody reveals which one it was; and on a branch of the chain where another one was drawn, it opens nothing, instead of being false.
pub fn seal_bridged(seal: H256, checkpoint: H256) -> H256 {
	H256(blake2_256(&(b"neuroshard/commit/bridged/1", seal, checkpoint).encode()))
}

/// Most runs of a family.
pub const MAX_COHORTS: u32 = 128;

/// A participant whose inner steps may start from the newest checkpoint of another cohort of the family, drawn when the round began. Its delta is the
/// difference from the checkpoint that its own cohort's round starts from, as everybody's: so the outer step draws the cohorts together.
///
/// It may start from its own cohort's checkpoint as well, for instance because it cannot get the other one: what it did is in its commitment.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Bridge {
	/// Account of the participant.
	pub who: AccountId,
	/// The other cohort.
	pub run: RunId,
	/// Round of that cohort that starts from the checkpoint.
	pub round: RoundIndex,
	/// Root of the checkpoint.
	pub checkpoint: H256,
	/// True if its work started from there; known once it has revealed.
	pub taken: bool,
}

/// One bit per revealed participant, in the order of [`RoundView::participants`]: bit `i % 8` of byte `i / 8`.
pub type VoteBitmap = BoundedVec<u8, ConstU32<{ MAX_PARTICIPANTS / 8 }>>;

/// The vote with these bits, the first one for the first revealed participant. `None` for more than [`MAX_PARTICIPANTS`].
pub fn vote_bitmap(bits: impl IntoIterator<Item = bool>) -> Option<VoteBitmap> {
	let mut bytes = VoteBitmap::default();
	for (index, bit) in bits.into_iter().enumerate() {
		if index % 8 == 0 {
			bytes.try_push(0).ok()?;
		}
		*bytes.last_mut()? |= u8::from(bit) << (index % 8);
	}
	Some(bytes)
}

/// Returns whether `vote` says yes to revealed participant `index`.
pub fn vote_of(vote: &VoteBitmap, index: usize) -> bool {
	vote.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// Returns whether `vote` has exactly the bytes that `revealed` participants need, and zeros in the bits beyond them.
pub fn is_vote_for(vote: &VoteBitmap, revealed: usize) -> bool {
	vote.len() == revealed.div_ceil(8) && (revealed..vote.len().saturating_mul(8)).all(|index| !vote_of(vote, index))
}

/// A participant's attestation of the next checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Attestation {
	/// Root of theta_{r+1} with its outer momentum.
	pub checkpoint: H256,
	/// Mean cross-entropy over the held-out sequences, nats per token.
	pub validation_loss: F32,
}

/// A run as the view function `Training::run` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct RunView {
	/// Account that created it.
	pub sponsor: AccountId,
	/// Configuration that was fixed.
	pub config: RunConfig,
	/// Life.
	pub status: RunStatus,
	/// True if its work draws issuance.
	pub approved: bool,
	/// Rounds adopted so far.
	pub rounds_adopted: RoundIndex,
	/// Root of the newest adopted checkpoint.
	pub checkpoint: H256,
	/// Accounts that asked to take part from the next round on.
	pub joining: Vec<AccountId>,
}

/// Actions of one participant so far in the current round.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct ParticipantView {
	/// Its account.
	pub account: AccountId,
	/// Its sealed commitment.
	pub sealed: Option<H256>,
	/// Its reveal.
	pub work: Option<Work>,
	/// Its availability vote.
	pub vote: Option<VoteBitmap>,
	/// Its attestation.
	pub attestation: Option<Attestation>,
	/// True if its delta is included; known from Checkpointing on.
	pub included: bool,
	/// True if it still counts in the denominators of this round.
	pub counted: bool,
}

/// Blocks for which the report of a participant counts that others are missing.
pub const REPORTED_FOR: BlockNumber = 30;

/// A participant's report that others are missing in a phase.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct MissingReport {
	/// Participant that reports it.
	pub who: AccountId,
	/// Block in which it did.
	pub at: BlockNumber,
	/// One bit for each participant of the round, in the order of accounts.
	pub missing: VoteBitmap,
}

impl MissingReport {
	/// Returns whether it counts in block `now`.
	pub fn counts(&self, now: BlockNumber) -> bool {
		now < self.at.saturating_add(REPORTED_FOR)
	}
}

/// The current round as the view function `Training::round` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct RoundView {
	/// Round number.
	pub round: RoundIndex,
	/// Number of times that this round, or its Checkpointing because something else was to be computed, was started anew without an adopted
	/// checkpoint.
	pub attempt: u32,
	/// Phase.
	pub phase: Phase,
	/// Block at which the phase ends at the latest; `None` while too few have joined.
	pub deadline: Option<BlockNumber>,
	/// Checkpoint that the round's outer step starts from.
	pub checkpoint: H256,
	/// Checkpoint that its inner steps start from: the same, or where rounds overlap the one before.
	pub start: H256,
	/// Seed of the window permutation.
	pub seed: H256,
	/// Block and chain time at which Training began.
	pub started_at: (BlockNumber, Moment),
	/// Participants by account bytes ascending: the order of votes and aggregation, and but for [`Self::late`] of windows.
	pub participants: Vec<ParticipantView>,
	/// Participants that came while the round was trained, in the order in which they did: their places are behind those of all others.
	pub late: Vec<AccountId>,
	/// The next round, where rounds overlap: its inner steps can begin.
	pub ahead: Option<AheadView>,
	/// Participant that may start from the checkpoint of another cohort, in a run that has any.
	pub bridge: Option<Bridge>,
}

impl RoundView {
	/// Place of `who`, which gives its windows.
	pub fn position(&self, who: &AccountId) -> Option<u32> {
		place(self.participants.iter().map(|one| &one.account), &self.late, who)
	}
}

impl RoundRecord {
	/// Checkpoint of another cohort that the inner steps of `who` started from.
	pub fn bridged(&self, who: &AccountId) -> Option<&Bridge> {
		self.bridge.as_ref().filter(|bridge| bridge.taken && bridge.who == *who)
	}

	/// Place that `who` had, which gave its windows.
	pub fn position(&self, who: &AccountId) -> Option<u32> {
		place(&self.participants, &self.late, who)
	}
}

/// A round that is drawn while the one before is under way, in a run whose rounds overlap.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct AheadView {
	/// Round number.
	pub round: RoundIndex,
	/// Checkpoint that its inner steps start from.
	pub start: H256,
	/// Seed of the window permutation.
	pub seed: H256,
	/// Places by account bytes ascending, which give the windows. Whoever is no member when the round begins does not take part.
	pub places: Vec<AccountId>,
}

/// Record of an adopted round that stays on chain.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct RoundRecord {
	/// Seed of the window permutation.
	pub seed: H256,
	/// Root of the checkpoint that the round's outer step started from.
	pub start: H256,
	/// Root of the checkpoint that its inner steps started from: the same, or where rounds overlap an earlier one.
	pub inner_start: H256,
	/// Round of the first outer step that its Checkpointing took: its own, or an earlier one if outer steps were redone. That step
	/// starts from [`Self::start`] of that round's record.
	pub first_round: RoundIndex,
	/// All participants by account bytes ascending, which but for [`Self::late`] gives the windows.
	pub participants: Vec<AccountId>,
	/// Participants that came while the round was trained, in the order in which they did: their places are behind those of all others.
	pub late: Vec<AccountId>,
	/// Participant that may have started from the checkpoint of another cohort, in a run that had any.
	pub bridge: Option<Bridge>,
	/// Participants whose deltas were included when the round was adopted, and their delta roots, by account bytes ascending.
	pub included: Vec<(AccountId, H256)>,
	/// Participants whose work was proven false since: outer steps that are redone leave their deltas out. By account bytes ascending.
	pub excluded: Vec<AccountId>,
	/// Checkpoint that each participant attested in the vote that adopted the checkpoint, by account bytes ascending.
	pub attested: Vec<(AccountId, H256)>,
	/// Root of the checkpoint that the round ended with.
	pub checkpoint: H256,
	/// True if that checkpoint lost its two thirds since, because attestations of it were proven false.
	pub fallen: bool,
	/// Stake-weighted median of the attested validation losses of that checkpoint (honest ones are equal).
	pub validation_loss: F32,
	/// Block of adoption.
	pub adopted_at: BlockNumber,
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn votes_hold_one_bit_per_revealed_participant() {
		let bits = [true, false, false, false, false, false, false, false, false, true];
		let vote = vote_bitmap(bits).unwrap();
		assert_eq!(vote.to_vec(), [0b1, 0b10]);
		assert!(bits.iter().enumerate().all(|(index, bit)| vote_of(&vote, index) == *bit));
		assert!(!vote_of(&vote, 999));
		assert!(is_vote_for(&vote, 10) && is_vote_for(&vote, 16));
		// Too short, too long, a bit beyond the last participant.
		assert!(!is_vote_for(&vote, 17) && !is_vote_for(&vote, 8) && !is_vote_for(&vote, 9));
	}

	#[test]
	fn a_given_checkpoint_has_another_root_in_another_round_and_one_that_is_derived_has_none() {
		let [params, momentum] = [1, 2].map(H256::repeat_byte);
		let given = RunStart::Given { params, momentum, of: Some((3, 7)) };
		let root = |round: u32, steps: u64| {
			let parts = [&b"neuroshard/checkpoint/1"[..], &[1; 32], &[2; 32], &round.to_le_bytes(), &steps.to_le_bytes()];
			H256(blake2_256(&parts.concat()))
		};
		assert_eq!((given.root(0, 0), given.root(7, 84)), (Some(root(0, 0)), Some(root(7, 84))));
		assert_eq!(RunStart::Seed.root(0, 0), None);
	}

	#[test]
	fn a_vote_has_room_for_every_participant_and_no_more() {
		assert_eq!(vote_bitmap([true; 128]).map(|vote| vote.len()), Some(16));
		assert_eq!(vote_bitmap([true; 129]), None);
	}
}
