//! A game as it was played so far.
//!
//! The chain keeps positions, not what was posted: that stands in the bodies of blocks. Whether an extrinsic there succeeded shows when
//! the game is played again from its opening, since a move that the position does not allow, or that answers another one, changed nothing.
//!
//! Who signed says nothing about whose extrinsic it is: an operator acts for a provider, and another one tomorrow. A block has no move but of the player
//! whose turn it was, since the chain takes no other. Which opening of several about a claim is that of a game, the position says that its first move
//! answers, or that it stands at.

use super::case::Case;
use neuroshard_chain_client::disputes::Act;
use neuroshard_graph::game::{Move, Outcome, Position, Side};
use neuroshard_types::{dispute::ClaimId, grounds::Grounds, AccountId, H256};

/// One game, as far as its blocks were read.
#[derive(Clone, Debug)]
pub struct Record {
	claim: ClaimId,
	challenger: AccountId,
	/// Positions at the beginning of the games about the claim that were opened in the block of its opening.
	openings: Vec<Position>,
	/// Position after its moves; `None` before the first of them was seen.
	position: Option<Position>,
	/// The defender's moves.
	defence: Vec<Move>,
}

impl Record {
	/// The game of `challenger` about `claim`, of which nothing was read yet.
	pub fn new(claim: ClaimId, challenger: AccountId) -> Self {
		Self { claim, challenger, openings: Vec::new(), position: None, defence: Vec::new() }
	}

	/// Takes in what was posted in the next block about the claim of `case`.
	pub fn read(&mut self, case: &Case, posted: Vec<Act>) {
		for act in posted {
			match act {
				Act::ChallengeWork { claim, work, doubt } if claim == self.claim => {
					self.openings.extend(case.open(Some((&work, doubt))).ok());
				}
				Act::ChallengeAttestation(claim) | Act::ChallengeAudit(claim) if claim == self.claim => {
					self.openings.extend(case.open(None).ok());
				}
				Act::ChallengeAnswer { claim, doubt } if claim == self.claim => self.openings.extend(case.open_answer(doubt).ok()),
				Act::Play { claim, challenger, position, action } if claim == self.claim && challenger == self.challenger => {
					self.play(case.grounds(), position, action);
				}
				_ => {}
			}
		}
	}

	fn play(&mut self, grounds: &Grounds, answered: H256, action: Move) {
		let mut stands = self.position.iter().chain(self.openings.iter().filter(|_| self.position.is_none()));
		let Some(position) = stands.find(|position| H256(position.hash()) == answered).copied() else { return };
		if let Ok(Outcome::Next(next)) = grounds.judge(|setting| position.play(setting, &action)) {
			self.position = Some(next);
			if position.turn() == Side::Defender {
				self.defence.push(action);
			}
		}
	}

	/// Returns whether the game is in `position`, by what was read.
	pub fn is_at(&self, position: &Position) -> bool {
		match &self.position {
			Some(stands) => stands == position,
			None => self.openings.contains(position),
		}
	}

	/// The defender's moves so far.
	pub fn defence(&self) -> &[Move] {
		&self.defence
	}
}
