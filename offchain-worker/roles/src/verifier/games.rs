//! Games about training: which there are, and what their claims are judged by.

use super::{compute::Running, Verifier};
use crate::{actor::blocking::within, WorkerError};
use neuroshard_chain_client::{ChainAt, ChainError, Heads};
use neuroshard_disputes::games::{move_of, GameId};
use neuroshard_graph::game::Side;
use neuroshard_training::priority::Priority;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, GameView},
	BlockNumber, H256,
};
use std::time::Duration;
use tokio::sync::watch;

/// Longest wait in one attempt for what a claim is judged by.
const FETCHING: Duration = Duration::from_secs(120);

impl Verifier {
	/// Open games of this account about training. Those about answers are played elsewhere: see `answers`.
	pub(super) async fn open_games(&self, at: &ChainAt) -> Result<Vec<GameId>, ChainError> {
		let mut games = at.games_of(&self.me).await?;
		games.retain(|(claim, _)| !matches!(claim.kind, ClaimKind::Answer(_)));
		Ok(games)
	}

	/// Forgets what belongs to no open game, and what has rested long enough.
	pub(super) fn tidy(&mut self, games: &[GameId], now: BlockNumber) {
		self.games.tidy(games, now);
		self.failed_claims.tidy(now);
		// A case is large: it stays only for a game.
		let is_needed = |claim: &ClaimId| games.iter().any(|(other, _)| other == claim) || self.accusations.contains_key(claim);
		if self.case.as_ref().is_some_and(|(claim, _)| !is_needed(claim)) {
			self.case = None;
		}
		if self.seat.as_ref().is_some_and(|(claim, _)| !games.iter().any(|(other, _)| other == claim)) {
			self.seat = None;
		}
		let open = u32::try_from(games.len()).unwrap_or(u32::MAX);
		self.reporter.update(|status| status.disputes.open = open);
	}

	/// The game of these in which this account has to move first. One in which that failed rests.
	pub(super) async fn our_turn(&self, at: &ChainAt, games: &[GameId]) -> Result<Option<(GameId, GameView)>, ChainError> {
		let mut turns = self.our_turns(at, games).await?;
		turns.retain(|(game, view)| !self.games.failed.contains(&move_of(game, view), at.block().number));
		Ok(turns.into_iter().min_by_key(|(_, view)| view.deadline))
	}

	/// All games of these in which this account has to move, and has something to say.
	pub(super) async fn our_turns(&self, at: &ChainAt, games: &[GameId]) -> Result<Vec<(GameId, GameView)>, ChainError> {
		let mut turns = Vec::new();
		for game in games.iter().filter(|game| !self.keeps_silent(game)) {
			let Some(view) = at.game(&game.0, &game.1).await? else { continue };
			if self.games.has_turn(game, &view) {
				turns.push((game.clone(), view));
			}
		}
		Ok(turns)
	}

	/// Returns whether this worker lets what it has claimed, or signed as a member of a quorum, fall undefended, on purpose.
	fn keeps_silent(&self, game: &GameId) -> bool {
		let (claim, _) = game;
		self.games.side(game) == Side::Defender && !self.conduct.answers_disputes(claim.kind, claim.round)
	}

	/// Makes the next move in a game.
	pub(super) async fn play(
		&mut self,
		at: &ChainAt,
		heads: watch::Receiver<Heads>,
		game: GameId,
		view: GameView,
	) -> Result<(), WorkerError> {
		let claim = &game.0;
		if self.games.side(&game) == Side::Defender {
			if let Some(action) = self.as_member(at, claim, &view).await? {
				return Ok(self.games.say(heads, game, &view, Ok(action)).await?);
			}
		}
		let held = self.take_case(claim);
		// Another game may be waiting for its move. What has arrived is kept.
		let Some(case) = within(FETCHING, "what a dispute is about", self.case_of(at, claim, held, Priority::Low)).await?? else {
			// Without a record nobody can judge the claim, and nobody loses.
			self.games.resign(game, &view);
			return Ok(());
		};
		let case = match view.position.residual() {
			Some(before) => within(FETCHING, "what a dispute is about", self.with_residual(at, claim, case, H256(before))).await??,
			None => case,
		};
		let defence = self.games.defence(&game, &view, &case).await?;
		let (side, position) = (self.games.side(&game), view.position);
		let (case, answer) = Running::start(Priority::Low, case, move |case| case.respond(side, &position, &defence))?.back().await?;
		self.case = Some((claim.clone(), case));
		Ok(self.games.say(heads, game, &view, answer).await?)
	}
}
