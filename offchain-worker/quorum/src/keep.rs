//! What a member keeps of an interval to defend itself, in files: what it was given with the senders' signatures, and the state that it began with.
//!
//! Each attempt at an interval has a folder. In it are the state before the interval (`start-0` parameters, `start-1` and `start-2` moments), in the end what the
//! member has signed (`record`), and of each step:
//!
//! | File | Holds |
//! | --- | --- |
//! | `step-STEP-tokens` | the batch, if the member reads any; little-endian, like all numbers here |
//! | `step-STEP-rows-UNIT`, `step-STEP-gradient-UNIT` | of each micro-batch the numbers that it was given, and the sender's signature |
//! | `step-STEP-sums` | the sums of all members by number, SCALE |
//!
//! So they have the same bytes in whatever order messages arrived, and are as long as what the step has. Nothing is synchronized: who loses a file loses a
//! defence, not its state.

mod kept;

use crate::message::{Rows, Sums};
use codec::Encode;
pub(crate) use kept::decode;
pub use kept::{DefenceError, Kept};
use neuroshard_graph::{
	game::{Record, Signature},
	span::Seam,
};
use std::{
	collections::BTreeMap,
	fs::{self, DirBuilder, File, OpenOptions},
	io::{self, Write},
	os::unix::fs::{DirBuilderExt, OpenOptionsExt},
	path::{Path, PathBuf},
};

/// Attempts at an interval that have ended in a record, at most: each of them may have to be defended.
const ATTEMPTS: u32 = 8;
/// Bytes that numbers are written by.
const PORTION: usize = 1 << 16;

/// Why something cannot be kept, or what was kept cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeepError {
	/// The disk is full.
	#[error("no room is left for {0:?}; make room, forget intervals that nobody can dispute any more, and begin the interval again")]
	Full(PathBuf),
	/// Another error of the disk.
	#[error("{path:?} could not be written or read: {kind}; look after the disk or the folder's rights, and begin the interval again")]
	Io {
		/// Where.
		path: PathBuf,
		/// What happened.
		kind: io::ErrorKind,
	},
	/// A file is not as it was left.
	#[error("{0:?} is cut off, or not what was kept there: this attempt at the interval cannot be defended or resumed")]
	Malformed(PathBuf),
	/// Too many attempts.
	#[error(
		"{ATTEMPTS} attempts at the interval from inner step {0} on have ended in a signed record; forget those that were not revealed"
	)]
	Attempts(u32),
}

impl KeepError {
	pub(crate) fn of(path: &Path, error: &io::Error) -> Self {
		match error.kind() {
			io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Self::Full(path.into()),
			kind => Self::Io { path: path.into(), kind },
		}
	}
}

/// Keeps intervals in a directory of the member's own, until it is told to forget them.
pub struct Keep {
	folder: PathBuf,
	/// Folder of the attempt under way; without one nothing is kept.
	attempt: Option<PathBuf>,
	/// Of the step under way, what is being given.
	files: BTreeMap<Seam, File>,
}

/// Path and name of what was given at a seam.
fn seam_path(attempt: &Path, step: u32, seam: Seam) -> PathBuf {
	let (what, unit) = match seam {
		Seam::Rows(unit) => ("rows", unit),
		Seam::Gradient(unit) => ("gradient", unit),
	};
	attempt.join(format!("step-{step:010}-{what}-{unit}"))
}

fn step_path(attempt: &Path, step: u32, what: &str) -> PathBuf {
	attempt.join(format!("step-{step:010}-{what}"))
}

fn create(path: &Path) -> Result<File, KeepError> {
	OpenOptions::new().create_new(true).append(true).mode(0o600).open(path).map_err(|error| KeepError::of(path, &error))
}

fn write(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), KeepError> {
	file.write_all(bytes).map_err(|error| KeepError::of(path, &error))
}

/// Writes numbers by their bits.
fn write_numbers(file: &mut File, path: &Path, numbers: impl Iterator<Item = u32>) -> Result<(), KeepError> {
	let mut bytes = Vec::with_capacity(PORTION);
	for number in numbers {
		bytes.extend_from_slice(&number.to_le_bytes());
		if bytes.len() >= PORTION {
			write(file, path, &bytes)?;
			bytes.clear();
		}
	}
	write(file, path, &bytes)
}

/// Makes a folder for the member alone, and those that it is in; it may be there already.
pub(crate) fn make(folder: &Path) -> Result<(), KeepError> {
	DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| KeepError::of(folder, &error))
}

impl Keep {
	/// In a directory that nothing else is in; it is made if it is not there.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn new(folder: impl Into<PathBuf>) -> Result<Self, KeepError> {
		let folder = folder.into();
		make(&folder)?;
		Ok(Self { folder, attempt: None, files: BTreeMap::new() })
	}

	/// Of the round whose own folder this is.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn of_round(folder: &Path) -> Result<Self, KeepError> {
		Self::new(folder.join("keep"))
	}

	/// What is kept of attempts at the interval that begins with inner step `first`, the last attempt last. All that have ended are, and the last one.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn kept(&self, first: u32) -> Result<Vec<Kept>, KeepError> {
		let mut attempts = self.attempts()?;
		attempts.retain(|&(of, _)| of == first);
		Ok(attempts.into_iter().map(|(_, attempt)| Kept::new(self.path(first, attempt), first)).collect())
	}

	/// First inner steps of the intervals of which something is kept, ascending.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn intervals(&self) -> Result<Vec<u32>, KeepError> {
		let mut intervals: Vec<u32> = self.attempts()?.into_iter().map(|(first, _)| first).collect();
		intervals.dedup();
		Ok(intervals)
	}

	/// Forgets all attempts at the interval that begins with inner step `first`: nobody can dispute it any more.
	///
	/// # Errors
	/// [`KeepError`].
	pub fn forget(&mut self, first: u32) -> Result<(), KeepError> {
		for kept in self.kept(first)? {
			kept.remove()?;
		}
		Ok(())
	}

	/// Folders of attempts, ascending: first step and number.
	fn attempts(&self) -> Result<Vec<(u32, u32)>, KeepError> {
		let failed = |error: io::Error| KeepError::of(&self.folder, &error);
		let mut attempts = Vec::new();
		for entry in fs::read_dir(&self.folder).map_err(failed)? {
			let name = entry.map_err(failed)?.file_name();
			let numbers = name.to_str().and_then(|name| name.strip_prefix("interval-")?.split_once('-'));
			attempts.extend(numbers.and_then(|(first, attempt)| Some((first.parse::<u32>().ok()?, attempt.parse::<u32>().ok()?))));
		}
		attempts.sort_unstable();
		Ok(attempts)
	}

	fn path(&self, first: u32, attempt: u32) -> PathBuf {
		self.folder.join(format!("interval-{first:010}-{attempt:010}"))
	}

	/// Begins an attempt at an interval from a state: parameters, first and second moments. One that has not ended is forgotten then.
	pub(crate) fn begin(&mut self, first: u32, state: &[&[f32]; 3]) -> Result<(), KeepError> {
		let before = self.kept(first)?;
		let (ended, open): (Vec<_>, Vec<_>) = before.into_iter().partition(Kept::has_ended);
		if ended.len() >= ATTEMPTS as usize {
			return Err(KeepError::Attempts(first));
		}
		let last = self.attempts()?.into_iter().filter(|&(of, _)| of == first).map(|(_, attempt)| attempt).max();
		let attempt = self.path(first, last.map_or(0, |last| last.saturating_add(1)));
		make(&attempt)?;
		for (vector, values) in state.iter().enumerate() {
			let path = attempt.join(format!("start-{vector}"));
			write_numbers(&mut create(&path)?, &path, values.iter().map(|value| value.to_bits()))?;
		}
		(self.attempt, self.files) = (Some(attempt), BTreeMap::new());
		// What was kept of the start stays until it is there again.
		open.into_iter().try_for_each(|open| open.remove())
	}

	/// Begins a step, on a batch if the member reads any.
	pub(crate) fn step(&mut self, step: u32, tokens: &[u32]) -> Result<(), KeepError> {
		self.files.clear();
		let Some(attempt) = self.attempt.as_ref().filter(|_| !tokens.is_empty()) else { return Ok(()) };
		let path = step_path(attempt, step, "tokens");
		write_numbers(&mut create(&path)?, &path, tokens.iter().copied())
	}

	/// Keeps rows that were given: the next ones of their seam.
	pub(crate) fn rows(&mut self, rows: &Rows) -> Result<(), KeepError> {
		let Some(attempt) = &self.attempt else { return Ok(()) };
		let path = seam_path(attempt, rows.step, rows.seam);
		let file = match self.files.entry(rows.seam) {
			std::collections::btree_map::Entry::Occupied(file) => file.into_mut(),
			std::collections::btree_map::Entry::Vacant(place) => place.insert(create(&path)?),
		};
		write_numbers(file, &path, rows.numbers.iter().map(|number| number.to_bits()))?;
		write(file, &path, &rows.signature)
	}

	/// Keeps what all members have told.
	pub(crate) fn sums(&self, step: u32, sums: &BTreeMap<usize, Sums>) -> Result<(), KeepError> {
		let Some(attempt) = &self.attempt else { return Ok(()) };
		let path = step_path(attempt, step, "sums");
		write(&mut create(&path)?, &path, &sums.values().collect::<Vec<_>>().encode())
	}

	/// Keeps what the member has signed: the attempt has ended.
	pub(crate) fn record(&mut self, record: &Record, signature: &Signature) -> Result<(), KeepError> {
		let Some(attempt) = self.attempt.take() else { return Ok(()) };
		let path = attempt.join("record");
		write(&mut create(&path)?, &path, &(record, signature).encode())
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_full_disk_is_told_apart_from_other_errors() {
		let full = Path::new("/dev/full");
		let mut file = OpenOptions::new().append(true).open(full).unwrap();
		assert_eq!(write_numbers(&mut file, full, 0..3), Err(KeepError::Full(full.into())));
		let gone = Path::new("/nowhere/at/all");
		assert_eq!(create(gone).err(), Some(KeepError::Io { path: gone.into(), kind: io::ErrorKind::NotFound }));
	}
}
