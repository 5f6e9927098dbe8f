//! Reading leaves off a witness, each checked against its commitment.

use super::{choice::row_tiles, Agreed, Source, Tokens, WitnessError};
use crate::{
	answer::{Answer, TokenList},
	cell::Address,
	graph::TensorId,
	merkle::{blake2_256, merkle_root, proof_len, root_of, Hash},
	plan::Plan,
	resume::{Leaves, Malformed, Tile, NUMBERS},
	tiles::{leaf_hash, LEAF_BYTES, QUARTER_BYTES},
};
use alloc::{boxed::Box, vec::Vec};

/// Bytes of a hash.
const HASH: usize = 32;

/// The unread rest of a witness.
pub(super) struct Reader<'a> {
	plan: &'a Plan,
	agreed: &'a Agreed<'a>,
	rest: &'a [u8],
	/// Leaves read so far.
	leaves: u32,
}

/// Little-endian floats.
pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
	bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes))
}

impl<'a> Reader<'a> {
	pub(super) fn new(plan: &'a Plan, agreed: &'a Agreed<'a>, witness: &'a [u8]) -> Self {
		Self { plan, agreed, rest: witness, leaves: 0 }
	}

	/// The next `count` bytes.
	pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], WitnessError> {
		let (taken, rest) = self.rest.split_at_checked(count).ok_or(WitnessError::Length)?;
		self.rest = rest;
		Ok(taken)
	}

	/// Nothing may be left over.
	pub(super) fn finish(self) -> Result<(), WitnessError> {
		if self.rest.is_empty() {
			Ok(())
		} else {
			Err(WitnessError::Length)
		}
	}

	/// The proof for leaf `index` of `count`.
	fn proof(&mut self, count: u32, index: u32) -> Result<&'a [Hash], WitnessError> {
		let len = usize::try_from(proof_len(count, index).ok_or(Malformed)?).map_err(|_| Malformed)?;
		Ok(self.take(len.checked_mul(HASH).ok_or(Malformed)?)?.as_chunks::<HASH>().0)
	}

	/// Goes up from `leaf` as leaf `index` of `count` by the next proof.
	fn climb(&mut self, count: u32, index: u32, leaf: Hash) -> Result<Hash, WitnessError> {
		let proof = self.proof(count, index)?;
		root_of(proof, count, index, leaf).ok_or(WitnessError::Length)
	}

	/// The next tokens, which must be those of `list`.
	fn list(&mut self, list: &TokenList) -> Result<Vec<u32>, WitnessError> {
		let number = self.leaves;
		self.leaves = number.saturating_add(1);
		let bytes = self.take(list.len().ok_or(Malformed)?)?;
		list.read(bytes).ok_or(WitnessError::Leaf(number))
	}

	/// All tokens of a claim: prompt and answer.
	pub(super) fn text(&mut self, claim: &Answer<'_>) -> Result<[Vec<u32>; 2], WitnessError> {
		Ok([self.list(&claim.prompt)?, self.list(&claim.answer)?])
	}

	/// Tokens of a dataset.
	fn window(&mut self, source: &Tokens<'_>, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, WitnessError> {
		let window = (source.window)(sequence).ok_or(Malformed)?;
		let start = window.start.checked_add(first).ok_or(Malformed)?;
		let end = start.checked_add(count).ok_or(Malformed)?;
		let width = source.corpus.width;
		let mut tokens = Vec::new();
		for chunk in start / width.chunk_tokens()..width.chunks(end) {
			let number = self.leaves;
			self.leaves = number.saturating_add(1);
			let bytes = self.take(LEAF_BYTES)?;
			let shard_root = self.climb(source.corpus.chunks(), chunk, leaf_hash(bytes))?;
			if self.climb(source.corpus.shards, window.shard, shard_root)? != source.corpus.root {
				return Err(WitnessError::Leaf(number));
			}
			let base = chunk.checked_mul(width.chunk_tokens()).ok_or(Malformed)?;
			let numbered = (base..).zip(width.read(bytes));
			tokens.extend(numbered.filter(|(at, _)| (start..end).contains(at)).map(|(_, token)| token));
		}
		Ok(tokens)
	}

	/// Quarter `quarter` of the next tile: its bytes, and the hash of the tile.
	fn part(&mut self, quarter: u32) -> Result<(&'a [u8], Hash), WitnessError> {
		let bytes = self.take(QUARTER_BYTES)?;
		// The other quarters' hashes follow, in order.
		let others = self.take(3 * HASH)?.as_chunks::<HASH>().0;
		let place = usize::try_from(quarter).ok().filter(|&quarter| quarter < 4).ok_or(Malformed)?;
		let mut hashes = [[0; HASH]; 4];
		let mut others = others.iter();
		for (number, hash) in hashes.iter_mut().enumerate() {
			*hash = match number == place {
				true => blake2_256(bytes),
				false => *others.next().ok_or(Malformed)?,
			};
		}
		Ok((bytes, blake2_256(hashes.as_flattened())))
	}

	/// The row of logits whose tiles have this root.
	pub(super) fn row(&mut self, root: &Hash) -> Result<Vec<f32>, WitnessError> {
		let number = self.leaves;
		self.leaves = number.saturating_add(1);
		let info = self.plan.last_output().and_then(|logits| self.plan.tensor(logits)).ok_or(Malformed)?;
		let place = |count: u32| usize::try_from(count).map_err(|_| Malformed);
		let bytes = self.take(place(row_tiles(info.cols))?.checked_mul(LEAF_BYTES).ok_or(Malformed)?)?;
		let hashes: Vec<Hash> = bytes.as_chunks::<LEAF_BYTES>().0.iter().map(|tile| leaf_hash(tile)).collect();
		match merkle_root(&hashes) == *root {
			true => Ok(floats(bytes).take(place(info.cols)?).collect()),
			false => Err(WitnessError::Leaf(number)),
		}
	}

	/// Notes one more leaf, whose place the next proofs lead to from `hash`, and checks it.
	fn belongs(&mut self, tensor: TensorId, row: u32, col: u32, hash: Hash) -> Result<(), WitnessError> {
		let number = self.leaves;
		self.leaves = number.saturating_add(1);
		let root = |roots: &[Hash], which: u32| usize::try_from(which).ok().and_then(|which| roots.get(which).copied());
		let good = match self.plan.address(tensor, row, col).ok_or(Malformed)? {
			Address::Node { node, leaf, leaves } => {
				let node_root = self.climb(leaves, leaf, hash)?;
				self.climb(self.plan.listed_nodes(), node, node_root)? == self.agreed.nodes
			}
			Address::Vector { vector, leaf, leaves } => {
				let [low, high] = self.plan.vector_way(vector, leaf, leaves).ok_or(Malformed)?;
				let subtree = self.climb(low.0, low.1, hash)?;
				Some(self.climb(high.0, high.1, subtree)?) == root(self.agreed.vectors, vector)
			}
			Address::Result { result, leaf, leaves } => Some(self.climb(leaves, leaf, hash)?) == root(self.agreed.results, result),
		};
		if good {
			Ok(())
		} else {
			Err(WitnessError::Leaf(number))
		}
	}
}

impl Leaves for Reader<'_> {
	type Error = WitnessError;

	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, WitnessError> {
		let bytes = self.take(LEAF_BYTES)?;
		self.belongs(tensor, row, col, leaf_hash(bytes))?;
		let mut tile = Box::new([0.0; NUMBERS]);
		tile.iter_mut().zip(floats(bytes)).for_each(|(slot, value)| *slot = value);
		Ok(tile)
	}

	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<[f32; NUMBERS / 4], WitnessError> {
		let (bytes, hash) = self.part(quarter)?;
		self.belongs(tensor, row, col, hash)?;
		let mut values = [0.0; NUMBERS / 4];
		values.iter_mut().zip(floats(bytes)).for_each(|(slot, value)| *slot = value);
		Ok(values)
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, WitnessError> {
		match &self.agreed.tokens {
			None => Err(WitnessError::NoTokens),
			Some(Source::Dataset(source)) => self.window(source, sequence, first, count),
			Some(Source::Text(claim)) => {
				let [prompt, answer] = self.text(claim)?;
				// Beyond the text's only sequence there is nothing.
				let tokens = claim.tokens([&prompt, &answer]).filter(|_| sequence == 0).ok_or(Malformed)?;
				let place = |at: u32| usize::try_from(at).map_err(|_| Malformed);
				let end = first.checked_add(count).ok_or(Malformed)?;
				Ok(tokens.get(place(first)?..place(end)?).ok_or(Malformed)?.to_vec())
			}
		}
	}
}
