//! The order of receipts: which answer is in which place of a session, on disk. With it, a provider shows of a text that it is the one that was paid for.
//!
//! A file for each session has 64 bytes for each place: the root of the receipts before it, and the hash of its receipt. What was never noted is zero.

use neuroshard_types::{
	inference::{chained, SessionId},
	H256,
};
use std::{
	fs::{File, OpenOptions},
	io,
	os::unix::fs::{FileExt, OpenOptionsExt},
	path::PathBuf,
};

/// Bytes of a place.
const PLACE: u64 = 64;

/// Why it cannot be shown that an answer is the one that was paid for.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
	/// The file.
	#[error("the order of receipts of session {session} cannot be read: {source}")]
	File {
		/// The session.
		session: SessionId,
		/// Error of the operating system.
		source: io::Error,
	},
	/// The receipts are not those of the voucher.
	#[error("the receipts of session {0} that are kept here are not those that were claimed")]
	Other(SessionId),
}

/// An answer among those of its session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shown {
	/// Hash of its receipt.
	pub(super) receipt: H256,
	/// Root of the receipts before it.
	pub(super) before: H256,
	/// Hashes of those behind it.
	pub(super) later: Vec<H256>,
}

/// The order of receipts of all sessions in a folder.
#[derive(Clone, Debug)]
pub(super) struct Order {
	folder: PathBuf,
}

impl Order {
	pub(super) fn new(folder: PathBuf) -> Self {
		Self { folder }
	}

	fn path(&self, session: SessionId) -> PathBuf {
		self.folder.join(format!("{session}.receipts"))
	}

	/// Notes that `receipt` is in this place of a session, behind receipts with the root `before`. It may be lost in a crash before the disk is synced. A place
	/// can be noted again: then its last answer was not given.
	pub(super) fn note(&self, session: SessionId, place: u32, before: H256, receipt: H256) -> io::Result<()> {
		let mut bytes = before.0.to_vec();
		bytes.extend(receipt.0);
		let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(self.path(session))?;
		file.write_all_at(&bytes, u64::from(place).saturating_mul(PLACE))
	}

	/// The answer in this place among so many `answers`, whose receipts have this `root`.
	///
	/// # Errors
	/// [`OrderError`].
	pub(super) fn show(&self, session: SessionId, place: u32, answers: u32, root: H256) -> Result<Shown, OrderError> {
		let failed = |source| OrderError::File { session, source };
		let other = || OrderError::Other(session);
		let file = File::open(self.path(session)).map_err(failed)?;
		let noted = |place: u32| {
			let mut bytes = [0; 2 * 32];
			file.read_exact_at(&mut bytes, u64::from(place).saturating_mul(PLACE)).map_err(failed)?;
			let (before, receipt) = bytes.split_at(32);
			Ok::<_, OrderError>((H256::from_slice(before), H256::from_slice(receipt)))
		};
		let (before, receipt) = noted(place)?;
		let (mut now, mut later) = (chained(before, receipt), Vec::new());
		for place in place.saturating_add(1)..answers {
			let (known, receipt) = noted(place)?;
			if known != now {
				return Err(other());
			}
			now = chained(now, receipt);
			later.push(receipt);
		}
		match now == root && place < answers {
			true => Ok(Shown { receipt, before, later }),
			false => Err(other()),
		}
	}

	/// Deletes what is known of sessions that are not among those to keep.
	pub(super) fn keep_only(&self, kept: impl Fn(SessionId) -> bool) -> io::Result<()> {
		for entry in std::fs::read_dir(&self.folder)? {
			let entry = entry?;
			let session = entry.file_name().to_str().and_then(|name| name.strip_suffix(".receipts")?.parse().ok());
			if session.is_some_and(|session| !kept(session)) {
				std::fs::remove_file(entry.path())?;
			}
		}
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn receipt(place: u32) -> H256 {
		H256::from_low_u64_be(u64::from(place) + 1)
	}

	fn root(answers: u32) -> H256 {
		(0..answers).fold(H256::zero(), |root, place| chained(root, receipt(place)))
	}

	/// The order of the first `answers` answers of session 7, in a folder.
	fn noted(answers: u32) -> (tempfile::TempDir, Order) {
		let folder = tempfile::tempdir().unwrap();
		let order = Order::new(folder.path().to_owned());
		(0..answers).for_each(|place| order.note(7, place, root(place), receipt(place)).unwrap());
		(folder, order)
	}

	#[test]
	fn every_answer_is_shown_among_those_of_any_claim() {
		let (_folder, order) = noted(5);
		for answers in 1..=5 {
			for place in 0..answers {
				let later = (place + 1..answers).map(receipt).collect();
				let shown = Shown { receipt: receipt(place), before: root(place), later };
				assert_eq!(order.show(7, place, answers, root(answers)).unwrap(), shown);
			}
		}
	}

	#[test]
	fn what_was_noted_last_for_a_place_counts() {
		let (_folder, order) = noted(2);
		order.note(7, 1, root(1), H256::repeat_byte(9)).unwrap();
		assert!(matches!(order.show(7, 1, 2, root(2)), Err(OrderError::Other(7))));
		let now = chained(root(1), H256::repeat_byte(9));
		assert_eq!(order.show(7, 0, 2, now).unwrap().later, [H256::repeat_byte(9)]);
	}

	#[test]
	fn answers_behind_a_claim_of_which_nothing_is_known_are_shown_and_those_before_are_not() {
		let folder = tempfile::tempdir().unwrap();
		let order = Order::new(folder.path().to_owned());
		(3..5).for_each(|place| order.note(7, place, root(place), receipt(place)).unwrap());
		assert_eq!(order.show(7, 3, 5, root(5)).unwrap().before, root(3));
		assert!(matches!(order.show(7, 2, 5, root(5)), Err(OrderError::Other(7))));
		assert!(matches!(order.show(7, 3, 6, root(6)), Err(OrderError::File { session: 7, .. })));
		assert!(matches!(order.show(8, 0, 1, root(1)), Err(OrderError::File { session: 8, .. })));
		assert!(matches!(order.show(7, 4, 4, root(4)), Err(OrderError::Other(7))));
	}

	#[test]
	fn what_is_not_kept_is_deleted() {
		let (folder, order) = noted(1);
		order.note(8, 0, H256::zero(), receipt(0)).unwrap();
		order.keep_only(|session| session == 8).unwrap();
		assert!(order.show(7, 0, 1, root(1)).is_err() && order.show(8, 0, 1, root(1)).is_ok());
		assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
	}
}
