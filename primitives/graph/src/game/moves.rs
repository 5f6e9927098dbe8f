//! What a side does in its turn.

use super::quorum::{Part, Records, StepRecord};
use crate::merkle::Hash;
use alloc::vec::Vec;
use codec::{Decode, DecodeWithMemTracking, Encode};
use scale_info::TypeInfo;

/// An entry of a posted list, with the proof of its place.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub struct Entry {
	/// The entry.
	pub hash: Hash,
	/// Merkle proof, lowest sibling first; see [`crate::merkle::prove`].
	pub proof: Vec<Hash>,
}

/// What an [`crate::game::Anchor`] consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub enum Contents {
	/// A checkpoint: roots of parameters and outer momentum.
	Checkpoint([Hash; 2]),
	/// An inner state: roots of parameters, first and second moments.
	State([Hash; 3]),
}

/// A move.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub enum Move {
	/// Defender: state roots after each inner step of the interval.
	#[codec(index = 0)]
	Steps(Vec<Hash>),
	/// Defender: what the states before and after the step consist of, and the roots of its nodes.
	#[codec(index = 1)]
	Nodes {
		/// What the step starts from.
		before: Contents,
		/// Roots of parameters, first and second moments after the step.
		after: [Hash; 3],
		/// Roots of all listed nodes.
		nodes: Vec<Hash>,
	},
	/// Defender: what the round's first and last state consist of.
	#[codec(index = 2)]
	Ends {
		/// Roots of parameters and outer momentum of the checkpoint.
		start: [Hash; 2],
		/// Roots of parameters, first and second moments after the last inner step.
		end: [Hash; 3],
	},
	/// Defender: checkpoint roots after each outer step.
	#[codec(index = 3)]
	Checkpoints(Vec<Hash>),
	/// Defender: what the checkpoints around an outer step consist of.
	#[codec(index = 4)]
	Outer {
		/// Roots of parameters and momentum before.
		before: [Hash; 2],
		/// Roots of parameters and momentum after.
		after: [Hash; 2],
		/// Root of the pseudo-gradient.
		gradient: Hash,
	},
	/// Defender: tile hashes, or the nodes of their tree that the position asks for; or those of the row of logits that a choice is made from.
	#[codec(index = 5)]
	Hashes(Vec<Hash>),
	/// Defender: hashes of the states between the pieces of a tile.
	#[codec(index = 6)]
	States(Vec<Hash>),
	/// Challenger: the first entry of the step roots or checkpoint roots that is wrong, and the one before it, unless it is the first.
	#[codec(index = 7)]
	Step {
		/// Its number in the list.
		index: u32,
		/// The entry before it, which is right.
		before: Option<Entry>,
		/// The entry.
		after: Entry,
	},
	/// Challenger: the first node that is wrong.
	#[codec(index = 8)]
	Node {
		/// Its number.
		index: u32,
		/// Its root.
		root: Entry,
	},
	/// Challenger: all nodes are right, and this vector is the first that is wrong. Of an answer it is 0: the row of logits, or the choice that is made from it.
	#[codec(index = 9)]
	Vector(u32),
	/// Challenger: an entry of the list of hashes that is wrong.
	#[codec(index = 10)]
	Hash {
		/// Its number in the list.
		index: u32,
		/// The entry.
		entry: Entry,
	},
	/// Challenger: the first piece that is wrong, with what shows it; or the first tile of a row of logits, with its hash as `after`.
	#[codec(index = 11)]
	Piece {
		/// Its number.
		piece: u32,
		/// The state before it, which is right; `None` for the first piece.
		before: Option<Entry>,
		/// The state after it; `None` for the last piece, after which comes the tile.
		after: Option<Entry>,
		/// See [`crate::witness`].
		witness: Vec<u8>,
	},
	/// Defender: what the checkpoint consists of that an answer is computed with, and the roots of the nodes of reading the text.
	#[codec(index = 12)]
	Read {
		/// Roots of parameters and outer momentum of the checkpoint.
		start: [Hash; 2],
		/// Roots of all nodes: see [`crate::plan::Plan::reading`].
		nodes: Vec<Hash>,
	},
	/// Defender: as [`Move::Outer`], where the pseudo-gradient is computed in steps: with [`crate::config::Aggregator::Robust`].
	#[codec(index = 14)]
	Aggregate {
		/// Roots of parameters and momentum before.
		before: [Hash; 2],
		/// Roots of parameters and momentum after.
		after: [Hash; 2],
		/// Root of the pseudo-gradient.
		gradient: Hash,
		/// Roots of all listed nodes.
		nodes: Vec<Hash>,
	},
	/// Challenger: all tiles of the row are right, and the choice that it doubted is not the one that follows from them.
	#[codec(index = 13)]
	Choice {
		/// Its number, as it was doubted.
		index: u32,
		/// See [`crate::witness::check_choice`].
		witness: Vec<u8>,
	},
	/// Leader of a quorum: what its members have signed about the interval.
	#[codec(index = 15)]
	Records(Records),
	/// Challenger: the first thing in the records that is false, and whose record it is in.
	#[codec(index = 16)]
	Record {
		/// Number of the member.
		member: u32,
		/// Its part.
		part: Part,
		/// Proof of its place among the parts.
		proof: Vec<Hash>,
		/// The step, counted from the interval's first.
		step: u32,
		/// Result of the span's plan that is false in it: what the member gave, or a sum. `None` for its state after the interval, with the last step.
		out: Option<u32>,
	},
	/// Member: what its part of the disputed step consists of.
	#[codec(index = 17)]
	SpanNodes(SpanNodes),
}

/// What a member's part of an inner step consists of.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, TypeInfo)]
pub struct SpanNodes {
	/// Roots over its subtrees of parameters, first and second moments before the step.
	pub before: [Hash; 3],
	/// The same after it; not looked at where the state after it is not disputed.
	pub after: [Hash; 3],
	/// What it said about the step.
	pub record: StepRecord,
	/// Proof that it did: see [`crate::game::Record::prove`].
	pub proof: Vec<Hash>,
	/// Bits of the sums of the squares of the gradients of all units.
	pub sums: Vec<u32>,
	/// Roots of its listed nodes.
	pub nodes: Vec<Hash>,
}

impl Move {
	/// The list that the defender posts with this move; empty if it posts none.
	pub fn list(&self) -> &[Hash] {
		match self {
			Self::Steps(list) | Self::Checkpoints(list) | Self::Hashes(list) | Self::States(list) => list,
			Self::Nodes { nodes: list, .. } | Self::Read { nodes: list, .. } | Self::Aggregate { nodes: list, .. } => list,
			Self::SpanNodes(SpanNodes { nodes, .. }) => nodes,
			_ => &[],
		}
	}

	/// Bytes that have to be hashed to read this move: what its weight grows with.
	pub fn volume(&self) -> usize {
		let entry = |entry: &Entry| 64 * entry.proof.len();
		let entries = |entries: [Option<&Entry>; 2]| entries.into_iter().flatten().map(entry).sum::<usize>();
		match self {
			Self::Steps(list) | Self::Checkpoints(list) | Self::Hashes(list) | Self::States(list) => 64 * list.len(),
			Self::Nodes { nodes, .. } | Self::Read { nodes, .. } | Self::Aggregate { nodes, .. } => 64 * nodes.len(),
			Self::Ends { .. } | Self::Outer { .. } | Self::Vector(_) => 0,
			Self::Step { before, after, .. } => entries([before.as_ref(), Some(after)]),
			Self::Node { root, .. } => entry(root),
			Self::Hash { entry: one, .. } => entry(one),
			Self::Piece { before, after, witness, .. } => entries([before.as_ref(), after.as_ref()]) + witness.len(),
			Self::Choice { witness, .. } => witness.len(),
			Self::Records(records) => 64 * records.volume(),
			Self::Record { proof, .. } => 64 * proof.len(),
			Self::SpanNodes(SpanNodes { proof, nodes, sums, record, .. }) => {
				64 * (nodes.len() + proof.len() + record.given.len() + record.gave.len()) + 4 * sums.len()
			}
		}
	}
}
