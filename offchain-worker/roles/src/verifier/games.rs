//! Games: whose turn it is, what was posted, and this account's moves.

use super::{compute::Running, GameId, MoveId, Verifier};
use crate::{actor::blocking::within, WorkerError};
use neuroshard_chain_client::{disputes, BlockId, ChainAt, ChainError, Heads};
use neuroshard_compute::player::PlayError;
use neuroshard_disputes::cases::{
	case::{Case, CaseError},
	record::Record,
};
use neuroshard_graph::game::Side;
use neuroshard_training::priority::Priority;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, GameView, MoveKind},
	BlockNumber, H256,
};
use std::{collections::BTreeSet, time::Duration};
use tokio::sync::watch;

/// Longest wait in one attempt for what a claim is judged by.
const FETCHING: Duration = Duration::from_secs(120);

impl Verifier {
	/// Open games of this account about training. Those about answers are played elsewhere: see `answers`.
	pub(super) async fn games(&self, at: &ChainAt) -> Result<Vec<GameId>, ChainError> {
		let mut games = at.games_of(&self.me).await?;
		games.retain(|(claim, _)| !matches!(claim.kind, ClaimKind::Answer(_)));
		Ok(games)
	}

	/// Forgets what belongs to no open game, and what has rested long enough.
	pub(super) fn tidy(&mut self, games: &[GameId], now: BlockNumber) {
		self.records.retain(|game, _| games.contains(game));
		self.resigned.retain(|game, _| games.contains(game));
		self.failed_moves.tidy(now);
		self.failed_claims.tidy(now);
		// A case is large: it stays only for a game.
		let is_needed = |claim: &ClaimId| games.iter().any(|(other, _)| other == claim) || self.accusations.contains_key(claim);
		if self.case.as_ref().is_some_and(|(claim, _)| !is_needed(claim)) {
			self.case = None;
		}
		let open = u32::try_from(games.len()).unwrap_or(u32::MAX);
		self.reporter.update(|status| status.disputes.open = open);
	}

	/// The game of these in which this account has to move first. One in which that failed rests.
	pub(super) async fn our_turn(&self, at: &ChainAt, games: &[GameId]) -> Result<Option<(GameId, GameView)>, ChainError> {
		let mut turns = self.our_turns(at, games).await?;
		turns.retain(|(game, view)| !self.failed_moves.contains(&move_of(game, view), at.block().number));
		Ok(turns.into_iter().min_by_key(|(_, view)| view.deadline))
	}

	/// All games of these in which this account has to move, and has something to say.
	pub(super) async fn our_turns(&self, at: &ChainAt, games: &[GameId]) -> Result<Vec<(GameId, GameView)>, ChainError> {
		let mut turns = Vec::new();
		for game in games.iter().filter(|(claim, _)| !self.keeps_silent(claim)) {
			let side = if game.0.who == self.me { Side::Defender } else { Side::Challenger };
			let Some(view) = at.game(&game.0, &game.1).await? else { continue };
			if view.turn == side && self.resigned.get(game) != Some(&view.moves.len()) {
				turns.push((game.clone(), view));
			}
		}
		Ok(turns)
	}

	/// Whether this worker lets a claim of its own fall without a word, on purpose.
	fn keeps_silent(&self, claim: &ClaimId) -> bool {
		claim.who == self.me && !self.conduct.answers_disputes(claim.kind, claim.round)
	}

	/// Makes the next move in a game.
	pub(super) async fn play(
		&mut self,
		at: &ChainAt,
		heads: watch::Receiver<Heads>,
		game: GameId,
		view: GameView,
	) -> Result<(), WorkerError> {
		let (claim, challenger) = &game;
		let side = if claim.who == self.me { Side::Defender } else { Side::Challenger };
		let held = self.take_case(claim);
		// Another game may be waiting for its move. What has arrived is kept.
		let Some(case) = within(FETCHING, "what a dispute is about", self.case_of(at, claim, held, Priority::Low)).await?? else {
			// Without a record nobody can judge the claim, and nobody loses.
			self.resigned.insert(game, view.moves.len());
			return Ok(());
		};
		let case = match view.position.residual() {
			Some(before) => within(FETCHING, "what a dispute is about", self.with_residual(at, claim, case, H256(before))).await??,
			None => case,
		};
		// What the defender says follows from the position alone. It must not depend on what the challenger posted beside its moves.
		let defence = match side {
			Side::Defender => Vec::new(),
			Side::Challenger => {
				self.read(&game, &view, &case).await?;
				let Some((record, _)) = self.records.get(&game).filter(|(record, _)| record.is_at(&view.position)) else {
					// What was posted and what the chain says differ for as long as a reorganisation lasts.
					self.records.remove(&game);
					return Err(WorkerError::Stopped);
				};
				record.defence().to_vec()
			}
		};
		let position = view.position;
		let (case, answer) = Running::start(Priority::Low, case, move |case| case.respond(side, &position, &defence))?.back().await?;
		self.case = Some((claim.clone(), case));
		match answer {
			Ok(action) => {
				let kind = MoveKind::from(&action);
				tracing::info!(round = claim.round, who = %claim.who, ?side, ?kind, "move in a dispute");
				let call = disputes::play(claim.clone(), challenger.clone(), &position, action);
				Ok(self.client.send_move(&self.submitter, heads, &game, view.moves.len(), call).await?)
			}
			Err(CaseError::Play(PlayError::Nothing)) => {
				tracing::warn!(round = claim.round, who = %claim.who, "nothing to object to in this dispute: it is given up");
				self.resigned.insert(game, view.moves.len());
				Ok(())
			}
			Err(error) => Err(error.into()),
		}
	}

	/// Reads the moves of a game that were not read yet.
	async fn read(&mut self, game: &GameId, view: &GameView, case: &Case) -> Result<(), ChainError> {
		let fresh = || (Record::new(game.0.clone(), game.1.clone()), 0);
		let (mut record, read) = self.records.remove(game).unwrap_or_else(fresh);
		// Several moves may be in one block.
		let known = read.checked_sub(1).and_then(|last| view.moves.get(last)).copied();
		let blocks: BTreeSet<BlockNumber> = view.moves.iter().skip(read).copied().filter(|block| Some(*block) != known).collect();
		for block in blocks {
			let block: BlockId = self.client.block_at(block).await?;
			record.read(case, self.client.posted(block).await?);
		}
		self.records.insert(game.clone(), (record, view.moves.len()));
		Ok(())
	}
}

/// The move that is due in a game.
pub(super) fn move_of(game: &GameId, view: &GameView) -> MoveId {
	(game.clone(), view.moves.len())
}
