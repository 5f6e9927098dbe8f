//! Record that stays on chain of an adopted round, and what verdicts do to it.

use crate::{round::Participant, tally::two_thirds};
use alloc::vec::Vec;
use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_types::{
	dispute::ClaimKind,
	run::{Bridge, RoundRecord},
	AccountId, Balance, BlockNumber, RoundIndex, F32, H256, MAX_PARTICIPANTS,
};
use scale_info::TypeInfo;

/// Work that a participant revealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Revealed {
	/// Root of its delta.
	pub delta_root: H256,
	/// Blake2-256 of its encoded [`neuroshard_types::run::Work`].
	pub work_hash: H256,
}

/// One place of an adopted round and what its holder claims.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Place {
	/// Account that held it.
	pub account: AccountId,
	/// Weight in the round's votes.
	pub stake: Balance,
	/// True if it had missed no deadline when the round was adopted.
	pub counted: bool,
	/// Work that it revealed.
	pub revealed: Option<Revealed>,
	/// True if its delta was included when the round was adopted.
	pub included: bool,
	/// Checkpoint that it attested in the vote that adopted one.
	pub attested: Option<H256>,
	/// Set once its work is condemned, or found to have no result: first round whose Checkpointing leaves its delta out. Checkpointings
	/// of earlier rounds are judged with it.
	pub excluded_from: Option<RoundIndex>,
	/// True if its work is condemned.
	pub condemned: bool,
	/// True if its attestation is condemned. Its stake is then no part of the tally, nor of the electorate.
	pub disqualified: bool,
}

impl Place {
	/// The place of `participant` at the adoption of its round.
	pub fn new(participant: &Participant, revealed: Option<Revealed>) -> Self {
		let Participant { account, stake, counted, included, attestation, .. } = participant;
		let (account, attested) = (account.clone(), attestation.map(|word| word.checkpoint));
		Self {
			account,
			stake: *stake,
			counted: *counted,
			revealed,
			included: *included,
			attested,
			excluded_from: None,
			condemned: false,
			disqualified: false,
		}
	}
}

/// Inner steps behind the work of each place of a record; 0 for one that revealed none.
pub type StepsOfPlaces = BoundedVec<u32, ConstU32<MAX_PARTICIPANTS>>;

/// A [`RoundRecord`] in bounded form, with what claims are judged and tallied by.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Record {
	/// Seed of the window permutation.
	pub seed: H256,
	/// Root of the checkpoint that the inner steps started from.
	pub start: H256,
	/// Round of the first outer step that its Checkpointing took.
	pub first_round: RoundIndex,
	/// All places by account bytes ascending.
	pub places: BoundedVec<Place, ConstU32<MAX_PARTICIPANTS>>,
	/// Root of the checkpoint that the round ended with.
	pub checkpoint: H256,
	/// True if the checkpoint has lost its two thirds, for good.
	pub fallen: bool,
	/// Stake-weighted median of the attested validation losses.
	pub validation_loss: F32,
	/// Block of adoption.
	pub adopted_at: BlockNumber,
}

impl Record {
	/// The place of `who`.
	pub fn place(&self, who: &AccountId) -> Option<&Place> {
		let index = self.index(who)?;
		self.places.get(index)
	}

	/// Number of the place of `who`, by account bytes ascending.
	pub fn index(&self, who: &AccountId) -> Option<usize> {
		self.places.binary_search_by(|place| place.account.cmp(who)).ok()
	}

	/// Delta roots that the outer step of this round takes in the Checkpointing of `round`, this one or a later one, with the numbers of their places.
	pub fn deltas(&self, round: RoundIndex) -> impl Iterator<Item = (usize, H256)> + '_ {
		let counts = move |place: &Place| place.included && place.excluded_from.is_none_or(|from| round < from);
		let places = self.places.iter().enumerate().filter(move |(_, place)| counts(place));
		places.filter_map(|(number, place)| Some((number, place.revealed?.delta_root)))
	}

	/// Returns whether those who attested the checkpoint, without the condemned, have two thirds of the electorate that is left.
	pub fn has_quorum(&self) -> bool {
		let electorate = || self.places.iter().filter(|place| place.counted && place.revealed.is_some() && !place.disqualified);
		let stake = |sum: Balance, place: &Place| sum.saturating_add(place.stake);
		let attesters = electorate().filter(|place| place.attested == Some(self.checkpoint));
		two_thirds(attesters.fold(0, stake), electorate().fold(0, stake))
	}

	/// Returns whether this claim of `who` is condemned.
	pub fn is_condemned(&self, kind: ClaimKind, who: &AccountId) -> bool {
		self.place(who).is_some_and(|place| match kind {
			ClaimKind::Work => place.condemned,
			ClaimKind::Attestation => place.disqualified,
			ClaimKind::Audit | ClaimKind::Answer(_) => false,
		})
	}

	/// Leaves the delta of `who` out of Checkpointings from that of round `from` on. Returns whether the round's outer step has to be
	/// redone, or `None` if there is no such work, or it is left out already.
	pub fn exclude(&mut self, who: &AccountId, from: RoundIndex) -> Option<bool> {
		let index = self.index(who)?;
		let place = self.places.get_mut(index)?;
		place.revealed?;
		if place.excluded_from.is_some() {
			return None;
		}
		place.excluded_from = Some(from);
		Some(place.included)
	}

	/// Condemns a claim of `who`; what Checkpointings before that of round `from` computed is judged as before. Returns whether the
	/// round's outer step has to be redone, or `None` if there is no such claim, or it is condemned already.
	pub fn condemn(&mut self, kind: ClaimKind, who: &AccountId, from: RoundIndex) -> Option<bool> {
		let index = self.index(who)?;
		let place = self.places.get_mut(index)?;
		match kind {
			ClaimKind::Audit | ClaimKind::Answer(_) => None,
			ClaimKind::Work => {
				place.revealed?;
				if core::mem::replace(&mut place.condemned, true) {
					return None;
				}
				// What had no result is left out already.
				Some(self.exclude(who, from).unwrap_or(false))
			}
			ClaimKind::Attestation => {
				place.attested?;
				if core::mem::replace(&mut place.disqualified, true) {
					return None;
				}
				let falls = !self.fallen && !self.has_quorum();
				self.fallen |= falls;
				Some(falls)
			}
		}
	}

	/// As clients see it, of a round whose inner steps started from `inner_start`.
	/// `late` are those who came while it was trained, and `bridge` may have started from another checkpoint.
	pub fn view(self, inner_start: H256, late: Vec<AccountId>, bridge: Option<Bridge>) -> RoundRecord {
		let of = |place: &Place| place.account.clone();
		let places = self.places.iter();
		let included = places.clone().filter(|place| place.included).filter_map(|place| Some((of(place), place.revealed?.delta_root)));
		let attested = places.clone().filter_map(|place| Some((of(place), place.attested?)));
		RoundRecord {
			seed: self.seed,
			start: self.start,
			inner_start,
			first_round: self.first_round,
			participants: places.clone().map(of).collect(),
			late,
			bridge,
			included: included.collect(),
			excluded: places.clone().filter(|place| place.excluded_from.is_some()).map(of).collect(),
			attested: attested.collect(),
			checkpoint: self.checkpoint,
			fallen: self.fallen,
			validation_loss: self.validation_loss,
			adopted_at: self.adopted_at,
		}
	}
}
