//! Journal of what a worker must not forget between commitment and reveal, on disk before the commitment is sent.

use codec::{Decode, DecodeAll, Encode};
use neuroshard_atomic_write::write_private;
use neuroshard_types::{
	run::{seal, seal_bridged, Work},
	AccountId, RoundIndex, RunId, H256,
};
use rand::{rngs::OsRng, RngCore};
use std::path::{Path, PathBuf};

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
	/// The folder was used on another chain.
	#[error("{path} belongs to the chain {expected:?}, but the node is on {found:?}: name the right node with --node, or another folder with --base-path")]
	OtherChain {
		/// The file.
		path: PathBuf,
		/// Chain of the folder.
		expected: H256,
		/// Chain of the node.
		found: H256,
	},
	/// The folder was used by another account.
	#[error("{path} belongs to another account: give every account its own folder with --base-path")]
	OtherAccount {
		/// The file.
		path: PathBuf,
	},
	/// The file holds something else.
	#[error("{path} is damaged: move it away and start again; a round that was committed and not revealed is lost with it")]
	Damaged {
		/// The file.
		path: PathBuf,
	},
	/// The file system refused.
	#[error("cannot use {path}: {source}")]
	Io {
		/// The file.
		path: PathBuf,
		/// Its answer.
		source: std::io::Error,
	},
}

/// Finished training: what was done and the salt that seals it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Pending {
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// Its attempt.
	pub attempt: u32,
	/// Seed that the windows were drawn with.
	pub seed: H256,
	/// Random, secret until the reveal.
	pub salt: [u8; 32],
	/// The work.
	pub work: Work,
	/// Checkpoint of another cohort that it started from, if it did.
	pub bridged: Option<H256>,
}

impl Pending {
	/// Seals `work` with a fresh salt.
	pub fn new(run: RunId, (round, attempt): (RoundIndex, u32), seed: H256, work: Work) -> Self {
		let mut salt = [0; 32];
		OsRng.fill_bytes(&mut salt);
		Self { run, round, attempt, seed, salt, work, bridged: None }
	}

	/// The same work, whose inner steps started from a checkpoint of another cohort, if there is one.
	#[must_use]
	pub fn bridged(self, checkpoint: Option<H256>) -> Self {
		Self { bridged: checkpoint, ..self }
	}

	/// The commitment.
	pub fn seal(&self, genesis: H256, who: &AccountId) -> H256 {
		let seal = seal(genesis, self.run, self.round, self.attempt, who, &self.salt, &self.work);
		self.bridged.map_or(seal, |checkpoint| seal_bridged(seal, checkpoint))
	}
}

/// Finished training that is not revealed yet. It is on disk before its commitment is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingWork {
	/// Run.
	pub run: RunId,
	/// Round.
	pub round: RoundIndex,
	/// Seed that the windows were drawn with: a round that was started anew has another one.
	pub seed: H256,
	/// The commitment.
	pub seal: H256,
	/// Checkpoint of another cohort that it started from, if it did.
	pub bridged: Option<H256>,
}

/// First byte of the file.
const VERSION: u8 = 3;
/// The same of files in which no work started from the checkpoint of another cohort.
const VERSION_WITHOUT_BRIDGES: u8 = 2;
/// The same of files with at most one finished training.
const VERSION_OF_ONE: u8 = 1;

/// A [`Pending`] of those files.
#[derive(Encode, Decode)]
struct OldPending {
	run: RunId,
	round: RoundIndex,
	attempt: u32,
	seed: H256,
	salt: [u8; 32],
	work: Work,
}

impl From<OldPending> for Pending {
	fn from(OldPending { run, round, attempt, seed, salt, work }: OldPending) -> Self {
		Self { run, round, attempt, seed, salt, work, bridged: None }
	}
}
/// Finished trainings that are kept: that of a round, and that of the next one, which may be finished before the first is revealed.
const KEPT: usize = 2;

#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
struct Content {
	genesis: H256,
	who: AccountId,
	/// The newest last.
	pending: Vec<Pending>,
	uptime: Option<u32>,
}

impl Content {
	fn read(bytes: &[u8]) -> Option<Self> {
		match bytes.split_first() {
			Some((&VERSION, mut rest)) => Self::decode_all(&mut rest).ok(),
			Some((&VERSION_WITHOUT_BRIDGES, mut rest)) => {
				let (genesis, who, pending, uptime) = <(H256, AccountId, Vec<OldPending>, Option<u32>)>::decode_all(&mut rest).ok()?;
				Some(Self { genesis, who, pending: pending.into_iter().map(Into::into).collect(), uptime })
			}
			Some((&VERSION_OF_ONE, mut rest)) => {
				let (genesis, who, pending, uptime) = <(H256, AccountId, Option<OldPending>, Option<u32>)>::decode_all(&mut rest).ok()?;
				Some(Self { genesis, who, pending: pending.into_iter().map(Into::into).collect(), uptime })
			}
			_ => None,
		}
	}
}

/// Finished training in the journal of another worker's folder; none if there is nothing of it.
pub fn pending_in(base: &Path) -> Vec<Pending> {
	let content = std::fs::read(base.join("journal")).ok().and_then(|bytes| Content::read(&bytes));
	content.map(|content| content.pending).unwrap_or_default()
}

/// The journal of one account on one chain.
#[derive(Debug)]
pub struct Journal {
	path: PathBuf,
	content: Content,
}

impl Journal {
	/// Opens the journal in `base`, or begins one.
	///
	/// # Errors
	/// [`JournalError::OtherChain`] and [`JournalError::OtherAccount`] protect a folder from being used for something else;
	/// [`JournalError::Damaged`]; [`JournalError::Io`].
	pub fn open(base: &Path, genesis: H256, who: AccountId) -> Result<Self, JournalError> {
		let path = base.join("journal");
		let bytes = match std::fs::read(&path) {
			Ok(bytes) => bytes,
			Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
				let journal = Self::empty(base, genesis, who);
				journal.save()?;
				return Ok(journal);
			}
			Err(source) => return Err(JournalError::Io { path, source }),
		};
		match Content::read(&bytes) {
			None => Err(JournalError::Damaged { path }),
			Some(content) if content.genesis != genesis => {
				Err(JournalError::OtherChain { path, expected: content.genesis, found: genesis })
			}
			Some(content) if content.who != who => Err(JournalError::OtherAccount { path }),
			Some(content) => Ok(Self { path, content }),
		}
	}

	/// A journal of `base` with nothing in it, whatever is on disk: for who writes nothing into it.
	pub fn empty(base: &Path, genesis: H256, who: AccountId) -> Self {
		Self { path: base.join("journal"), content: Content { genesis, who, pending: Vec::new(), uptime: None } }
	}

	/// Finished training that may not be revealed yet: of two rounds at most, the older one first.
	pub fn pending(&self) -> &[Pending] {
		&self.content.pending
	}

	/// That of the round with this seed.
	pub fn pending_of(&self, seed: H256) -> Option<&Pending> {
		self.pending().iter().find(|pending| pending.seed == seed)
	}

	/// All of them for the planner.
	pub fn pending_work(&self) -> Vec<PendingWork> {
		let of = |pending: &Pending| PendingWork {
			run: pending.run,
			round: pending.round,
			seed: pending.seed,
			seal: pending.seal(self.content.genesis, &self.content.who),
			bridged: pending.bridged,
		};
		self.pending().iter().map(of).collect()
	}

	/// Hour of the newest uptime proof.
	pub fn uptime(&self) -> Option<u32> {
		self.content.uptime
	}

	/// Notes finished training, beside that of one earlier round. On return it is on disk; only then may the commitment be sent.
	///
	/// # Errors
	/// [`JournalError::Io`], for instance on a full disk; the journal is then as before.
	pub fn set_pending(&mut self, pending: Pending) -> Result<(), JournalError> {
		self.change(|content| {
			content.pending.retain(|earlier| earlier.seed != pending.seed);
			content.pending.push(pending);
			let gone = content.pending.len().saturating_sub(KEPT);
			content.pending.drain(..gone);
		})
	}

	/// Notes an uptime proof.
	///
	/// # Errors
	/// [`JournalError::Io`].
	pub fn set_uptime(&mut self, hour: u32) -> Result<(), JournalError> {
		self.change(|content| content.uptime = Some(hour))
	}

	fn change(&mut self, change: impl FnOnce(&mut Content)) -> Result<(), JournalError> {
		let before = self.content.clone();
		change(&mut self.content);
		self.save().inspect_err(|_| self.content = before)
	}

	/// Replaces the file as a whole. It holds a secret salt: temporary files are private, and this one stays so.
	fn save(&self) -> Result<(), JournalError> {
		let written = write_private(&self.path, &(VERSION, &self.content).encode());
		written.map_err(|source| JournalError::Io { path: self.path.clone(), source })
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use std::os::unix::fs::PermissionsExt;

	const GENESIS: H256 = H256::repeat_byte(1);

	fn who() -> AccountId {
		AccountId::new([2; 32])
	}

	fn pending() -> Pending {
		let work =
			Work { state_roots: vec![H256::zero()].try_into().unwrap(), delta_root: H256::repeat_byte(7), delta_bytes: 4096, tokens: 64 };
		Pending::new(3, (4, 1), H256::repeat_byte(5), work)
	}

	#[test]
	fn a_restarted_worker_can_still_reveal_what_it_committed_to() {
		let base = tempfile::tempdir().unwrap();
		let pending = pending();
		let seal = pending.seal(GENESIS, &who());
		Journal::open(base.path(), GENESIS, who()).unwrap().set_pending(pending.clone()).unwrap();
		let journal = Journal::open(base.path(), GENESIS, who()).unwrap();
		assert_eq!(journal.pending(), [pending]);
		assert_eq!(journal.pending_work()[0].seal, seal);
	}

	#[test]
	fn the_salt_of_a_round_stays_when_the_next_one_is_finished_and_goes_with_the_one_after() {
		let base = tempfile::tempdir().unwrap();
		let mut journal = Journal::open(base.path(), GENESIS, who()).unwrap();
		let of = |round: u8| Pending { round: round.into(), seed: H256::repeat_byte(round), ..pending() };
		let [first, second, third] = [1, 2, 3].map(of);
		for pending in [&first, &second] {
			journal.set_pending(pending.clone()).unwrap();
		}
		assert_eq!(Journal::open(base.path(), GENESIS, who()).unwrap().pending(), [first.clone(), second.clone()]);
		assert_eq!((journal.pending_of(first.seed), journal.pending_of(third.seed)), (Some(&first), None));
		// Of a round that is done once more, the newest counts.
		let again = Pending { salt: [9; 32], ..second.clone() };
		journal.set_pending(again.clone()).unwrap();
		journal.set_pending(third.clone()).unwrap();
		assert_eq!(journal.pending(), [again, third]);
	}

	#[test]
	fn a_journal_of_an_earlier_release_is_read() {
		let (base, pending) = (tempfile::tempdir().unwrap(), pending());
		let old = || {
			let Pending { run, round, attempt, seed, salt, work, .. } = pending.clone();
			OldPending { run, round, attempt, seed, salt, work }
		};
		let one = (VERSION_OF_ONE, GENESIS, who(), Some(old()), Some(7u32)).encode();
		let two = (VERSION_WITHOUT_BRIDGES, GENESIS, who(), vec![old(), old()], Some(7u32)).encode();
		for (before, count) in [(one, 1), (two, 2)] {
			std::fs::write(base.path().join("journal"), before).unwrap();
			let journal = Journal::open(base.path(), GENESIS, who()).unwrap();
			assert_eq!((journal.pending(), journal.uptime()), (vec![pending.clone(); count].as_slice(), Some(7)));
		}
	}

	#[test]
	fn the_commitment_of_a_bridge_tells_where_its_steps_started() {
		let own = pending();
		let bridged = |root| own.clone().bridged(Some(H256::repeat_byte(root))).seal(GENESIS, &who());
		let seals = [own.seal(GENESIS, &who()), bridged(1), bridged(2)];
		assert!(seals[0] != seals[1] && seals[1] != seals[2] && seals[0] != seals[2]);
		assert_eq!(seals[1], seal_bridged(seals[0], H256::repeat_byte(1)));
		let base = tempfile::tempdir().unwrap();
		let kept = own.bridged(Some(H256::repeat_byte(1)));
		Journal::open(base.path(), GENESIS, who()).unwrap().set_pending(kept.clone()).unwrap();
		let journal = Journal::open(base.path(), GENESIS, who()).unwrap();
		assert_eq!((journal.pending(), journal.pending_work()[0].seal), ([kept].as_slice(), seals[1]));
	}

	#[test]
	fn an_accomplice_reads_what_is_in_the_journal() {
		let base = tempfile::tempdir().unwrap();
		assert_eq!(pending_in(base.path()), []);
		let mut journal = Journal::open(base.path(), GENESIS, who()).unwrap();
		assert_eq!(pending_in(base.path()), []);
		journal.set_pending(pending()).unwrap();
		assert_eq!(pending_in(base.path()), journal.pending());
	}

	#[test]
	fn salts_differ_and_their_file_is_private() {
		assert_ne!(pending().salt, pending().salt);
		let base = tempfile::tempdir().unwrap();
		Journal::open(base.path(), GENESIS, who()).unwrap().set_pending(pending()).unwrap();
		let mode = std::fs::metadata(base.path().join("journal")).unwrap().permissions().mode();
		assert_eq!(mode & 0o777, 0o600);
	}

	#[test]
	fn a_folder_is_not_used_for_another_chain_or_account() {
		let base = tempfile::tempdir().unwrap();
		Journal::open(base.path(), GENESIS, who()).unwrap();
		let error = Journal::open(base.path(), H256::repeat_byte(9), who()).unwrap_err();
		assert!(matches!(error, JournalError::OtherChain { .. }));
		assert!(error.to_string().contains("--node"), "{error}");
		let error = Journal::open(base.path(), GENESIS, AccountId::new([9; 32])).unwrap_err();
		assert!(matches!(error, JournalError::OtherAccount { .. }));
	}

	#[test]
	fn a_damaged_journal_is_refused_and_kept() {
		let base = tempfile::tempdir().unwrap();
		Journal::open(base.path(), GENESIS, who()).unwrap();
		let path = base.path().join("journal");
		let mut bytes = std::fs::read(&path).unwrap();
		bytes.truncate(20);
		std::fs::write(&path, &bytes).unwrap();
		assert!(matches!(Journal::open(base.path(), GENESIS, who()), Err(JournalError::Damaged { .. })));
		assert_eq!(std::fs::read(&path).unwrap(), bytes);
	}

	#[test]
	fn what_cannot_be_written_is_not_remembered_either() {
		let base = tempfile::tempdir().unwrap();
		let mut journal = Journal::open(base.path(), GENESIS, who()).unwrap();
		let folder = base.path().to_path_buf();
		drop(base);
		assert!(!folder.exists());
		assert!(matches!(journal.set_pending(pending()), Err(JournalError::Io { .. })));
		assert_eq!(journal.pending(), [], "the commitment must not be sent");
	}
}
