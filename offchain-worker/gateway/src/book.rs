//! The last voucher of a session, on disk: what was signed once is owed, whatever happens to this process.

use neuroshard_atomic_write::write_private;
use neuroshard_inference::receipt::Transcript;
use neuroshard_payments::{written, Signed, Tally};
use neuroshard_types::{
	inference::{ClaimView, SessionId},
	AccountId, H256,
};
use serde::{Deserialize, Serialize};
use std::{
	fs::{File, TryLockError},
	io,
	os::unix::fs::DirBuilderExt,
	path::{Path, PathBuf},
};

/// Why what was signed cannot be kept, or gone on from.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
	/// A file or folder.
	#[error("cannot use {path}: {source}")]
	File {
		/// The file or folder.
		path: PathBuf,
		/// Error of the operating system.
		source: io::Error,
	},
	/// Another gateway pays from the session.
	#[error("another gateway pays from session {0} in this folder: stop it first")]
	Taken(SessionId),
	/// The file is no voucher of this account for this session.
	#[error("{path} has no voucher of this account for this session and chain: if it is from another chain or account, move it away")]
	Foreign {
		/// The file.
		path: PathBuf,
	},
	/// The file and the chain have different vouchers for the same answers.
	#[error(
		"{path} and the chain have different vouchers for the same {answers} answers: the account signs in another place, too. Close the session"
	)]
	Forked {
		/// The file.
		path: PathBuf,
		/// Number of answers.
		answers: u32,
	},
}

/// Content of the file. Only the voucher counts; the rest is for people.
#[derive(Serialize, Deserialize)]
struct Page {
	provider: String,
	answers: u32,
	/// Planck.
	amount: String,
	voucher: String,
}

/// File of the last voucher of a session. One process at a time has it.
#[derive(Debug)]
pub struct Book {
	folder: PathBuf,
	session: SessionId,
	_lock: File,
}

impl Book {
	/// The book of a session in the base folder.
	///
	/// # Errors
	/// [`BookError::Taken`], [`BookError::File`].
	pub fn open(base: &Path, session: SessionId) -> Result<Self, BookError> {
		let folder = base.join("gateway");
		let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
		made.map_err(|source| BookError::File { path: folder.clone(), source })?;
		let path = folder.join(format!("{session}.lock"));
		let failed = |source| BookError::File { path: path.clone(), source };
		let lock = File::create(&path).map_err(failed)?;
		match lock.try_lock() {
			Ok(()) => Ok(Self { folder, session, _lock: lock }),
			Err(TryLockError::WouldBlock) => Err(BookError::Taken(session)),
			Err(TryLockError::Error(source)) => Err(failed(source)),
		}
	}

	fn path(&self) -> PathBuf {
		self.folder.join(format!("{}.json", self.session))
	}

	/// From where the session goes on: the last voucher of `user` for `provider`, or what the chain has paid for if that is later.
	///
	/// # Errors
	/// [`BookError::Foreign`], [`BookError::Forked`], [`BookError::File`].
	pub fn resume(&self, user: &AccountId, provider: &AccountId, genesis: H256, claimed: &ClaimView) -> Result<Tally, BookError> {
		let chain = Tally::from(claimed);
		let path = self.path();
		let Some((voucher, signature)) = self.read()? else { return Ok(chain) };
		let ours = voucher.session == self.session && voucher.provider == *provider;
		if !ours || !voucher.is_signed(genesis, user, &signature) {
			return Err(BookError::Foreign { path });
		}
		let own = Tally::from(&voucher);
		let answers = own.answers;
		match own.answers.cmp(&chain.answers) {
			std::cmp::Ordering::Equal if own != chain => Err(BookError::Forked { path, answers }),
			std::cmp::Ordering::Greater if own.amount < chain.amount => Err(BookError::Forked { path, answers }),
			std::cmp::Ordering::Less => {
				tracing::warn!("{} is older than what was claimed: going on from there", path.display());
				Ok(chain)
			}
			_ => Ok(own),
		}
	}

	/// The last voucher.
	///
	/// # Errors
	/// [`BookError::File`], and [`BookError::Foreign`] for a file that has none.
	pub(super) fn read(&self) -> Result<Option<Signed>, BookError> {
		let path = self.path();
		let bytes = match std::fs::read(&path) {
			Ok(bytes) => bytes,
			Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
			Err(source) => return Err(BookError::File { path, source }),
		};
		let page: Option<Page> = serde_json::from_slice(&bytes).ok();
		let signed = page.and_then(|page| neuroshard_payments::read::<Signed>(&page.voucher));
		signed.map(Some).ok_or(BookError::Foreign { path })
	}

	/// Notes a voucher before anybody sees it.
	///
	/// # Errors
	/// [`BookError::File`]: the one before is still there.
	pub(super) fn write(&self, signed: &Signed) -> Result<(), BookError> {
		let (voucher, _) = signed;
		let page = Page {
			provider: voucher.provider.to_string(),
			answers: voucher.answers,
			amount: voucher.amount.to_string(),
			voucher: written(signed),
		};
		let path = self.path();
		let bytes = serde_json::to_vec_pretty(&page).map_err(io::Error::from);
		let written = bytes.and_then(|bytes| write_private(&path, &bytes));
		written.map_err(|source| BookError::File { path, source })
	}

	/// Keeps a receipt that is false, as `neuroshard-worker check` reads it. Returns where.
	///
	/// # Errors
	/// [`BookError::File`].
	pub(super) fn dispute(&self, index: u32, transcript: &Transcript) -> Result<PathBuf, BookError> {
		let path = self.folder.join(format!("disputed-{}-{index}.json", self.session));
		let bytes = serde_json::to_vec(transcript).map_err(io::Error::from);
		match bytes.and_then(|bytes| write_private(&path, &bytes)) {
			Ok(()) => Ok(path),
			Err(source) => Err(BookError::File { path, source }),
		}
	}
}

#[cfg(test)]
mod tests {
	use super::{
		super::{
			ledger::Ledger,
			testing::{asked, given, terms, user},
		},
		*,
	};
	use neuroshard_types::inference::Voucher;

	fn signed(voucher: Voucher) -> Signed {
		let signature = user().sign_voucher(&voucher, terms().genesis);
		(voucher, signature)
	}

	fn resumed(book: &Book, claimed: ClaimView) -> Result<Tally, BookError> {
		book.resume(&user().id(), &terms().provider, terms().genesis, &claimed)
	}

	#[test]
	fn a_session_goes_on_from_its_last_voucher_after_a_restart() {
		let base = tempfile::tempdir().unwrap();
		let book = Book::open(base.path(), 7).unwrap();
		assert_eq!(resumed(&book, ClaimView::default()).unwrap(), Tally::default());
		let mut ledger = Ledger::new(terms(), Tally::default());
		for index in 0..2 {
			book.write(&signed(ledger.take(&given(index), &asked()).unwrap().unwrap())).unwrap();
		}
		assert!(matches!(Book::open(base.path(), 7), Err(BookError::Taken(7))));
		drop(book);
		let book = Book::open(base.path(), 7).unwrap();
		let owed = resumed(&book, ClaimView::default()).unwrap();
		assert_eq!(owed, ledger.owed());
		let mut again = Ledger::new(terms(), owed);
		assert_eq!(again.take(&given(2), &asked()).unwrap(), ledger.take(&given(2), &asked()).unwrap());
	}

	#[test]
	fn what_the_chain_has_paid_for_is_never_taken_back() {
		let base = tempfile::tempdir().unwrap();
		let book = Book::open(base.path(), 7).unwrap();
		let mut ledger = Ledger::new(terms(), Tally::default());
		let first = ledger.take(&given(0), &asked()).unwrap().unwrap();
		book.write(&signed(first.clone())).unwrap();
		let claim = |voucher: &Voucher| ClaimView { paid: 0, owed: voucher.amount, answers: voucher.answers, receipts: voucher.receipts };
		assert_eq!(resumed(&book, claim(&first)).unwrap().answers, 1);
		let second = ledger.take(&given(1), &asked()).unwrap().unwrap();
		assert_eq!(resumed(&book, claim(&second)).unwrap(), ledger.owed());
		let forked = ClaimView { receipts: H256::zero(), ..claim(&first) };
		assert!(matches!(resumed(&book, forked), Err(BookError::Forked { answers: 1, .. })));
		book.write(&signed(second)).unwrap();
		let dearer = ClaimView { owed: ledger.owed().amount + 1, ..claim(&first) };
		assert!(matches!(resumed(&book, dearer), Err(BookError::Forked { .. })));
	}

	#[test]
	fn vouchers_of_others_are_not_gone_on_from() {
		let base = tempfile::tempdir().unwrap();
		let book = Book::open(base.path(), 7).unwrap();
		let voucher = Ledger::new(terms(), Tally { answers: 1, ..Default::default() }).voucher();
		book.write(&signed(voucher)).unwrap();
		let claimed = ClaimView::default();
		assert!(resumed(&book, claimed).is_ok());
		let (user, provider, genesis) = (user().id(), terms().provider, terms().genesis);
		assert!(matches!(book.resume(&provider, &provider, genesis, &claimed), Err(BookError::Foreign { .. })));
		assert!(matches!(book.resume(&user, &user, genesis, &claimed), Err(BookError::Foreign { .. })));
		assert!(matches!(book.resume(&user, &provider, H256::zero(), &claimed), Err(BookError::Foreign { .. })));
		std::fs::write(book.path(), "{}").unwrap();
		assert!(matches!(resumed(&book, claimed), Err(BookError::Foreign { .. })));
	}
}
