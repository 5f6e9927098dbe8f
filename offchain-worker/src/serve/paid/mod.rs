//! Answers that are paid for: who may ask, what a session owes, and the provider's business with the chain.
//!
//! A request says in headers in which session it is, that the user asks, and what the user has signed for so far. Its answers are given on credit, up
//! to a bound, and each ends with a receipt, by which the user signs the next voucher (`docs/inference.md`). An answer that nobody takes to its end
//! costs what was taken of it.

mod business;
mod ledger;
mod order;
mod owed;
mod texts;

pub use business::{Business, BusinessError};
#[cfg(test)]
pub(crate) use owed::tests::write as write_account;
pub use owed::{owed, Lock, Owed};
pub use texts::Keeper;

use super::error::ApiError;
use crate::{
	answers::{Shelf, ShelfError},
	receipt::{Issuer, Transcript},
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use codec::{DecodeAll, Encode};
use ledger::{Ledger, State, Unpaid};
use neuroshard_atomic_write::write_atomically;
use neuroshard_graph::sampler::Sampling;
use neuroshard_types::{
	inference::{Ask, Ending, SessionId, SessionView, Voucher},
	AccountId, Balance, Moment, H256,
};
use order::Order;
use serde_json::{json, Value};
use sp_runtime::MultiSignature;
use std::{
	collections::HashMap,
	future::Future,
	io,
	path::PathBuf,
	sync::{
		atomic::{AtomicU32, Ordering},
		Arc, Mutex, MutexGuard, PoisonError,
	},
};

/// Header with the number of the session.
const SESSION: &str = "neuroshard-session";
/// Header with the last voucher and its signature, SCALE-encoded, in hexadecimal digits.
const VOUCHER: &str = "neuroshard-voucher";
/// Header with the user's word that it asks, and its signature, SCALE-encoded, in hexadecimal digits.
const ASK: &str = "neuroshard-ask";
/// Longest time for which a user may say so, in milliseconds: clocks differ.
const LONGEST_ASK: Moment = 15 * 60 * 1_000;
/// Sessions whose accounts are in memory at a time.
const MOST_SESSIONS: usize = 10_000;

/// A voucher and its signature.
pub type Signed = (Voucher, MultiSignature);

/// The accounts of all sessions. Clones share it.
#[derive(Clone)]
pub struct Accounts(Arc<Inner>);

struct Inner {
	provider: AccountId,
	genesis: H256,
	folder: PathBuf,
	/// What the provider defends its answers with.
	shelf: Shelf,
	/// Which receipt is in which place.
	order: Order,
	/// Most tokens of a text that a dispute can judge; none are answered before that is known.
	longest: AtomicU32,
	/// Held as long as the accounts are used.
	_lock: Lock,
	open: Mutex<HashMap<SessionId, Open>>,
}

/// A session that is asked in.
struct Open {
	ledger: Ledger,
	user: AccountId,
	/// Escrow and payments together, in planck.
	whole: Balance,
}

/// A request's place in a session.
#[derive(Clone)]
pub(super) struct Payer {
	accounts: Accounts,
	session: SessionId,
	/// Whether it is being closed: it pays what was answered, and nothing new.
	closing: bool,
}

/// An answer that is under way, for which there is enough in the session.
pub(super) struct Reserved {
	payer: Payer,
	most: Balance,
	/// Whether it has ended with a receipt.
	ended: bool,
}

impl From<Unpaid> for ApiError {
	fn from(unpaid: Unpaid) -> Self {
		Self::payment(unpaid.to_string())
	}
}

impl Accounts {
	/// The accounts in `folder`, of sessions that pay `provider`. Transcripts of its answers are kept on `shelf`.
	///
	/// # Errors
	/// If the folder cannot be used, or another process uses it.
	pub fn new(provider: AccountId, genesis: H256, folder: PathBuf, shelf: Shelf) -> io::Result<Self> {
		let in_use = || io::Error::other(format!("another process uses the accounts in {}", folder.display()));
		let lock = Lock::take(&folder)?.ok_or_else(in_use)?;
		let order = Order::new(folder.clone());
		Ok(Self(Arc::new(Inner {
			provider,
			genesis,
			folder,
			shelf,
			order,
			longest: AtomicU32::new(0),
			_lock: lock,
			open: Mutex::default(),
		})))
	}

	/// A dispute can judge texts of so many tokens, and none that are longer are answered.
	pub fn answer_up_to(&self, longest: u32) {
		self.0.longest.store(longest, Ordering::Relaxed);
	}

	fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Open>> {
		// Every change is whole before it is seen.
		self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
	}

	fn path(&self, session: SessionId) -> PathBuf {
		owed::path(&self.0.folder, session)
	}

	/// The session and voucher in a request's headers, and what the chain says of the session, as `view` tells.
	///
	/// # Errors
	/// In words for the client, whatever is missing.
	pub(super) async fn admit<F: Future<Output = Result<Known, ApiError>>>(
		&self,
		headers: &HeaderMap,
		view: impl FnOnce(SessionId) -> F,
	) -> Result<Payer, ApiError> {
		let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
		let session = text(SESSION).and_then(|digits| digits.parse().ok());
		let session: SessionId =
			session.ok_or_else(|| ApiError::payment(format!("answers are paid for here: the header {SESSION} is missing")))?;
		let (voucher, signature) = text(VOUCHER).and_then(voucher_of).ok_or_else(|| {
			ApiError::payment(format!("the header {VOUCHER} has no voucher: 0x, and the SCALE encoding of voucher and signature"))
		})?;
		let (ask, by) = text(ASK).and_then(decoded::<Ask>).ok_or_else(|| {
			ApiError::payment(format!("the header {ASK} is missing: 0x, and the SCALE encoding of the user's word and signature"))
		})?;
		if ask.session != session || ask.provider != self.0.provider || !is_timely(ask.until) {
			return Err(ApiError::payment(format!("the header {ASK} is not for this session and this provider, or its time is over")));
		}
		let Known { view, claimed, paid } = view(session).await?;
		if !ask.is_signed(self.0.genesis, &view.user, &by) {
			return Err(ApiError::payment(format!("the header {ASK} is not signed by the user of session {session}")));
		}
		if view.provider.as_ref().is_some_and(|paid| *paid != self.0.provider) {
			return Err(ApiError::payment(format!("session {session} pays somebody else")));
		}
		let failed = |error: io::Error| ApiError::internal(format!("the account of session {session} cannot be used: {error}"));
		let mut open = self.open();
		if open.len() >= MOST_SESSIONS && !open.contains_key(&session) {
			// Those on disk come back when they are asked in.
			open.retain(|_, open| !open.ledger.is_idle());
		}
		if let std::collections::hash_map::Entry::Vacant(place) = open.entry(session) {
			let ledger = owed::read(&self.0.folder, session).map_err(failed)?;
			let ledger = ledger.unwrap_or_else(|| Ledger::new(session, self.0.provider.clone(), claimed));
			place.insert(Open { ledger, user: view.user.clone(), whole: 0 });
		}
		let Some(account) = open.get_mut(&session) else { return Err(ApiError::internal("the account is gone")) };
		// Nobody but the chain moves money: what it has paid, and what it holds.
		account.whole = view.escrow.saturating_add(paid);
		account.ledger.catch_up(claimed);
		let mut ledger = account.ledger.clone();
		if ledger.take(voucher, signature, &account.user, self.0.genesis)? {
			self.write(session, &ledger).map_err(failed)?;
			account.ledger = ledger;
		}
		Ok(Payer { accounts: self.clone(), session, closing: view.closes_at.is_some() })
	}

	fn write(&self, session: SessionId, ledger: &Ledger) -> io::Result<()> {
		write_atomically(&self.path(session), &ledger.encode())
	}

	/// All sessions that have an account here, with their last vouchers.
	pub(super) fn vouchers(&self) -> io::Result<Vec<(SessionId, Option<Signed>)>> {
		let mut vouchers = Vec::new();
		for session in owed::sessions(&self.0.folder)? {
			match owed::read(&self.0.folder, session) {
				Ok(ledger) => vouchers.push((session, ledger.and_then(|ledger| ledger.voucher().cloned()))),
				Err(error) => tracing::error!("the account of session {session} cannot be read, and nothing is claimed of it: {error}"),
			}
		}
		Ok(vouchers)
	}

	/// Deletes the order of receipts of sessions of which nobody can ask for a text any more. Blocks.
	fn forget_orders(&self) -> Result<(), ShelfError> {
		// No answer is given meanwhile: its place is noted before its account is written.
		let open = self.open();
		let kept = self.0.shelf.sessions()?;
		// What is not known is kept.
		let has_account = |session: SessionId| open.contains_key(&session) || self.path(session).try_exists().unwrap_or(true);
		let is_kept = |session: SessionId| kept.contains(&session) || has_account(session);
		self.0.order.keep_only(is_kept).map_err(|source| ShelfError::File { path: self.0.folder.clone(), source })
	}

	/// Puts the account of a session that is settled aside.
	pub(super) fn forget(&self, session: SessionId) {
		self.open().remove(&session);
		// It is put aside the next time, if not now.
		let _ = std::fs::rename(self.path(session), self.path(session).with_extension("settled"));
	}
}

/// What the chain says of a session.
#[derive(Clone)]
pub(super) struct Known {
	pub(super) view: SessionView,
	/// The last voucher that this provider has claimed.
	pub(super) claimed: State,
	/// Planck that it was paid.
	pub(super) paid: Balance,
}

/// The headers of a request with a voucher in its body, as one with the voucher in a header has them.
pub(super) fn headers(session: SessionId, voucher: &str, with: &HeaderMap) -> Option<HeaderMap> {
	let mut headers = with.clone();
	headers.insert(HeaderName::from_static(SESSION), HeaderValue::from(session));
	headers.insert(HeaderName::from_static(VOUCHER), HeaderValue::try_from(voucher).ok()?);
	Some(headers)
}

/// The voucher in a header.
pub(super) fn voucher_of(digits: &str) -> Option<(Voucher, MultiSignature)> {
	decoded(digits)
}

/// Something that is signed, in a header.
fn decoded<T: codec::Decode>(digits: &str) -> Option<(T, MultiSignature)> {
	let bytes = hex::decode(digits.strip_prefix("0x")?).ok()?;
	<(T, MultiSignature)>::decode_all(&mut &bytes[..]).ok()
}

/// Whether something holds that is signed to hold `until` then, in milliseconds since the Unix epoch.
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
		self.accounts.0.shelf.check_room().map_err(|error| {
			tracing::error!("no answers are given: {error}");
			ApiError::no_room()
		})?;
		let mut open = self.accounts.open();
		let account = open.get_mut(&self.session).ok_or_else(|| ApiError::internal("the account is gone"))?;
		account.ledger.begin(most, account.whole)?;
		Ok(Reserved { payer: self.clone(), most, ended: false })
	}

	/// What all answers of the session cost, and the receipts of those that are not paid for, with their tokens.
	pub(super) fn owes(&self) -> Value {
		let open = self.accounts.open();
		let Some(Open { ledger, .. }) = open.get(&self.session) else { return Value::Null };
		let receipts: Vec<Value> = ledger.transcripts().filter_map(|json| serde_json::from_slice(json).ok()).collect();
		let (now, session) = (ledger.now(), self.session);
		json!({ "session": session, "answers": now.answers, "amount": now.amount.to_string(), "receipts": receipts })
	}
}

impl Reserved {
	/// Ends the answer with its receipt, which is noted before anybody sees it.
	///
	/// # Errors
	/// If it cannot be noted.
	pub(super) fn issue(
		&mut self,
		issuer: &Issuer,
		prompt: &[u32],
		answer: &[u32],
		ending: Ending,
		sampling: Sampling,
	) -> Result<Transcript, ApiError> {
		let (accounts, session) = (&self.payer.accounts, self.payer.session);
		let mut open = accounts.open();
		let account = open.get_mut(&session).ok_or_else(|| ApiError::internal("the account is gone"))?;
		let place = account.ledger.now().answers;
		let transcript = issuer.issue(prompt, answer, ending, sampling, Some((session, place)));
		// Who cannot defend an answer gives none.
		accounts.0.shelf.keep(&transcript).map_err(|error| {
			tracing::error!("an answer is not given, since its transcript cannot be kept: {error}");
			ApiError::no_room()
		})?;
		let (receipt, before) = (transcript.receipt.hash(transcript.genesis), account.ledger.now().receipts);
		accounts.0.order.note(session, place, before, receipt).map_err(|error| {
			tracing::error!("an answer is not given, since its place cannot be noted: {error}");
			ApiError::no_room()
		})?;
		let json = serde_json::to_vec(&transcript).map_err(|error| ApiError::internal(error.to_string()))?;
		let mut ledger = account.ledger.clone();
		ledger.end(self.most, transcript.receipt.price, receipt, json);
		accounts.write(session, &ledger).map_err(|error| ApiError::internal(error.to_string()))?;
		account.ledger = ledger;
		self.ended = true;
		Ok(transcript)
	}
}

impl Drop for Reserved {
	fn drop(&mut self) {
		if !self.ended {
			if let Some(account) = self.payer.accounts.open().get_mut(&self.payer.session) {
				account.ledger.give_up(self.most);
			}
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
	const GENESIS: H256 = H256([6; 32]);

	/// Somebody who pays for answers of a provider with files in `base`, for texts of at most ten tokens.
	fn payer(base: &Path, shelf: Shelf) -> Payer {
		let provider = AccountId::new([1; 32]);
		let accounts = Accounts::new(provider.clone(), GENESIS, base.to_owned(), shelf).unwrap();
		accounts.answer_up_to(10);
		let open = Open { ledger: Ledger::new(SESSION, provider, State::default()), user: AccountId::new([2; 32]), whole: 1_000 };
		accounts.open().insert(SESSION, open);
		Payer { accounts, session: SESSION, closing: false }
	}

	#[test]
	fn a_session_that_is_being_closed_pays_for_nothing_new() {
		let base = tempfile::tempdir().unwrap();
		let open = payer(base.path(), Shelf::open(base.path()).unwrap());
		assert!(open.clone().still_open().is_ok());
		let error = Payer { closing: true, ..open }.still_open().map(drop).unwrap_err();
		assert!(format!("{error:?}").contains("session 7 is being closed"), "{error:?}");
	}

	fn issuer() -> Issuer {
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

	#[test]
	fn a_text_that_no_dispute_could_judge_is_not_begun() {
		let base = tempfile::tempdir().unwrap();
		let payer = payer(base.path(), Shelf::open(base.path()).unwrap());
		let most = |prompt, asked, room| payer.most(prompt, asked, room).map_err(|error| error.json().to_string());
		assert_eq!((most(4, Some(6), 50), most(4, None, 50), most(4, None, 3), most(4, Some(99), 3)), (Ok(6), Ok(6), Ok(3), Ok(3)));
		for refused in [most(4, Some(7), 50), most(10, None, 50), most(11, Some(1), 50)] {
			assert!(refused.unwrap_err().contains("at most 10 tokens"));
		}
	}

	#[test]
	fn the_transcript_of_an_answer_is_on_disk_before_anybody_has_its_receipt() {
		let base = tempfile::tempdir().unwrap();
		let shelf = Shelf::open(base.path()).unwrap();
		let payer = payer(base.path(), shelf.clone());
		let issue = || payer.reserve(100)?.issue(&issuer(), &[97], &[98, 99], Ending::Cut, Sampling::default());
		let transcript = issue().unwrap();
		assert_eq!(shelf.transcript(&transcript.receipt, GENESIS).unwrap(), transcript);
		// Where that is not possible, there is no answer, and nothing is owed for it.
		std::fs::remove_dir_all(base.path().join("answers")).unwrap();
		std::fs::write(base.path().join("answers"), "in the way").unwrap();
		let owed = payer.owes();
		assert!(issue().unwrap_err().json().to_string().contains("no_room"));
		assert_eq!(payer.owes(), owed);
	}

	#[test]
	fn without_room_for_its_transcript_no_answer_is_begun() {
		let base = tempfile::tempdir().unwrap();
		let payer = payer(base.path(), Shelf::with_room(base.path(), 0, 0).unwrap());
		let refused = payer.reserve(1).map(drop).unwrap_err();
		assert!(refused.json().to_string().contains("no_room"));
	}
}
