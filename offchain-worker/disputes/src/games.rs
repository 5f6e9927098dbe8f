//! The games of one account: in which of them it has to move, what the other side posted, and its moves.
//!
//! Whose turn it is is read from the chain, and what was posted from the blocks, so that a restart in the middle of a game needs nothing from before. What a
//! claim is judged by, and where it is recomputed, differs between claims of training (`roles/verifier`) and answers ([`crate::answers`]); playing does not.

use crate::cases::{
	case::{Case, CaseError},
	record::Record,
};
use neuroshard_chain_client::{disputes, ChainClient, ChainError, Heads, Submitter};
use neuroshard_compute::player::PlayError;
use neuroshard_graph::game::{Move, Side};
use neuroshard_support::backoff::{Backoff, Rests};
use neuroshard_types::{
	dispute::{ClaimId, GameView, MoveKind},
	AccountId, BlockNumber, H256,
};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::watch;

/// Blocks after which a move that failed is tried again, and the most: somewhat longer than the slowest failure takes, so that something else gets its turn.
pub const BACKOFF: Backoff<BlockNumber> = Backoff::new(3, 48);

/// A game by claim and challenger.
pub type GameId = (ClaimId, AccountId);
/// A move by its game and the position that it answers, which another branch of the chain may not have.
pub type MoveId = (GameId, H256);

/// Why there is no move.
#[derive(Debug, thiserror::Error)]
pub enum GameError {
	/// The chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// The claim cannot be computed anew.
	#[error("what the dispute is about cannot be computed anew: {0}")]
	Case(#[from] CaseError),
	/// The moves that were posted and the chain's state differ, as long as a reorganisation lasts.
	#[error("the moves in the blocks do not lead to where the game stands: the chain is changing its branch, it is tried again")]
	Elsewhere,
}

/// Plays for one account.
pub struct Games {
	client: ChainClient,
	submitter: Submitter,
	/// Games as they were played, and how many of their extrinsics were read.
	records: BTreeMap<GameId, (Record, usize)>,
	/// Games, and where they stood, in which this side has nothing to say.
	resigned: BTreeMap<GameId, H256>,
	/// Moves that failed.
	pub failed: Rests<MoveId>,
}

impl Games {
	/// The games of the account for which `submitter` sends.
	pub fn new(client: ChainClient, submitter: Submitter) -> Self {
		Self { client, submitter, records: BTreeMap::new(), resigned: BTreeMap::new(), failed: Rests::new(BACKOFF) }
	}

	/// Returns the side on which the account plays. A claim of a quorum is defended by its members too.
	pub fn side(&self, (_, challenger): &GameId) -> Side {
		match challenger == self.submitter.who() {
			true => Side::Challenger,
			false => Side::Defender,
		}
	}

	/// Forgets what belongs to none of the open games, and what failed long ago.
	pub fn tidy(&mut self, open: &[GameId], now: BlockNumber) {
		self.records.retain(|game, _| open.contains(game));
		self.resigned.retain(|game, _| open.contains(game));
		self.failed.tidy(now);
	}

	/// Returns whether the account has to move, and has something to say.
	pub fn has_turn(&self, game: &GameId, view: &GameView) -> bool {
		mover(game, view) == self.submitter.who() && self.resigned.get(game) != Some(&standing(view))
	}

	/// Notes that this side has nothing to say until the other one moves.
	pub fn resign(&mut self, game: GameId, view: &GameView) {
		self.resigned.insert(game, standing(view));
	}

	/// Returns what a move follows from beside the position: for a challenger, the defender's moves so far.
	///
	/// What the defender says follows from the position alone. It must not depend on what the challenger posted beside its moves.
	///
	/// # Errors
	/// [`GameError::Chain`], [`GameError::Elsewhere`].
	pub async fn defence(&mut self, game: &GameId, view: &GameView, case: &Case) -> Result<Vec<Move>, GameError> {
		if self.side(game) == Side::Defender {
			return Ok(Vec::new());
		}
		// What was read of another branch is read anew.
		for _ in 0..2 {
			self.read(game, view, case).await?;
			if let Some((record, _)) = self.records.get(game).filter(|(record, _)| record.is_at(&view.position)) {
				return Ok(record.defence().to_vec());
			}
			self.records.remove(game);
		}
		Err(GameError::Elsewhere)
	}

	/// Reads the moves of a game that were not read yet.
	async fn read(&mut self, game: &GameId, view: &GameView, case: &Case) -> Result<(), ChainError> {
		let fresh = || (Record::new(game.0.clone(), game.1.clone()), 0);
		let (mut record, read) = self.records.remove(game).unwrap_or_else(fresh);
		// Several moves may be in one block.
		let known = read.checked_sub(1).and_then(|last| view.moves.get(last)).copied();
		let blocks: BTreeSet<BlockNumber> = view.moves.iter().skip(read).copied().filter(|block| Some(*block) != known).collect();
		for number in blocks {
			let block = self.client.block_at(number).await?;
			record.read(case, self.client.posted(block).await?);
		}
		self.records.insert(game.clone(), (record, view.moves.len()));
		Ok(())
	}

	/// Sends the move that was computed for the position of `view`; gives the game up if there is nothing to say.
	///
	/// # Errors
	/// [`GameError::Chain`], and [`GameError::Case`] if nothing was computed.
	pub async fn say(
		&mut self,
		heads: watch::Receiver<Heads>,
		game: GameId,
		view: &GameView,
		computed: Result<Move, CaseError>,
	) -> Result<(), GameError> {
		let (claim, challenger) = &game;
		let (run, round, who, moves) = (claim.run, claim.round, &claim.who, view.moves.len());
		match computed {
			Ok(action) => {
				let (side, kind) = (self.side(&game), MoveKind::from(&action));
				tracing::info!(run, round, %who, about = ?claim.kind, ?side, ?kind, "move in a dispute");
				let call = disputes::play(claim.clone(), challenger.clone(), &view.position, action);
				Ok(self.client.send_move(&self.submitter, heads, &game, moves, call).await?)
			}
			Err(CaseError::Play(PlayError::Nothing)) => {
				tracing::warn!(run, round, %who, about = ?claim.kind, "nothing to object to in this dispute: it is given up");
				self.resign(game, view);
				Ok(())
			}
			Err(error) => Err(error.into()),
		}
	}
}

/// Returns the account whose turn it is. A claim of a quorum is defended by its members too.
pub fn mover<'a>((_, challenger): &'a GameId, view: &'a GameView) -> &'a AccountId {
	match view.turn {
		Side::Defender => &view.defender,
		Side::Challenger => challenger,
	}
}

/// Returns the move that is due in a game.
pub fn move_of(game: &GameId, view: &GameView) -> MoveId {
	(game.clone(), standing(view))
}

fn standing(view: &GameView) -> H256 {
	H256(view.position.hash())
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_fixtures::Connect;
	use neuroshard_graph::game::Position;
	use neuroshard_mock_node::MockNode;
	use neuroshard_types::{dispute::ClaimKind, NEURO};

	#[tokio::test]
	async fn whoever_defends_now_has_the_turn_of_the_defender_whosever_claim_it_is() {
		let node = MockNode::with_blocks(3).await;
		let (games, other) = (Games::new(node.client().await, node.submitter().await), AccountId::new([9; 32]));
		let me = games.submitter.who().clone();
		let game = |who: &AccountId, challenger: &AccountId| {
			(ClaimId { run: 0, round: 4, kind: ClaimKind::Work, who: who.clone() }, challenger.clone())
		};
		let view = |turn: Side, defender: &AccountId| {
			let position = Position::Checkpoints { count: 3 };
			GameView { position, turn, deadline: 50, reserve: 9, moves: vec![1], bond: NEURO, defender: defender.clone() }
		};
		for who in [&me, &other] {
			let defended = game(who, &AccountId::new([8; 32]));
			assert_eq!(games.side(&defended), Side::Defender);
			let turns = [&me, &other].map(|defender| games.has_turn(&defended, &view(Side::Defender, defender)));
			assert_eq!(turns, [true, false]);
			assert!(!games.has_turn(&defended, &view(Side::Challenger, &me)));
		}
		let opened = game(&other, &me);
		assert_eq!(games.side(&opened), Side::Challenger);
		assert!(games.has_turn(&opened, &view(Side::Challenger, &other)) && !games.has_turn(&opened, &view(Side::Defender, &other)));
	}
}
