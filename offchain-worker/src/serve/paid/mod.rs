//! Answers that are paid for: who may ask, what a session owes, and the provider's business with the chain.
//!
//! A request names its session and carries the last voucher in two headers. Its answers are given on credit, up to a bound, and each ends with a
//! receipt, by which the user signs the next voucher (`docs/inference.md`).

mod business;
mod ledger;

pub use business::{Business, BusinessError};

use super::error::ApiError;
use crate::receipt::{Issuer, Transcript};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use codec::{DecodeAll, Encode};
use ledger::{Ledger, State, Unpaid};
use neuroshard_atomic_write::write_atomically;
use neuroshard_graph::sampler::Sampling;
use neuroshard_types::{
	inference::{Ending, SessionId, SessionView, Voucher},
	AccountId, Balance, H256,
};
use sp_runtime::MultiSignature;
use std::{
	collections::HashMap,
	future::Future,
	io,
	path::PathBuf,
	sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Header with the number of the session.
const SESSION: &str = "neuroshard-session";
/// Header with the last voucher and its signature, SCALE-encoded, in hexadecimal digits.
const VOUCHER: &str = "neuroshard-voucher";
/// Sessions whose accounts are in memory at a time.
const MOST_SESSIONS: usize = 10_000;

/// The accounts of all sessions. Clones share it.
#[derive(Clone)]
pub struct Accounts(Arc<Inner>);

struct Inner {
	provider: AccountId,
	genesis: H256,
	folder: PathBuf,
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
	/// The accounts in `folder`, of sessions that pay `provider`.
	pub fn new(provider: AccountId, genesis: H256, folder: PathBuf) -> Self {
		Self(Arc::new(Inner { provider, genesis, folder, open: Mutex::default() }))
	}

	fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Open>> {
		// Every change is whole before it is seen.
		self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
	}

	fn path(&self, session: SessionId) -> PathBuf {
		self.0.folder.join(format!("{session}.session"))
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
		let Known { view, claimed } = view(session).await?;
		if view.closes_at.is_some() {
			return Err(ApiError::payment(format!("session {session} is being closed: open another one")));
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
			let ledger = self.read(session).map_err(failed)?;
			let ledger = ledger.unwrap_or_else(|| Ledger::new(session, self.0.provider.clone(), claimed));
			place.insert(Open { ledger, user: view.user.clone(), whole: 0 });
		}
		let Some(account) = open.get_mut(&session) else { return Err(ApiError::internal("the account is gone")) };
		// Nobody but the chain moves money: what it has paid, and what it holds.
		account.whole = view.escrow.saturating_add(view.paid);
		account.ledger.take(voucher, signature, &account.user, self.0.genesis)?;
		self.write(session, &account.ledger).map_err(failed)?;
		Ok(Payer { accounts: self.clone(), session })
	}

	fn read(&self, session: SessionId) -> io::Result<Option<Ledger>> {
		match std::fs::read(self.path(session)) {
			Ok(bytes) => Ledger::decode_all(&mut &bytes[..]).map(Some).map_err(|error| io::Error::other(error.to_string())),
			Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
			Err(error) => Err(error),
		}
	}

	fn write(&self, session: SessionId, ledger: &Ledger) -> io::Result<()> {
		write_atomically(&self.path(session), &ledger.encode())
	}

	/// Vouchers that pay more than `claimed` says of their sessions.
	pub(super) fn vouchers(&self) -> io::Result<Vec<(Voucher, MultiSignature)>> {
		let mut vouchers = Vec::new();
		for entry in std::fs::read_dir(&self.0.folder)? {
			let name = entry?.file_name();
			let session = name.to_str().and_then(|name| name.strip_suffix(".session")?.parse().ok());
			let Some(session) = session else { continue };
			vouchers.extend(self.read(session)?.and_then(|ledger| ledger.voucher().cloned()));
		}
		Ok(vouchers)
	}

	/// Forgets a session that is settled.
	pub(super) fn forget(&self, session: SessionId) {
		self.open().remove(&session);
		// It is forgotten the next time, if not now.
		let _ = std::fs::remove_file(self.path(session));
	}
}

/// What the chain says of a session.
#[derive(Clone)]
pub(super) struct Known {
	pub(super) view: SessionView,
	/// What this provider has claimed of it.
	pub(super) claimed: State,
}

/// The headers of a request that pays by this voucher.
pub(super) fn headers(session: SessionId, voucher: &str) -> Option<HeaderMap> {
	let pairs = [(SESSION, session.to_string()), (VOUCHER, voucher.to_owned())];
	let header = |(name, value): (&'static str, String)| Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?));
	pairs.into_iter().map(header).collect()
}

/// The voucher in a header.
pub(super) fn voucher_of(digits: &str) -> Option<(Voucher, MultiSignature)> {
	let bytes = hex::decode(digits.strip_prefix("0x")?).ok()?;
	<(Voucher, MultiSignature)>::decode_all(&mut &bytes[..]).ok()
}

impl Payer {
	/// Begins an answer that may cost `most`.
	///
	/// # Errors
	/// If the session has less, or owes too much.
	pub(super) fn reserve(&self, most: Balance) -> Result<Reserved, ApiError> {
		let mut open = self.accounts.open();
		let account = open.get_mut(&self.session).ok_or_else(|| ApiError::internal("the account is gone"))?;
		account.ledger.begin(most, account.whole)?;
		Ok(Reserved { payer: self.clone(), most, ended: false })
	}

	/// What the session owes, and what of it is paid for by the last voucher.
	pub(super) fn owes(&self) -> Option<(u32, Balance)> {
		self.accounts.open().get(&self.session).map(|open| (open.ledger.now().answers, open.ledger.now().amount))
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
		self.ended = true;
		account.ledger.end(self.most, transcript.receipt.price, transcript.receipt.hash(transcript.genesis));
		accounts.write(session, &account.ledger).map_err(|error| ApiError::internal(error.to_string()))?;
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
