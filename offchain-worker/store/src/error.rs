//! Errors of the store, in words for the person who runs it.

use neuroshard_types::H256;
use std::{
	io,
	path::{Path, PathBuf},
};

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
	/// The operating system refused a file operation.
	#[error("cannot {action} {}: {source}", path.display())]
	Io {
		/// Operation that was tried, as a verb.
		action: &'static str,
		/// On which file.
		path: PathBuf,
		/// Error of the operating system.
		source: io::Error,
	},
	/// The disk is full, with everything unpinned evicted. Nothing half-written stays behind.
	#[error("the disk is full: {} needs {needed} more bytes; free some space or move the data directory", path.display())]
	DiskFull {
		/// File that could not be written, or the store's folder.
		path: PathBuf,
		/// Bytes that were to be written.
		needed: u64,
	},
	/// The blob does not fit under the size limit, even with everything unpinned evicted.
	#[error("a blob of {needed} bytes does not fit: {pinned} of the {limit} bytes allowed by --max-disk are in use and may not be evicted; raise --max-disk")]
	OverLimit {
		/// Bytes asked for.
		needed: u64,
		/// Limit of the store.
		limit: u64,
		/// Bytes that are pinned or being written.
		pinned: u64,
	},
	/// A spare file of a name that none may have.
	#[error("{name:?} is no name of a spare file: it has digits and hyphens only")]
	Name {
		/// The name.
		name: String,
	},
	/// Another process uses the folder.
	#[error("{} is in use by another neuroshard-worker; stop it or give this one its own data directory", path.display())]
	InUse {
		/// Folder of the store.
		path: PathBuf,
	},
	/// A blob must be a positive whole number of leaves.
	#[error("a blob of {bytes} bytes is not a whole number of 4096-byte leaves")]
	Unaligned {
		/// Length that was given.
		bytes: u64,
	},
	/// More leaves than a blob may have.
	#[error("a blob of {bytes} bytes is larger than any blob may be")]
	TooLarge {
		/// Length that was given.
		bytes: u64,
	},
	/// The store does not hold this blob.
	#[error("blob {root:?} is not in the store")]
	Unknown {
		/// Its root.
		root: H256,
	},
	/// A stored blob no longer matches its root. It was dropped.
	#[error("blob {root:?} was damaged on disk at leaf {leaf} and has been dropped; fetch it again")]
	Damaged {
		/// Its root.
		root: H256,
		/// First bad leaf.
		leaf: u32,
	},
	/// Bytes offered for a download do not match the leaf list.
	#[error("leaf {leaf} of blob {root:?} does not match its hash")]
	WrongLeaf {
		/// Root of the download.
		root: H256,
		/// First bad leaf.
		leaf: u32,
	},
	/// Leaf hashes that do not make the root.
	#[error("the leaf list does not hash to {root:?}")]
	WrongLeafList {
		/// Root that was promised.
		root: H256,
	},
	/// The number of leaves is not the one that was promised.
	#[error("blob {root:?} has {actual} leaves where {expected} were expected")]
	LeafCount {
		/// Root.
		root: H256,
		/// Leaves according to the caller.
		expected: u32,
		/// Leaves that there are.
		actual: u32,
	},
	/// Leaves outside the blob.
	#[error("leaves {start}..{} are outside blob {root:?}, which has {leaves}", u64::from(*start) + u64::from(*count))]
	OutOfRange {
		/// Root.
		root: H256,
		/// First leaf asked for.
		start: u32,
		/// Number of leaves asked for.
		count: u32,
		/// Leaves that there are.
		leaves: u32,
	},
	/// The blob is being downloaded already, or arrived meanwhile.
	#[error("blob {root:?} is here or being downloaded already")]
	Busy {
		/// Root.
		root: H256,
	},
	/// A download was ended before all of its leaves had arrived.
	#[error("blob {root:?} still lacks {missing} leaves")]
	Incomplete {
		/// Root.
		root: H256,
		/// Leaves that have not arrived.
		missing: u32,
	},
	/// The list of pins cannot be read.
	#[error("{} is damaged ({reason}); restore it, or remove it to drop all pins", path.display())]
	Pins {
		/// The file.
		path: PathBuf,
		/// Damage of the file.
		reason: String,
	},
}

impl StoreError {
	/// An I/O error while doing `action` to `path`.
	pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
		Self::Io { action, path: path.to_owned(), source }
	}

	/// An I/O error while writing `needed` bytes to `path`: a full disk becomes [`Self::DiskFull`].
	pub(crate) fn writing(path: &Path, needed: u64, source: io::Error) -> Self {
		match source.kind() {
			io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path: path.to_owned(), needed },
			_ => Self::io("write", path, source),
		}
	}
}
