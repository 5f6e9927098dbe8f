//! The user's side of paid inference: a server on this machine that speaks the OpenAI API to clients as they are, has a provider answer, and pays for
//! each answer with a voucher of the user's account.
//!
//! - `forward`, `refusal`: the API. `browser` is what pages may do: nothing.
//! - `asked`: what a request asks. [`Asker`] says that it is the user who asks. `reader` finds receipts in the answers, and `shown` is what clients get of them.
//! - `ledger`: the session's account, receipts in, vouchers out. [`Book`] has the last voucher on disk, before anybody else sees it. `lost` has the answers
//!   whose receipts did not come.
//! - `checker`: computes some answers anew. [`Disputer`] disputes false ones on chain.
//! - `voucher_sender`: delivers vouchers to the provider, and asks it for receipts that were lost.
//! - [`choice`]: which provider.

mod asked;
mod asker;
mod at_most;
mod book;
mod browser;
mod checker;
pub mod choice;
mod disputer;
mod forward;
mod ledger;
mod lost;
mod reader;
mod refusal;
mod shown;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod voucher_sender;

pub use asker::Asker;
pub use book::{Book, BookError};
pub use disputer::Disputer;
pub use ledger::Terms;
pub use voucher_sender::bring_last;

use asked::Asked;
use checker::Checker;
use ledger::{Given, Ledger, Wrong};
use neuroshard_chain_client::{
	keys::{Account, KeyError},
	Neuro,
};
use neuroshard_disputes::answers::provider::{BadEndpoint, Endpoint, Provider};
use neuroshard_http::{listen, Guard};
use neuroshard_inference::{receipt::Transcript, Card, Model};
use neuroshard_payments::{Signed, Tally};
use neuroshard_support::counted::counted;
use neuroshard_types::{inference::SessionId, AccountId};
use refusal::Refusal;
use std::{
	collections::BTreeMap,
	net::SocketAddr,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
	time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::{
	net::TcpListener,
	sync::{mpsc, watch, Notify, Semaphore},
	task::{spawn_blocking, JoinSet},
	time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use voucher_sender::VoucherSender;

/// Requests at a time.
const MOST_REQUESTS: usize = 64;
/// For the answers that are under way when the gateway stops.
const DRAIN: Duration = Duration::from_secs(60);

/// Options of paying for answers.
pub struct Options {
	/// Address to listen on.
	pub address: SocketAddr,
	/// Account that pays.
	pub account: Account,
	/// Terms of the session.
	pub terms: Terms,
	/// From where the session goes on.
	pub owed: Tally,
	/// Endpoint of the provider.
	pub endpoint: Endpoint,
	/// File of the vouchers.
	pub book: Book,
	/// The share of answers that is computed anew, and the model.
	pub check: Option<(f64, Model)>,
	/// Means to dispute false answers on chain; without it, nothing more is paid, and that is all.
	pub disputer: Option<Disputer>,
}

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
	/// The address is taken or not ours.
	#[error("cannot listen at {address} ({source}): name another address with --listen HOST:PORT")]
	Listen {
		/// The address.
		address: SocketAddr,
		/// Error of the operating system.
		source: std::io::Error,
	},
	/// No certificates.
	#[error("this system has no certificates by which {endpoint} could be trusted: {source}")]
	Certificates {
		/// The provider's address.
		endpoint: Endpoint,
		/// Error of the operating system.
		source: std::io::Error,
	},
	/// No thread can be started.
	#[error("cannot start the thread that checks answers: {0}")]
	Thread(std::io::Error),
	/// The provider's address.
	#[error(transparent)]
	Endpoint(#[from] BadEndpoint),
	/// The vouchers.
	#[error(transparent)]
	Book(#[from] BookError),
	/// No offer.
	#[error(transparent)]
	Choice(#[from] choice::NoOffer),
	/// The keys.
	#[error(transparent)]
	Key(#[from] KeyError),
}

/// A gateway. Clones share it.
#[derive(Clone)]
struct Gateway(Arc<Inner>);

struct Inner {
	account: Account,
	asker: Asker,
	provider_id: AccountId,
	provider: Provider,
	card: Arc<Card>,
	ledger: Mutex<Ledger>,
	book: Book,
	vouchers: watch::Sender<Signed>,
	/// Held while a voucher is written.
	paying: Arc<tokio::sync::Mutex<()>>,
	/// Told when a receipt did not come.
	loses: Notify,
	checker: Option<Checker>,
	/// Takes a false answer to the chain. One is enough.
	accusations: Option<mpsc::Sender<disputer::Charge>>,
	disputed: watch::Receiver<Option<disputer::Disputed>>,
	places: Arc<Semaphore>,
	tasks: TaskTracker,
	/// Seconds since 1970, of the start.
	started: u64,
}

/// Answers until `stop` is cancelled; answers that are under way end first, if they do within a minute, and the provider gets the last voucher. `ready` is
/// told the address, with the port that the system chose for port 0.
///
/// # Errors
/// [`GatewayError`].
pub async fn serve(mut options: Options, ready: impl FnOnce(SocketAddr), stop: CancellationToken) -> Result<(), GatewayError> {
	let address = options.address;
	let failed = |source| GatewayError::Listen { address, source };
	let listener = TcpListener::bind(address).await.map_err(failed)?;
	let bound = listener.local_addr().map_err(failed)?;
	let (disputer, (accusations, charges), (told, disputed)) = (options.disputer.take(), mpsc::channel(1), watch::channel(None));
	let (gateway, voucher_sender) = Gateway::new(options, disputer.is_some().then_some(accusations), disputed)?;
	ready(bound);
	let (done, mut tasks) = (CancellationToken::new(), JoinSet::new());
	tasks.spawn(voucher_sender.run(done.clone()));
	if let Some(disputer) = disputer {
		disputer.start(&mut tasks, charges, told, done.clone());
	}
	// Pages get nothing here, whoever's they are.
	let guard = Guard::new(bound, Vec::new(), Vec::new());
	listen(listener, forward::router(gateway.clone(), guard), stop, DRAIN).await;
	gateway.0.tasks.close();
	if timeout(DRAIN, gateway.0.tasks.wait()).await.is_err() {
		tracing::warn!("{} answers did not end in their time, and are not paid for", gateway.0.tasks.len());
	}
	done.cancel();
	// They end with the token, and their time is bounded.
	while tasks.join_next().await.is_some() {}
	let (session, owed, _) = gateway.status();
	tracing::info!("session {session}: {} for {} in all", counted(owed.answers, "answer"), Neuro(owed.amount));
	Ok(())
}

impl Gateway {
	fn new(
		options: Options,
		accusations: Option<mpsc::Sender<disputer::Charge>>,
		disputed: watch::Receiver<Option<disputer::Disputed>>,
	) -> Result<(Self, VoucherSender), GatewayError> {
		let Options { account, terms, owed, endpoint, book, check, .. } = options;
		let certificates = |source| GatewayError::Certificates { endpoint: endpoint.clone(), source };
		let provider = Provider::new(endpoint.clone()).map_err(certificates)?;
		let (provider_id, card) = (terms.provider.clone(), terms.card.clone());
		let ledger = Ledger::new(terms, owed);
		let voucher = ledger.voucher();
		let signature = account.sign_voucher(&voucher, ledger.terms().genesis);
		let (vouchers, known) = watch::channel((voucher, signature));
		let (checker, work) = check.map(|(share, model)| Checker::new(share, model)).unzip();
		let agreed = ledger.terms();
		let (genesis, session) = (agreed.genesis, agreed.session);
		let asker = Asker { account: account.clone(), genesis, session, provider: provider_id.clone() };
		let inner = Inner {
			account,
			asker,
			provider_id,
			provider,
			card,
			ledger: Mutex::new(ledger),
			book,
			vouchers,
			paying: Arc::default(),
			loses: Notify::new(),
			checker,
			accusations,
			disputed,
			places: Arc::new(Semaphore::new(MOST_REQUESTS)),
			tasks: TaskTracker::new(),
			started: SystemTime::now().duration_since(UNIX_EPOCH).map(|time| time.as_secs()).unwrap_or_default(),
		};
		let gateway = Arc::new(inner);
		if let Some(work) = work {
			work.start(Arc::downgrade(&gateway)).map_err(GatewayError::Thread)?;
		}
		let gateway = Self(gateway);
		let voucher_sender = VoucherSender::new(gateway.clone(), known);
		Ok((gateway, voucher_sender))
	}

	fn ledger(&self) -> MutexGuard<'_, Ledger> {
		// Every change is whole before it is seen.
		self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
	}

	/// The session, what it owes, and why nothing is paid any more, if that is so.
	fn status(&self) -> (SessionId, Tally, Option<String>) {
		let ledger = self.ledger();
		(ledger.terms().session, ledger.owed(), ledger.stopped().map(str::to_owned))
	}

	/// The session and the last voucher, if there is still somebody to be paid.
	fn payment(&self) -> Result<(SessionId, Signed), Refusal> {
		let ledger = self.ledger();
		// After a restart, only the chain tells that an answer is disputed.
		let disputed = self.dispute().and_then(|disputed| disputed.stops(ledger.terms().session));
		match ledger.stopped().map(str::to_owned).or(disputed) {
			Some(why) => Err(Refusal::stopped(&why)),
			None => Ok((ledger.terms().session, self.0.vouchers.borrow().clone())),
		}
	}

	/// Pays for an answer, or says what is wrong with it.
	async fn receive(&self, given: &Given, asked: &Asked) {
		let (was_stopped, taken, owed, misses) = {
			let mut ledger = self.ledger();
			let was_stopped = ledger.stopped().is_some();
			let taken = ledger.take(given, asked);
			(was_stopped, taken, ledger.owed(), ledger.lost(Instant::now()) > 0)
		};
		match taken {
			Ok(voucher) => {
				let price = given.transcript.receipt.price;
				tracing::info!("an answer for {}; {} for {} in all", Neuro(price), counted(owed.answers, "answer"), Neuro(owed.amount));
				match voucher {
					Some(_) => self.pay().await,
					// It may have left another one missing.
					None if misses => self.0.loses.notify_one(),
					None => {}
				}
			}
			Err(wrong) if was_stopped => return tracing::warn!("an answer is not paid for: {wrong}"),
			Err(wrong) if wrong.is_false() => return self.disputed(&given.transcript, Some(0), &wrong.to_string()),
			Err(wrong) => return tracing::error!("an answer is not paid for, and the provider is asked nothing more: {wrong}"),
		}
		self.check(&given.transcript);
	}

	/// Has an answer computed anew, or not.
	fn check(&self, transcript: &Transcript) {
		if let Some(checker) = &self.0.checker {
			checker.offer(transcript);
		}
	}

	/// Notes answers to `asked` whose receipts did not come, as [`Ledger::lose`] does, and has the provider asked for them.
	fn lose(&self, asked: &Asked, seen: BTreeMap<u32, Option<String>>) {
		self.ledger().lose(asked, seen, Instant::now());
		self.0.loses.notify_one();
	}

	/// Answers whose receipts did not come, and are asked for.
	fn lost(&self) -> usize {
		self.ledger().lost(Instant::now())
	}

	/// Pays for answers that broke off, by receipts that the provider tells, as far as these are theirs.
	async fn recover(&self, told: &[Transcript]) {
		let mut told: Vec<_> = {
			let ledger = self.ledger();
			told.iter().map(|transcript| (ledger.fits(transcript), transcript)).collect()
		};
		// One that can be of a single answer leaves the others theirs.
		told.sort_by_key(|(fits, _)| *fits);
		for (_, transcript) in told {
			let (taken, owed) = {
				let mut ledger = self.ledger();
				(ledger.recover(transcript), ledger.owed())
			};
			match taken {
				Ok((false, _)) => {}
				Ok((true, voucher)) => {
					let (price, in_all) = (Neuro(transcript.receipt.price), Neuro(owed.amount));
					tracing::info!("an answer that broke off, for {price}; {} for {in_all} in all", counted(owed.answers, "answer"));
					if voucher.is_some() {
						self.pay().await;
					}
					self.check(transcript);
				}
				Err(wrong) if wrong.is_false() => self.disputed(transcript, Some(0), &wrong.to_string()),
				// It is on its way with its answer, unless nothing is.
				Err(wrong) if self.0.places.available_permits() < MOST_REQUESTS => {
					tracing::debug!("a receipt waits for its answer: {wrong}")
				}
				Err(wrong) if self.ledger().refuse(transcript) => {
					tracing::warn!("the provider tells a receipt that is not paid for: {wrong}")
				}
				Err(_) => {}
			}
		}
	}

	/// Signs a voucher for all answers so far. It is on disk before anybody else has it. One is written at a time, on a thread for work that takes time, and what
	/// is answered meanwhile has the next one together. Who does not wait until that is over keeps the next one from being written before.
	async fn pay(&self) {
		let turn = self.0.paying.clone().lock_owned().await;
		let (voucher, genesis) = {
			let ledger = self.ledger();
			(ledger.voucher(), ledger.terms().genesis)
		};
		if self.0.vouchers.borrow().0 == voucher {
			return;
		}
		let signature = self.0.account.sign_voucher(&voucher, genesis);
		let (gateway, signed) = (self.clone(), (voucher, signature));
		let written = spawn_blocking(move || {
			let _turn = turn;
			gateway.0.book.write(&signed)?;
			gateway.0.vouchers.send_replace(signed);
			Ok::<_, BookError>(())
		});
		let why = match written.await {
			Ok(Ok(())) => return,
			Ok(Err(error)) => error.to_string(),
			Err(_) => "a voucher could not be written by a fault of the program: please report it".to_owned(),
		};
		tracing::error!("no voucher is given that cannot be kept: {why}");
		self.ledger().stop(why);
	}

	/// Pays nothing from now on.
	fn stop(&self, wrong: &Wrong) {
		tracing::error!("an answer is not paid for, and the provider is asked nothing more: {wrong}");
		self.ledger().stop(wrong.to_string());
	}

	/// The answer that is disputed, if one is, and how that goes.
	fn dispute(&self) -> Option<disputer::Disputed> {
		self.0.disputed.borrow().clone()
	}

	/// Notes that the model gives another answer, from token `doubt` on if that is known, pays nothing from now on, and has it disputed.
	fn disputed(&self, transcript: &Transcript, doubt: Option<u32>, why: &str) {
		let index = transcript.receipt.paid.map(|(_, index)| index).unwrap_or_default();
		let (kept, file) = match self.0.book.dispute(index, transcript) {
			Ok(path) => (format!("its receipt is in {}", path.display()), path),
			Err(error) => (format!("its receipt could not be kept: {error}"), Default::default()),
		};
		tracing::error!("THE PROVIDER GAVE A FALSE ANSWER ({index} of the session): {why}. It is asked nothing more, and not paid; {kept}");
		self.ledger().stop(format!("answer {index} of the session is false: {why}"));
		if let (Some(accusations), Some(doubt)) = (&self.0.accusations, doubt) {
			// After one that was proven false, no other one of the session is disputed.
			let _ = accusations.try_send(disputer::Charge { transcript: transcript.clone(), doubt, file });
		}
	}
}
