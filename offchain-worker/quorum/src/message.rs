//! What members of a quorum say to each other.

use codec::{Decode, Encode};
use neuroshard_graph::{
	game::{Record, Signature},
	merkle::{blake2_256, merkle_root, Hash},
	span::{row_tiles, Seam},
};
use neuroshard_kernels::num::canon_bits;
use neuroshard_types::run::Work;

/// A message from one member to another.
#[allow(clippy::large_enum_variant, reason = "few of them wait at a time, most with rows that are larger")]
#[derive(Clone, PartialEq, Debug, Encode, Decode)]
pub enum Message {
	/// Rows of a micro-batch at a seam, or their gradients.
	Rows(Rows),
	/// The sums of a member's units at the end of a step.
	Sums(Sums),
	/// What a member says about an interval.
	Record(Told),
	/// To the leader: the states that a member can begin with.
	Have(Vec<Beginning>),
	/// From the leader: the inner steps of the round that are behind the state that all begin with.
	Begin(u32),
	/// From the leader: all intervals are checked, and each hands over its parameters.
	Give,
	/// To the leader: the next tiles of the sender's parameters after the last inner step.
	Tiles(Handed),
	/// From the leader: the round is complete, with this work.
	Done(Box<Work>),
}

/// A state that a member has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Beginning {
	/// Inner steps of the round behind it.
	pub steps: u32,
	/// The member's part of it, as [`Record::before`].
	pub state: Hash,
}

/// Tiles of what a member holds.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Handed {
	/// Number of the first one, counted through the member's.
	pub first: u32,
	/// Their bytes.
	pub tiles: Vec<u8>,
}

/// What a member tells the leader about an interval.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Told {
	/// The record.
	pub record: Record,
	/// Roots of its subtrees of parameters, first and second moments before the interval, which `record.before` is of.
	pub before: [Vec<Hash>; 3],
	/// Those of the base of an adapter, which `record.base` is of; none without an adapter.
	pub base: Vec<Hash>,
	/// Over [`Record::statement`] and whose work it is about.
	pub signature: Signature,
}

/// Rows of a micro-batch at a seam.
#[derive(Clone, PartialEq, Debug, Encode, Decode)]
pub struct Rows {
	/// Inner step.
	pub step: u32,
	/// Micro-batch of the step.
	pub micro: u32,
	/// Where they pass.
	pub seam: Seam,
	/// The rows, one after the other.
	pub numbers: Vec<f32>,
	/// The sender's, over [`Rows::statement`].
	pub signature: Signature,
}

impl Rows {
	/// What the sender signs, of hashes of the rows' tiles.
	pub fn statement(step: u32, micro: u32, seam: Seam, tiles: &[Hash]) -> Hash {
		blake2_256(&(b"neuroshard/rows/1", step, micro, seam, merkle_root(tiles)).encode())
	}

	/// Hashes of the rows' tiles, of rows of so many numbers.
	pub fn tiles(&self, width: usize) -> Vec<Hash> {
		row_tiles(&self.numbers, width)
	}
}

/// What a member tells all others at the end of a step. Numbers are in canonical form.
#[derive(Clone, PartialEq, Debug, Encode, Decode)]
pub struct Sums {
	/// Inner step.
	pub step: u32,
	/// Sums of the squares of the gradients of its units, in the order of [`neuroshard_graph::span::trained_units`].
	pub squares: Vec<f32>,
	/// The mean loss, of who has the end of the model.
	pub loss: Option<f32>,
	/// The sender's, over [`Sums::statement`].
	pub signature: Signature,
}

impl Sums {
	/// What the sender signs.
	pub fn statement(step: u32, squares: &[f32], loss: Option<f32>) -> Hash {
		let squares: Vec<u32> = squares.iter().map(|square| square.to_bits()).collect();
		blake2_256(&(b"neuroshard/sums/1", step, squares, loss.map(f32::to_bits)).encode())
	}

	/// Whether all numbers are in canonical form.
	pub fn are_canonical(&self) -> bool {
		self.squares.iter().chain(&self.loss).all(|&number| canon_bits(number) == number.to_bits())
	}
}
