//! Behaviour of the pallet, one file a subject.

mod acts;
mod answer_audits;
mod answers;
mod audits;
mod case;
mod clocks;
mod games;
mod lists;
mod load;
mod migration;
mod moves;
mod opening;
mod operators;
mod properties;
mod quorums;
mod several;
mod turn;

use crate::{mock::*, Event, Games};
use case::Strategy;
use frame_support::{assert_noop, assert_ok};
use neuroshard_graph::game::{Doubt, Move, Side};
use neuroshard_types::{
	dispute::{ClaimId, Decision},
	run::Work,
	AccountId, Balance, H256,
};
use sp_runtime::DispatchResult;

fn signed(who: &AccountId) -> RuntimeOrigin {
	RuntimeOrigin::signed(who.clone())
}

/// Disputes work.
fn challenge(challenger: &AccountId, claim: &ClaimId, work: &Work, doubt: Doubt) -> DispatchResult {
	let called = Disputes::challenge_work(signed(challenger), claim.run, claim.round, claim.who.clone(), work.clone(), doubt);
	called.map(|_| ()).map_err(|error| error.error)
}

/// Disputes an attestation.
fn challenge_checkpoint(challenger: &AccountId, claim: &ClaimId) -> DispatchResult {
	let called = Disputes::challenge_attestation(signed(challenger), claim.run, claim.round, claim.who.clone());
	called.map(|_| ()).map_err(|error| error.error)
}

/// Hash of where a game stands, if it is open.
fn stands(claim: &ClaimId, challenger: &AccountId) -> H256 {
	Disputes::game(claim.clone(), challenger.clone()).map_or(H256::zero(), |game| H256(game.position.hash()))
}

/// A move of `who` in answer to where the game stands.
fn play(who: &AccountId, claim: &ClaimId, challenger: &AccountId, action: Move) -> DispatchResult {
	play_at(stands(claim, challenger), who, claim, challenger, action)
}

/// A move of `who` in answer to the position with this hash.
fn play_at(position: H256, who: &AccountId, claim: &ClaimId, challenger: &AccountId, action: Move) -> DispatchResult {
	let called = Disputes::play(signed(who), claim.clone(), challenger.clone(), position, action);
	called.map(|_| ()).map_err(|error| error.error)
}

/// Work with a mistake that `LIAR` revealed, and what is wrong with it.
fn false_work() -> (ClaimId, Work, Doubt) {
	let work = case::work(Some(case::MISTAKE));
	(case::reveal(&LIAR, &work), work.clone(), case::doubt(&work).expect("a mistake"))
}

/// Work without a mistake that `HONEST` revealed.
fn right_work() -> (ClaimId, Work) {
	let work = case::work(None);
	(case::reveal(&HONEST, &work), work)
}

/// An open game and who plays it.
struct Match {
	claim: ClaimId,
	challenger: AccountId,
	defence: Vec<Move>,
	players: [Strategy; 2],
}

impl Match {
	fn new(claim: &ClaimId, challenger: &AccountId, defender: Strategy, opponent: Strategy) -> Self {
		Self { claim: claim.clone(), challenger: challenger.clone(), defence: Vec::new(), players: [defender, opponent] }
	}

	/// Returns whether it goes on, and does not just wait for a block that ends it.
	fn is_on(&self) -> bool {
		let game = Disputes::game(self.claim.clone(), self.challenger.clone());
		game.is_some_and(|game| System::block_number() <= game.deadline) && !crate::Fallen::<Test>::contains_key(&self.claim)
	}

	/// Returns the account that is to move, and its move. `None` when the game is over, or the player is silent.
	fn next(&mut self) -> Option<(AccountId, Move)> {
		let game = Disputes::game(self.claim.clone(), self.challenger.clone())?;
		let [defender, opponent] = &mut self.players;
		let (who, strategy) = match game.turn {
			Side::Defender => (game.defender, defender),
			Side::Challenger => (self.challenger.clone(), opponent),
		};
		Some((who, strategy(&game.position, &self.defence)?))
	}

	/// The next move is made. Whether there was one.
	fn step(&mut self) -> bool {
		let Some((who, action)) = self.next() else { return false };
		assert_ok!(play(&who, &self.claim, &self.challenger, action.clone()));
		if who != self.challenger {
			self.defence.push(action);
		}
		true
	}

	/// All moves are made, one in each block.
	fn finish(&mut self) {
		while self.step() {
			next_block();
		}
	}
}

/// All events of this pallet.
fn events() -> Vec<Event<Test>> {
	let ours = |record: frame_system::EventRecord<_, _>| match record.event {
		RuntimeEvent::Disputes(event) => Some(event),
		_ => None,
	};
	System::events().into_iter().filter_map(ours).collect()
}

/// Decisions so far: who challenged, how it ended, and what was rewarded, to whom, and burned.
fn decisions() -> Vec<(AccountId, Decision, Balance, Option<AccountId>, Balance)> {
	let decided = |event| match event {
		Event::Decided { challenger, decision, slashed, rewarded, receiver, burned, .. } => {
			assert_eq!(slashed, rewarded + burned);
			Some((challenger, decision, rewarded, receiver, burned))
		}
		_ => None,
	};
	events().into_iter().filter_map(decided).collect()
}

/// Free balance.
fn free(who: &AccountId) -> Balance {
	frame_system::Account::<Test>::get(who).data.free
}

/// Half of the stake that a lost claim costs; the odd planck is burned.
const REWARD: Balance = 25_000;
/// Half of a lost bond; the odd planck is burned.
const CONSOLATION: Balance = 500;

/// Extrinsics and witness bytes of the only decision.
fn effort() -> (u32, u32) {
	let decided = |event| match event {
		Event::Decided { extrinsics, witness_bytes, .. } => Some((extrinsics, witness_bytes)),
		_ => None,
	};
	events().into_iter().find_map(decided).expect("a decision")
}
