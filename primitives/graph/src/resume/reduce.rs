//! Sums over tiles, and the aggregation of deltas.

use super::{begun, Cached, Leaves, Malformed, Piece, DELTAS, NUMBERS, TILES};
use crate::graph::TensorId;
use alloc::vec::Vec;
use neuroshard_kernels::scalar::{self, Lanes};

/// Numbers that one piece of a trimmed mean computes.
const PART: usize = NUMBERS / 8;

/// What one number is made of one tile.
#[derive(Clone, Copy)]
pub(super) enum Sum {
	/// The sum of a tile's values.
	Plain,
	/// The sum of 1,024 partial sums. The same sum: a tile holds them in order.
	Group,
	/// The sum of the squares.
	Squares,
}

impl Piece<'_> {
	/// Tile `index` of all inputs, one after the other.
	fn nth_tile(&self, mut index: u32) -> Result<(TensorId, u32, u32), Malformed> {
		for &(tensor, _) in self.inputs() {
			let info = self.plan.tensor(tensor).ok_or(Malformed)?;
			let width = info.cols.div_ceil(32);
			let tiles = info.rows.div_ceil(32).checked_mul(width).ok_or(Malformed)?;
			if index < tiles {
				return Ok((tensor, index / width, index % width));
			}
			index -= tiles;
		}
		Err(Malformed)
	}

	/// One number for each tile of the inputs.
	pub(super) fn sum_tiles<L: Leaves>(&self, sum: Sum, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		let first = self.piece.saturating_mul(TILES);
		for slot in first..first + TILES {
			let index = self.cell.row.checked_mul(1_024).and_then(|before| before.checked_add(slot)).ok_or(Malformed)?;
			// The last piece may be a short one.
			let Ok((tensor, row, col)) = self.nth_tile(index) else { break };
			let mut lanes = Lanes::default();
			for (element, &x) in leaves.tile(tensor, row, col)?.iter().enumerate() {
				match sum {
					Sum::Plain | Sum::Group => lanes.add(element, x),
					Sum::Squares => lanes.add_product(element, x, x),
				}
			}
			*state.get_mut(slot as usize).ok_or(Malformed)? = lanes.finish();
		}
		Ok(state)
	}

	/// `deltas -> g`: added one after the other, then divided.
	pub(super) fn mean<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		let count = u32::try_from(self.inputs().len()).map_err(|_| Malformed)?;
		for delta in self.span(count, DELTAS) {
			let tensor = self.input(delta as usize)?;
			scalar::add_assign(&mut state, leaves.tile(tensor, self.cell.row, self.cell.col)?);
		}
		if self.last() {
			let count = count as f32;
			state.iter_mut().for_each(|sum| *sum /= count);
		}
		Ok(state)
	}

	/// `deltas -> g`: a piece is 4 rows of all deltas.
	pub(super) fn trimmed_mean<L: Leaves>(&self, trim: u32, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		// Half of what is proven: sorting costs as much as the proofs.
		let (quarter, half) = (self.piece / 2, self.piece % 2);
		let mut quarters = Vec::with_capacity(self.inputs().len());
		for &(tensor, _) in self.inputs() {
			quarters.push(leaves.leaves.quarter(tensor, self.cell.row, self.cell.col, quarter)?);
		}
		let rows = half as usize * PART..(half as usize + 1) * PART;
		let inputs: Vec<&[f32]> = quarters.iter().map(|quarter| &quarter[rows.clone()]).collect();
		let out = state.chunks_exact_mut(PART).nth(self.piece as usize).ok_or(Malformed)?;
		let trim = usize::try_from(trim).map_err(|_| Malformed)?;
		if inputs.len() <= 2 * trim {
			return Err(Malformed.into());
		}
		scalar::trimmed_mean(&inputs, trim, out);
		Ok(state)
	}
}
