//! Looks at answers that this account was drawn to audit: gets their texts, computes them anew, and disputes what is false.
//!
//! What is asked of it is read from the chain with every block, and texts are on disk from when they were handed over ([`notes`]), so that a restart forgets
//! nothing that a provider could refuse later. [`step`] says what is next, [`text`] gets texts, and [`judge`] computes beside all of that: neither a provider
//! that is slow nor a long text keeps it from what others have to be asked in time. Games are played by [`Player`], which goes on in them.

mod budget;
mod judge;
mod notes;
mod step;
#[cfg(test)]
mod tests;
mod text;

use super::{
	actor::{aside::beside, blocking::blocking, guarded::guarded},
	content::Content,
	WorkerError,
};
use budget::Budget;
use futures::{
	future::{join_all, select, Either, LocalBoxFuture},
	FutureExt,
};
use judge::{Charge, Job, Judge, Verdict};
use neuroshard_chain_client::{answer_audits, keys::PonwSigner, next_block, BlockId, ChainAt, ChainClient, ChainError, Heads, Submitter};
use neuroshard_disputes::answers::{challenge, ChallengeError, Handed, Parts as PlayerParts, Player, TranscriptStore};
use neuroshard_graph::game::Side;
use neuroshard_inference::receipt::Transcript;
use neuroshard_support::backoff::Backoff;
use neuroshard_types::{
	answer_audit::{AnswerAuditView, AnswerId},
	AccountId, BlockNumber,
};
use notes::Notes;
use std::{
	collections::{BTreeMap, BTreeSet},
	path::Path,
	time::Duration,
};
use step::{due_by, step, Known, Step};
use text::{delivered, key_of, Asker, TextError};
use tokio_util::sync::CancellationToken;

/// Blocks until something that failed is tried again, and the most of them.
const REST: BlockNumber = 2;
const LONGEST_REST: BlockNumber = 100;
const BACKOFF: Backoff<BlockNumber> = Backoff::new(REST, LONGEST_REST);
/// For so long, texts are kept in any case: more than any audit lasts.
const OLDEST: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Providers that are asked at a time.
const AT_A_TIME: usize = 8;
/// Knowledge of an answer that nobody was asked for.
const NOTHING: Known = Known::Nothing { asked: false };

/// Parts that it works with.
pub(super) struct Parts<'a> {
	pub(super) base: &'a Path,
	pub(super) client: ChainClient,
	pub(super) submitter: Submitter,
	pub(super) signer: PonwSigner,
	pub(super) content: Content,
	pub(super) threads: usize,
}

/// An answer that is being computed anew, beside everything else.
type Computing = LocalBoxFuture<'static, (AnswerId, Result<Verdict, WorkerError>)>;

/// Result of a turn.
enum Turn {
	/// There was nothing to do.
	Idle,
	/// Something was done.
	Did,
	/// This is to be computed.
	Compute(Box<Job>),
}

/// The actor.
pub(super) struct Answers {
	client: ChainClient,
	submitter: Submitter,
	me: AccountId,
	signer: PonwSigner,
	transcript_store: TranscriptStore,
	notes: Notes,
	judge: Judge,
	deliver_time: Option<BlockNumber>,
	budget: Budget,
	looks: BTreeMap<AnswerId, Look>,
	/// True if texts of closed audits were looked for.
	swept: bool,
}

/// State of an answer so far.
struct Look {
	found: Found,
	/// The first block in which something is tried again that failed, and after how many blocks that was.
	rests: (BlockNumber, BlockNumber),
	/// Block in which the audit closes.
	closes_at: BlockNumber,
}

enum Found {
	Nothing { asked: bool },
	Text(Box<Transcript>),
	Undisputable,
	False { charge: Box<Charge>, made: Option<BlockId> },
	All,
}

impl Found {
	fn known(&self) -> Known {
		match self {
			Self::Nothing { asked } => Known::Nothing { asked: *asked },
			Self::Text(_) => Known::Text,
			Self::Undisputable => Known::Undisputable,
			Self::False { .. } => Known::False,
			Self::All => Known::All,
		}
	}
}

/// Returns whether pallet `Disputes` refuses a call once and for all, but for room that others leave.
fn is_final(error: &ChainError) -> bool {
	matches!(error, ChainError::Dispatch { name, .. } if name.starts_with("Disputes::")) && !error.is_dispatch("Disputes::TooManyGames")
}

impl Look {
	fn new(audit: &AnswerAuditView, found: Found) -> Self {
		Self { found, rests: (0, 0), closes_at: audit.closes_at }
	}

	/// Something has come of it: what is next was never tried.
	fn becomes(&mut self, found: Found) {
		(self.found, self.rests) = (found, (0, 0));
	}

	/// Puts off what failed, for longer each time.
	fn rest(&mut self, now: BlockNumber) {
		let wait = BACKOFF.after(Some(self.rests.1).filter(|last| *last > 0));
		self.rests = (now.saturating_add(wait), wait);
	}
}

impl Answers {
	/// The actor, and who plays its games.
	///
	/// # Errors
	/// [`WorkerError::TranscriptStore`].
	pub(super) fn new(parts: Parts<'_>) -> Result<(Self, Player), WorkerError> {
		let Parts { base, client, submitter, signer, content, threads } = parts;
		let transcript_store = TranscriptStore::open(base)?;
		let (player, _) = Player::new(PlayerParts {
			client: client.clone(),
			submitter: submitter.clone(),
			transcript_store: transcript_store.clone(),
			side: Side::Challenger,
			threads,
			in_use: None,
			lie: None,
		});
		let me = submitter.who().clone();
		let judge = Judge { client: client.clone(), me: me.clone(), content, transcript_store: transcript_store.clone(), threads };
		let (notes, deliver_time, looks) = (Notes::new(base), None, BTreeMap::new());
		let budget = Budget::default();
		Ok((Self { client, submitter, me, signer, transcript_store, notes, judge, deliver_time, budget, looks, swept: false }, player))
	}

	/// Works until `stop` is cancelled.
	pub(super) async fn run(mut self, stop: CancellationToken) {
		let mut heads = self.client.follow(Heads::default(), |_| {});
		let mut computing: Option<Computing> = None;
		while !stop.is_cancelled() {
			heads.mark_unchanged();
			let turn = guarded("the audit of an answer", self.turn(computing.is_some()));
			let both = async {
				match &mut computing {
					Some(task) => beside(turn, task.as_mut()).await,
					None => (turn.await, None),
				}
			};
			let Some((turn, mut done)) = stop.run_until_cancelled(both).await else { return };
			match turn {
				Ok(Turn::Did) => {}
				Ok(Turn::Compute(job)) => computing = Some(self.judge.clone().run(*job).boxed_local()),
				Ok(Turn::Idle) if done.is_some() => {}
				idle => {
					match idle {
						// Whoever follows the heads for the status says that.
						Err(WorkerError::Chain(error)) if error.passes() => tracing::debug!("audits of answers: {error}"),
						Err(error) => tracing::warn!("audits of answers: {error}"),
						Ok(_) => {}
					}
					let waiting = std::pin::pin!(next_block(&mut heads, &stop));
					done = match &mut computing {
						Some(task) => match select(waiting, task).await {
							Either::Left(_) => None,
							Either::Right((done, _)) => Some(done),
						},
						None => {
							waiting.await;
							None
						}
					};
				}
			}
			if let Some((answer, verdict)) = done {
				computing = None;
				self.take_verdict(answer, verdict);
			}
		}
	}

	/// Does what is due, or says what is to be computed, unless something is being computed.
	async fn turn(&mut self, computing: bool) -> Result<Turn, WorkerError> {
		let at = self.client.now().await?;
		let now = at.block().number;
		let mut audits = at.answer_audits_of(&self.me).await?;
		self.forget(&audits, now).await?;
		if audits.is_empty() {
			return Ok(Turn::Idle);
		}
		let deliver_time = match self.deliver_time {
			Some(known) => known,
			None => *self.deliver_time.insert(at.answer_audit_terms().await?.deliver_time),
		};
		for audit in &audits {
			self.remember(&at, audit).await?;
		}
		let known = |audit: &AnswerAuditView| self.looks.get(&audit.answer).map_or(NOTHING, |look| look.found.known());
		audits.sort_by_key(|audit| due_by(audit, known(audit), now));
		let due = |audit: &AnswerAuditView| {
			let look = self.looks.get(&audit.answer)?;
			// One false answer is enough for a session.
			let waits = |step: &Step| *step == Step::Dispute && self.disputes_another(&audit.answer);
			step(audit, look.found.known(), now, deliver_time).filter(|step| look.rests.0 <= now && !waits(step))
		};
		let due: Vec<(AnswerAuditView, Step)> = audits.iter().filter_map(|audit| Some((audit.clone(), due(audit)?))).collect();
		// What is in time for some blocks only comes before what takes time.
		if let Some((audit, step)) = due.iter().find(|(_, step)| !matches!(step, Step::Ask | Step::Compute)) {
			self.look(audit).rest(now);
			let taken = self.take(&at, audit, *step).await;
			self.note(audit, taken);
			return Ok(Turn::Did);
		}
		let mut asked = BTreeSet::new();
		let asks = due.iter().filter(|(_, step)| *step == Step::Ask).map(|(audit, _)| audit.clone());
		let asks: Vec<AnswerAuditView> = asks.filter(|audit| asked.insert(audit.answer.provider.clone())).take(AT_A_TIME).collect();
		if !asks.is_empty() {
			self.ask(&at, asks, now).await;
			return Ok(Turn::Did);
		}
		// What has failed before waits for what has not.
		let computes = due.into_iter().filter(|(_, step)| *step == Step::Compute && !computing);
		let compute = computes.min_by_key(|(audit, _)| self.looks.get(&audit.answer).map_or(0, |look| look.rests.1));
		Ok(compute.and_then(|(audit, _)| self.job(audit, now)).map_or(Turn::Idle, |job| Turn::Compute(Box::new(job))))
	}

	/// Returns whether a game is open about another answer of the same session, which may end with that this one is not disputed any more.
	fn disputes_another(&self, answer: &AnswerId) -> bool {
		let is_other = |other: &AnswerId| (other.session, &other.provider) == (answer.session, &answer.provider) && other != answer;
		self.looks.iter().any(|(other, look)| is_other(other) && matches!(look.found, Found::False { made: Some(_), .. }))
	}

	fn look(&mut self, audit: &AnswerAuditView) -> &mut Look {
		self.looks.entry(audit.answer.clone()).or_insert_with(|| Look::new(audit, Found::Nothing { asked: false }))
	}

	/// Notes what came of a step, or says why nothing did.
	fn note(&mut self, audit: &AnswerAuditView, taken: Result<Option<Found>, WorkerError>) {
		let AnswerId { session, provider, place } = &audit.answer;
		match taken {
			Ok(Some(found)) => self.look(audit).becomes(found),
			Ok(None) => {}
			Err(error) => tracing::warn!("answer {place} of {provider} in session {session}, which this account audits: {error}"),
		}
	}

	/// Forgets what belongs to audits that are closed. What is not listed because another answer of the session has fallen comes back with another branch.
	async fn forget(&mut self, audits: &[AnswerAuditView], now: BlockNumber) -> Result<(), WorkerError> {
		let mut open: BTreeSet<AnswerId> = audits.iter().map(|audit| audit.answer.clone()).collect();
		let known = self.looks.len();
		self.looks.retain(|answer, look| open.contains(answer) || now < look.closes_at);
		open.extend(self.looks.keys().cloned());
		// Once after a start, too.
		if self.looks.len() < known || !self.swept {
			self.swept = true;
			let notes = self.notes.clone();
			let swept = blocking(move || Ok(notes.keep_only(open.iter(), OLDEST))).await?;
			if let Err(error) = swept {
				tracing::warn!("texts of closed audits are kept for now: {error}");
			}
		}
		Ok(())
	}

	/// Reads what was handed over before a restart.
	async fn remember(&mut self, at: &ChainAt, audit: &AnswerAuditView) -> Result<(), WorkerError> {
		if self.looks.contains_key(&audit.answer) {
			return Ok(());
		}
		let (notes, answer) = (self.notes.clone(), audit.answer.clone());
		let found = match blocking(move || Ok(notes.read(&answer))).await? {
			Some(handed) => match key_of(at, &audit.answer.provider).await {
				Ok(key) if handed.check(audit, key, self.client.genesis()).is_ok() => Found::Text(Box::new(handed.transcript)),
				// It is read again with the next block.
				Err(TextError::Chain(error)) => return Err(error.into()),
				_ => Found::Nothing { asked: false },
			},
			None => Found::Nothing { asked: false },
		};
		self.looks.insert(audit.answer.clone(), Look::new(audit, found));
		Ok(())
	}

	/// Asks these providers at the same time.
	async fn ask(&mut self, at: &ChainAt, audits: Vec<AnswerAuditView>, now: BlockNumber) {
		let (genesis, reach) = (self.client.genesis(), self.judge.content.net.reach());
		let asker = Asker { me: &self.me, signer: &self.signer, genesis, reach };
		let answers = join_all(audits.iter().map(|audit| asker.ask(at, audit))).await;
		for (audit, answer) in audits.into_iter().zip(answers) {
			self.look(&audit).rest(now);
			let AnswerId { session, provider, place } = audit.answer.clone();
			match answer {
				Ok(handed) => {
					tracing::info!("{provider} handed over answer {place} of session {session}, which this account audits");
					let found = self.keep(at, &audit, handed).await;
					self.note(&audit, found.map(Some));
				}
				Err(error) => {
					let slow = matches!(error, TextError::Away(_) | TextError::Late);
					self.note(&audit, Err(WorkerError::NoText(error.to_string())));
					if let Found::Nothing { asked } = &mut self.look(&audit).found {
						*asked = true;
					}
					if !slow {
						continue;
					}
					// Who did not answer is not asked for its other answers in the same block: each would take as long.
					let others = self.looks.iter_mut().filter(|(other, _)| other.provider == provider);
					for (_, look) in others {
						if let Found::Nothing { asked } = &mut look.found {
							*asked = true;
							look.rests.0 = look.rests.0.max(now.saturating_add(REST));
						}
					}
				}
			}
		}
	}

	/// Keeps a text on disk, unless no game could be opened about it.
	async fn keep(&self, at: &ChainAt, audit: &AnswerAuditView, handed: Handed) -> Result<Found, WorkerError> {
		if let Some(why) = self.judge.refuses(at, audit.checkpoint, &handed.transcript.receipt).await? {
			let AnswerId { session, provider, place } = &audit.answer;
			tracing::warn!(
				"nobody could dispute answer {place} of {provider} in session {session}, which this account audits: {why}. It is demanded"
			);
			return Ok(Found::Undisputable);
		}
		let (notes, answer) = (self.notes.clone(), audit.answer.clone());
		let kept = move || {
			notes.keep(&answer, &handed).map_err(|source| WorkerError::File { path: "answer-audits".into(), source })?;
			Ok(Found::Text(Box::new(handed.transcript)))
		};
		blocking(kept).await
	}

	/// Takes a step that is in time for some blocks only, and returns what it found, if that is more than what was known before.
	async fn take(&mut self, at: &ChainAt, audit: &AnswerAuditView, step: Step) -> Result<Option<Found>, WorkerError> {
		let AnswerId { session, provider, place } = &audit.answer;
		match step {
			Step::Demand => {
				if !self.budget.allows(at, &self.submitter, audit).await? {
					return Ok(None);
				}
				match self.submitter.submit_once(answer_audits::demand(audit.answer.clone())).await {
					Ok(_) => self.budget.note(provider, at.block().number),
					Err(error) if error.is_dispatch("Disputes::AlreadyDemanded") => return Ok(None),
					// Each attempt costs a fee, and the chain will not say anything else.
					Err(error) if is_final(&error) => {
						tracing::error!("the text of answer {place} of {provider} in session {session} cannot be demanded: {error}");
						return Ok(Some(Found::All));
					}
					Err(error) => return Err(error.into()),
				}
				tracing::warn!(
					"the text of answer {place} of {provider} in session {session} is demanded on chain: it was not handed over"
				);
				Ok(None)
			}
			Step::Read(block) => {
				let block = self.client.block_at(block).await?;
				let read = delivered(&self.client, at, audit, block).await;
				self.keep(at, audit, read.map_err(|error| WorkerError::NoText(error.to_string()))?).await.map(Some)
			}
			Step::Dispute => match self.looks.get(&audit.answer).map(|look| &look.found) {
				Some(Found::False { charge, made }) => {
					let (charge, made) = (charge.clone(), *made);
					self.dispute(charge, made).await
				}
				_ => Ok(None),
			},
			Step::Ask | Step::Compute => Ok(None),
		}
	}

	/// Disputes an answer, unless a block has the game which is final, or may become so.
	async fn dispute(&self, charge: Box<Charge>, made: Option<BlockId>) -> Result<Option<Found>, WorkerError> {
		if let Some(made) = made {
			match self.client.is_final(made).await? {
				Some(true) | None => return Ok(None),
				// Another branch won, and may not have it.
				Some(false) => {}
			}
		}
		self.transcript_store.keep(&charge.transcript)?;
		let made = match challenge(&self.client, &self.submitter, &charge.accusation, &charge.config.model).await {
			Ok(made) => made,
			// Each attempt costs a fee, and the chain will not say anything else.
			Err(ChallengeError::Chain(error)) if is_final(&error) => {
				tracing::error!("a false answer that this account audits cannot be disputed: {error}");
				return Ok(Some(Found::All));
			}
			Err(error) => return Err(error.into()),
		};
		tracing::warn!("an answer that this account audits is disputed on chain, in block {}", made.number);
		Ok(Some(Found::False { charge, made: Some(made) }))
	}

	/// Returns the job of computing an answer anew.
	fn job(&mut self, audit: AnswerAuditView, now: BlockNumber) -> Option<Job> {
		let look = self.look(&audit);
		look.rest(now);
		let Found::Text(transcript) = &look.found else { return None };
		Some(Job { transcript: (**transcript).clone(), answer: audit.answer, offered: audit.checkpoint })
	}

	fn take_verdict(&mut self, answer: AnswerId, verdict: Result<Verdict, WorkerError>) {
		let AnswerId { session, provider, place } = answer.clone();
		let Some(look) = self.looks.get_mut(&answer) else { return };
		let which = format!("answer {place} of {provider} in session {session}");
		let found =
			match verdict {
				Ok(Verdict::Right) => {
					tracing::info!("{which} was computed anew in an audit, and is right");
					Found::All
				}
				Ok(Verdict::Undisputable(why)) => {
					tracing::warn!("{which} was drawn for an audit, and nobody could dispute it: {why}. It cannot be delivered either, and is demanded");
					Found::Undisputable
				}
				Ok(Verdict::Unknown(why)) => {
					tracing::warn!("{which} was drawn for an audit, and nobody can judge it: {why}");
					Found::All
				}
				Ok(Verdict::False(charge)) => {
					let doubt = charge.doubt;
					tracing::warn!("{which} is false from token {doubt} on: an audit has found that, and disputes it");
					Found::False { charge, made: None }
				}
				Err(error) => {
					// From now on, or almost: when it began it was not known how long it takes.
					look.rest(look.rests.0);
					return tracing::warn!("{which}, which this account audits: {error}");
				}
			};
		look.becomes(found);
	}
}
