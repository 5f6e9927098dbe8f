//! Writing a witness off a trace.

use crate::trace::Trace;
use neuroshard_graph::{
	answer,
	cell::{Address, Cell},
	corpus::Corpus,
	graph::TensorId,
	merkle::{merkle_root, prove, Hash},
	resume::{Leaves, Malformed, Tile, NUMBERS},
	tiles::{bytes_of, leaf_hash, LEAF_BYTES, QUARTER_BYTES},
	witness::{row_tile, Tokens},
};
use std::collections::BTreeMap;

/// A chunk of a dataset with its proofs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunk {
	/// Its tokens, zero-padded.
	pub leaf: Box<[u8; LEAF_BYTES]>,
	/// From the chunk to its shard's root.
	pub in_shard: Vec<Hash>,
	/// From the shard's root to the dataset's.
	pub in_corpus: Vec<Hash>,
}

/// Where chunks come from.
pub trait Library {
	/// Chunk `chunk` of shard `shard`; `None` if it is not at hand.
	fn chunk(&self, shard: u32, chunk: u32) -> Option<Chunk>;
}

/// Why there is no witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
	/// There is no such tile or piece.
	#[error(transparent)]
	Malformed(#[from] Malformed),
	/// A chunk of the dataset is not at hand.
	#[error("chunk {chunk} of shard {shard} is not at hand, or is not the dataset's")]
	Chunk {
		/// Shard.
		shard: u32,
		/// Chunk of it.
		chunk: u32,
	},
}

/// How the tokens that a job reads are opened.
enum Opened<'a> {
	/// By chunks of a dataset.
	Dataset(Tokens<'a>, &'a dyn Library),
	/// By all of a prompt and its answer.
	Text([&'a [u32]; 2]),
}

/// Passes on what a trace holds, and writes down how it is proven.
struct Recorder<'a> {
	trace: &'a Trace,
	/// Roots of the trace's listed nodes.
	nodes: &'a [Hash],
	tokens: Option<Opened<'a>>,
	/// Lists of hashes that were made for proofs: of nodes, vectors, results.
	lists: BTreeMap<(u8, u32), Vec<Hash>>,
	bytes: Vec<u8>,
}

/// The witness for `piece` of `cell`: `nodes` are [`Trace::node_roots`] of this trace.
///
/// # Errors
/// [`RecordError`] for a piece that the plan does not have, or a chunk that is not at hand.
pub fn record(
	trace: &Trace,
	nodes: &[Hash],
	tokens: Option<(Tokens<'_>, &dyn Library)>,
	cell: Cell,
	piece: u32,
) -> Result<Vec<u8>, RecordError> {
	record_piece(trace, nodes, tokens.map(|(tokens, library)| Opened::Dataset(tokens, library)), cell, piece)
}

/// As [`record`], where a text is read: all tokens of the prompt and of the answer.
///
/// # Errors
/// [`RecordError`] for a piece that the plan does not have.
pub fn record_reading(trace: &Trace, nodes: &[Hash], text: [&[u32]; 2], cell: Cell, piece: u32) -> Result<Vec<u8>, RecordError> {
	record_piece(trace, nodes, Some(Opened::Text(text)), cell, piece)
}

/// Row `row` of the logits of a text that was read, as the bytes of its tiles: see [`neuroshard_graph::witness::check_choice`].
///
/// # Errors
/// [`Malformed`] for a row that the plan does not have.
fn row_bytes(trace: &Trace, row: u32) -> Result<Vec<u8>, Malformed> {
	let mut bytes = bytes_of(trace.logits(row).ok_or(Malformed)?);
	bytes.resize(bytes.len().next_multiple_of(LEAF_BYTES), 0);
	Ok(bytes)
}

/// Hashes of the tiles of row `row` of the logits of a text that was read.
///
/// # Errors
/// [`Malformed`] for a row that the plan does not have.
pub fn row_hashes(trace: &Trace, row: u32) -> Result<Vec<Hash>, Malformed> {
	Ok(row_bytes(trace, row)?.as_chunks::<LEAF_BYTES>().0.iter().map(|tile| leaf_hash(tile)).collect())
}

/// The witness for tile `tile` of row `row` of the logits of a text that was read.
///
/// # Errors
/// [`RecordError`] for a tile that the row does not have.
pub fn record_row(trace: &Trace, nodes: &[Hash], row: u32, tile: u32) -> Result<Vec<u8>, RecordError> {
	let mut recorder = Recorder { trace, nodes, tokens: None, lists: BTreeMap::new(), bytes: Vec::new() };
	row_tile(trace.plan(), row, tile, &mut recorder)?;
	Ok(recorder.bytes)
}

/// The witness for a choice that is made from row `row` of the logits of a text that was read.
///
/// # Errors
/// [`RecordError`] for a row that the plan does not have.
pub fn record_choice(trace: &Trace, [prompt, answer]: [&[u32]; 2], row: u32) -> Result<Vec<u8>, RecordError> {
	Ok([answer::bytes_of(prompt), answer::bytes_of(answer), row_bytes(trace, row)?].concat())
}

fn record_piece(trace: &Trace, nodes: &[Hash], tokens: Option<Opened<'_>>, cell: Cell, piece: u32) -> Result<Vec<u8>, RecordError> {
	let job = trace.job();
	let mut state = Vec::new();
	for earlier in 0..piece {
		state = job.advance(cell, earlier, state, &mut &*trace)?;
	}
	let bytes = bytes_of(&state);
	let mut recorder = Recorder { trace, nodes, tokens, lists: BTreeMap::new(), bytes };
	job.advance(cell, piece, state, &mut recorder)?;
	Ok(recorder.bytes)
}

impl Recorder<'_> {
	fn write(&mut self, hashes: &[Hash]) {
		self.bytes.extend_from_slice(hashes.as_flattened());
	}

	fn write_proof(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<(), Malformed> {
		let address = self.trace.plan().address(tensor, row, col).ok_or(Malformed)?;
		let (key, leaf) = match address {
			Address::Node { node, leaf, .. } => ((0, node), leaf),
			Address::Vector { vector, leaf, .. } => ((1, vector), leaf),
			Address::Result { result, leaf, .. } => ((2, result), leaf),
		};
		let trace = self.trace;
		let list = self.lists.entry(key).or_insert_with(|| match key {
			(0, node) => trace.node_hashes(node),
			(1, vector) => trace.vector_hashes(vector),
			(_, result) => trace.result_hashes(result),
		});
		if let Address::Vector { vector, leaf, leaves } = address {
			let [low, high] = trace.plan().vector_way(vector, leaf, leaves).ok_or(Malformed)?;
			let subtrees = trace.plan().vector_cover(vector).map_or_else(|| vec![list.as_slice()], |cover| cover.parts(list));
			let those = subtrees.get(high.1 as usize).ok_or(Malformed)?;
			let mut proof = prove(those, low.1).ok_or(Malformed)?;
			let roots: Vec<Hash> = subtrees.iter().map(|subtree| merkle_root(subtree)).collect();
			proof.extend(prove(&roots, high.1).ok_or(Malformed)?);
			self.write(&proof);
			return Ok(());
		}
		let proof = prove(list, leaf).ok_or(Malformed)?;
		self.write(&proof);
		if let Address::Node { node, .. } = address {
			let proof = prove(self.nodes, node).ok_or(Malformed)?;
			self.write(&proof);
		}
		Ok(())
	}
}

impl Recorder<'_> {
	/// A quarter of a tile, and the hashes of the others.
	fn write_quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<(), Malformed> {
		let tile = self.trace.tile_values(tensor, row, col).ok_or(Malformed)?;
		let quarters: Vec<Vec<u8>> = bytes_of(&*tile).chunks_exact(QUARTER_BYTES).map(<[u8]>::to_vec).collect();
		let place = quarter as usize;
		self.bytes.extend(quarters.get(place).ok_or(Malformed)?);
		for (number, other) in quarters.iter().enumerate() {
			if number != place {
				self.write(&[neuroshard_graph::merkle::blake2_256(other)]);
			}
		}
		Ok(())
	}

	/// All tokens of a prompt and its answer.
	fn write_text(&mut self, text: [&[u32]; 2]) {
		text.into_iter().for_each(|tokens| self.bytes.extend(answer::bytes_of(tokens)));
	}

	/// The chunks that hold `count` tokens from `first` on of a sequence.
	fn write_window(
		&mut self,
		source: Tokens<'_>,
		library: &dyn Library,
		(sequence, first, count): (u32, u32, u32),
	) -> Result<(), RecordError> {
		let window = (source.window)(sequence).ok_or(Malformed)?;
		let start = window.start.checked_add(first).ok_or(Malformed)?;
		let end = start.checked_add(count).ok_or(Malformed)?;
		let corpus: Corpus = source.corpus;
		for chunk in start / corpus.width.chunk_tokens()..corpus.width.chunks(end) {
			let missing = RecordError::Chunk { shard: window.shard, chunk };
			let found = library.chunk(window.shard, chunk).ok_or(missing)?;
			if !corpus.holds(window.shard, chunk, &found.leaf, &found.in_shard, &found.in_corpus) {
				return Err(missing);
			}
			self.bytes.extend_from_slice(&*found.leaf);
			self.write(&found.in_shard);
			self.write(&found.in_corpus);
		}
		Ok(())
	}
}

impl Leaves for Recorder<'_> {
	type Error = RecordError;

	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, RecordError> {
		let tile = self.trace.tile_values(tensor, row, col).ok_or(Malformed)?;
		self.bytes.extend(bytes_of(&*tile));
		self.write_proof(tensor, row, col)?;
		Ok(tile)
	}

	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<[f32; NUMBERS / 4], RecordError> {
		self.write_quarter(tensor, row, col, quarter)?;
		self.write_proof(tensor, row, col)?;
		(&mut &*self.trace).quarter(tensor, row, col, quarter).map_err(Into::into)
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, RecordError> {
		match *self.tokens.as_ref().ok_or(Malformed)? {
			Opened::Dataset(source, library) => self.write_window(source, library, (sequence, first, count))?,
			Opened::Text(text) => self.write_text(text),
		}
		(&mut &*self.trace).tokens(sequence, first, count).map_err(Into::into)
	}
}

// A tile is a whole leaf.
const _: () = assert!(4 * NUMBERS == LEAF_BYTES);
