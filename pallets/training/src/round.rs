//! State of the round under way.

use alloc::vec::Vec;
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::{
	run::{Attestation, Phase, VoteBitmap},
	AccountId, Balance, BlockNumber, Moment, RoundIndex, H256, MAX_PARTICIPANTS,
};
use scale_info::TypeInfo;

/// Accounts by bytes ascending, each once.
pub type Accounts = BoundedVec<AccountId, ConstU32<MAX_PARTICIPANTS>>;

/// Accounts in the order in which they came, each once.
pub type LateAccounts = BoundedVec<AccountId, ConstU32<MAX_PARTICIPANTS>>;

/// Stage of a round, with what only that phase needs.
///
/// ```text
/// Joining -> Training -> Revealing -> Availability -> Checkpointing -> Training of the next round
///    ^          |            |         |  ^      |     |  ^        |
///    |          |            |         |  +repeat+     |  +-repeat-+
///    +----------+------------+---------+---------------+   an aborted attempt, if too few members are left
/// ```
///
/// An attempt that is aborted starts anew at once if enough members are left.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub enum Stage {
	/// Waits for members; nobody is a participant yet.
	///
	/// Left for [`Stage::Training`] when `max_participants` are members, or when the joining time, counted from the moment
	/// that `min_participants` were, is over. Stays, without a deadline, if by then too few of them are still eligible.
	Joining,
	/// Participants train, and commit to their work.
	///
	/// Left for [`Stage::Revealing`] when all have committed, or at the deadline without those who have not.
	/// Aborts if nobody has by then.
	Training,
	/// Participants reveal what they committed to, with their Proof of Neural Work.
	///
	/// Left for [`Stage::Availability`] when all have revealed, or at the deadline without those who have not.
	/// Aborts if nobody has by then.
	Revealing,
	/// Participants vote on whose deltas they could fetch and check.
	///
	/// Left for [`Stage::Checkpointing`] when all have voted, or at the deadline without those who have not, if at least
	/// one delta has two thirds. Repeats with an empty ballot if none has. Aborts after the last repeat, or if nobody is left.
	Availability {
		/// Number of times that this phase was repeated.
		repeats: u32,
	},
	/// Participants attest the next checkpoint.
	///
	/// Left for Training of the next round as soon as two thirds attest one root, and the round may be adopted. Repeats with an empty ballot if all
	/// have attested, or the deadline has passed, without such a root. Aborts after the last repeat, or if nobody is left.
	/// Begins anew, with an empty ballot and its full time but not as a repeat, when a fraud in an earlier round is proven
	/// meanwhile, so that other outer steps are to be taken.
	Checkpointing {
		/// Number of times that this phase was repeated.
		repeats: u32,
		/// Members when this phase began: they hold the places of the next round. Fixed now because the next seed is
		/// known to whoever computes the next checkpoint, and nobody may choose the places by it.
		next: Accounts,
	},
}

impl Stage {
	/// The phase as clients see it.
	pub fn phase(&self) -> Phase {
		match self {
			Self::Joining => Phase::Joining,
			Self::Training => Phase::Training,
			Self::Revealing => Phase::Revealing,
			Self::Availability { .. } => Phase::Availability,
			Self::Checkpointing { .. } => Phase::Checkpointing,
		}
	}
}

/// A sealed commitment and when it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Commitment {
	/// [`neuroshard_types::run::seal`] of the work.
	pub sealed: H256,
	/// Chain time of the block that it came in.
	pub at: Moment,
}

/// One place of a round and what its holder has done. The revealed work itself is stored apart, since it is large.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Participant {
	/// Account that holds the place.
	pub account: AccountId,
	/// Active bond when the round started: the weight in this round's votes. It stays as it is while as much can be slashed; zero since it
	/// was [struck](Round::strike) out.
	pub stake: Balance,
	/// True if it may still act and is waited for. Ends for good in this attempt when it misses a deadline, or is struck out.
	pub counted: bool,
	/// Commitment to its work.
	pub commitment: Option<Commitment>,
	/// Root of the delta that it revealed. From here on its proof is pending.
	pub delta_root: Option<H256>,
	/// Its availability vote.
	pub vote: Option<VoteBitmap>,
	/// True if its delta is part of the next checkpoint; decided at the end of Availability.
	pub included: bool,
	/// Its attestation of the next checkpoint.
	pub attestation: Option<Attestation>,
}

impl Participant {
	/// A place at the start of a round. An uncounted one keeps the windows of the others where they are.
	pub fn new(account: AccountId, stake: Balance, counted: bool) -> Self {
		Self { account, stake, counted, commitment: None, delta_root: None, vote: None, included: false, attestation: None }
	}

	/// Returns whether it has done what `phase` asks for.
	pub fn has_acted(&self, phase: Phase) -> bool {
		match phase {
			Phase::Joining => true,
			Phase::Training => self.commitment.is_some(),
			Phase::Revealing => self.delta_root.is_some(),
			Phase::Availability => self.vote.is_some(),
			Phase::Checkpointing => self.attestation.is_some(),
		}
	}
}

/// Why somebody may not act in a round now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
	/// The run is in another round.
	WrongRound,
	/// The round is in another attempt.
	WrongAttempt,
	/// The round is in another phase.
	WrongPhase,
	/// It holds no place in this round.
	NotParticipant,
	/// It missed a deadline of this round, or was no member any more when the round started.
	NotCounted,
	/// It has acted in this phase already.
	AlreadyActed,
}

/// The round under way.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Round {
	/// Its number.
	pub round: RoundIndex,
	/// Number of times that it, or its Checkpointing because something else was to be computed, was started anew without an adopted checkpoint.
	pub attempt: u32,
	/// Stage of the round.
	pub stage: Stage,
	/// First block in which the phase is over; `None` while too few have joined.
	pub deadline: Option<BlockNumber>,
	/// First block in which it may be adopted; zero while Joining. A decision that comes earlier waits, and so does its deadline.
	pub adoptable_at: BlockNumber,
	/// Seed of the window permutation; zero while Joining.
	pub seed: H256,
	/// Block and chain time at which Training began; zeros while Joining.
	pub started_at: (BlockNumber, Moment),
	/// Participants by account bytes ascending, which but for [`crate::Latecomers`] are their places; empty while Joining.
	pub participants: BoundedVec<Participant, ConstU32<MAX_PARTICIPANTS>>,
}

impl Round {
	/// A round that waits for members.
	pub fn joining(round: RoundIndex, attempt: u32, deadline: Option<BlockNumber>) -> Self {
		let (adoptable_at, seed, started_at, participants) = Default::default();
		Self { round, attempt, stage: Stage::Joining, deadline, adoptable_at, seed, started_at, participants }
	}

	/// The place of `who`.
	pub fn participant(&self, who: &AccountId) -> Option<&Participant> {
		let place = self.participants.binary_search_by(|other| other.account.cmp(who)).ok()?;
		self.participants.get(place)
	}

	/// The place of `who`, if it counts in this attempt of `round`, which is in `phase`.
	pub fn place(&mut self, who: &AccountId, (round, attempt): (RoundIndex, u32), phase: Phase) -> Result<&mut Participant, Refusal> {
		if self.round != round {
			return Err(Refusal::WrongRound);
		}
		if self.attempt != attempt {
			return Err(Refusal::WrongAttempt);
		}
		if self.stage.phase() != phase {
			return Err(Refusal::WrongPhase);
		}
		let place = self.participants.binary_search_by(|other| other.account.cmp(who)).map_err(|_| Refusal::NotParticipant)?;
		match self.participants.get_mut(place) {
			None => Err(Refusal::NotParticipant),
			Some(participant) if !participant.counted => Err(Refusal::NotCounted),
			Some(participant) => Ok(participant),
		}
	}

	/// The same, if it may do now what `phase` asks for.
	pub fn actor(&mut self, who: &AccountId, at: (RoundIndex, u32), phase: Phase) -> Result<&mut Participant, Refusal> {
		match self.place(who, at, phase)? {
			participant if participant.has_acted(phase) => Err(Refusal::AlreadyActed),
			participant => Ok(participant),
		}
	}

	/// Those who are waited for.
	pub fn counted(&self) -> impl Iterator<Item = &Participant> {
		self.participants.iter().filter(|participant| participant.counted)
	}

	/// Those whose proofs are pending, dropouts included. Their order numbers the bits of votes.
	pub fn revealed(&self) -> impl Iterator<Item = &Participant> {
		self.participants.iter().filter(|participant| participant.delta_root.is_some())
	}

	/// Returns whether nobody is waited for any more in this phase. Always so while Joining.
	pub fn all_acted(&self) -> bool {
		let phase = self.stage.phase();
		self.counted().all(|participant| participant.has_acted(phase))
	}

	/// Strikes out those whose stake is `gone`: they are waited for no more, no vote of theirs counts, and what they revealed is not included
	/// if that is not decided yet. Returns whether there are any.
	pub fn strike(&mut self, gone: impl Fn(&Participant) -> bool) -> bool {
		let mut any = false;
		for participant in self.participants.iter_mut().filter(|participant| participant.stake > 0 && gone(participant)) {
			(participant.stake, participant.counted, participant.attestation) = (0, false, None);
			any = true;
		}
		any
	}

	/// Ends the part of those who have not acted in this phase and names them.
	pub fn drop_absent(&mut self) -> Vec<AccountId> {
		let phase = self.stage.phase();
		self.participants
			.iter_mut()
			.filter(|participant| participant.counted && !participant.has_acted(phase))
			.map(|participant| {
				participant.counted = false;
				participant.account.clone()
			})
			.collect()
	}
}
