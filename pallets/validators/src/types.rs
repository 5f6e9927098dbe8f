//! Stored types of candidates and nominators, and the arithmetic of their stakes.

use crate::{Pool, MAX_OFFENCE_SESSIONS, MAX_UNBONDING_CHUNKS};
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::{provider::UnbondingChunk, AccountId, Balance, BlockNumber};
use scale_info::TypeInfo;
use sp_runtime::Perbill;
use sp_staking::SessionIndex;

/// Status of a candidate, by which it can be elected or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum Status {
	/// Can be elected, and nominated. Left by `chill`, by `unbond`, or by an offence.
	Active,
	/// Is not elected. Left by `activate`, or by withdrawing everything.
	Chilled,
}

/// Money at stake for one candidate, its own or a nominator's. Its total is on hold, so no sum here exceeds the total issuance;
/// saturating arithmetic never saturates.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Stake {
	/// Part that counts in elections and earns.
	pub active: Balance,
	/// Parts on their way out, by `unlocks_at` strictly ascending, none of them zero.
	pub unbonding: BoundedVec<UnbondingChunk, ConstU32<MAX_UNBONDING_CHUNKS>>,
}

impl Stake {
	/// Active and unbonding parts together: all that can be slashed.
	pub fn total(&self) -> Balance {
		self.unbonding.iter().fold(self.active, |sum, chunk| sum.saturating_add(chunk.amount))
	}

	/// Moves `amount`, at most the active part, into a chunk that unlocks at `unlocks_at`, which is not before the last chunk's. `false`, and
	/// nothing changes, if there is no room for another chunk.
	pub fn unbond(&mut self, amount: Balance, unlocks_at: BlockNumber) -> bool {
		let amount = amount.min(self.active);
		match self.unbonding.last_mut() {
			Some(last) if last.unlocks_at == unlocks_at => last.amount = last.amount.saturating_add(amount),
			_ => {
				if self.unbonding.try_push(UnbondingChunk { amount, unlocks_at }).is_err() {
					return false;
				}
			}
		}
		self.active = self.active.saturating_sub(amount);
		true
	}

	/// Removes the chunks that are unlocked at block `now` and returns their sum.
	pub fn take_unlocked(&mut self, now: BlockNumber) -> Balance {
		let before = self.total();
		self.unbonding.retain(|chunk| chunk.unlocks_at > now);
		before.saturating_sub(self.total())
	}

	/// Removes `rate` of the active part and of each chunk, each rounded down to a planck. Returns what was removed.
	pub fn slash(&mut self, rate: Perbill) -> Balance {
		let before = self.total();
		self.active = self.active.saturating_sub(rate.mul_floor(self.active));
		for chunk in self.unbonding.iter_mut() {
			chunk.amount = chunk.amount.saturating_sub(rate.mul_floor(chunk.amount));
		}
		self.unbonding.retain(|chunk| chunk.amount > 0);
		before.saturating_sub(self.total())
	}
}

/// A stake that earns from a candidate's [`Pool`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Position {
	/// Stake of the position.
	pub stake: Stake,
	/// Value of [`Pool::per_planck`] up to which rewards are settled.
	pub settled_at: u128,
}

/// A candidate.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Candidate {
	/// Its status.
	pub status: Status,
	/// Its own stake: the self-bond.
	pub own: Position,
	/// Active parts of all nominations, in planck.
	pub backing: Balance,
	/// Nominations, those that are only unbonding included; at most [`MAX_NOMINATORS`](crate::MAX_NOMINATORS).
	pub nominators: u32,
	/// Part of every reward that the candidate keeps before the rest is shared by stake.
	pub commission: Perbill,
	/// A higher commission, and the first block in which it applies.
	pub next_commission: Option<(Perbill, BlockNumber)>,
	/// First block in which nothing that it did when it was in the set can be reported any more. Nothing is known while it is in.
	pub reportable_until: BlockNumber,
	/// Rewards of all stakes, its own included, that are not settled yet.
	pub pool: Pool,
}

impl Candidate {
	/// A new active candidate with a self-bond of `bond` planck.
	pub fn new(bond: Balance, commission: Perbill) -> Self {
		Self {
			status: Status::Active,
			own: Position { stake: Stake { active: bond, unbonding: BoundedVec::new() }, settled_at: 0 },
			backing: 0,
			nominators: 0,
			commission,
			next_commission: None,
			reportable_until: 0,
			pool: Pool::default(),
		}
	}

	/// Active self-bond and backing: what it is elected by.
	pub fn exposure(&self) -> Exposure {
		let own = self.own.stake.active;
		Exposure { total: own.saturating_add(self.backing), own }
	}

	/// The commission in block `now`.
	pub fn commission_at(&self, now: BlockNumber) -> Perbill {
		match self.next_commission {
			Some((commission, from)) if from <= now => commission,
			_ => self.commission,
		}
	}
}

/// Exposure that a validator was elected by: its identification in reports of offences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Exposure {
	/// Active self-bond and backing, in planck.
	pub total: Balance,
	/// Active self-bond, in planck.
	pub own: Balance,
}

/// Record of an account that committed an offence.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Offender {
	/// First block in which it can be a candidate again.
	pub barred_until: BlockNumber,
	/// The first sessions of the sets of its latest offences, ascending, and the fraction that it was slashed for each: what is done in one set
	/// costs the highest fraction.
	pub slashed: BoundedVec<(SessionIndex, Perbill), ConstU32<MAX_OFFENCE_SESSIONS>>,
}

impl Offender {
	/// Notes an offence in the set that began with `session`, which costs `fraction` of the stake. Returns the part of what is left of it that has
	/// to be taken, so that all offences in this set together cost the highest of their fractions, or `None` if it was paid already.
	pub fn note(&mut self, session: SessionIndex, fraction: Perbill) -> Option<Perbill> {
		match self.slashed.binary_search_by_key(&session, |(session, _)| *session) {
			Ok(index) => {
				let (_, paid) = self.slashed.get_mut(index)?;
				let missing = fraction.deconstruct().checked_sub(paid.deconstruct()).filter(|missing| *missing > 0)?;
				let left = Perbill::one().deconstruct().checked_sub(paid.deconstruct())?;
				*paid = fraction;
				Some(Perbill::from_rational(missing, left))
			}
			Err(index) => {
				// The oldest session makes room.
				let index = if self.slashed.is_full() {
					self.slashed.remove(0);
					index.saturating_sub(1)
				} else {
					index
				};
				self.slashed.try_insert(index, (session, fraction)).ok()?;
				Some(fraction)
			}
		}
	}
}

/// A candidate as the view functions show it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct CandidateView {
	/// Its status.
	pub status: Status,
	/// Active self-bond, in planck.
	pub own: Balance,
	/// Parts of the self-bond on their way out, by `unlocks_at` ascending.
	pub unbonding: Vec<UnbondingChunk>,
	/// Active parts of all nominations, in planck.
	pub backing: Balance,
	/// Nominations, those that are only unbonding included.
	pub nominators: u32,
	/// Part of every reward that it keeps before the rest is shared by stake.
	pub commission: Perbill,
	/// A higher commission, and the first block in which it applies.
	pub next_commission: Option<(Perbill, BlockNumber)>,
	/// True if session keys are registered: without them it is not elected.
	pub has_keys: bool,
	/// True if it is in the set of the session that runs now.
	pub validating: bool,
	/// True if it is in the set of the latest session that is planned.
	pub elected: bool,
	/// First block in which nothing that it did when it was in the set can be reported any more: before, it cannot withdraw its last part.
	/// Zero if it was in none; it begins anew whenever it leaves a set.
	pub reportable_until: BlockNumber,
	/// First block in which it can be activated again after an offence.
	pub barred_until: Option<BlockNumber>,
	/// Rewards that the candidate itself can claim now, in planck.
	pub claimable: Balance,
}

/// A nomination as the view function `positions` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct PositionView {
	/// Whom it backs.
	pub candidate: AccountId,
	/// Part that counts in elections and earns, in planck.
	pub active: Balance,
	/// Parts on their way out, by `unlocks_at` ascending.
	pub unbonding: Vec<UnbondingChunk>,
	/// Rewards that are not settled yet, in planck; `claim_rewards` pays them with what is settled.
	pub pending: Balance,
}

/// Numbers that calls are checked against.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, TypeInfo)]
pub struct Limits {
	/// Smallest active self-bond, in planck.
	pub min_self_bond: Balance,
	/// Smallest active nomination, in planck.
	pub min_nomination: Balance,
	/// Blocks from `unbond` or `unnominate` until the part may be withdrawn, and until a higher commission applies.
	pub cooldown: BlockNumber,
	/// Blocks for which an offender is barred.
	pub bar_period: BlockNumber,
	/// Validators that are elected.
	pub validator_count: u32,
	/// Candidates now.
	pub candidates: u32,
	/// Most candidates.
	pub max_candidates: u32,
	/// Most nominations of one candidate.
	pub max_nominators: u32,
	/// Most candidates that one account nominates.
	pub max_nominations: u32,
}
