//! A game as it was played so far.
//!
//! The chain keeps positions, not what was posted: that stands in the bodies of blocks. Whether an extrinsic there succeeded shows when
//! the game is played again from its opening, since a move that the position does not allow, or that answers another one, changed nothing.

use super::case::Case;
use crate::chain::disputes::{Act, Posted};
use neuroshard_graph::game::{Move, Outcome, Position, Side};
use neuroshard_types::{dispute::ClaimId, grounds::Grounds, AccountId, H256};

/// One game, as far as its blocks were read.
#[derive(Clone, Debug)]
pub struct Record {
	claim: ClaimId,
	challenger: AccountId,
	/// Where it stands; `None` before its opening was seen.
	position: Option<Position>,
	/// The defender's moves.
	defence: Vec<Move>,
}

impl Record {
	/// The game of `challenger` about `claim`, of which nothing was read yet.
	pub fn new(claim: ClaimId, challenger: AccountId) -> Self {
		Self { claim, challenger, position: None, defence: Vec::new() }
	}

	/// Takes in what was posted in the next block about the claim of `case`.
	pub fn read(&mut self, case: &Case, posted: Vec<Posted>) {
		for Posted { by, act } in posted {
			match act {
				Act::ChallengeWork { claim, work, doubt } if claim == self.claim && by == self.challenger => {
					self.begin(case.open(Some((&work, doubt))).ok());
				}
				Act::ChallengeAttestation(claim) | Act::ChallengeAudit(claim) if claim == self.claim && by == self.challenger => {
					self.begin(case.open(None).ok());
				}
				Act::Play { claim, challenger, position, action } if claim == self.claim && challenger == self.challenger => {
					self.play(case.grounds(), &by, position, action);
				}
				_ => {}
			}
		}
	}

	fn begin(&mut self, position: Option<Position>) {
		// The same challenger cannot open a second game about a claim before the first is over: what tries to has failed.
		if self.position.is_none() {
			self.position = position;
		}
	}

	fn play(&mut self, grounds: &Grounds, by: &AccountId, answered: H256, action: Move) {
		let Some(position) = self.position.filter(|position| H256(position.hash()) == answered) else { return };
		let turn = position.turn();
		let player = if turn == Side::Defender { &self.claim.who } else { &self.challenger };
		if by != player {
			return;
		}
		if let Ok(Outcome::Next(next)) = grounds.judge(|setting| position.play(setting, &action)) {
			self.position = Some(next);
			if turn == Side::Defender {
				self.defence.push(action);
			}
		}
	}

	/// Where the game stands; `None` before its opening was seen.
	pub fn position(&self) -> Option<&Position> {
		self.position.as_ref()
	}

	/// The defender's moves so far.
	pub fn defence(&self) -> &[Move] {
		&self.defence
	}
}
