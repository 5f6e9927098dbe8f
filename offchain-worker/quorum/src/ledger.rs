//! What a leader keeps of a round, in files: what all members have said about each interval, checked. It posts that if the interval is disputed.

use crate::{
	keep::{decode, make},
	KeepError, Led,
};
use codec::Encode;
use neuroshard_atomic_write::write_private;
use neuroshard_graph::merkle::Hash;
use neuroshard_types::run::Work;
use std::{
	fs, io,
	path::{Path, PathBuf},
};

/// Bytes of a file, at most: more than any move has.
const MOST: u64 = 64 << 20;

/// Keeps the records of a round's intervals in a directory of the leader's own, until it is told to forget them.
#[derive(Clone, Debug)]
pub struct Ledger {
	folder: PathBuf,
}

impl Ledger {
	/// In a directory that nothing else is in; it is made if it is not there.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn new(folder: impl Into<PathBuf>) -> Result<Self, KeepError> {
		let folder = folder.into();
		make(&folder)?;
		Ok(Self { folder })
	}

	/// Of the round whose own folder this is.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn of_round(folder: &Path) -> Result<Self, KeepError> {
		Self::new(folder.join("records"))
	}

	/// Keeps the work that is revealed of the round.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn keep_work(&self, work: &Work) -> Result<(), KeepError> {
		let path = self.folder.join("work");
		write_private(&path, &work.encode()).map_err(|error| KeepError::of(&path, &error))
	}

	/// The work that is revealed of the round.
	///
	/// # Errors
	/// [`KeepError`], also if there is none yet.
	pub fn work(&self) -> Result<Work, KeepError> {
		decode(&self.folder.join("work"), MOST)
	}

	fn path(&self, first: u32) -> PathBuf {
		self.folder.join(format!("records-{first:010}"))
	}

	/// Keeps what members say about the interval that begins with inner step `first`, in place of what they said about an earlier attempt at it.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn keep(&self, first: u32, led: &Led) -> Result<(), KeepError> {
		let path = self.path(first);
		write_private(&path, &(led.root, &led.records).encode()).map_err(|error| KeepError::of(&path, &error))
	}

	/// What members say about the interval that begins with inner step `first`; `None` if nothing is kept.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn kept(&self, first: u32) -> Result<Option<Led>, KeepError> {
		match decode(&self.path(first), MOST) {
			Err(KeepError::Io { kind: io::ErrorKind::NotFound, .. }) => Ok(None),
			kept => kept.map(|(root, records)| Some(Led { root, records })),
		}
	}

	/// Forgets the interval that begins with inner step `first`: nobody can dispute it any more.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn forget(&self, first: u32) -> Result<(), KeepError> {
		let path = self.path(first);
		match fs::remove_file(&path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
			removed => removed.map_err(|error| KeepError::of(&path, &error)),
		}
	}
}

impl Led {
	/// Of each member, roots of its subtrees of parameters, first and second moments after the interval.
	pub fn parts(&self) -> Vec<[Vec<Hash>; 3]> {
		self.records.records.iter().map(|(record, _)| record.state.clone()).collect()
	}
}
