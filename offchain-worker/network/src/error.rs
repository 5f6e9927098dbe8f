//! Errors of the network, in words for the person who runs the worker.

use crate::Refusal;
use libp2p::{Multiaddr, PeerId};
use neuroshard_mirror::MirrorFailure;
use neuroshard_store::StoreError;
use neuroshard_types::H256;
use std::{fmt, io, time::Duration};

/// Why the network could not be started.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
	/// The secret is not an ed25519 key.
	#[error("the network key is not a valid ed25519 secret of 32 bytes: restore the key file, or create a new identity")]
	Key,
	/// An address cannot be listened on.
	#[error("cannot listen on {address}: {reason}; is the port in use? choose another one")]
	Listen {
		/// The address.
		address: Multiaddr,
		/// Error of the transport.
		reason: String,
	},
	/// The transports cannot be set up.
	#[error("cannot set up the transports: {0}; is /etc/resolv.conf readable?")]
	Transport(#[from] io::Error),
	/// Gossip cannot be set up.
	#[error("cannot set up gossip: {0}")]
	Gossip(String),
	/// No listener came up in time.
	#[error("cannot listen on {0}: the system did not confirm it in time")]
	ListenTimeout(Multiaddr),
}

/// The network task has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the network of this worker has been shut down")]
pub struct Stopped;

/// Why one peer did not give what it was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PeerFailure {
	/// No connection could be made.
	#[error("cannot be reached: {0}")]
	Unreachable(String),
	/// It can only be reached through a relay, which is not for bulk data, and hole punching did not work.
	#[error("can only be reached through a relay, and a direct path could not be opened")]
	OnlyRelayed,
	/// No answer in time.
	#[error("did not answer in time")]
	Timeout,
	/// The connection ended before the answer.
	#[error("closed the connection")]
	Disconnected,
	/// It does not speak our protocol.
	#[error("does not serve content; it may run another version")]
	Unsupported,
	/// It said no.
	#[error("refused: {0}")]
	Refused(Refusal),
	/// A leaf does not have its hash. The peer is shut out for a while.
	#[error("sent a corrupt leaf (number {leaf}); it is shut out for a while")]
	CorruptLeaf {
		/// First wrong leaf.
		leaf: u32,
	},
	/// The leaf list does not hash to the root. The peer is shut out for a while.
	#[error("sent a leaf list that does not hash to the root; it is shut out for a while")]
	WrongLeafList,
	/// The answer is longer than any answer may be. The peer is shut out for a while.
	#[error("sent an answer of {bytes} bytes, more than the protocol allows; it is shut out for a while")]
	Oversize {
		/// Length it announced.
		bytes: u64,
	},
	/// The answer has the wrong length or cannot be read. The peer is shut out for a while.
	#[error("sent an answer that is not one ({0}); it is shut out for a while")]
	Malformed(String),
	/// It is shut out because of an earlier answer.
	#[error("is shut out for another {} s after a corrupt answer", .0.as_secs())]
	Banned(Duration),
	/// Too many requests wait for it.
	#[error("has too many of our requests waiting")]
	Queue,
	/// The transport failed.
	#[error("connection failed: {0}")]
	Transport(String),
}

impl PeerFailure {
	/// Returns whether the peer broke the protocol or sent what it cannot have taken for the content.
	pub(crate) fn is_corrupt(&self) -> bool {
		matches!(self, Self::CorruptLeaf { .. } | Self::WrongLeafList | Self::Oversize { .. } | Self::Malformed(_))
	}

	/// Returns whether the peer was not there or too slow.
	pub(crate) fn is_unresponsive(&self) -> bool {
		matches!(self, Self::Unreachable(_) | Self::OnlyRelayed | Self::Timeout | Self::Disconnected | Self::Transport(_))
	}
}

/// Why a blob could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
	/// Nobody was named, and the address book is empty.
	#[error("no peer is known that could have blob {root:?}")]
	NoPeers {
		/// The blob.
		root: H256,
	},
	/// Nobody could provide it. What has arrived is kept and a later fetch goes on from there.
	#[error("no peer could provide blob {root:?} ({lacking}): {}", describe(failures))]
	Exhausted {
		/// The blob.
		root: H256,
		/// Part that has not arrived.
		lacking: Lacking,
		/// Why, for every peer that was tried.
		failures: Vec<(PeerId, PeerFailure)>,
	},
	/// Nobody could say what a root that names no blob is made of.
	#[error("no peer could say what {root:?} is made of: {}", describe(failures))]
	NoNote {
		/// The root.
		root: H256,
		/// Why, for every peer that was asked.
		failures: Vec<(PeerId, PeerFailure)>,
	},
	/// Neither peers nor mirrors could provide it. What has arrived is kept.
	#[error("{peers}; {}", words(mirrors))]
	Nowhere {
		/// What became of asking peers.
		peers: Box<FetchError>,
		/// Why, for every mirror.
		mirrors: Vec<MirrorFailure>,
	},
	/// The store could not take it.
	#[error(transparent)]
	Store(#[from] StoreError),
	/// The caller's token was cancelled. What has arrived is kept.
	#[error("fetching blob {root:?} was cancelled")]
	Cancelled {
		/// The blob.
		root: H256,
	},
	/// The network task has ended.
	#[error(transparent)]
	Stopped(#[from] Stopped),
}

/// Part of a blob that has not arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lacking {
	/// Not even the hashes of its leaves.
	LeafList,
	/// So many leaves.
	Leaves(u32),
}

impl fmt::Display for Lacking {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			Self::LeafList => formatter.write_str("the list of its leaves is missing"),
			Self::Leaves(1) => formatter.write_str("1 leaf is missing"),
			Self::Leaves(count) => write!(formatter, "{count} leaves are missing"),
		}
	}
}

/// Failures that are described one by one.
const DESCRIBED: usize = 8;

fn describe(failures: &[(PeerId, PeerFailure)]) -> String {
	let mut words: Vec<_> = failures.iter().take(DESCRIBED).map(|(peer, failure)| format!("{peer} {failure}")).collect();
	if let Some(others @ 1..) = failures.len().checked_sub(DESCRIBED) {
		words.push(format!("and {others} others could not either"));
	}
	words.join("; ")
}

fn words(mirrors: &[MirrorFailure]) -> String {
	mirrors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
