//! The verifier: plays every dispute of this account and checks claims of others, beside the worker's main loop.
//!
//! Whose turn it is and what may still be disputed is read from the chain with every block, so that a restart in the middle of a game needs
//! nothing from before. What was checked is in the [`Ledger`]. A move comes before a check: a check under way is put off for it.

use super::{
	content::{read, round_label, Content},
	peers::Book,
	prune::first_open,
	status::Reporter,
	supply::Cached,
	WorkerError,
};
use crate::{
	chain::{disputes, work_hash, BlockId, ChainAt, ChainClient, ChainError, Heads, Submitter},
	data::loader::Assignment,
	store::{ContentDescriptor, Store},
	train::{
		checkpoint::{decode_delta, CheckpointError},
		priority::lower_thread_priority,
	},
	verify::{
		case::{Case, CaseError, SourceError},
		ledger::{Finding, Ledger},
		record::Record,
	},
};
use neuroshard_graph::{exec::Exec, game::Side, player::PlayError, tiles, ParamLayout};
#[cfg(any(feature = "faults", test))]
use neuroshard_types::dispute::WorkClaim;
use neuroshard_types::{
	dispute::{ClaimId, ClaimKind, GameView, OuterJob},
	grounds::Grounds,
	run::{RoundRecord, Work},
	AccountId, BlockNumber, RoundIndex, RunId, H256,
};
use std::{
	collections::{BTreeMap, BTreeSet},
	path::Path,
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc,
	},
	time::Duration,
};
use tokio::sync::{oneshot, watch, Mutex};
use tokio_util::sync::CancellationToken;

/// A claim is not begun to be checked so shortly before nobody can dispute it any more.
const MARGIN: BlockNumber = 4;
/// Blocks after which a game or claim that failed here is tried again.
const REST: BlockNumber = 3;
/// Pause after a failure if no new block comes.
const RETRY: Duration = Duration::from_secs(6);

/// A game by claim and challenger.
type GameId = (ClaimId, AccountId);

/// What the verifier works with.
pub(super) struct Parts<'a> {
	pub base: &'a Path,
	pub client: ChainClient,
	pub submitter: Submitter,
	pub content: Content,
	pub dataset: Arc<Mutex<Cached>>,
	pub reporter: Reporter,
	/// Compute threads.
	pub threads: usize,
	/// Share of the others' work that is checked, from 0 to 1.
	pub audit: f64,
	/// What this worker does wrong on purpose, and then defends.
	#[cfg(any(feature = "faults", test))]
	pub fault: Option<crate::faults::Fault>,
}

/// The actor.
pub(super) struct Verifier {
	client: ChainClient,
	submitter: Submitter,
	me: AccountId,
	content: Content,
	dataset: Arc<Mutex<Cached>>,
	reporter: Reporter,
	threads: usize,
	audit: f64,
	#[cfg(any(feature = "faults", test))]
	fault: Option<crate::faults::Fault>,
	ledger: Ledger,
	book: Book,
	exec: Option<Arc<Exec>>,
	/// The claim that was recomputed last: the next move in the same game goes on from there.
	case: Option<(ClaimId, Case)>,
	/// Games as they were played, and how many of their extrinsics were read.
	records: BTreeMap<GameId, (Record, usize)>,
	/// Games, and how many extrinsics they had, in which this side has nothing to say.
	resigned: BTreeMap<GameId, usize>,
	/// Games and claims that failed here, and the first block in which they are tried again: the others must not wait for them.
	failed_games: BTreeMap<GameId, BlockNumber>,
	failed_claims: BTreeMap<ClaimId, BlockNumber>,
	/// The first round of a run in which a claim may still have to be checked.
	checked_to: Option<(RunId, RoundIndex)>,
	/// The outer steps that were recomputed last, and the checkpoint that they give: most participants attest the same.
	stepped: Option<(OuterJob, H256)>,
}

/// A claim to check.
struct Due {
	claim: ClaimId,
	/// Of its round.
	record: RoundRecord,
	/// First block in which it cannot be disputed any more.
	until: BlockNumber,
}

impl Verifier {
	pub(super) fn new(parts: Parts<'_>) -> Self {
		#[cfg(any(feature = "faults", test))]
		let fault = parts.fault;
		let Parts { base, client, submitter, content, dataset, reporter, threads, audit, .. } = parts;
		Self {
			me: submitter.who().clone(),
			#[cfg(any(feature = "faults", test))]
			fault,
			client,
			submitter,
			content,
			dataset,
			reporter,
			threads,
			audit,
			ledger: Ledger::open(base),
			book: Book::default(),
			exec: None,
			case: None,
			records: BTreeMap::new(),
			resigned: BTreeMap::new(),
			failed_games: BTreeMap::new(),
			failed_claims: BTreeMap::new(),
			checked_to: None,
			stepped: None,
		}
	}

	/// Works until `stop` is cancelled.
	pub(super) async fn run(mut self, stop: CancellationToken) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		loop {
			heads.mark_unchanged();
			let Some(turn) = stop.run_until_cancelled(self.turn(heads.clone())).await else { return };
			match turn {
				Ok(true) => continue,
				Ok(false) => {}
				Err(error) => {
					tracing::warn!("verifier: {error}");
					self.book.expire();
					self.case = None;
				}
			}
			tokio::select! {
				_ = heads.changed() => {},
				() = tokio::time::sleep(RETRY) => {},
				() = stop.cancelled() => return,
			}
		}
	}

	/// Does the most urgent thing; `false` if there is none.
	async fn turn(&mut self, heads: watch::Receiver<Heads>) -> Result<bool, WorkerError> {
		let at = self.client.now().await?;
		if self.book.is_old(at.block().number) {
			self.book.refresh(&at, &self.me, &self.content.net).await?;
		}
		if let Some((game, view)) = self.our_turn(&at).await? {
			let played = self.play(&at, heads, game.clone(), view).await;
			if played.is_err() {
				self.failed_games.insert(game, at.block().number.saturating_add(REST));
			}
			return played.map(|()| true);
		}
		match self.next_claim(&at).await? {
			Some(due) => {
				let checked = self.check(&at, heads, &due).await;
				if checked.is_err() {
					self.failed_claims.insert(due.claim, at.block().number.saturating_add(REST));
				}
				checked.map(|()| true)
			}
			None => Ok(false),
		}
	}

	/// The game in which this account has to move first.
	async fn our_turn(&mut self, at: &ChainAt) -> Result<Option<(GameId, GameView)>, ChainError> {
		let games = at.games_of(&self.me).await?;
		self.records.retain(|game, _| games.contains(game));
		self.resigned.retain(|game, _| games.contains(game));
		let now = at.block().number;
		self.failed_games.retain(|_, until| *until > now);
		self.failed_claims.retain(|_, until| *until > now);
		let mut urgent: Option<(GameId, GameView)> = None;
		let open = u32::try_from(games.len()).unwrap_or(u32::MAX);
		for game in games {
			let side = if game.0.who == self.me { Side::Defender } else { Side::Challenger };
			if self.keeps_silent(&game.0) || self.failed_games.contains_key(&game) {
				continue;
			}
			let Some(view) = at.game(&game.0, &game.1).await? else { continue };
			let ours = view.turn == side && self.resigned.get(&game) != Some(&view.moves.len());
			if ours && urgent.as_ref().is_none_or(|(_, other)| view.deadline < other.deadline) {
				urgent = Some((game, view));
			}
		}
		self.reporter.update(|status| status.disputes.open = open);
		Ok(urgent)
	}

	/// Whether this worker lets a claim of its own fall without a word, on purpose.
	fn keeps_silent(&self, _claim: &ClaimId) -> bool {
		#[cfg(any(feature = "faults", test))]
		if let Some(fault) = self.own_fault(_claim) {
			return !fault.answers_disputes(_claim.round);
		}
		false
	}

	/// The next claim to check. Those whose time is over first come first.
	async fn next_claim(&mut self, at: &ChainAt) -> Result<Option<Due>, WorkerError> {
		let Some(run) = self.reporter.current().run.filter(|_| self.audit > 0.0) else { return Ok(None) };
		let Some(view) = at.run(run).await? else { return Ok(None) };
		let window = at.dispute_terms().await?.window;
		let now = at.block().number;
		let is_open = |record: &RoundRecord| record.adopted_at.saturating_add(window) > now.saturating_add(MARGIN);
		let first = match self.checked_to.filter(|(known, _)| *known == run) {
			Some((_, first)) => first,
			None => {
				let open = async |round| Ok(at.record(run, round).await?.as_ref().is_some_and(is_open));
				first_open(0..view.rounds_adopted, open).await?
			}
		};
		// Whatever was put off or failed in a round keeps the search from beginning behind it.
		let mut done = first;
		for round in first..view.rounds_adopted {
			if let Some(record) = at.record(run, round).await?.filter(is_open) {
				let until = record.adopted_at.saturating_add(window);
				let mut open = self.unchecked(run, round, &record);
				if let Some(claim) = open.find(|claim| !self.failed_claims.contains_key(claim)) {
					drop(open);
					self.checked_to = Some((run, done));
					return Ok(Some(Due { claim, record, until }));
				}
				drop(open);
				if self.unchecked(run, round, &record).next().is_some() {
					continue;
				}
			}
			if done == round {
				done = round.saturating_add(1);
			}
		}
		self.checked_to = Some((run, done));
		Ok(None)
	}

	/// Claims of others in a round that are to be checked and were not yet.
	fn unchecked<'a>(&'a self, run: RunId, round: RoundIndex, record: &'a RoundRecord) -> impl Iterator<Item = ClaimId> + 'a {
		let others = record.participants.iter().filter(|who| **who != self.me);
		let claims = others
			.flat_map(move |who| [ClaimKind::Attestation, ClaimKind::Work].map(|kind| ClaimId { run, round, kind, who: who.clone() }));
		claims.filter(|claim| {
			let wanted = claim.kind == ClaimKind::Attestation || self.is_drawn(claim);
			wanted && self.ledger.finding(claim).is_none()
		})
	}

	/// Whether a claim is among the share that is checked: the same answer whenever it is asked, and one that nobody else can tell.
	fn is_drawn(&self, claim: &ClaimId) -> bool {
		let secret = self.ledger.secret();
		let hash = neuroshard_graph::merkle::blake2_256(&codec::Encode::encode(&(b"neuroshard/audit/1", secret, &self.me, claim)));
		let [a, b, c, d, ..] = hash;
		f64::from(u32::from_le_bytes([a, b, c, d])) < self.audit * f64::from(u32::MAX) + 1.0
	}

	fn note(&mut self, claim: ClaimId, finding: Finding, until: BlockNumber, now: BlockNumber) -> Result<(), WorkerError> {
		let noted = self.ledger.note(claim, finding, until, now);
		noted.map_err(|source| WorkerError::File { path: "audits.json".into(), source })
	}

	/// Checks a claim, and disputes it if it is false.
	async fn check(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, due: &Due) -> Result<(), WorkerError> {
		let found = match due.claim.kind {
			ClaimKind::Work => self.check_work(at, heads, due).await?,
			ClaimKind::Attestation => self.check_attestation(at, heads, &due.claim).await?,
		};
		// Put off.
		let Some(finding) = found else { return Ok(()) };
		if finding != Finding::NoClaim {
			self.reporter.update(|status| {
				status.disputes.checked = status.disputes.checked.saturating_add(1);
				if finding == Finding::Challenged {
					status.disputes.challenged = status.disputes.challenged.saturating_add(1);
				}
			});
		}
		self.note(due.claim.clone(), finding, due.until, at.block().number)
	}

	/// `None` if it was put off.
	async fn check_work(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, due: &Due) -> Result<Option<Finding>, WorkerError> {
		let (claim, cancel) = (&due.claim, Arc::new(AtomicBool::new(false)));
		let Some(work) = self.revealed(&due.record, claim, at).await? else { return Ok(Some(Finding::Unknown)) };
		let Some(case) = self.case_of(at, claim, cancel.clone()).await? else { return Ok(Some(Finding::NoClaim)) };
		let revealed = work.clone();
		let Some((case, doubt)) = self.compute(case, heads, cancel, move |case| case.doubt(&revealed)).await? else { return Ok(None) };
		let Some(doubt) = doubt else { return Ok(Some(Finding::Right)) };
		tracing::warn!(round = claim.round, who = %claim.who, ?doubt, "work is not what its inner steps give: disputing it");
		self.case = Some((claim.clone(), case));
		let call = disputes::challenge_work(claim.run, claim.round, claim.who.clone(), work, doubt);
		self.challenge(call).await.map(Some)
	}

	/// `None` if it was put off.
	async fn check_attestation(
		&mut self,
		at: &ChainAt,
		heads: watch::Receiver<Heads>,
		claim: &ClaimId,
	) -> Result<Option<Finding>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.attestation_claim(*run, *round, who).await? else { return Ok(Some(Finding::NoClaim)) };
		let known = self.stepped.as_ref().filter(|(job, _)| *job == judged.job).map(|(_, root)| *root);
		let root = match known {
			Some(root) => root,
			None => {
				let cancel = Arc::new(AtomicBool::new(false));
				let Some(case) = self.case_of(at, claim, cancel.clone()).await? else { return Ok(Some(Finding::NoClaim)) };
				let Some((case, root)) = self.compute(case, heads, cancel, Case::checkpoint).await? else { return Ok(None) };
				// Only a game about it needs it any more.
				self.case = (root != judged.checkpoint).then(|| (claim.clone(), case));
				self.stepped = Some((judged.job, root));
				root
			}
		};
		if root == judged.checkpoint {
			return Ok(Some(Finding::Right));
		}
		tracing::warn!(round, %who, ours = ?root, "attested another checkpoint: disputing it");
		self.challenge(disputes::challenge_attestation(*run, *round, who.clone())).await.map(Some)
	}

	async fn challenge(&self, call: crate::chain::Call) -> Result<Finding, WorkerError> {
		match self.submitter.submit_once(call).await {
			Ok(_) => Ok(Finding::Challenged),
			// What the chain refuses once, such as a claim that fell meanwhile, it refuses again.
			Err(error @ ChainError::Dispatch { .. }) => {
				tracing::warn!("the challenge was refused: {error}");
				Ok(Finding::Unknown)
			}
			Err(error) => Err(error.into()),
		}
	}

	/// Makes the next move in a game.
	async fn play(&mut self, at: &ChainAt, heads: watch::Receiver<Heads>, game: GameId, view: GameView) -> Result<(), WorkerError> {
		let (claim, challenger) = &game;
		let side = if claim.who == self.me { Side::Defender } else { Side::Challenger };
		let Some(case) = self.case_of(at, claim, Arc::default()).await? else {
			// Without a record nobody can judge the claim, and nobody loses.
			self.resigned.insert(game, view.moves.len());
			return Ok(());
		};
		// What the defender says follows from the position alone. It must not depend on what the challenger posted beside its moves.
		let defence = match side {
			Side::Defender => Vec::new(),
			Side::Challenger => {
				self.read(&game, &view, case.grounds()).await?;
				let Some((record, _)) = self.records.get(&game).filter(|(record, _)| record.position() == Some(&view.position)) else {
					// What was posted and what the chain says differ for as long as a reorganisation lasts.
					self.records.remove(&game);
					return Err(WorkerError::Stopped);
				};
				record.defence().to_vec()
			}
		};
		let position = view.position;
		let answer = on_thread(case, move |case| case.respond(side, &position, &defence))?;
		let (case, answer) = answer.await.map_err(|_| WorkerError::Stopped)?;
		self.case = Some((claim.clone(), case));
		match answer {
			Ok(action) => {
				let kind = neuroshard_types::dispute::MoveKind::from(&action);
				tracing::info!(round = claim.round, who = %claim.who, ?side, ?kind, "move in a dispute");
				let call = disputes::play(claim.clone(), challenger.clone(), action);
				self.send_move(heads, &game, view.moves.len(), call).await
			}
			Err(CaseError::Play(PlayError::Nothing)) => {
				tracing::warn!(round = claim.round, who = %claim.who, "nothing to object to in this dispute: it is given up");
				self.resigned.insert(game, view.moves.len());
				Ok(())
			}
			Err(error) => Err(error.into()),
		}
	}

	/// Sends a move, and waits for it only as long as the game waits for it: a move in a game that another one has decided meanwhile gets into
	/// no block, and neither the next move nor anything else of this account must wait for it.
	async fn send_move(
		&self,
		mut heads: watch::Receiver<Heads>,
		(claim, challenger): &GameId,
		moves: usize,
		call: crate::chain::Call,
	) -> Result<(), WorkerError> {
		let mut sending = std::pin::pin!(self.submitter.submit_once(call));
		let mut followed = true;
		loop {
			tokio::select! {
				sent = &mut sending => return sent.map(drop).map_err(Into::into),
				changed = heads.changed(), if followed => {
					followed = changed.is_ok();
					let now = self.client.now().await?.game(claim, challenger).await?;
					if now.is_none_or(|now| now.moves.len() != moves) {
						return Ok(());
					}
				},
			}
		}
	}

	/// Reads the moves of a game that were not read yet.
	async fn read(&mut self, game: &GameId, view: &GameView, grounds: &Grounds) -> Result<(), ChainError> {
		let fresh = || (Record::new(game.0.clone(), game.1.clone()), 0);
		let (mut record, read) = self.records.remove(game).unwrap_or_else(fresh);
		// Several moves may be in one block.
		let known = read.checked_sub(1).and_then(|last| view.moves.get(last)).copied();
		let blocks: BTreeSet<BlockNumber> = view.moves.iter().skip(read).copied().filter(|block| Some(*block) != known).collect();
		for block in blocks {
			let block: BlockId = self.client.block_at(block).await?;
			record.read(grounds, self.client.posted(block).await?);
		}
		self.records.insert(game.clone(), (record, view.moves.len()));
		Ok(())
	}

	/// What a participant revealed in a round that was adopted since; `None` if the node does not have that state any more.
	async fn revealed(&self, record: &RoundRecord, claim: &ClaimId, at: &ChainAt) -> Result<Option<Work>, WorkerError> {
		let Some(judged) = at.work_claim(claim.run, claim.round, &claim.who).await? else { return Ok(None) };
		let before = self.client.block_at(record.adopted_at.saturating_sub(1)).await?;
		let round = match self.client.at(before).await {
			Ok(state) => state.round(claim.run).await,
			Err(error) => Err(error),
		};
		let round = match round {
			Ok(round) => round,
			Err(error @ ChainError::NodeAway { .. }) => return Err(error.into()),
			Err(_) => None,
		};
		let work = round.into_iter().flat_map(|round| round.participants).find(|one| one.account == claim.who).and_then(|one| one.work);
		Ok(work.filter(|work| work_hash(work) == judged.work_hash))
	}

	/// The claim with what it takes to recompute it: the one at hand if it is the same; `None` if there is no such claim.
	async fn case_of(&mut self, at: &ChainAt, claim: &ClaimId, cancel: Arc<AtomicBool>) -> Result<Option<Case>, WorkerError> {
		if let Some((known, case)) = self.case.take() {
			if known == *claim {
				return Ok(Some(case));
			}
		}
		match claim.kind {
			ClaimKind::Work => self.work_case(at, claim, cancel).await,
			ClaimKind::Attestation => self.attestation_case(at, claim).await,
		}
	}

	async fn work_case(&mut self, at: &ChainAt, claim: &ClaimId, cancel: Arc<AtomicBool>) -> Result<Option<Case>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.work_claim(*run, *round, who).await? else { return Ok(None) };
		// What the claimant read: the windows that were drawn for it.
		let told = judged.clone();
		#[cfg(any(feature = "faults", test))]
		let told = self.told_by(claim, told);
		let train = &judged.config.train;
		let layout = ParamLayout::new(&judged.config.model).map_err(CaseError::from)?;
		let (theta, momentum) = self.start(*run, &layout, judged.start).await?;
		let dataset = self.content.dataset(at, judged.config.dataset, &self.dataset, &self.book.all()).await?;
		let assignment = Assignment {
			position: told.position,
			seed: told.seed,
			inner_steps: train.inner_steps,
			batch: train.batch,
			seq_len: train.seq_len,
		};
		let shards = dataset.loader.round_shards(&assignment)?;
		self.content.shards(&dataset, &shards, &self.book.all()).await?;
		let source = (dataset.loader.clone(), dataset.library());
		#[cfg(any(feature = "faults", test))]
		let mistake = self.mistake(claim, &judged)?;
		let case = Case::work(self.exec()?, *round, judged, told.windows(), (theta, momentum.0), source, cancel)?;
		#[cfg(any(feature = "faults", test))]
		let case = case.with_mistake(mistake);
		Ok(Some(case))
	}

	async fn attestation_case(&mut self, at: &ChainAt, claim: &ClaimId) -> Result<Option<Case>, WorkerError> {
		let ClaimId { run, round, who, .. } = claim;
		let Some(judged) = at.attestation_claim(*run, *round, who).await? else { return Ok(None) };
		let layout = ParamLayout::new(&judged.config.model).map_err(CaseError::from)?;
		let (theta, momentum) = self.start(*run, &layout, judged.job.start).await?;
		let start = [theta, self.vector(&layout, momentum)?];
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		for delta in judged.job.steps.iter().flatten() {
			let content = ContentDescriptor { root: *delta, leaves };
			self.content.delta(round_label(*run, *round), content, None, &self.book.all()).await?;
		}
		let (store, steps, threads) = (self.content.store.clone(), judged.job.steps.clone(), self.threads);
		let deltas = move |step: u32| {
			let roots = steps.get(step as usize).into_iter().flatten();
			roots.map(|root| read_delta(&store, &layout, *root, threads)).collect::<Result<Vec<_>, _>>()
		};
		let (exec, train) = (self.exec()?, judged.config.train.clone());
		#[cfg(any(feature = "faults", test))]
		if let Some(lie) = self.own_fault(claim).and_then(|fault| fault.lie(*round)) {
			let told = move |step| deltas(step).map(|deltas| lie.deltas(deltas));
			return Ok(Some(Case::attestation(exec, judged, &lie.train(&train), start, told)?));
		}
		Ok(Some(Case::attestation(exec, judged, &train, start, deltas)?))
	}

	fn exec(&mut self) -> Result<Arc<Exec>, WorkerError> {
		if let Some(exec) = &self.exec {
			return Ok(exec.clone());
		}
		let exec = Arc::new(Exec::new(self.threads)?);
		self.exec = Some(exec.clone());
		Ok(exec)
	}

	/// Parameters of a checkpoint, and the root of its momentum.
	async fn start(&self, run: RunId, layout: &ParamLayout, root: H256) -> Result<(Vec<f32>, H256), WorkerError> {
		let leaves = u32::try_from(layout.tile_count()).map_err(|_| WorkerError::Stopped)?;
		let header = self.content.checkpoint(run, root, leaves, &self.book.all()).await?;
		Ok((self.vector(layout, header.params)?, header.momentum))
	}

	/// A vector from the store.
	fn vector(&self, layout: &ParamLayout, root: H256) -> Result<Vec<f32>, WorkerError> {
		let decoded = tiles::decode(layout, &read(&self.content.store, root)?);
		Ok(decoded.map_err(|source| CheckpointError::Encoding { part: "checkpoint", source })?)
	}

	/// Computes on a thread of its own; puts it off (`None`) when this account has to move in a dispute meanwhile.
	async fn compute<T: Send + 'static>(
		&mut self,
		case: Case,
		mut heads: watch::Receiver<Heads>,
		cancel: Arc<AtomicBool>,
		job: impl FnOnce(&mut Case) -> Result<T, CaseError> + Send + 'static,
	) -> Result<Option<(Case, T)>, WorkerError> {
		let mut result = on_thread(case, job)?;
		heads.mark_unchanged();
		let mut followed = true;
		loop {
			tokio::select! {
				done = &mut result => {
					let (case, result) = done.map_err(|_| WorkerError::Stopped)?;
					return match result {
						Ok(computed) => Ok(Some((case, computed))),
						Err(error) if error.is_cancelled() => Ok(None),
						Err(error) => Err(error.into()),
					};
				},
				changed = heads.changed(), if followed => {
					followed = changed.is_ok();
					let at = self.client.now().await?;
					if self.our_turn(&at).await?.is_some() {
						cancel.store(true, Ordering::Relaxed);
						followed = false;
					}
				},
			}
		}
	}
}

#[cfg(any(feature = "faults", test))]
impl Verifier {
	/// What this worker does wrong on purpose, if the claim is its own.
	fn own_fault(&self, claim: &ClaimId) -> Option<&crate::faults::Fault> {
		self.fault.as_ref().filter(|_| claim.who == self.me)
	}

	/// The claim as the one who cheated with it tells it: with the windows that it read.
	fn told_by(&self, claim: &ClaimId, judged: WorkClaim) -> WorkClaim {
		match self.own_fault(claim) {
			Some(fault) => WorkClaim { seed: fault.window_seed(claim.run, claim.round, judged.seed), ..judged },
			None => judged,
		}
	}

	/// The mistake that was made on purpose.
	fn mistake(&self, claim: &ClaimId, judged: &WorkClaim) -> Result<Option<neuroshard_graph::trace::Mistake>, CaseError> {
		let Some(fault) = self.own_fault(claim) else { return Ok(None) };
		Ok(fault.mistake(claim.run, claim.round, &judged.config.model, &judged.config.train)?)
	}
}

/// A case that comes back from its thread, and what was computed of it.
type Back<T> = (Case, Result<T, CaseError>);

/// Runs `job` on a thread of its own, at low priority.
fn on_thread<T: Send + 'static>(
	mut case: Case,
	job: impl FnOnce(&mut Case) -> Result<T, CaseError> + Send + 'static,
) -> Result<oneshot::Receiver<Back<T>>, WorkerError> {
	let (answer, result) = oneshot::channel();
	let spawned = std::thread::Builder::new().name("verify".into()).spawn(move || {
		lower_thread_priority();
		let done = job(&mut case);
		let _ = answer.send((case, done));
	});
	spawned.map_err(|source| WorkerError::File { path: "the verifier's thread".into(), source })?;
	Ok(result)
}

fn read_delta(store: &Store, layout: &ParamLayout, root: H256, threads: usize) -> Result<Vec<f32>, SourceError> {
	let bytes = read(store, root).map_err(|_| SourceError::Missing(root))?;
	Ok(decode_delta(layout, &bytes, root, threads)?)
}
