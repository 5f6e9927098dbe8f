//! Witnesses of pieces that read nothing but tiles full of one number.

use super::claims::tile;
use crate::common::dataset::opening;
use neuroshard_graph::{
	cell::Address,
	corpus::{TokenWidth, Window},
	graph::TensorId,
	merkle::{blake2_256, prove, uniform_root, Hash},
	plan::Plan,
	resume::{Leaves, Malformed, Tile, NUMBERS},
	tiles::bytes_of,
};

/// Writes down what a piece reads.
pub struct Author<'a> {
	pub plan: &'a Plan,
	/// Roots of the vectors that the job starts from.
	pub vectors: Vec<Hash>,
	/// Roots of the vectors that it ends with and reads.
	pub results: Vec<Hash>,
	/// Roots of the listed nodes, all of whose tiles are zeros.
	pub nodes: &'a [Hash],
	/// Numbers that tiles can be full of.
	pub numbers: &'a [f32],
	/// Value of all bytes of the dataset.
	pub text: u8,
	/// The window of a sequence.
	pub window: &'a dyn Fn(u32) -> Option<Window>,
	/// The witness.
	pub bytes: Vec<u8>,
}

impl Author<'_> {
	/// Returns the number that the tiles of a vector of so many tiles are full of.
	fn number(&self, root: Option<&Hash>, leaves: u32) -> Result<f32, Malformed> {
		let root = root.ok_or(Malformed)?;
		self.numbers.iter().copied().find(|number| uniform_root(tile(*number), leaves) == *root).ok_or(Malformed)
	}

	/// Returns the number that the tile is full of, and its proof.
	fn open(&self, tensor: TensorId, row: u32, col: u32) -> Result<(f32, Vec<Hash>), Malformed> {
		let place = |number: u32| usize::try_from(number).map_err(|_| Malformed);
		let address = self.plan.address(tensor, row, col).ok_or(Malformed)?;
		let (number, leaf, leaves) = match address {
			Address::Node { leaf, leaves, .. } => (0.0, leaf, leaves),
			Address::Vector { vector, leaf, leaves } => (self.number(self.vectors.get(place(vector)?), leaves)?, leaf, leaves),
			Address::Result { result, leaf, leaves } => (self.number(self.results.get(place(result)?), leaves)?, leaf, leaves),
		};
		let mut proof = prove(&vec![tile(number); place(leaves)?], leaf).ok_or(Malformed)?;
		if let Address::Node { node, .. } = address {
			proof.extend(prove(self.nodes, node).ok_or(Malformed)?);
		}
		Ok((number, proof))
	}
}

impl Leaves for Author<'_> {
	type Error = Malformed;

	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, Malformed> {
		let (number, proof) = self.open(tensor, row, col)?;
		self.bytes.extend(bytes_of(&[number; NUMBERS]));
		self.bytes.extend(proof.concat());
		Ok(Box::new([number; NUMBERS]))
	}

	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, _: u32) -> Result<[f32; NUMBERS / 4], Malformed> {
		let (number, proof) = self.open(tensor, row, col)?;
		let quarter = bytes_of(&[number; NUMBERS / 4]);
		self.bytes.extend(&quarter);
		self.bytes.extend([blake2_256(&quarter); 3].concat());
		self.bytes.extend(proof.concat());
		Ok([number; NUMBERS / 4])
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, Malformed> {
		let window = (self.window)(sequence).ok_or(Malformed)?;
		let start = window.start.checked_add(first).ok_or(Malformed)?;
		let end = start.checked_add(count).ok_or(Malformed)?;
		// All chunks of all shards are alike.
		let width = TokenWidth::Two;
		for _ in start / width.chunk_tokens()..width.chunks(end) {
			let opening = opening(self.text);
			self.bytes.extend(opening.data);
			opening.in_shard.iter().chain(&opening.in_dataset).for_each(|hash| self.bytes.extend(hash.0));
		}
		(0..count).map(|_| Ok(u16::from_le_bytes([self.text; 2]).into())).collect()
	}
}
