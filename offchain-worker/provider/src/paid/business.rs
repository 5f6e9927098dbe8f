//! A provider's business with the chain: its offer, what the chain says of sessions, and claims.

use super::{super::error::ApiError, Accounts, Keeper, Known};
use neuroshard_chain_client::{inference, ChainError};
use neuroshard_payments::Tally;
use neuroshard_support::backoff::Backoff;
use neuroshard_types::{
	inference::{Offer, SessionId},
	Balance, RunId, NEURO,
};
use std::{
	collections::HashMap,
	io,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
	time::{Duration, Instant},
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// For so long, what the chain said of a session is taken for what it says: about a block.
const FRESH: Duration = Duration::from_secs(3);
/// Between two looks at what can be claimed.
const CLAIMS: Duration = Duration::from_secs(6);
/// Longest time until a claim that has failed is tried again.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
const BACKOFF: Backoff<Duration> = Backoff::new(CLAIMS, LONGEST_WAIT);
/// Longer than any server runs.
const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);
/// Least debt for which a claim is worth its fee, of sessions that stay open.
const WORTH: Balance = NEURO / 10;
/// Longest time in which last claims are made when the server stops.
const LAST: Duration = Duration::from_secs(30);
/// Sessions that are remembered, and those of which it is remembered that they are not there.
const REMEMBERED: usize = 10_000;
/// Looks at the chain at a time for sessions that were not asked in before, and how long such a request waits for its turn. Others do not wait for these.
const STRANGERS: usize = 8;
const STRANGERS_WAIT: Duration = Duration::from_secs(5);
/// For so long, a session that was not there is not looked for again. Numbers are given once, so that it was settled; or another branch won since.
const ABSENT: Duration = Duration::from_secs(60);

/// Why a provider cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum BusinessError {
	/// The chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// The model may not be used.
	#[error("governance has halted the model of run {0}: nobody may serve it")]
	Halted(RunId),
	/// The folder of accounts.
	#[error("the accounts of sessions cannot be kept: {0}")]
	Accounts(#[from] io::Error),
}

/// A provider's business with the chain. Clones share it.
#[derive(Clone)]
pub struct Business(Arc<Inner>);

struct Inner {
	keeper: Keeper,
	run: RunId,
	known: Mutex<HashMap<SessionId, (Instant, Known)>>,
	/// Sessions that are not there, and the number below which all sessions are.
	absent: Mutex<HashMap<SessionId, Instant>>,
	next: Mutex<Option<(Instant, SessionId)>>,
	strangers: Semaphore,
	halted: Mutex<Option<(Instant, bool)>>,
	/// Sessions whose claims have failed: until when they are not tried again, and after which wait.
	put_off: Mutex<HashMap<SessionId, (Instant, Duration)>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
	// What is remembered is whole, or not there.
	of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn absent(session: SessionId) -> ApiError {
	ApiError::payment(format!("there is no session {session} on this chain"))
}

/// Notes what is known of a session, among so many at most. What is old goes first.
fn remember<T>(all: &mut HashMap<SessionId, T>, session: SessionId, known: T, is_fresh: impl Fn(&T) -> bool) {
	if all.len() >= REMEMBERED {
		all.retain(|_, known| is_fresh(known));
	}
	if all.len() >= REMEMBERED {
		all.clear();
	}
	all.insert(session, known);
}

impl Business {
	/// Begins: puts `offer` on the chain if another one is there.
	///
	/// # Errors
	/// [`BusinessError`].
	pub async fn begin(keeper: Keeper, offer: Offer) -> Result<Self, BusinessError> {
		let (now, run) = (keeper.client().now().await?, offer.checkpoint.run);
		if now.halted(run).await?.is_some() {
			return Err(BusinessError::Halted(run));
		}
		let there = now.offer_of(keeper.provider()).await?;
		if there.is_none_or(|there| there.offer != offer) {
			keeper.submitter().submit(inference::offer(offer)).await?;
		}
		Ok(Self::of(keeper, run))
	}

	/// The business of a provider whose offer of a model of this run is on the chain.
	pub fn of(keeper: Keeper, run: RunId) -> Self {
		Self(Arc::new(Inner {
			keeper,
			run,
			known: Mutex::default(),
			absent: Mutex::default(),
			next: Mutex::default(),
			strangers: Semaphore::new(STRANGERS),
			halted: Mutex::default(),
			put_off: Mutex::default(),
		}))
	}

	/// Returns the keeper of texts for those who audit its answers.
	pub fn keeper(&self) -> &Keeper {
		&self.0.keeper
	}

	/// The accounts of its sessions.
	pub fn accounts(&self) -> &Accounts {
		self.0.keeper.accounts()
	}

	/// Returns the state of a session on chain, now or a moment ago, if the model may be used. Whoever invents sessions takes no more than some places for
	/// that.
	pub(crate) async fn session(&self, session: SessionId) -> Result<Known, ApiError> {
		let away = |error: ChainError| ApiError::chain(&error);
		if self.is_halted().await.map_err(away)? {
			return Err(ApiError::halted());
		}
		if let Some(known) = self.remembered(session) {
			return known;
		}
		let _place = match self.0.keeper.accounts().is_open(session) {
			true => None,
			false => {
				let place = tokio::time::timeout(STRANGERS_WAIT, self.0.strangers.acquire()).await;
				let place = place.ok().and_then(Result::ok).ok_or_else(|| ApiError::busy("other sessions are looked for: ask again"))?;
				// It may have been looked for meanwhile.
				if let Some(known) = self.remembered(session) {
					return known;
				}
				if session >= self.next().await.map_err(away)? {
					return Err(absent(session));
				}
				Some(place)
			}
		};
		let now = Instant::now();
		match self.look(session).await.map_err(away)? {
			Some(known) => {
				remember(&mut locked(&self.0.known), session, (now, known.clone()), |(at, _)| at.elapsed() < FRESH);
				Ok(known)
			}
			None => {
				remember(&mut locked(&self.0.absent), session, now, |at| at.elapsed() < ABSENT);
				Err(absent(session))
			}
		}
	}

	/// Returns the state of a session on chain that was seen a moment ago.
	fn remembered(&self, session: SessionId) -> Option<Result<Known, ApiError>> {
		if let Some((at, known)) = locked(&self.0.known).get(&session) {
			if at.elapsed() < FRESH {
				return Some(Ok(known.clone()));
			}
		}
		if let Some((_, next)) = locked(&self.0.next).filter(|(at, _)| at.elapsed() < FRESH) {
			if session >= next {
				return Some(Err(absent(session)));
			}
		}
		let at = locked(&self.0.absent).get(&session).copied();
		at.filter(|at| at.elapsed() < ABSENT).map(|_| Err(absent(session)))
	}

	/// The number that the next session will have, now or a moment ago.
	async fn next(&self) -> Result<SessionId, ChainError> {
		let before = *locked(&self.0.next);
		if let Some((_, next)) = before.filter(|(at, _)| at.elapsed() < FRESH) {
			return Ok(next);
		}
		let next = self.0.keeper.client().now().await?.next_session().await?;
		*locked(&self.0.next) = Some((Instant::now(), next));
		Ok(next)
	}

	async fn is_halted(&self) -> Result<bool, ChainError> {
		let before = *locked(&self.0.halted);
		if let Some((_, halted)) = before.filter(|(at, _)| at.elapsed() < FRESH) {
			return Ok(halted);
		}
		let halted = self.0.keeper.client().now().await?.halted(self.0.run).await?.is_some();
		*locked(&self.0.halted) = Some((Instant::now(), halted));
		Ok(halted)
	}

	/// Reads the state of a session from the chain.
	async fn look(&self, session: SessionId) -> Result<Option<Known>, ChainError> {
		let now = self.0.keeper.client().now().await?;
		let Some(view) = now.session(session).await? else { return Ok(None) };
		let claim = now.claimed(session, self.0.keeper.provider()).await?;
		let claimed = Tally { answers: claim.answers, amount: claim.owed, receipts: claim.receipts };
		Ok(Some(Known { view, claimed, paid: claim.paid }))
	}

	/// Claims what is owed until `stop` is cancelled, and then once more all that is.
	pub async fn claim(self, stop: CancellationToken) {
		let mut ticks = tokio::time::interval(CLAIMS);
		ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
		loop {
			let last = tokio::select! {
				_ = ticks.tick() => false,
				() = stop.cancelled() => true,
			};
			let claims = self.claim_all(last);
			if last {
				if tokio::time::timeout(LAST, claims).await.is_err() {
					tracing::warn!("not all that is owed could be claimed: it is when this server is started again");
				}
				return;
			}
			claims.await;
		}
	}

	/// Claims of every session what is worth it, or all of it at the `last` chance.
	async fn claim_all(&self, last: bool) {
		let vouchers = match self.0.keeper.accounts().vouchers().await {
			Ok(vouchers) => vouchers,
			Err(error) => return tracing::error!("the accounts of sessions cannot be read: {error}"),
		};
		if self.is_halted().await.unwrap_or(true) {
			// Nothing is paid while the model is halted, and nothing is known while the chain is away.
			return;
		}
		for (session, voucher) in vouchers {
			let known = match self.look(session).await {
				Ok(Some(known)) => known,
				Ok(None) => {
					if self.is_settled(session).await.unwrap_or(false) {
						self.0.keeper.accounts().forget(session);
					}
					continue;
				}
				Err(error) => return tracing::warn!("claims wait: {error}"),
			};
			let Some((voucher, signature)) = voucher else { continue };
			// What the escrow does not have is not paid, but a claim costs a fee all the same.
			let owed = voucher.amount.saturating_sub(known.paid).min(known.view.escrow);
			let due = owed > 0 && (last || owed >= WORTH || known.view.closes_at.is_some());
			if !due || self.is_put_off(session) {
				continue;
			}
			match self.0.keeper.submitter().submit_once(inference::claim(voucher, signature)).await {
				Ok(_) => {
					locked(&self.0.put_off).remove(&session);
					tracing::info!("claimed {owed} planck of session {session}");
				}
				Err(error) => {
					match error.is_dispatch("Inference::AnswerCondemned") {
						true => self.give_up(session),
						false => self.put_off(session),
					}
					tracing::warn!("{owed} planck of session {session} could not be claimed: {error}");
				}
			}
		}
	}

	/// Returns whether a session is gone from a final state.
	async fn is_settled(&self, session: SessionId) -> Result<bool, ChainError> {
		let heads = self.0.keeper.client().heads().await?;
		Ok(self.0.keeper.client().at(heads.finalized).await?.session(session).await?.is_none())
	}

	fn is_put_off(&self, session: SessionId) -> bool {
		locked(&self.0.put_off).get(&session).is_some_and(|(until, _)| *until > Instant::now())
	}

	/// Tries no claims of a session again that pays this provider nothing any more: each costs a fee.
	fn give_up(&self, session: SessionId) {
		locked(&self.0.put_off).insert(session, (Instant::now() + NEVER, LONGEST_WAIT));
	}

	/// Tries the claims of a session again later, and later each time.
	fn put_off(&self, session: SessionId) {
		let mut all = locked(&self.0.put_off);
		let wait = BACKOFF.after(all.get(&session).map(|(_, wait)| *wait));
		all.insert(session, (Instant::now() + wait, wait));
	}
}
