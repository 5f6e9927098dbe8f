//! Messages of the content protocol.
//!
//! On the wire a request is its length (u32, little-endian) and its SCALE encoding; an answer is a tag (0 data, 1 refusal),
//! the length of what follows (u32, little-endian), and the data or the refusal's code. One request and one answer to
//! a stream.

use codec::{Decode, Encode};
use neuroshard_types::H256;

/// Name of the protocol.
pub(crate) const CONTENT_PROTOCOL: &str = "/neuroshard/content/1";
/// Most hashes in one answer: 512 KiB.
pub const MAX_HASHES: u32 = 16_384;
/// Most leaves in one answer: 512 KiB.
pub const MAX_LEAVES_PER_REQUEST: u32 = 128;
/// Longest request.
pub(crate) const MAX_REQUEST_BYTES: u32 = 64;
/// Longest answer.
pub(crate) const MAX_ANSWER_BYTES: u32 = 1 << 20;

/// Request of one peer to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Request {
	/// Hashes `start..start + count` of the leaf list of `root`: 32 bytes each.
	Hashes {
		/// The blob.
		root: H256,
		/// First hash.
		start: u32,
		/// At most [`MAX_HASHES`].
		count: u32,
	},
	/// Leaves `start..start + count` of `root`: 4 KiB each.
	Leaves {
		/// The blob.
		root: H256,
		/// First leaf.
		start: u32,
		/// At most [`MAX_LEAVES_PER_REQUEST`].
		count: u32,
	},
	/// Parts of the root of something that is no blob: of a checkpoint, its two blobs.
	Note {
		/// The root.
		root: H256,
	},
	/// Nothing: whoever sends it is about to stop, and answers no more.
	Farewell,
	/// The messages of gossip that still say something: for whoever has come after they were passed on.
	Gossip,
}

/// Why a peer does not give what was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
	/// It does not hold the blob.
	#[error("it does not have this blob")]
	Unknown,
	/// The blob has fewer leaves.
	#[error("the blob is shorter than that")]
	OutOfRange,
	/// Nothing was asked for, or more than fits into one answer.
	#[error("that is nothing, or more than one answer may hold")]
	BadCount,
	/// The request is longer than any may be.
	#[error("the request was too long")]
	Oversize,
	/// The request could not be read.
	#[error("the request could not be read")]
	Malformed,
	/// It has too much to do, or has no place for a stranger.
	#[error("it has too much to do just now")]
	Busy,
	/// Its store failed.
	#[error("it could not read its own store")]
	Failed,
}

impl Refusal {
	const ALL: [Self; 7] = [Self::Unknown, Self::OutOfRange, Self::BadCount, Self::Oversize, Self::Malformed, Self::Busy, Self::Failed];

	/// Code on the wire.
	pub(crate) fn code(self) -> u8 {
		match self {
			Self::Unknown => 0,
			Self::OutOfRange => 1,
			Self::BadCount => 2,
			Self::Oversize => 3,
			Self::Malformed => 4,
			Self::Busy => 5,
			Self::Failed => 6,
		}
	}

	/// The refusal with this code.
	pub(crate) fn from_code(code: u8) -> Option<Self> {
		Self::ALL.into_iter().find(|refusal| refusal.code() == code)
	}
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
	/// The bytes that were asked for.
	Data(Vec<u8>),
	/// Why not.
	Refused(Refusal),
}

/// A request as it arrived; one that could not be read is answered with the refusal.
pub(crate) type Incoming = Result<Request, Refusal>;
