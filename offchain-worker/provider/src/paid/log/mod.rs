//! The log of all accounts: what a session owes, and what was paid, is on disk here before anybody is told, for all sessions together and with one write.
//!
//! ```text
//! sessions/answers-N.log     records that are not in the other files for certain yet; `frames` says how they are written
//! ```
//!
//! [`writer`] is the thread that writes. What comes while it does is written at once afterwards, so that many answers cost as much as one. Each record is then
//! put into the files where others look for it: the transcript in its folder, its place in the order of receipts. These are not synced one by one. When a log
//! is long, or nothing comes for a while, the next one is begun, accounts of the sessions in the old one are written, the disk is synced, and the old one is
//! deleted. After a crash, [`recover`] does that for all logs that are there.

mod frames;
mod recover;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use recover::{accounts, recover};

use super::{ledger::Ledger, order::Order};
use codec::{Decode, Encode};
use neuroshard_disputes::answers::{TranscriptStore, TranscriptStoreError};
use neuroshard_payments::Tally;
use neuroshard_types::{
	inference::{SessionId, Voucher},
	AccountId, Balance, H256,
};
use sp_runtime::MultiSignature;
use std::{
	collections::HashMap,
	io,
	path::PathBuf,
	sync::{
		mpsc::{sync_channel, SyncSender, TrySendError},
		Arc, Mutex, MutexGuard, PoisonError,
	},
	thread::JoinHandle,
	time::Duration,
};
use tokio::sync::oneshot;

/// Records that wait to be written: each session has one at most.
const WAITING: usize = 16_384;

/// A change of an account.
#[derive(Clone, PartialEq, Debug, Encode, Decode)]
pub(super) enum Record {
	/// An answer was given.
	Answer {
		/// The session.
		session: SessionId,
		/// Provider that gave it.
		provider: AccountId,
		/// All answers before it.
		before: Tally,
		/// Its price, in planck.
		price: Balance,
		/// Hash of its receipt.
		receipt: H256,
		/// Root of the parameters that it was computed with.
		parameters: H256,
		/// All of it, as JSON.
		transcript: Arc<Vec<u8>>,
	},
	/// A voucher of the session's user was taken.
	Paid {
		/// The voucher.
		voucher: Voucher,
		/// The user's signature.
		signature: MultiSignature,
	},
}

impl Record {
	/// The session.
	pub(super) fn session(&self) -> SessionId {
		match self {
			Self::Answer { session, .. } => *session,
			Self::Paid { voucher, .. } => voucher.session,
		}
	}

	/// Whom the session pays.
	fn provider(&self) -> &AccountId {
		match self {
			Self::Answer { provider, .. } => provider,
			Self::Paid { voucher, .. } => &voucher.provider,
		}
	}

	/// Has an account be as it was after this, unless it is further.
	fn apply(&self, ledger: &mut Ledger) {
		match self {
			Self::Answer { before, price, receipt, transcript, .. } => ledger.again(*before, *price, *receipt, transcript.clone()),
			// One for less than is known, or for what another account of this session has answered, says nothing.
			Self::Paid { voucher, signature } => drop(ledger.note(voucher.clone(), signature.clone())),
		}
	}
}

/// Why something cannot be noted.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum LogError {
	/// A file. Nothing is noted until it can be used.
	#[error("{0}")]
	File(Arc<TranscriptStoreError>),
	/// The state on disk is not known.
	#[error("{0}. Nothing is noted from now on: start this again")]
	Broken(Arc<TranscriptStoreError>),
	/// More waits than can be written.
	#[error("too much waits to be written")]
	Busy,
	/// The thread that writes is gone.
	#[error("the thread that writes has ended")]
	Ended,
}

/// Accounts in whose files what the logs say is not for certain yet.
#[derive(Default)]
struct Unsettled {
	/// Ledgers of the newest log.
	new: HashMap<SessionId, Ledger>,
	/// Ledgers of the log before, while it is being settled.
	old: HashMap<SessionId, Ledger>,
}

/// Destinations of records.
#[derive(Clone)]
pub(super) struct Places {
	pub(super) folder: PathBuf,
	pub(super) transcript_store: TranscriptStore,
	pub(super) order: Order,
}

impl Places {
	/// Puts a record where others look for it.
	fn put(&self, record: &Record) -> Result<(), TranscriptStoreError> {
		let Record::Answer { session, before, receipt, parameters, transcript, .. } = record else { return Ok(()) };
		self.transcript_store.put(*parameters, *session, *receipt, transcript)?;
		let noted = self.order.note(*session, before.answers, before.receipts, *receipt);
		noted.map_err(|source| TranscriptStoreError::File { path: self.folder.clone(), source })
	}
}

/// Pace at which logs are settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
	/// Bytes of a log from which on it is.
	pub(super) length: u64,
	/// Time without a record after which it is.
	pub(super) quiet: Duration,
}

impl Default for Pace {
	fn default() -> Self {
		Self { length: 16 << 20, quiet: Duration::from_secs(5) }
	}
}

/// A record for the thread that writes.
struct Entry {
	record: Record,
	/// The account after it.
	after: Ledger,
	done: oneshot::Sender<Result<(), LogError>>,
}

/// The log. All is settled when it is dropped.
pub(super) struct Log {
	/// Taken when it is dropped.
	entries: Option<SyncSender<Entry>>,
	unsettled: Arc<Mutex<Unsettled>>,
	thread: Option<JoinHandle<()>>,
}

fn locked(unsettled: &Mutex<Unsettled>) -> MutexGuard<'_, Unsettled> {
	// Accounts in it are whole.
	unsettled.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
	/// Begins the log with this number, behind all that were there.
	///
	/// # Errors
	/// If its file cannot be made, or the thread.
	pub(super) fn start(places: Places, number: u64, pace: Pace) -> io::Result<Self> {
		let (entries, queue) = sync_channel(WAITING);
		let unsettled = Arc::<Mutex<Unsettled>>::default();
		let writer = writer::Writer::new(places, number, pace, unsettled.clone())?;
		let thread = std::thread::Builder::new().name("accounts".into()).spawn(move || writer.run(&queue))?;
		Ok(Self { entries: Some(entries), unsettled, thread: Some(thread) })
	}

	/// Has a record be on disk, after which its account is `after`. One of a session at a time.
	///
	/// # Errors
	/// [`LogError`]: it is not there then, nor after a restart, unless the log is broken.
	pub(super) async fn append(&self, record: Record, after: Ledger) -> Result<(), LogError> {
		let (done, written) = oneshot::channel();
		let entries = self.entries.as_ref().ok_or(LogError::Ended)?;
		entries.try_send(Entry { record, after, done }).map_err(|error| match error {
			TrySendError::Full(_) => LogError::Busy,
			TrySendError::Disconnected(_) => LogError::Ended,
		})?;
		written.await.unwrap_or(Err(LogError::Ended))
	}

	/// The account of a session whose file may be behind, as that will have it.
	pub(super) fn unsettled(&self, session: SessionId) -> Option<Ledger> {
		let all = locked(&self.unsettled);
		all.new.get(&session).or_else(|| all.old.get(&session)).cloned().map(Ledger::at_rest)
	}

	/// Sessions whose files may be behind.
	pub(super) fn sessions(&self) -> Vec<SessionId> {
		let all = locked(&self.unsettled);
		all.new.keys().chain(all.old.keys()).copied().collect()
	}

	/// Forgets what is not in the file of a session that is settled on chain.
	pub(super) fn forget(&self, session: SessionId) {
		let mut all = locked(&self.unsettled);
		all.new.remove(&session);
		all.old.remove(&session);
	}
}

impl Drop for Log {
	fn drop(&mut self) {
		drop(self.entries.take());
		if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
			tracing::error!("the thread that writes accounts has failed: they are read from its log the next time");
		}
	}
}
