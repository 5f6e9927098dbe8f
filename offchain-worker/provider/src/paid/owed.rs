//! Debts of sessions, as their accounts on disk say, also to those who do not serve.

use super::{ledger::Ledger, log, Signed, Voucher};
use codec::{DecodeAll, Encode};
use neuroshard_payments::Tally;
use neuroshard_types::{inference::SessionId, AccountId, Balance, H256};
use sp_runtime::MultiSignature;
use std::{
	collections::BTreeMap,
	fs::{File, TryLockError},
	io,
	path::{Path, PathBuf},
};

/// Held as long as a process uses the accounts in a folder. The system releases it with the process, however that ends.
#[derive(Debug)]
pub struct Lock {
	_file: File,
}

impl Lock {
	/// Takes the accounts in `folder`; `None` if another process uses them.
	///
	/// # Errors
	/// If the folder cannot be used.
	pub fn take(folder: &Path) -> io::Result<Option<Self>> {
		let file = File::create(folder.join("lock"))?;
		match file.try_lock() {
			Ok(()) => Ok(Some(Self { _file: file })),
			Err(TryLockError::WouldBlock) => Ok(None),
			Err(TryLockError::Error(error)) => Err(error),
		}
	}
}

/// Debt of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owed {
	/// The session.
	pub session: SessionId,
	/// The last voucher of its user.
	pub voucher: Option<Signed>,
	/// Planck of answers that the user has not signed for.
	pub unsigned: Balance,
}

/// Returns the debts of all sessions that have an account in `folder`, also as the log of it says that another process writes, or has left.
///
/// # Errors
/// If the folder, an account or the log cannot be read.
pub fn owed(folder: &Path) -> io::Result<Vec<Owed>> {
	let mut known: BTreeMap<SessionId, Ledger> = log::accounts(folder)?.into_iter().collect();
	for session in sessions(folder)? {
		if let std::collections::btree_map::Entry::Vacant(place) = known.entry(session) {
			let ledger = read(folder, session).map_err(|error| unread(folder, session, &error))?;
			ledger.map(|ledger| place.insert(ledger));
		}
	}
	let owed = known.into_iter().map(|(session, ledger)| {
		let unsigned = ledger.now().amount.saturating_sub(ledger.paid().amount);
		Owed { session, voucher: ledger.voucher().cloned(), unsigned }
	});
	Ok(owed.collect())
}

pub(super) fn unread(folder: &Path, session: SessionId, error: &io::Error) -> io::Error {
	let path = path(folder, session);
	io::Error::other(format!("the account {} cannot be read ({error}): move it away to go on without what it says", path.display()))
}

/// Sessions that have an account in `folder`.
pub(super) fn sessions(folder: &Path) -> io::Result<Vec<SessionId>> {
	let mut sessions = Vec::new();
	for entry in std::fs::read_dir(folder)? {
		let name = entry?.file_name();
		sessions.extend(name.to_str().and_then(|name| name.strip_suffix(".session")?.parse::<SessionId>().ok()));
	}
	Ok(sessions)
}

/// The file of a session's account.
pub(super) fn path(folder: &Path, session: SessionId) -> PathBuf {
	folder.join(format!("{session}.session"))
}

/// The account of a session, if there is one.
pub(super) fn read(folder: &Path, session: SessionId) -> io::Result<Option<Ledger>> {
	match std::fs::read(path(folder, session)) {
		Ok(bytes) => Ledger::decode_all(&mut &bytes[..]).map(Some).map_err(|error| io::Error::other(error.to_string())),
		Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
		Err(error) => Err(error),
	}
}

/// Writes an account to `folder` of a session between `provider` and `user`, who has signed for one answer and not for another one, at these prices: for
/// tests of programs that read it.
///
/// # Errors
/// If it cannot be written.
#[doc(hidden)]
pub fn write_account(
	folder: &Path,
	session: SessionId,
	(provider, user): (&AccountId, &AccountId),
	sign: impl FnOnce(&[u8]) -> MultiSignature,
	signed: Balance,
	unsigned: Balance,
) -> io::Result<()> {
	let mut ledger = Ledger::new(session, provider.clone(), Tally::default());
	let mut answer = |price| {
		ledger.begin(price, Balance::MAX).map_err(|error| io::Error::other(format!("{error:?}")))?;
		ledger.end(price, price, H256::repeat_byte(9), b"{}".to_vec().into());
		Ok::<_, io::Error>(ledger.now())
	};
	let Tally { answers, amount, receipts } = answer(signed)?;
	answer(unsigned)?;
	let voucher = Voucher { session, provider: provider.clone(), amount, answers, receipts };
	let signature = sign(&voucher.message(H256::zero()));
	ledger.take(voucher, signature, user, H256::zero()).map_err(|error| io::Error::other(format!("{error:?}")))?;
	std::fs::write(path(folder, session), ledger.encode())
}

#[cfg(test)]
pub(super) mod tests {
	use super::*;
	use sp_core::{sr25519, Pair};

	/// Has an account in `folder` of a session with `user`, who has signed for one answer and not for another one, at these prices.
	pub fn write(folder: &Path, session: SessionId, provider: &AccountId, user: &sr25519::Pair, signed: Balance, unsigned: Balance) {
		let sign = |message: &[u8]| user.sign(message).into();
		write_account(folder, session, (provider, &AccountId::new(user.public().0)), sign, signed, unsigned).unwrap();
	}

	#[test]
	fn what_is_not_signed_for_is_told_and_what_cannot_be_read_is_no_account_without_debts() {
		let folder = tempfile::tempdir().unwrap();
		assert_eq!(owed(folder.path()).unwrap(), []);
		let mut ledger = Ledger::new(7, AccountId::new([1; 32]), Tally::default());
		for price in [10, 20] {
			ledger.begin(50, 1_000).unwrap();
			ledger.end(50, price, H256::repeat_byte(9), b"{}".to_vec().into());
		}
		std::fs::write(path(folder.path(), 7), ledger.encode()).unwrap();
		std::fs::write(folder.path().join("7.receipts"), b"").unwrap();
		assert_eq!(owed(folder.path()).unwrap(), [Owed { session: 7, voucher: None, unsigned: 30 }]);
		std::fs::write(path(folder.path(), 8), b"torn").unwrap();
		let words = owed(folder.path()).unwrap_err().to_string();
		assert!(words.contains("8.session") && words.contains("move it away"), "{words}");
	}

	#[test]
	fn one_process_at_a_time_uses_the_accounts_of_a_folder() {
		let folder = tempfile::tempdir().unwrap();
		let first = Lock::take(folder.path()).unwrap();
		assert!(first.is_some() && Lock::take(folder.path()).unwrap().is_none());
		drop(first);
		assert!(Lock::take(folder.path()).unwrap().is_some());
	}
}
