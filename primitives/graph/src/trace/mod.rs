//! Traces: a job with every tensor kept, fused ones included, as a dispute about it needs them.
//!
//! A trace computes the same bits as [`crate::exec`] does, at the cost of the memory: it is built for one step, in a dispute.

mod attention;
mod checkpoint;
mod step;

use crate::{
	cell::{Address, Cell},
	config::ConfigError,
	exec::Exec,
	graph::{Origin, TensorId},
	merkle::{merkle_root, Hash},
	plan::Plan,
	resume::{Job, Leaves, Malformed, Parameters, Tile, NUMBERS, SIDE},
	tiles::{bytes_of, in_parts, write_tile, written_hashes},
};
use alloc::{boxed::Box, vec, vec::Vec};
pub use step::{Mistake, TraceError};

/// A job with all its tensors.
pub struct Trace {
	plan: Plan,
	parameters: Parameters,
	/// By number; empty for token identifiers.
	tensors: Vec<Vec<f32>>,
	/// Of a training step: each sequence with the token that follows it.
	tokens: Vec<u16>,
	/// Tokens of a sequence, without the one that follows.
	seq: usize,
	/// Threads that hash.
	threads: usize,
}

impl Trace {
	/// A trace with all vectors of the job's start in place and the rest to be computed.
	fn new(exec: &Exec, plan: Plan, parameters: Parameters, vectors: &[&[f32]]) -> Result<Self, ConfigError> {
		let mut tensors = Vec::with_capacity(plan.tensor_count());
		let mut offsets = vec![0usize; vectors.len()];
		for (id, info) in (0..).map(TensorId).zip(plan.tensors()) {
			let len = usize::try_from(info.len()).map_err(|_| ConfigError::TooLarge)?;
			tensors.push(match plan.origin(id) {
				Some(Origin::Vector { vector, .. }) => {
					let vector = usize::try_from(vector).map_err(|_| ConfigError::TooLarge)?;
					// The tensors of a vector come in layout order.
					let (values, offset) = vectors.get(vector).zip(offsets.get_mut(vector)).ok_or(ConfigError::Dimension)?;
					let values = values.get(*offset..*offset + len).ok_or(ConfigError::Dimension)?;
					*offset += len;
					values.to_vec()
				}
				_ => Vec::new(),
			});
		}
		Ok(Self { plan, parameters, tensors, tokens: Vec::new(), seq: 0, threads: exec.threads() })
	}

	/// The plan.
	pub fn plan(&self) -> &Plan {
		&self.plan
	}

	/// The job, to compute its tiles piece by piece.
	pub fn job(&self) -> Job<'_> {
		Job::new(&self.plan, self.parameters.clone())
	}

	/// Values of a tensor; empty for token identifiers and tensors of another plan.
	pub fn tensor(&self, id: TensorId) -> &[f32] {
		self.tensors.get(id.0 as usize).map_or(&[], Vec::as_slice)
	}

	/// A vector that the job ends with, in parameter layout; see [`Plan::results`]. Empty if there is none.
	pub fn result(&self, result: usize) -> Vec<f32> {
		self.plan.results().get(result).into_iter().flatten().flat_map(|&id| self.tensor(id)).copied().collect()
	}

	/// A tile.
	pub fn tile_values(&self, tensor: TensorId, row: u32, col: u32) -> Option<Box<Tile>> {
		let info = self.plan.tensor(tensor)?;
		let (rows, cols) = (info.rows as usize, info.cols as usize);
		let (top, left) = (row as usize * SIDE, col as usize * SIDE);
		let values = self.tensors.get(tensor.0 as usize)?;
		if top >= rows || left >= cols || values.is_empty() {
			return None;
		}
		let mut tile = Box::new([0.0; NUMBERS]);
		for (line, out) in (top..rows.min(top + SIDE)).zip(tile.chunks_exact_mut(SIDE)) {
			let part = &values[line * cols + left..line * cols + cols.min(left + SIDE)];
			out[..part.len()].copy_from_slice(part);
		}
		Some(tile)
	}

	/// Hashes of tiles on up to `threads` threads.
	fn hashes_of(&self, places: &[(TensorId, u32, u32)], threads: usize) -> Vec<Hash> {
		written_hashes(places.len(), threads, |number, leaf| {
			let (tensor, row, col) = places[number];
			let shape = self.plan.tensor(tensor).map_or([0, 0], |info| [info.rows as usize, info.cols as usize]);
			write_tile(self.tensor(tensor), shape, row as usize, col as usize, leaf);
		})
	}

	fn hashes_of_node(&self, node: u32, threads: usize) -> Vec<Hash> {
		let place = |leaf| self.plan.node_cell(node, leaf).and_then(|cell| Some((self.plan.cell_tensor(cell)?, cell.row, cell.col)));
		let places: Vec<_> = (0..self.plan.node_tiles(node).unwrap_or(0)).filter_map(place).collect();
		self.hashes_of(&places, threads)
	}

	/// Hashes of the tiles that node `node` outputs; empty beyond the last node.
	pub fn node_hashes(&self, node: u32) -> Vec<Hash> {
		self.hashes_of_node(node, self.threads)
	}

	/// Roots of all nodes whose lists are committed to.
	pub fn node_roots(&self) -> Vec<Hash> {
		let mut roots = vec![[0; 32]; self.plan.listed_nodes() as usize];
		in_parts(self.threads, &mut roots, |first, roots| {
			for (node, root) in (0..).skip(first).zip(roots) {
				*root = merkle_root(&self.hashes_of_node(node, 1));
			}
		});
		roots
	}

	/// Hashes of the tiles of a vector that the job ends with.
	pub fn result_hashes(&self, result: u32) -> Vec<Hash> {
		self.tensor_hashes(self.plan.results().get(result as usize).into_iter().flatten().copied())
	}

	/// Roots of the first `N` vectors that the job ends with; `None` if there are fewer.
	pub fn result_roots<const N: usize>(&self) -> Option<[Hash; N]> {
		let count = u32::try_from(N).ok()?;
		if self.plan.results().len() < N {
			return None;
		}
		let roots: Vec<Hash> = (0..count).map(|result| merkle_root(&self.result_hashes(result))).collect();
		roots.try_into().ok()
	}

	/// The node whose value is the first that ends the job as diverged: the loss or the gradient's square norm; `None` if both are finite.
	pub fn diverged_node(&self) -> Option<u32> {
		let job = self.plan.job.as_ref()?;
		job.ends().filter(|&id| !self.tensor(id).first().is_some_and(|value| value.is_finite())).find_map(|id| {
			match self.plan.address(id, 0, 0)? {
				Address::Node { node, .. } => Some(node),
				Address::Vector { .. } | Address::Result { .. } => None,
			}
		})
	}

	/// Hashes of the tiles of a vector that the job starts from.
	pub fn vector_hashes(&self, vector: u32) -> Vec<Hash> {
		let all = (0..).map(TensorId).take(self.tensors.len());
		self.tensor_hashes(all.filter(|&id| matches!(self.plan.origin(id), Some(Origin::Vector { vector: other, .. }) if other == vector)))
	}

	fn tensor_hashes(&self, tensors: impl Iterator<Item = TensorId>) -> Vec<Hash> {
		let places = tensors.flat_map(|id| {
			let (rows, cols) = self.plan.tensor(id).map_or((0, 0), |info| (info.rows.div_ceil(32), info.cols.div_ceil(32)));
			(0..rows).flat_map(move |row| (0..cols).map(move |col| (id, row, col)))
		});
		self.hashes_of(&places.collect::<Vec<_>>(), self.threads)
	}

	/// Hashes of the states after each piece of a cell but the last, computed from this trace's values of its inputs.
	///
	/// # Errors
	/// [`Malformed`] for a cell of another plan.
	pub fn prefix_hashes(&self, cell: Cell) -> Result<Vec<Hash>, Malformed> {
		let job = self.job();
		let pieces = job.pieces(cell).ok_or(Malformed)?;
		let (mut state, mut hashes) = (Vec::new(), Vec::new());
		for piece in 0..pieces.saturating_sub(1) {
			state = job.advance(cell, piece, state, &mut &*self)?;
			hashes.push(crate::merkle::blake2_256(&bytes_of(&state)));
		}
		Ok(hashes)
	}
}

impl Leaves for &Trace {
	type Error = Malformed;

	fn tile(&mut self, tensor: TensorId, row: u32, col: u32) -> Result<Box<Tile>, Malformed> {
		self.tile_values(tensor, row, col).ok_or(Malformed)
	}

	fn quarter(&mut self, tensor: TensorId, row: u32, col: u32, quarter: u32) -> Result<[f32; NUMBERS / 4], Malformed> {
		let tile = self.tile_values(tensor, row, col).ok_or(Malformed)?;
		let mut part = [0.0; NUMBERS / 4];
		part.copy_from_slice(tile.chunks_exact(NUMBERS / 4).nth(quarter as usize).ok_or(Malformed)?);
		Ok(part)
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u16>, Malformed> {
		let start = sequence as usize * (self.seq + 1) + first as usize;
		let inside = first as usize + count as usize <= self.seq + 1;
		self.tokens.get(start..start + count as usize).filter(|_| inside).map(<[u16]>::to_vec).ok_or(Malformed)
	}
}
