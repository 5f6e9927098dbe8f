//! Plays the open games of this account about answers, on one side.
//!
//! A restart in the middle of a game needs nothing but the [`TranscriptStore`]. One case at a time is in memory.

use super::{
	progress::{outcome, Dispute, State},
	transcript_store::{InUse, TranscriptStore, TranscriptStoreError},
};
use crate::{
	cases::case::{Case, CaseError},
	games::{move_of, GameError, GameId, Games},
};
use neuroshard_chain_client::{next_block, ChainAt, ChainClient, ChainError, Heads, Submitter, Verdict};
use neuroshard_compute::exec::{Exec, ExecError};
use neuroshard_graph::{game::Side, ConfigError, ModelConfig, ParamLayout};
use neuroshard_inference::{Engine, ModelError};
use neuroshard_support::counted::counted;
use neuroshard_training::checkpoint::{Checkpoint, CheckpointError};
use neuroshard_types::{
	dispute::{AnswerClaim, ClaimId, ClaimKind, GameView},
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};
use std::{
	collections::{BTreeMap, BTreeSet},
	sync::Arc,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Blocks from one look for settled sessions to the next.
const SWEEP: BlockNumber = 100;
/// Blocks that are searched for how a game ended.
const SEARCHED: BlockNumber = 256;
/// Games that have ended and are told of.
const TOLD: usize = 64;

/// Why there is no move.
#[derive(Debug, thiserror::Error)]
pub enum PlayerError {
	/// The chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// Transcript or checkpoint.
	#[error(transparent)]
	TranscriptStore(#[from] TranscriptStoreError),
	/// The answer cannot be computed anew.
	#[error("the answer cannot be computed anew: {0}")]
	Case(#[from] CaseError),
	/// The executor.
	#[error(transparent)]
	Exec(#[from] ExecError),
	/// The model.
	#[error("the model of the run is refused: {0}")]
	Config(#[from] ConfigError),
	/// There is no move.
	#[error(transparent)]
	Game(#[from] GameError),
	/// A fault of the program.
	#[error("computing a move failed unexpectedly: this is a fault of the program, please report it")]
	Panicked,
}

/// Fault in every answer of a provider that cheats on purpose. No worker that is installed has any.
pub trait Lie: std::fmt::Debug + Send + Sync {
	/// Returns the parameters that are used in place of those of the checkpoint, which are `right`. A game is played with them as well.
	///
	/// # Errors
	/// [`CheckpointError`] if they are not at hand.
	fn parameters(&self, model: &ModelConfig, right: Vec<f32>) -> Result<Vec<f32>, CheckpointError>;

	/// Returns what computes the answers, from the parameters that [`Self::parameters`] gives.
	///
	/// # Errors
	/// [`ModelError`] for parameters of another model.
	fn engine(&self, model: &ModelConfig, parameters: &[f32], threads: usize) -> Result<Box<dyn Engine>, ModelError>;
}

/// Parts that a player works with.
pub struct Parts {
	/// The chain.
	pub client: ChainClient,
	/// Sends its moves.
	pub submitter: Submitter,
	/// Folder of transcripts and checkpoints.
	pub transcript_store: TranscriptStore,
	/// The side on which it plays.
	pub side: Side,
	/// Compute threads.
	pub threads: usize,
	/// Guard that keeps the checkpoint which is used now.
	pub in_use: Option<InUse>,
	/// Fault that every answer has on purpose, and that is then defended.
	pub lie: Option<Arc<dyn Lie>>,
}

/// The actor.
pub struct Player {
	parts: Parts,
	me: AccountId,
	/// The right to play from this base folder, once it has it.
	seat: Option<InUse>,
	exec: Option<Arc<Exec>>,
	/// The claim that was computed last: the next move in the same game goes on from there.
	case: Option<(ClaimId, Case)>,
	games: Games,
	/// Games that were open and are not told as ended, and the last block that had them.
	seen: BTreeMap<GameId, BlockNumber>,
	swept: Option<BlockNumber>,
	told: watch::Sender<Vec<Dispute>>,
}

impl Player {
	/// A player, and what it tells of its games: open ones, and those that have ended since it began, the last ones last.
	pub fn new(parts: Parts) -> (Self, watch::Receiver<Vec<Dispute>>) {
		let (told, disputes) = watch::channel(Vec::new());
		let me = parts.submitter.who().clone();
		let (seat, exec, case) = (None, None, None);
		let (games, seen) = (Games::new(parts.client.clone(), parts.submitter.clone()), BTreeMap::new());
		(Self { parts, me, seat, exec, case, games, seen, swept: None, told }, disputes)
	}

	/// Plays until `stop` is cancelled. A move that is being computed then is not sent.
	pub async fn run(mut self, stop: CancellationToken) {
		let mut heads = self.parts.client.follow(Heads::default(), |_| {});
		loop {
			heads.mark_unchanged();
			let Some(turn) = stop.run_until_cancelled(self.turn(&heads)).await else { break };
			match turn {
				Ok(true) => continue,
				Ok(false) => {}
				Err(error) => {
					tracing::warn!("disputes about answers: {error}");
					self.case = None;
				}
			}
			next_block(&mut heads, &stop).await;
		}
		let deadline = |dispute: &Dispute| match dispute.state {
			State::Open { deadline, .. } => Some(deadline),
			State::Ended(_) => None,
		};
		let deadlines: Vec<BlockNumber> = self.told.borrow().iter().filter_map(deadline).collect();
		if let Some(first) = deadlines.iter().min() {
			tracing::warn!(
				"{} about answers open: start this again before block {first}. Who does not move in time loses what it has at stake",
				counted(deadlines.len(), "dispute")
			);
		}
	}

	/// Makes the most urgent move; `false` if there is none.
	pub(super) async fn turn(&mut self, heads: &watch::Receiver<Heads>) -> Result<bool, PlayerError> {
		let at = self.parts.client.now().await?;
		let (games, now) = (self.open_games(&at).await?, at.block().number);
		self.tell_ended(&games, now).await;
		let views = self.tell_open(&at, &games).await?;
		self.tidy(&games, now);
		self.sweep(&at).await;
		if self.seat.is_none() && !games.is_empty() {
			self.seat = self.parts.transcript_store.seat(&self.me, self.parts.side)?;
		}
		if self.seat.is_none() {
			return Ok(false);
		}
		let due = views
			.into_iter()
			.filter(|(game, view)| self.games.has_turn(game, view) && !self.games.failed.contains(&move_of(game, view), now));
		let Some((game, view)) = due.min_by_key(|(_, view)| view.deadline) else { return Ok(false) };
		let (failed, deadline) = (move_of(&game, &view), view.deadline);
		let played = self.play(&at, heads.clone(), game, view).await;
		if played.is_err() {
			let now = heads.borrow().best.number.max(now);
			self.games.failed.note(failed, now, deadline);
		}
		played.map(|()| true)
	}

	/// Open games of this account about answers, on this side.
	async fn open_games(&self, at: &ChainAt) -> Result<Vec<GameId>, ChainError> {
		let mut games = at.games_of(&self.me).await?;
		games.retain(|(claim, challenger)| {
			let who = match self.parts.side {
				Side::Defender => &claim.who,
				Side::Challenger => challenger,
			};
			matches!(claim.kind, ClaimKind::Answer(_)) && *who == self.me
		});
		Ok(games)
	}

	/// Tells what games stand where.
	async fn tell_open(&mut self, at: &ChainAt, games: &[GameId]) -> Result<Vec<(GameId, GameView)>, ChainError> {
		let mut views = Vec::new();
		for game in games {
			let Some(view) = at.game(&game.0, &game.1).await? else { continue };
			self.seen.insert(game.clone(), at.block().number);
			let known = self.told.borrow().iter().find(|told| told.claim == game.0 && told.challenger == game.1).and_then(|told| told.paid);
			let paid = match known {
				Some(paid) => Some(paid),
				None => at.answer_claim(&game.0).await?.and_then(|claim| claim.receipt.paid),
			};
			let state = State::Open { ours: view.turn == self.parts.side, deadline: view.deadline };
			let (claim, challenger) = game.clone();
			self.tell(Dispute { claim, challenger, paid, state });
			views.push((game.clone(), view));
		}
		Ok(views)
	}

	/// Tells how games ended that are not open any more at block `now`.
	async fn tell_ended(&mut self, games: &[GameId], now: BlockNumber) {
		let missing: Vec<(GameId, BlockNumber)> =
			self.seen.iter().filter(|(game, _)| !games.contains(game)).map(|(game, seen)| (game.clone(), *seen)).collect();
		let Some(first) = missing.iter().map(|(_, seen)| *seen).min() else { return };
		// How they ended is for people: what cannot be read is not waited for.
		let verdicts = self.verdicts(first, now).await.unwrap_or_default();
		for (game, seen) in missing {
			let verdict = verdicts.iter().find(|verdict| verdict.claim == game.0 && verdict.challenger == game.1);
			if verdict.is_none() && !self.is_gone(&game, seen).await {
				continue;
			}
			self.seen.remove(&game);
			let known = self.told.borrow().iter().find(|told| told.claim == game.0 && told.challenger == game.1).cloned();
			let Some(dispute) = known else { continue };
			let place = dispute.paid.map_or_else(String::new, |(session, place)| format!(" (answer {place} of session {session})"));
			tracing::info!("the dispute about an answer ended{place}: {}", outcome(verdict));
			let state = State::Ended(verdict.cloned().map(Box::new));
			self.tell(Dispute { state, ..dispute });
		}
	}

	/// Returns whether a game that block `seen` had, and the best one has not, is gone for good. One that is missing after a short reorganisation may come
	/// back.
	async fn is_gone(&self, (claim, challenger): &GameId, seen: BlockNumber) -> bool {
		let gone = async {
			let last = self.parts.client.heads().await?.finalized;
			if last.number < seen {
				return Ok(false);
			}
			Ok::<_, ChainError>(self.parts.client.at(last).await?.game(claim, challenger).await?.is_none())
		};
		// What is not known is asked again with the next block.
		gone.await.unwrap_or(false)
	}

	/// Decisions in the blocks after `seen`, up to block `now`.
	async fn verdicts(&self, seen: BlockNumber, now: BlockNumber) -> Result<Vec<Verdict>, ChainError> {
		let first = seen.saturating_add(1).max(now.saturating_sub(SEARCHED));
		let mut verdicts = Vec::new();
		for number in first..=now {
			let block = self.parts.client.block_at(number).await?;
			verdicts.extend(self.parts.client.at(block).await?.verdicts().await?);
		}
		Ok(verdicts)
	}

	fn tell(&self, dispute: Dispute) {
		self.told.send_if_modified(|all| {
			let known = all.iter().position(|told| told.claim == dispute.claim && told.challenger == dispute.challenger);
			if known.and_then(|place| all.get(place)) == Some(&dispute) {
				return false;
			}
			if let Some(place) = known {
				all.remove(place);
			}
			all.push(dispute);
			let over = all.len().saturating_sub(TOLD);
			let mut left = over;
			all.retain(|told| {
				let goes = left > 0 && matches!(told.state, State::Ended(_));
				left -= usize::from(goes);
				!goes
			});
			true
		});
	}

	/// Forgets what belongs to no open game.
	fn tidy(&mut self, games: &[GameId], now: BlockNumber) {
		self.games.tidy(games, now);
		if self.case.as_ref().is_some_and(|(claim, _)| !games.iter().any(|(other, _)| other == claim)) {
			self.case = None;
		}
	}

	/// Makes the next move in a game.
	async fn play(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, game: GameId, view: GameView) -> Result<(), PlayerError> {
		let claim = &game.0;
		let held = self.case.take().filter(|(known, _)| known == claim).map(|(_, case)| case);
		let case = match held {
			Some(case) => case,
			// Without the receipt nobody can judge it: the game is over.
			None => match at.answer_claim(claim).await? {
				Some(judged) => self.new_case(claim, judged).await?,
				None => {
					self.games.resign(game, &view);
					return Ok(());
				}
			},
		};
		let defence = self.games.defence(&game, &view, &case).await?;
		let (side, position) = (self.games.side(&game), view.position);
		let (case, answer) = computed(move || {
			let mut case = case;
			let answer = case.respond(side, &position, &defence);
			(case, answer)
		})
		.await?;
		self.case = Some((claim.clone(), case));
		Ok(self.games.say(heads, game, &view, answer).await?)
	}

	/// The answer with what it takes to compute it anew, from the stored transcripts.
	async fn new_case(&mut self, claim: &ClaimId, judged: AnswerClaim) -> Result<Case, PlayerError> {
		let exec = match &self.exec {
			Some(exec) => exec.clone(),
			None => self.exec.insert(Arc::new(Exec::new(self.parts.threads)?)).clone(),
		};
		let (transcript_store, genesis, threads) = (self.parts.transcript_store.clone(), self.parts.client.genesis(), self.parts.threads);
		let (run, round) = (claim.run, claim.round);
		let lie = self.parts.lie.clone();
		let made = move || {
			let case = case_of(&transcript_store, exec, (run, round), judged, genesis, threads)?;
			Ok(match lie {
				Some(lie) => case.computed_with(|model, right| lie.parameters(model, right))?,
				None => case,
			})
		};
		computed(made).await?
	}

	/// Deletes now and then what nobody can ask for any more.
	async fn sweep(&mut self, at: &ChainAt) {
		let now = at.block().number;
		if self.swept.is_some_and(|before| now < before.saturating_add(SWEEP)) {
			return;
		}
		self.swept = Some(now);
		if let Err(error) = self.forget_settled(at).await {
			tracing::warn!("transcripts of settled sessions are kept for now: {error}");
		}
	}

	/// Deletes the transcripts of sessions that are settled for good, and of whose answers no audit can be open any more, but for those in disputes, which go
	/// on.
	pub(super) async fn forget_settled(&self, at: &ChainAt) -> Result<(), PlayerError> {
		let transcript_store = self.parts.transcript_store.clone();
		let sessions = computed(move || transcript_store.sessions()).await??;
		let last = self.parts.client.at(self.parts.client.heads().await?.finalized).await?;
		let (next, mut settled) = (last.next_session().await?, Vec::new());
		for session in sessions {
			// One that the final state has not seen opened is not settled: it was just opened, or this node is behind.
			if session < next && last.session(session).await?.is_none() {
				settled.push(session);
			}
		}
		let (kept_for, now) = (last.answer_audit_terms().await?.kept_for(), last.block().number);
		let mut disputed = BTreeSet::new();
		for state in [at, &last] {
			disputed.extend(state.games_of(&self.me).await?.into_iter().filter_map(|(claim, _)| match claim.kind {
				ClaimKind::Answer(receipt) => Some(receipt),
				ClaimKind::Work | ClaimKind::Attestation | ClaimKind::Audit => None,
			}));
		}
		let transcript_store = self.parts.transcript_store.clone();
		let swept = computed(move || {
			for session in settled {
				// Whatever was claimed of it was claimed before it was settled.
				if now >= transcript_store.settled_since(session, now)?.saturating_add(kept_for) {
					transcript_store.forget(session, &disputed)?;
				}
			}
			transcript_store.forget_checkpoints()
		});
		Ok(swept.await??)
	}
}

/// The answer that `judged` is about, from the stored transcripts, computed with the checkpoint that the round of the run starts from. Blocks.
///
/// # Errors
/// [`PlayerError`].
pub fn case_of(
	transcript_store: &TranscriptStore,
	exec: Arc<Exec>,
	(run, round): (RunId, RoundIndex),
	judged: AnswerClaim,
	genesis: H256,
	threads: usize,
) -> Result<Case, PlayerError> {
	let layout = ParamLayout::new(&judged.config.model)?;
	let transcript = transcript_store.transcript(&judged.receipt, genesis)?;
	let checkpoint = transcript_store.checkpoint(run, judged.receipt.parameters, &layout, threads)?;
	let start = (checkpoint.params, checkpoint.header.momentum.0);
	Ok(Case::answer(exec, round, judged, start, [transcript.prompt, transcript.answer])?)
}

/// The first choice of an answer that `checkpoint` does not give; `None` if it gives all of them. Blocks.
///
/// # Errors
/// [`PlayerError`].
pub fn doubt_of(
	exec: Arc<Exec>,
	round: RoundIndex,
	judged: AnswerClaim,
	checkpoint: Checkpoint,
	text: [Vec<u32>; 2],
) -> Result<Option<u32>, PlayerError> {
	let start = (checkpoint.params, checkpoint.header.momentum.0);
	Ok(Case::answer(exec, round, judged, start, text)?.doubted_choice()?)
}

/// Runs `work`, which takes time, on a thread for that.
pub async fn computed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, PlayerError> {
	tokio::task::spawn_blocking(work).await.map_err(|_| PlayerError::Panicked)
}
