//! End of games by themselves: those whose time is over, and those about claims that have fallen.

use crate::{Config, Deadlines, DisputedAnswers, Dockets, Fallen, Game, Games, Pallet, SweptTo, WeightInfo};
use frame_support::{traits::Get, weights::Weight};
use neuroshard_graph::game::Side;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, Claims, Decision},
	quorum::MAX_MEMBERS,
	AccountId,
};

/// Members of the quorum whose work a game is about.
fn behind(game: &Game) -> u32 {
	u32::try_from(game.members.len()).unwrap_or(u32::MAX)
}

/// Most blocks without a deadline that are passed over in one block, while ends that were left over are caught up with.
pub(crate) const MAX_PASSED: u32 = 16;

impl<T: Config> Pallet<T> {
	/// Ends what is to end in this block, at most [`Config::MaxEndsPerBlock`] games; others follow in the next blocks. Returns the weight.
	pub(crate) fn end_due() -> Weight {
		let limit = T::MaxEndsPerBlock::get();
		let (moot, of_moot) = Self::end_fallen(limit);
		let (late, of_late, passed) = Self::end_late(limit.saturating_sub(moot));
		T::WeightInfo::end_due(passed)
			.saturating_add(T::WeightInfo::end_moot().saturating_mul(moot.into()))
			.saturating_add(T::WeightInfo::end_late().saturating_mul(late.into()))
			.saturating_add(Self::weight_of_members(of_moot.saturating_add(of_late)))
	}

	/// Ends games about fallen claims. Returns how many, and how many members of quorums stood behind the claims: after a quorum's worth of them, the rest follows in the
	/// next block.
	fn end_fallen(limit: u32) -> (u32, u32) {
		let (mut ended, mut members) = (0u32, 0u32);
		while ended < limit && members < MAX_MEMBERS {
			let Some(claim) = Fallen::<T>::iter_keys().next() else { break };
			let first = Dockets::<T>::get(&claim).map(|docket| docket.first);
			let found = first.and_then(|challenger| Some((Games::<T>::get(&claim, &challenger)?, challenger)));
			match found {
				Some((game, challenger)) => {
					members = members.saturating_add(behind(&game));
					Self::end_moot(claim, challenger, game);
				}
				// Fallen claims have open games.
				None => Fallen::<T>::remove(claim),
			}
			ended = ended.saturating_add(1);
		}
		(ended, members)
	}

	/// Ends games whose deadline is over, earliest first. Returns how many, how many members of quorums stood behind the claims, and how many blocks had no game left.
	fn end_late(limit: u32) -> (u32, u32, u32) {
		let (now, before) = (Self::now(), SweptTo::<T>::get());
		let (mut block, mut ended, mut members, mut passed) = (before, 0u32, 0u32, 0u32);
		while block < now && ended < limit && passed < MAX_PASSED && members < MAX_MEMBERS {
			match Deadlines::<T>::iter_key_prefix(block).next() {
				Some((claim, challenger)) => {
					members = members.saturating_add(Self::end_at_deadline(claim, challenger));
					ended = ended.saturating_add(1);
				}
				None => {
					block = block.saturating_add(1);
					passed = passed.saturating_add(1);
				}
			}
		}
		if block != before {
			SweptTo::<T>::put(block);
		}
		(ended, members, passed)
	}

	/// Ends a game in which the side whose turn it was has let its time run out. Nobody loses for it if the claim has fallen, or cannot be
	/// judged any more. Returns how many members of a quorum stood behind the claim.
	fn end_at_deadline(claim: ClaimId, challenger: AccountId) -> u32 {
		let Some(game) = Games::<T>::get(&claim, &challenger) else { return 0 };
		let members = behind(&game);
		if Fallen::<T>::contains_key(&claim) || !Self::can_be_judged(&claim, &game) {
			Self::end_moot(claim, challenger, game);
			return members;
		}
		let decision = match game.position.turn() {
			Side::Defender => Decision::DefenderLate,
			Side::Challenger => Decision::ChallengerLate,
		};
		Self::decide(claim, challenger, game, decision, 0);
		members
	}

	/// Returns whether the records are there that moves are judged by: they go in the order of their rounds. What an answer is judged by is kept with
	/// it.
	fn can_be_judged(claim: &ClaimId, game: &Game) -> bool {
		if let ClaimKind::Answer(_) = claim.kind {
			return DisputedAnswers::<T>::get(claim).is_some();
		}
		[game.first_round, claim.round].into_iter().all(|round| T::Claims::adopted_at(claim.run, round).is_some())
	}
}
