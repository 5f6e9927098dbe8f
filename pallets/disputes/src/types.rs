//! Stored types of disputes.

use codec::{Decode, Encode, MaxEncodedLen};
use frame_support::{traits::ConstU32, BoundedVec};
use neuroshard_graph::game::{Position, Side};
use neuroshard_types::{
	dispute::{ClaimId, GameView, MAX_MOVES},
	quorum::MAX_MEMBERS,
	AccountId, Balance, BlockNumber, RoundIndex,
};
use scale_info::TypeInfo;

/// A dispute about a claim.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Game {
	/// Position of the game.
	pub position: Position,
	/// Last block that the move of the side whose turn it is may be in.
	pub deadline: BlockNumber,
	/// Blocks that the other side has left.
	pub reserve: BlockNumber,
	/// Blocks of the moves so far, the opening first.
	pub moves: BoundedVec<BlockNumber, ConstU32<MAX_MOVES>>,
	/// Bond that is held of the challenger, in planck.
	pub bond: Balance,
	/// Earliest round whose record the claim is judged by. Records go in the order of their rounds.
	pub first_round: RoundIndex,
	/// Challenger of the game about the same claim that was opened before this one, and is open.
	pub earlier: Option<AccountId>,
	/// Challenger of the game about the same claim that was opened next, and is open.
	pub later: Option<AccountId>,
	/// Members of the quorum whose work is disputed, by number; nobody if the claimant did it alone. As long as the game lasts, all of them may have to defend it.
	pub members: Members,
}

/// Members of a quorum by number.
pub type Members = BoundedVec<AccountId, ConstU32<MAX_MEMBERS>>;

impl Game {
	/// The account that plays `side`.
	pub fn player<'a>(&'a self, claim: &'a ClaimId, challenger: &'a AccountId, side: Side) -> &'a AccountId {
		match side {
			Side::Defender => self.defender(claim),
			Side::Challenger => challenger,
		}
	}

	/// The account that defends the claim where the game stands, and loses what is lost: the claimant, or the member of its quorum that signed what is disputed.
	pub fn defender<'a>(&'a self, claim: &'a ClaimId) -> &'a AccountId {
		self.defender_at(claim, &self.position)
	}

	/// The same at another position.
	pub fn defender_at<'a>(&'a self, claim: &'a ClaimId, position: &Position) -> &'a AccountId {
		let member = position.member().and_then(|member| usize::try_from(member).ok());
		member.and_then(|member| self.members.get(member)).unwrap_or(&claim.who)
	}

	/// All accounts that may have to defend the claim.
	pub fn defenders<'a>(&'a self, claim: &'a ClaimId) -> impl Iterator<Item = &'a AccountId> {
		self.loads(claim).map(|(who, _)| who)
	}

	/// The same with the bond that is held for a game against each, in planck: it is measured by what the claimant has at stake, and so the claimant's.
	pub(crate) fn loads<'a>(&'a self, claim: &'a ClaimId) -> impl Iterator<Item = (&'a AccountId, Balance)> {
		let members = self.members.iter().filter(move |member| **member != claim.who).map(|member| (member, 0));
		core::iter::once((&claim.who, self.bond)).chain(members)
	}

	/// Notes a move in block `now`.
	pub fn note_move(&mut self, now: BlockNumber) {
		// There is room: no game has more.
		let _ = self.moves.try_push(now);
	}

	/// Extrinsics so far.
	pub fn extrinsics(&self) -> u32 {
		u32::try_from(self.moves.len()).unwrap_or(u32::MAX)
	}

	/// Block in which it was opened.
	pub fn opened_at(&self) -> BlockNumber {
		self.moves.first().copied().unwrap_or_default()
	}

	/// Goes on to `position` by a move in block `now`. Time runs for the side that moves until its turn is over; the other one gains
	/// `gain` then. Whoever defends from here on for the first time has a `clock` of its own.
	pub fn advance(&mut self, claim: &ClaimId, position: Position, now: BlockNumber, (gain, clock): (BlockNumber, BlockNumber)) {
		if self.defender(claim) != self.defender_at(claim, &position) {
			self.reserve = clock;
		}
		if position.turn() != self.position.turn() {
			let left = self.deadline.saturating_sub(now);
			self.deadline = now.saturating_add(self.reserve).saturating_add(gain);
			self.reserve = left;
		}
		self.position = position;
		self.note_move(now);
	}

	/// As clients see it.
	pub fn view(self, claim: &ClaimId) -> GameView {
		let defender = self.defender(claim).clone();
		let Game { position, deadline, reserve, moves, bond, .. } = self;
		GameView { position, turn: position.turn(), deadline, reserve, moves: moves.into_inner(), bond, defender }
	}
}

/// The open games about one claim, linked in the order in which they were opened.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Docket {
	/// Challenger of the first one.
	pub first: AccountId,
	/// Challenger of the last one.
	pub last: AccountId,
}

/// Open games against one account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, MaxEncodedLen, TypeInfo)]
pub struct Load {
	/// Number of games.
	pub games: u32,
	/// Bonds that they hold of their challengers, in planck.
	pub bonds: Balance,
}
