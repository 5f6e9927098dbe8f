//! Storage of what disputes about answers and audits of them need, on disk: the transcript of every answer, until its session is settled and no audit of it
//! is open, and the checkpoint that it was computed with.
//!
//! ```text
//! answers/ROOT/                     what was answered with the checkpoint of this root
//!   checkpoint.json, *.tiles        the checkpoint
//!   lock                            held by who answers with it, or checks such answers
//!   SESSION/RECEIPT.json            a transcript, by the hash of its receipt
//! answers/settled-SESSION           the block at which the session was first seen to be settled for good
//! answers/folders.lock              held while folders of checkpoints are made or deleted
//! ```
//!
//! A run replaces its checkpoint with every round, so that a copy is kept here. Whoever has no transcript of its answer loses a dispute about it, right or
//! wrong: so an answer is given when its transcript is on disk, and not before.

use neuroshard_atomic_write::write_private;
use neuroshard_graph::{game::Side, ParamLayout};
use neuroshard_inference::receipt::{Malformed, Transcript};
use neuroshard_store::{free_disk, LEFT_FREE};
use neuroshard_training::checkpoint::checkpoint_folder;
use neuroshard_training::checkpoint::{Checkpoint, CheckpointError, Header, HEADER_FILE};
use neuroshard_types::{
	inference::{Receipt, SessionId},
	AccountId, BlockNumber, RunId, H256,
};
use std::{
	collections::BTreeSet,
	fs::{self, File, OpenOptions, TryLockError},
	io::{self, Write},
	os::unix::fs::{DirBuilderExt, OpenOptionsExt},
	path::{Path, PathBuf},
	sync::{
		atomic::{AtomicU64, Ordering},
		Arc,
	},
};

/// Bytes that all transcripts may take: some millions of short answers.
const MOST: u64 = 16 << 30;

/// Why something cannot be kept, or is not here.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptStoreError {
	/// A file or folder.
	#[error("cannot use {path}: {source}")]
	File {
		/// The file or folder.
		path: PathBuf,
		/// Error of the operating system.
		source: io::Error,
	},
	/// There is no room for transcripts.
	#[error("there is no room for the transcripts of answers in {path}: {words}. They are deleted when nothing of their sessions can be disputed or audited any more")]
	NoRoom {
		/// The folder.
		path: PathBuf,
		/// Shortage, in words.
		words: String,
	},
	/// The receipt names no session.
	#[error("the receipt is of no paid session: nobody can dispute it")]
	Unpaid,
	/// A transcript is not here.
	#[error("there is no transcript {path}: without it, nobody can play a dispute about that answer from this base folder")]
	NoTranscript {
		/// Path that it would have.
		path: PathBuf,
	},
	/// A file is no transcript, or another one.
	#[error("{path} is not the transcript that it should be: {reason}")]
	Transcript {
		/// The file.
		path: PathBuf,
		/// Error in the file.
		reason: String,
	},
	/// A transcript contradicts itself.
	#[error("{path} is damaged: {source}")]
	Malformed {
		/// The file.
		path: PathBuf,
		/// Error in the transcript.
		source: Malformed,
	},
	/// A checkpoint is not here.
	#[error("the checkpoint {0:?} is not in this base folder: copy the folder `answers` of who answered or checked with it here")]
	NoCheckpoint(H256),
	/// A checkpoint.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> TranscriptStoreError + '_ {
	move |source| TranscriptStoreError::File { path: path.to_owned(), source }
}

/// Keeps a checkpoint from being deleted as long as it is there.
#[derive(Debug)]
pub struct InUse {
	_lock: File,
}

/// Transcripts and checkpoints of a base folder. Clones share it.
#[derive(Clone, Debug)]
pub struct TranscriptStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
	base: PathBuf,
	folder: PathBuf,
	/// Bytes of all transcripts.
	bytes: AtomicU64,
	/// Most of them, and what has to stay free on the disk.
	most: u64,
	left: u64,
}

impl TranscriptStore {
	/// Those in a base folder.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub fn open(base: &Path) -> Result<Self, TranscriptStoreError> {
		Self::with_room(base, MOST, LEFT_FREE)
	}

	/// The same with room for so many bytes of transcripts, as long as so many are free on the disk.
	pub fn with_room(base: &Path, most: u64, left: u64) -> Result<Self, TranscriptStoreError> {
		let folder = base.join("answers");
		create(&folder)?;
		let bytes = all_bytes(&folder)?;
		Ok(Self(Arc::new(Inner { base: base.to_owned(), folder, bytes: bytes.into(), most, left })))
	}

	fn root(&self, root: H256) -> PathBuf {
		self.0.folder.join(hex::encode(root))
	}

	/// Returns the path of the transcript with this receipt.
	///
	/// # Errors
	/// [`TranscriptStoreError::Unpaid`].
	pub fn path(&self, receipt: &Receipt, genesis: H256) -> Result<PathBuf, TranscriptStoreError> {
		let (session, _) = receipt.paid.ok_or(TranscriptStoreError::Unpaid)?;
		let name = format!("{}.json", hex::encode(receipt.hash(genesis)));
		Ok(self.root(receipt.parameters).join(session.to_string()).join(name))
	}

	/// Checks that another answer can be given: that there is room for its transcript.
	///
	/// # Errors
	/// [`TranscriptStoreError::NoRoom`], [`TranscriptStoreError::File`].
	pub fn check_room(&self) -> Result<(), TranscriptStoreError> {
		let Inner { folder, bytes, most, left, .. } = &*self.0;
		let (mut used, free) = (bytes.load(Ordering::Relaxed), free_disk(folder).map_err(failed(folder))?);
		if used >= *most {
			// Another process may have deleted some.
			used = all_bytes(folder)?;
			bytes.store(used, Ordering::Relaxed);
		}
		let no_room = |words| Err(TranscriptStoreError::NoRoom { path: folder.clone(), words });
		if used >= *most {
			return no_room(format!("they have {} MiB, and may have {}", used >> 20, most >> 20));
		}
		if free < *left {
			return no_room(format!("the disk has {} MiB left, and {} have to stay free", free >> 20, left >> 20));
		}
		Ok(())
	}

	/// Keeps a transcript, which is safely on disk afterwards.
	///
	/// # Errors
	/// [`TranscriptStoreError::Unpaid`], [`TranscriptStoreError::File`]: it is not kept then.
	pub fn keep(&self, transcript: &Transcript) -> Result<PathBuf, TranscriptStoreError> {
		let path = self.path(&transcript.receipt, transcript.genesis)?;
		let _in_use = self.hold(transcript.receipt.parameters)?;
		path.parent().map_or(Ok(()), create)?;
		let bytes = serde_json::to_vec(transcript).map_err(io::Error::from).map_err(failed(&path))?;
		let before = fs::metadata(&path).map_or(0, |file| file.len());
		write_private(&path, &bytes).map_err(failed(&path))?;
		let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX).saturating_sub(before);
		self.0.bytes.fetch_add(more, Ordering::Relaxed);
		Ok(path)
	}

	/// As [`Self::keep`], of an answer in `session` that was computed with these parameters and has a receipt with this hash, for whoever has `json` in another
	/// place until the disk is synced: before that, it may be lost in a crash.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub fn put(&self, parameters: H256, session: SessionId, receipt: H256, json: &[u8]) -> Result<(), TranscriptStoreError> {
		let folder = self.root(parameters).join(session.to_string());
		let path = folder.join(format!("{}.json", hex::encode(receipt)));
		let _in_use = self.hold(parameters)?;
		fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed(&folder))?;
		let before = fs::metadata(&path).map_or(0, |file| file.len());
		let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path);
		file.and_then(|mut file| file.write_all(json)).map_err(failed(&path))?;
		let more = u64::try_from(json.len()).unwrap_or(u64::MAX).saturating_sub(before);
		self.0.bytes.fetch_add(more, Ordering::Relaxed);
		Ok(())
	}

	/// Has all that was put be on disk.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub fn sync(&self) -> Result<(), TranscriptStoreError> {
		let folder = &self.0.folder;
		let synced = File::open(folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
		synced.map_err(failed(folder))
	}

	/// The transcript with this receipt.
	///
	/// # Errors
	/// [`TranscriptStoreError`].
	pub fn transcript(&self, receipt: &Receipt, genesis: H256) -> Result<Transcript, TranscriptStoreError> {
		let path = self.path(receipt, genesis)?;
		let transcript = read(&path)?;
		match transcript.receipt == *receipt && transcript.genesis == genesis {
			true => Ok(transcript),
			false => Err(another(path)),
		}
	}

	/// The transcript of an answer in `session` with this hash of its receipt.
	///
	/// # Errors
	/// [`TranscriptStoreError`].
	pub fn find(&self, session: SessionId, receipt: H256) -> Result<Transcript, TranscriptStoreError> {
		let name = format!("{}.json", hex::encode(receipt));
		let places = sessions_in(&self.0.folder)?.into_iter().filter(|place| place.session == session);
		let path = places.map(|place| place.path.join(&name)).find(|path| path.exists());
		let path = path.ok_or_else(|| TranscriptStoreError::NoTranscript { path: self.0.folder.join(session.to_string()).join(name) })?;
		let transcript = read(&path)?;
		match transcript.receipt.hash(transcript.genesis) == receipt {
			true => Ok(transcript),
			false => Err(another(path)),
		}
	}

	/// The final block at which a session was first told to be settled: `now`, unless it was told before.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub fn settled_since(&self, session: SessionId, now: BlockNumber) -> Result<BlockNumber, TranscriptStoreError> {
		let path = self.settled(session);
		let told = match fs::read_to_string(&path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => None,
			// One that makes no sense is written anew: the transcripts stay longer than they have to.
			told => told.map_err(failed(&path))?.trim().parse().ok().filter(|block| *block <= now),
		};
		match told {
			Some(block) => Ok(block),
			None => write_private(&path, now.to_string().as_bytes()).map(|()| now).map_err(failed(&path)),
		}
	}

	fn settled(&self, session: SessionId) -> PathBuf {
		self.0.folder.join(format!("settled-{session}"))
	}

	/// Keeps a copy of a checkpoint, as long as what this returns is there, or a transcript of an answer that was computed with it.
	///
	/// # Errors
	/// [`TranscriptStoreError`].
	pub fn keep_checkpoint(&self, checkpoint: &Checkpoint, layout: &ParamLayout, threads: usize) -> Result<InUse, TranscriptStoreError> {
		let root = checkpoint.header.root();
		let (in_use, folder) = (self.hold(root)?, self.root(root));
		// A damaged one is written anew.
		if !matches!(Checkpoint::load(&folder, layout, threads), Ok(Some(there)) if there.header.root() == root) {
			checkpoint.save(&folder, layout)?;
		}
		Ok(in_use)
	}

	/// Returns the header in the copy of a checkpoint, if there is one.
	pub fn header(&self, root: H256) -> Option<Header> {
		let bytes = fs::read(self.root(root).join(HEADER_FILE)).ok()?;
		serde_json::from_slice::<Header>(&bytes).ok().filter(|header| header.root() == root)
	}

	/// The checkpoint with this root: the copy here, or the newest one of its run.
	///
	/// # Errors
	/// [`TranscriptStoreError::NoCheckpoint`] if it is neither; [`TranscriptStoreError::Checkpoint`].
	pub fn checkpoint(&self, run: RunId, root: H256, layout: &ParamLayout, threads: usize) -> Result<Checkpoint, TranscriptStoreError> {
		let mut failure = None;
		for folder in [self.root(root), checkpoint_folder(&self.0.base, run)] {
			match Checkpoint::load(&folder, layout, threads) {
				Ok(Some(checkpoint)) if checkpoint.header.root() == root => return Ok(checkpoint),
				Ok(_) => {}
				// It may be the other one that is whole.
				Err(error) => failure = Some(error),
			}
		}
		Err(failure.map_or(TranscriptStoreError::NoCheckpoint(root), Into::into))
	}

	/// Keeps what belongs to a checkpoint from being deleted.
	fn hold(&self, root: H256) -> Result<InUse, TranscriptStoreError> {
		let folder = self.root(root);
		// Until it is held, somebody else could delete it.
		let _alone = self.alone()?;
		create(&folder)?;
		let path = folder.join("lock");
		let file = File::create(&path).map_err(failed(&path))?;
		file.lock_shared().map_err(failed(&path))?;
		Ok(InUse { _lock: file })
	}

	/// While it is there, no folder of a checkpoint is made or deleted by anybody else.
	fn alone(&self) -> Result<File, TranscriptStoreError> {
		let path = self.0.folder.join("folders.lock");
		let file = File::create(&path).map_err(failed(&path))?;
		file.lock().map_err(failed(&path))?;
		Ok(file)
	}

	/// The right to play the games of `who` on this side from this base folder: one process has it. `None` if that is another one.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub(super) fn seat(&self, who: &AccountId, side: Side) -> Result<Option<InUse>, TranscriptStoreError> {
		let name = match side {
			Side::Defender => "defends",
			Side::Challenger => "challenges",
		};
		let path = self.0.folder.join(format!("{who}-{name}.lock"));
		let file = File::create(&path).map_err(failed(&path))?;
		match file.try_lock() {
			Ok(()) => Ok(Some(InUse { _lock: file })),
			Err(TryLockError::WouldBlock) => Ok(None),
			Err(TryLockError::Error(source)) => Err(failed(&path)(source)),
		}
	}

	/// Sessions of which there are transcripts.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub fn sessions(&self) -> Result<BTreeSet<SessionId>, TranscriptStoreError> {
		Ok(sessions_in(&self.0.folder)?.into_iter().map(|place| place.session).collect())
	}

	/// Deletes the transcripts of a session of which nothing is disputed or audited any more, unless one of the `disputed` receipts is among
	/// them; and checkpoints that nobody needs any more. Returns whether the session is gone.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub fn forget(&self, session: SessionId, disputed: &BTreeSet<H256>) -> Result<bool, TranscriptStoreError> {
		let places: Vec<Place> = sessions_in(&self.0.folder)?.into_iter().filter(|place| place.session == session).collect();
		let is_disputed = |place: &Place| disputed.iter().any(|hash| place.path.join(format!("{}.json", hex::encode(hash))).exists());
		if places.iter().any(is_disputed) {
			return Ok(false);
		}
		for Place { path, .. } in places {
			let bytes = size(&path)?;
			there(fs::remove_dir_all(&path)).map_err(failed(&path))?;
			// Somebody else may have deleted some of it, and counted that.
			let less = |known: u64| Some(known.saturating_sub(bytes));
			let _ = self.0.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
		}
		there(fs::remove_file(self.settled(session))).map_err(failed(&self.settled(session)))?;
		Ok(true)
	}

	/// Deletes checkpoints that nobody answers with, or is asked about.
	///
	/// # Errors
	/// [`TranscriptStoreError::File`].
	pub fn forget_checkpoints(&self) -> Result<(), TranscriptStoreError> {
		let _alone = self.alone()?;
		for folder in folders(&self.0.folder)? {
			if !sessions_of(&folder)?.is_empty() {
				continue;
			}
			let path = folder.join("lock");
			let Ok(lock) = File::create(&path) else { continue };
			if lock.try_lock().is_ok() {
				fs::remove_dir_all(&folder).map_err(failed(&folder))?;
			}
		}
		Ok(())
	}
}

/// Transcripts of a session that were computed with one checkpoint.
struct Place {
	session: SessionId,
	path: PathBuf,
}

/// The transcript in a file, which does not contradict itself.
fn read(path: &Path) -> Result<Transcript, TranscriptStoreError> {
	let bytes = match fs::read(path) {
		Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(TranscriptStoreError::NoTranscript { path: path.to_owned() }),
		bytes => bytes.map_err(failed(path))?,
	};
	let parsed: Result<Transcript, _> = serde_json::from_slice(&bytes);
	let transcript = parsed.map_err(|error| TranscriptStoreError::Transcript { path: path.to_owned(), reason: error.to_string() })?;
	transcript.validate().map_err(|source| TranscriptStoreError::Malformed { path: path.to_owned(), source })?;
	Ok(transcript)
}

/// A file has not the transcript that it is named after.
fn another(path: PathBuf) -> TranscriptStoreError {
	TranscriptStoreError::Transcript { path, reason: "it has another receipt".into() }
}

/// Makes a folder for its owner alone, if it is not there, so that it is there after a crash.
fn create(folder: &Path) -> Result<(), TranscriptStoreError> {
	if folder.is_dir() {
		return Ok(());
	}
	fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
	let synced = folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all());
	synced.map_err(failed(folder))
}

/// Nothing if a file or folder is not there: somebody else may have deleted it meanwhile.
fn there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
	match result {
		Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
		result => result.map(Some),
	}
}

/// Folders in a folder.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, TranscriptStoreError> {
	let mut found = Vec::new();
	for entry in fs::read_dir(folder).map_err(failed(folder))? {
		let path = entry.map_err(failed(folder))?.path();
		if path.is_dir() {
			found.push(path);
		}
	}
	Ok(found)
}

fn sessions_of(folder: &Path) -> Result<Vec<Place>, TranscriptStoreError> {
	let number = |path: &Path| path.file_name()?.to_str()?.parse().ok();
	let inside = match folders(folder) {
		Err(TranscriptStoreError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
		inside => inside?,
	};
	Ok(inside.into_iter().filter_map(|path| Some(Place { session: number(&path)?, path })).collect())
}

fn sessions_in(folder: &Path) -> Result<Vec<Place>, TranscriptStoreError> {
	let mut places = Vec::new();
	for root in folders(folder)? {
		places.extend(sessions_of(&root)?);
	}
	Ok(places)
}

/// Bytes of all transcripts.
fn all_bytes(folder: &Path) -> Result<u64, TranscriptStoreError> {
	let mut bytes = 0_u64;
	for session in sessions_in(folder)? {
		bytes = bytes.saturating_add(size(&session.path)?);
	}
	Ok(bytes)
}

/// Bytes of the files in a folder.
fn size(folder: &Path) -> Result<u64, TranscriptStoreError> {
	let mut bytes = 0_u64;
	for entry in there(fs::read_dir(folder)).map_err(failed(folder))?.into_iter().flatten() {
		let entry = entry.map_err(failed(folder))?;
		bytes = bytes.saturating_add(entry.metadata().map_or(0, |file| file.len()));
	}
	Ok(bytes)
}
