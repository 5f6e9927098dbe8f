//! Answers that are paid for: who may ask, what a session owes, and the provider's business with the chain.
//!
//! A request says in headers in which session it is, that the user asks, and what the user has signed for so far. Its answers are given on credit, up
//! to a bound, and each ends with a receipt, by which the user signs the next voucher (`docs/spec/economics.md`). An answer that nobody takes to its end
//! costs what was taken of it.
//!
//! What a session owes changes when it is in the [`log`] on disk, and the changes of one session come one after the other: each has its own turn, and none
//! waits for another session's.

mod business;
mod ledger;
mod log;
mod order;
mod owed;
mod texts;

pub use business::{Business, BusinessError};
pub use owed::{owed, write_account, Lock, Owed};
pub use texts::Keeper;

use super::error::ApiError;
use axum::http::HeaderMap;
use ledger::{Ledger, Unpaid};
use log::{recover, Log, LogError, Pace, Places, Record};
use neuroshard_disputes::answers::{TranscriptStore, TranscriptStoreError};
use neuroshard_graph::sampler::Sampling;
use neuroshard_inference::receipt::{Issuer, Transcript};
pub use neuroshard_payments::Signed;
use neuroshard_payments::{read, SignedAsk, Tally, ASK, SESSION, VOUCHER};
use neuroshard_types::{
	inference::{Ending, SessionId, SessionView, Voucher},
	AccountId, Balance, Moment, H256,
};
use order::Order;
use serde::Serialize;
use serde_json::value::RawValue;
use sp_runtime::MultiSignature;
use std::{
	collections::{BTreeSet, HashMap},
	future::Future,
	io,
	path::PathBuf,
	sync::{
		atomic::{AtomicU32, Ordering},
		Arc, Mutex, MutexGuard, PoisonError,
	},
};
use tokio::{runtime::Handle, task::spawn_blocking};
use tokio_util::task::TaskTracker;

/// Longest time for which a user may say so, in milliseconds: clocks differ.
const LONGEST_ASK: Moment = 15 * 60 * 1_000;
/// Sessions whose accounts are in memory at a time.
const MOST_SESSIONS: usize = 10_000;

/// The accounts of all sessions. Clones share it.
#[derive(Clone)]
pub struct Accounts(Arc<Inner>);

struct Inner {
	provider: AccountId,
	genesis: H256,
	folder: PathBuf,
	/// Transcripts that the provider defends its answers with.
	transcript_store: TranscriptStore,
	/// Order of receipts, by their places.
	order: Order,
	/// Most tokens of a text that a dispute can judge; none are answered before that is known.
	longest: AtomicU32,
	/// Log that changes are noted in before anybody is told.
	log: Log,
	/// Held as long as the accounts are used.
	_lock: Lock,
	open: Mutex<HashMap<SessionId, Arc<Open>>>,
	/// Changes that are under way: whoever waits for one may go away, and it is made all the same.
	tasks: TaskTracker,
	runtime: Handle,
}

/// A session that is asked in.
struct Open {
	user: AccountId,
	/// Held while a change is noted.
	turn: tokio::sync::Mutex<()>,
	/// `None` until it is read.
	account: Mutex<Option<Account>>,
}

/// Debt and funds of a session.
struct Account {
	ledger: Ledger,
	/// Escrow and payments together, in planck.
	whole: Balance,
}

impl Open {
	/// Looks at the account, or changes it; it must have been read.
	fn with<R>(&self, look: impl FnOnce(&mut Account) -> R) -> Result<R, ApiError> {
		// Every change is whole before it is seen.
		let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
		account.as_mut().map(look).ok_or_else(|| ApiError::internal("the account is gone"))
	}

	/// The voucher that the account has, if it was read.
	fn voucher(&self) -> Option<Option<Signed>> {
		self.with(|account| account.ledger.voucher().cloned()).ok()
	}
}

/// A request's place in a session.
#[derive(Clone)]
pub(super) struct Payer {
	accounts: Accounts,
	session: SessionId,
	open: Arc<Open>,
	/// True if it is being closed: it pays what was answered, and nothing new.
	closing: bool,
}

/// An answer that is under way, for which there is enough in the session.
pub(super) struct Reserved {
	payer: Payer,
	most: Balance,
	/// True if it has ended with a receipt.
	ended: bool,
}

/// Debt of a session, as its user is told.
#[derive(Serialize, Debug)]
pub(super) struct Owing {
	session: SessionId,
	answers: u32,
	amount: String,
	/// Receipts of the answers that are not paid for, with their tokens.
	receipts: Vec<Box<RawValue>>,
}

impl From<Unpaid> for ApiError {
	fn from(unpaid: Unpaid) -> Self {
		Self::payment(unpaid.to_string())
	}
}

impl Accounts {
	/// The accounts in `folder`, of sessions that pay `provider`. Transcripts of its answers are kept on `transcript_store`. What a process noted that has crashed is put in
	/// its places. Blocks, and needs a runtime.
	///
	/// # Errors
	/// If the folder cannot be used or is damaged, or another process uses it.
	pub fn new(provider: AccountId, genesis: H256, folder: PathBuf, transcript_store: TranscriptStore) -> io::Result<Self> {
		Self::with_pace(provider, genesis, folder, transcript_store, Pace::default())
	}

	fn with_pace(provider: AccountId, genesis: H256, folder: PathBuf, transcript_store: TranscriptStore, pace: Pace) -> io::Result<Self> {
		let in_use = || io::Error::other(format!("another process uses the accounts in {}", folder.display()));
		let runtime = Handle::try_current().map_err(io::Error::other)?;
		let lock = Lock::take(&folder)?.ok_or_else(in_use)?;
		let order = Order::new(folder.clone());
		let places = Places { folder: folder.clone(), transcript_store: transcript_store.clone(), order: order.clone() };
		let number = recover(&places)?;
		let log = Log::start(places, number, pace)?;
		Ok(Self(Arc::new(Inner {
			provider,
			genesis,
			folder,
			transcript_store,
			order,
			longest: AtomicU32::new(0),
			log,
			_lock: lock,
			open: Mutex::default(),
			tasks: TaskTracker::new(),
			runtime,
		})))
	}

	/// A dispute can judge texts of so many tokens, and none that are longer are answered.
	pub fn answer_up_to(&self, longest: u32) {
		self.0.longest.store(longest, Ordering::Relaxed);
	}

	fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Open>>> {
		// What is in it is whole.
		self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
	}

	fn path(&self, session: SessionId) -> PathBuf {
		owed::path(&self.0.folder, session)
	}

	/// The session of whose user a request is, by its headers, and what the chain says of it, as `view` tells. Of a session that was asked in before, the chain
	/// is asked nothing before the signature is checked.
	///
	/// # Errors
	/// In words for the client, whatever is missing.
	pub(super) async fn asks<F: Future<Output = Result<Known, ApiError>>>(
		&self,
		headers: &HeaderMap,
		view: impl FnOnce(SessionId) -> F,
	) -> Result<(SessionId, Known), ApiError> {
		let (ask, by) = text(headers, ASK).and_then(read::<SignedAsk>).ok_or_else(|| {
			ApiError::payment(format!("the header {ASK} is missing: 0x, and the SCALE encoding of the user's word and signature"))
		})?;
		let session = ask.session;
		if ask.provider != self.0.provider || !is_timely(ask.until) {
			return Err(ApiError::payment(format!("the header {ASK} is not for this provider, or its time is over")));
		}
		let forged = || ApiError::payment(format!("the header {ASK} is not signed by the user of session {session}"));
		let user = self.open().get(&session).map(|open| open.user.clone());
		let is_known = user.is_some();
		if user.is_some_and(|user| !ask.is_signed(self.0.genesis, &user, &by)) {
			return Err(forged());
		}
		let known = view(session).await?;
		if !is_known && !ask.is_signed(self.0.genesis, &known.view.user, &by) {
			return Err(forged());
		}
		if known.view.provider.as_ref().is_some_and(|paid| *paid != self.0.provider) {
			return Err(ApiError::payment(format!("session {session} pays somebody else")));
		}
		Ok((session, known))
	}

	/// Returns whether a session was asked in before.
	fn is_open(&self, session: SessionId) -> bool {
		self.open().contains_key(&session)
	}

	/// The session and voucher in a request's headers, as [`Self::asks`].
	///
	/// # Errors
	/// In words for the client, whatever is missing.
	pub(super) async fn admit<F: Future<Output = Result<Known, ApiError>>>(
		&self,
		headers: &HeaderMap,
		view: impl FnOnce(SessionId) -> F,
	) -> Result<Payer, ApiError> {
		let told = text(headers, SESSION).and_then(|digits| digits.parse::<SessionId>().ok());
		let told = told.ok_or_else(|| ApiError::payment(format!("answers are paid for here: the header {SESSION} is missing")))?;
		let signed = text(headers, VOUCHER).and_then(read::<Signed>).ok_or_else(|| {
			ApiError::payment(format!("the header {VOUCHER} has no voucher: 0x, and the SCALE encoding of voucher and signature"))
		})?;
		self.pays(headers, told, signed, view).await
	}

	/// The session `told` with a voucher, of whose user a request is by its header, as [`Self::asks`].
	///
	/// # Errors
	/// In words for the client, whatever is missing.
	pub(super) async fn pays<F: Future<Output = Result<Known, ApiError>>>(
		&self,
		headers: &HeaderMap,
		told: SessionId,
		(voucher, signature): Signed,
		view: impl FnOnce(SessionId) -> F,
	) -> Result<Payer, ApiError> {
		let other = || ApiError::payment(format!("the headers {SESSION}, {ASK} and {VOUCHER} are of several sessions"));
		if voucher.session != told || text(headers, ASK).and_then(read::<SignedAsk>).is_some_and(|(ask, _)| ask.session != told) {
			return Err(other());
		}
		let (session, Known { view, claimed, paid }) = self.asks(headers, view).await?;
		let open = self.opened(session, &view.user)?;
		let payer = Payer { accounts: self.clone(), session, open, closing: view.closes_at.is_some() };
		// Nobody but the chain moves money: what it has paid, and what it holds.
		let (paying, whole) = (payer.clone(), view.escrow.saturating_add(paid));
		self.make(async move { paying.take(whole, claimed, voucher, signature).await }).await?;
		Ok(payer)
	}

	/// Makes a change, whether anybody waits for it or not.
	fn make<R: Send + 'static>(
		&self,
		change: impl Future<Output = Result<R, ApiError>> + Send + 'static,
	) -> impl Future<Output = Result<R, ApiError>> + Send + 'static {
		let made = self.0.tasks.spawn_on(change, &self.0.runtime);
		async move { made.await.unwrap_or_else(|_| Err(ApiError::internal("an account could not be changed"))) }
	}

	/// Returns when all changes are made that are under way.
	pub(super) async fn settled(&self) {
		self.0.tasks.close();
		self.0.tasks.wait().await;
	}

	/// A session that is asked in.
	fn opened(&self, session: SessionId, user: &AccountId) -> Result<Arc<Open>, ApiError> {
		let mut all = self.open();
		if all.len() >= MOST_SESSIONS && !all.contains_key(&session) {
			// Those that nobody holds come back when they are asked in: what they owe is on disk.
			all.retain(|_, open| Arc::strong_count(open) > 1);
			if all.len() >= MOST_SESSIONS {
				return Err(ApiError::busy("too many sessions are asked in: ask again"));
			}
		}
		let new = || Arc::new(Open { user: user.clone(), turn: Default::default(), account: Mutex::default() });
		Ok(all.entry(session).or_insert_with(new).clone())
	}

	/// The account of a session, as it is on disk.
	async fn read(&self, session: SessionId) -> io::Result<Option<Ledger>> {
		if let Some(ledger) = self.0.log.unsettled(session) {
			return Ok(Some(ledger));
		}
		let folder = self.0.folder.clone();
		spawn_blocking(move || owed::read(&folder, session)).await.unwrap_or_else(|error| Err(io::Error::other(error)))
	}

	/// All sessions that have an account here, with their last vouchers.
	pub(super) async fn vouchers(&self) -> io::Result<Vec<(SessionId, Option<Signed>)>> {
		let accounts = self.clone();
		let all = spawn_blocking(move || {
			let mut sessions: BTreeSet<SessionId> = owed::sessions(&accounts.0.folder)?.into_iter().collect();
			sessions.extend(accounts.0.log.sessions());
			let mut vouchers = Vec::new();
			for session in sessions {
				let open = accounts.open().get(&session).cloned();
				let known = open.and_then(|open| open.voucher());
				let known = known.or_else(|| Some(accounts.0.log.unsettled(session)?.voucher().cloned()));
				match known.map_or_else(|| Ok(owed::read(&accounts.0.folder, session)?.and_then(|ledger| ledger.voucher().cloned())), Ok) {
					Ok(voucher) => vouchers.push((session, voucher)),
					Err::<_, io::Error>(error) => {
						tracing::error!("the account of session {session} cannot be read, and nothing is claimed of it: {error}");
					}
				}
			}
			Ok(vouchers)
		});
		all.await.unwrap_or_else(|error| Err(io::Error::other(error)))
	}

	/// Deletes the order of receipts of sessions of which nobody can ask for a text any more. Blocks.
	fn forget_orders(&self) -> Result<(), TranscriptStoreError> {
		let kept = self.0.transcript_store.sessions()?;
		// In this order: a session is open before something is noted of it, and what is noted is on its way to its file until that is there. What is not known
		// is kept.
		let is_open = |session: SessionId| self.open().contains_key(&session) || self.0.log.unsettled(session).is_some();
		let has_account = |session: SessionId| is_open(session) || self.path(session).try_exists().unwrap_or(true);
		let is_kept = |session: SessionId| kept.contains(&session) || has_account(session);
		self.0.order.keep_only(is_kept).map_err(|source| TranscriptStoreError::File { path: self.0.folder.clone(), source })
	}

	/// Puts the account of a session that is settled aside.
	pub(super) fn forget(&self, session: SessionId) {
		self.open().remove(&session);
		self.0.log.forget(session);
		// It is put aside the next time, if not now.
		let _ = std::fs::rename(self.path(session), self.path(session).with_extension("settled"));
	}
}

/// State of a session on chain.
#[derive(Clone)]
pub(super) struct Known {
	pub(super) view: SessionView,
	/// The last voucher that this provider has claimed.
	pub(super) claimed: Tally,
	/// Planck that it was paid.
	pub(super) paid: Balance,
}

/// A header as text.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
	headers.get(name)?.to_str().ok()
}

/// Returns whether a signature that holds `until` then, in milliseconds since the Unix epoch, holds now and not for too long.
fn is_timely(until: Moment) -> bool {
	let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
	let now = Moment::try_from(since.as_millis()).unwrap_or(Moment::MAX);
	(now..=now.saturating_add(LONGEST_ASK)).contains(&until)
}

impl Payer {
	/// The same, for new answers.
	///
	/// # Errors
	/// In words for the client, if the session is being closed.
	pub(super) fn still_open(self) -> Result<Self, ApiError> {
		match self.closing {
			true => Err(ApiError::payment(format!("session {} is being closed: open another one", self.session))),
			false => Ok(self),
		}
	}

	/// Most tokens that an answer to a prompt of so many may have, of which `asked` were asked for at most, so that a dispute can judge it. `room` is what
	/// the model has room for.
	///
	/// # Errors
	/// If the text could get longer than that.
	pub(super) fn most(&self, prompt: usize, asked: Option<u32>, room: usize) -> Result<usize, ApiError> {
		let longest = usize::try_from(self.accounts.0.longest.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
		let left = longest.saturating_sub(prompt);
		let wanted = asked.map_or(1, |asked| usize::try_from(asked).unwrap_or(usize::MAX).min(room));
		match wanted > left {
			true => Err(ApiError::field(
				"max_tokens",
				format!(
					"a paid answer has to be one that a dispute can judge: prompt and answer together have at most {longest} tokens, and the prompt has {prompt}"
				),
			)),
			false => Ok(left.min(room)),
		}
	}

	/// Begins an answer that may cost `most`.
	///
	/// # Errors
	/// If the session has less, or owes too much, or there is no room for its transcript.
	pub(super) fn reserve(&self, most: Balance) -> Result<Reserved, ApiError> {
		self.accounts.0.transcript_store.check_room().map_err(|error| {
			tracing::error!("no answers are given: {error}");
			ApiError::no_room()
		})?;
		self.open.with(|account| account.ledger.begin(most, account.whole))??;
		Ok(Reserved { payer: self.clone(), most, ended: false })
	}

	/// Takes a voucher, and what the chain says: that so much is or was in the session, and what it has paid this provider for.
	async fn take(self, whole: Balance, claimed: Tally, voucher: Voucher, signature: MultiSignature) -> Result<(), ApiError> {
		let Self { accounts, session, open, .. } = &self;
		let failed = |error: String| {
			tracing::error!("the account of session {session} cannot be used: {error}");
			ApiError::internal(format!("the account of session {session} cannot be used just now"))
		};
		let _turn = open.turn.lock().await;
		if open.voucher().is_none() {
			let ledger = accounts.read(*session).await.map_err(|error| failed(error.to_string()))?;
			let ledger = ledger.unwrap_or_else(|| Ledger::new(*session, accounts.0.provider.clone(), claimed));
			*open.account.lock().unwrap_or_else(PoisonError::into_inner) = Some(Account { ledger, whole });
		}
		let (after, is_new) = open.with(|account| {
			account.whole = whole;
			account.ledger.catch_up(claimed);
			let mut after = account.ledger.clone();
			let is_new = after.take(voucher.clone(), signature.clone(), &open.user, accounts.0.genesis);
			is_new.map(|is_new| (after, is_new))
		})??;
		if is_new {
			let record = Record::Paid { voucher: voucher.clone(), signature: signature.clone() };
			accounts.0.log.append(record, after).await.map_err(|error| failed(error.to_string()))?;
			open.with(|account| account.ledger.note(voucher, signature))??;
		}
		Ok(())
	}

	/// Returns the debt for all answers of the session, and the receipts of those that are not paid for, with their tokens.
	pub(super) fn owes(&self) -> Result<Owing, ApiError> {
		let (now, transcripts) =
			self.open.with(|account| (account.ledger.now(), account.ledger.transcripts().cloned().collect::<Vec<_>>()))?;
		let receipts = transcripts.iter().filter_map(|json| serde_json::from_slice(json).ok()).collect();
		Ok(Owing { session: self.session, answers: now.answers, amount: now.amount.to_string(), receipts })
	}
}

impl Reserved {
	/// Ends the answer with its receipt, which is noted before anybody sees it, and whether anybody waits for it or not.
	///
	/// # Errors
	/// If it cannot be noted.
	pub(super) fn issue(
		self,
		issuer: Arc<Issuer>,
		prompt: Vec<u32>,
		answer: Vec<u32>,
		ending: Ending,
		sampling: Sampling,
	) -> impl Future<Output = Result<Transcript, ApiError>> + Send + 'static {
		let accounts = self.payer.accounts.clone();
		accounts.make(async move { self.end(&issuer, &prompt, &answer, ending, sampling).await })
	}

	async fn end(
		mut self,
		issuer: &Issuer,
		prompt: &[u32],
		answer: &[u32],
		ending: Ending,
		sampling: Sampling,
	) -> Result<Transcript, ApiError> {
		let (accounts, session, open) = (self.payer.accounts.clone(), self.payer.session, self.payer.open.clone());
		let _turn = open.turn.lock().await;
		let (before, mut after) = open.with(|account| (account.ledger.now(), account.ledger.clone()))?;
		let transcript = issuer.issue(prompt, answer, ending, sampling, Some((session, before.answers)));
		let (receipt, price) = (transcript.receipt.hash(transcript.genesis), transcript.receipt.price);
		let json = Arc::new(serde_json::to_vec(&transcript).map_err(|error| ApiError::internal(error.to_string()))?);
		after.end(self.most, price, receipt, json.clone());
		// Who cannot defend an answer gives none.
		let (provider, parameters) = (accounts.0.provider.clone(), transcript.receipt.parameters);
		let record = Record::Answer { session, provider, before, price, receipt, parameters, transcript: json.clone() };
		accounts.0.log.append(record, after).await.map_err(|error: LogError| {
			tracing::error!("an answer is not given, since it cannot be noted: {error}");
			ApiError::no_room()
		})?;
		open.with(|account| account.ledger.end(self.most, price, receipt, json))?;
		self.ended = true;
		Ok(transcript)
	}
}

impl Drop for Reserved {
	fn drop(&mut self) {
		if !self.ended {
			// Without an account, nothing was begun in it.
			let _ = self.payer.open.with(|account| account.ledger.give_up(self.most));
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_chain_client::keys::{PonwSigner, Seed};
	use neuroshard_types::inference::{Class, Prices};
	use std::path::Path;

	const SESSION: SessionId = 7;
	pub(super) const GENESIS: H256 = H256([6; 32]);

	/// Somebody who pays for answers of a provider with files in `base`, for texts of at most ten tokens.
	fn payer(base: &Path, transcript_store: TranscriptStore) -> Payer {
		let provider = AccountId::new([1; 32]);
		let accounts = Accounts::new(provider.clone(), GENESIS, base.to_owned(), transcript_store).unwrap();
		accounts.answer_up_to(10);
		let open = accounts.opened(SESSION, &AccountId::new([2; 32])).unwrap();
		let ledger = Ledger::new(SESSION, provider, Tally::default());
		*open.account.lock().unwrap() = Some(Account { ledger, whole: 1_000 });
		Payer { accounts, session: SESSION, open, closing: false }
	}

	#[tokio::test]
	async fn a_session_that_is_being_closed_pays_for_nothing_new() {
		let base = tempfile::tempdir().unwrap();
		let open = payer(base.path(), TranscriptStore::open(base.path()).unwrap());
		assert!(open.clone().still_open().is_ok());
		let error = Payer { closing: true, ..open }.still_open().map(drop).unwrap_err();
		assert!(format!("{error:?}").contains("session 7 is being closed"), "{error:?}");
	}

	/// Returns the signer of receipts of a provider of these tests.
	pub(super) fn issuer() -> Issuer {
		let signer = (AccountId::new([1; 32]), PonwSigner::from_seed(&Seed::random()).unwrap(), GENESIS);
		Issuer {
			parameters: H256::repeat_byte(5),
			checkpoint: Some((0, 1)),
			class: Class::ExactF32,
			usable: 257,
			signer: Some(signer),
			prices: Prices { prompt: 1, generated: 1 },
		}
	}

	#[tokio::test]
	async fn a_text_that_no_dispute_could_judge_is_not_begun() {
		let base = tempfile::tempdir().unwrap();
		let payer = payer(base.path(), TranscriptStore::open(base.path()).unwrap());
		let most = |prompt, asked, room| payer.most(prompt, asked, room).map_err(|error| error.json().to_string());
		assert_eq!((most(4, Some(6), 50), most(4, None, 50), most(4, None, 3), most(4, Some(99), 3)), (Ok(6), Ok(6), Ok(3), Ok(3)));
		for refused in [most(4, Some(7), 50), most(10, None, 50), most(11, Some(1), 50)] {
			assert!(refused.unwrap_err().contains("at most 10 tokens"));
		}
	}

	async fn issue(payer: &Payer) -> Result<Transcript, ApiError> {
		payer.reserve(100)?.issue(issuer().into(), vec![97], vec![98, 99], Ending::Cut, Sampling::default()).await
	}

	fn owed(payer: &Payer) -> String {
		serde_json::to_string(&payer.owes().unwrap()).unwrap()
	}

	#[tokio::test]
	async fn the_transcript_of_an_answer_is_on_disk_before_anybody_has_its_receipt() {
		let base = tempfile::tempdir().unwrap();
		let transcript_store = TranscriptStore::open(base.path()).unwrap();
		let payer = payer(base.path(), transcript_store.clone());
		let transcript = issue(&payer).await.unwrap();
		assert_eq!(transcript_store.transcript(&transcript.receipt, GENESIS).unwrap(), transcript);
		assert!(owed(&payer).contains(&serde_json::to_string(&transcript).unwrap()));
		// Where that is not possible any more, it is in the log, and no other answer is given.
		std::fs::remove_dir_all(base.path().join("answers")).unwrap();
		std::fs::write(base.path().join("answers"), "in the way").unwrap();
		let noted = issue(&payer).await.unwrap();
		let before = owed(&payer);
		assert!(before.contains("\"answers\":2"));
		assert!(issue(&payer).await.unwrap_err().json().to_string().contains("no_room"));
		assert_eq!(owed(&payer), before);
		std::fs::remove_file(base.path().join("answers")).unwrap();
		TranscriptStore::open(base.path()).unwrap();
		issue(&payer).await.unwrap();
		assert_eq!(transcript_store.transcript(&noted.receipt, GENESIS).unwrap(), noted);
	}

	#[tokio::test]
	async fn an_answer_whose_client_has_gone_is_noted_all_the_same() {
		let base = tempfile::tempdir().unwrap();
		let payer = payer(base.path(), TranscriptStore::open(base.path()).unwrap());
		drop(payer.reserve(100).unwrap().issue(issuer().into(), vec![97], vec![98], Ending::Cut, Sampling::default()));
		payer.accounts.settled().await;
		assert!(owed(&payer).contains("\"answers\":1"));
	}

	#[tokio::test]
	async fn while_one_session_has_its_turn_others_are_answered() {
		let base = tempfile::tempdir().unwrap();
		let first = payer(base.path(), TranscriptStore::open(base.path()).unwrap());
		let (accounts, other) = (first.accounts.clone(), SESSION + 1);
		let open = accounts.opened(other, &AccountId::new([2; 32])).unwrap();
		let ledger = Ledger::new(other, AccountId::new([1; 32]), Tally::default());
		*open.account.lock().unwrap() = Some(Account { ledger, whole: 1_000 });
		let second = Payer { accounts, session: other, open, closing: false };
		let turn = first.open.turn.lock().await;
		let waits = first.reserve(100).unwrap().issue(issuer().into(), vec![97], vec![98], Ending::Cut, Sampling::default());
		issue(&second).await.unwrap();
		// What is under way counts.
		assert!(first.reserve(950).is_err());
		drop(turn);
		waits.await.unwrap();
		assert_eq!(first.open.with(|account| account.ledger.now().answers).unwrap(), 1);
	}

	#[tokio::test]
	async fn without_room_for_its_transcript_no_answer_is_begun() {
		let base = tempfile::tempdir().unwrap();
		let payer = payer(base.path(), TranscriptStore::with_room(base.path(), 0, 0).unwrap());
		let refused = payer.reserve(1).map(drop).unwrap_err();
		assert!(refused.json().to_string().contains("no_room"));
	}
}
