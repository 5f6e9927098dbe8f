//! Matrix products and the gradient of a bias: chains along the inner dimension.

use super::{add_row_products, begun, Cached, Leaves, Malformed, Piece, NUMBERS, SIDE, WIDTH};
use crate::graph::Product;
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{
	scalar,
	shape::{MatDims, Start, SEGMENT},
};

/// Whether a chain over as many tiles of tokens is cut into segments.
pub(super) fn segmented(tiles: u32) -> bool {
	usize::try_from(tiles).is_ok_and(|tiles| tiles * SIDE > SEGMENT)
}

impl Piece<'_> {
	/// What accumulation starts from: input `number`, or zeros.
	pub(super) fn start<L: Leaves>(&self, number: usize, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		match self.inputs().get(number) {
			Some(&(tensor, _)) => Ok(leaves.tile(tensor, self.cell.row, self.cell.col)?.to_vec()),
			None => Ok(vec![0.0; NUMBERS]),
		}
	}

	pub(super) fn product<L: Leaves>(&self, kind: Product, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let (a, b) = (self.input(0)?, self.input(1)?);
		let info = self.plan.tensor(a).ok_or(Malformed)?;
		let output = self.plan.tensor(self.plan.cell_tensor(self.cell).ok_or(Malformed)?).ok_or(Malformed)?;
		let length = if kind.over_tokens() { info.rows } else { info.cols };
		let tiles = length.div_ceil(32);
		let span = self.span(tiles, WIDTH);
		let first = span.start as usize * SIDE;
		let k = (span.len() * SIDE).min(length as usize - first);
		let dims = MatDims { m: SIDE, n: SIDE, k };
		let mut state = if self.piece == 0 { self.start(2, leaves)? } else { state };
		// Rows of the operand whose tiles lie one below the other.
		let mut below = |tensor, col| -> Result<Vec<f32>, L::Error> {
			let mut values = Vec::with_capacity(span.len() * NUMBERS);
			for row in span.clone() {
				values.extend_from_slice(leaves.tile(tensor, row, col)?);
			}
			Ok(values)
		};
		match kind {
			Product::Nt => {
				let (left, right) = (leaves.columns(a, self.cell.row, first, k)?, leaves.columns(b, self.cell.col, first, k)?);
				add_row_products(&left, &right, &mut state);
			}
			// A piece is whole groups of the chain, and whole blocks.
			Product::Int8 | Product::Int8Nt => {
				let (left, right) = (leaves.columns(a, self.cell.row, first, k)?, leaves.columns(b, self.cell.col, first, k)?);
				let product = if kind == Product::Int8 { scalar::matmul_int8 } else { scalar::matmul_int8_nt };
				product(dims, &left, &right, &mut state, Start::Existing);
			}
			Product::Nn | Product::Int8Nn => {
				let mut right = below(b, self.cell.col)?;
				right.truncate(k * SIDE);
				let left = leaves.columns(a, self.cell.row, first, k)?;
				let product = if kind == Product::Nn { scalar::matmul_nn } else { scalar::matmul_int8_nn };
				product(dims, &left, &right, &mut state, Start::Existing);
			}
			Product::Tn | Product::Int8Tn => {
				let (mut left, mut right) = (below(a, self.cell.row)?, below(b, self.cell.col)?);
				left.truncate(k * SIDE);
				right.truncate(k * SIDE);
				if segmented(tiles) {
					state.resize(2 * NUMBERS, 0.0);
				}
				let (sum, segment) = state.split_at_mut(NUMBERS);
				// The first segment goes on from the start value, every later one from zero.
				let target = if first < SEGMENT { &mut *sum } else { &mut *segment };
				let product = if kind == Product::Tn { scalar::matmul_tn } else { scalar::matmul_int8_tn };
				product(dims, &left, &right, target, Start::Existing);
				if first >= SEGMENT && (self.last() || (first + k).is_multiple_of(SEGMENT)) {
					scalar::add_assign(sum, segment);
					segment.fill(0.0);
				}
				if self.last() {
					state.truncate(NUMBERS);
				}
			}
		}
		if self.last() {
			// The rank of an adapter need not be a multiple of a tile: what is beyond the edge is +0, whatever it is multiplied with.
			let inside = |size: u32, tile: u32| (size as usize).saturating_sub(tile as usize * SIDE);
			let (rows, cols) = (inside(output.rows, self.cell.row), inside(output.cols, self.cell.col));
			for (row, values) in state.chunks_exact_mut(SIDE).enumerate() {
				values.iter_mut().skip(if row < rows { cols } else { 0 }).for_each(|value| *value = 0.0);
			}
		}
		Ok(state)
	}

	/// `dy -> db`: one row of chains over the tokens.
	pub(super) fn column_sums<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let dy = self.input(0)?;
		let tiles = self.plan.tensor(dy).ok_or(Malformed)?.rows.div_ceil(32);
		let mut sums = begun(self.piece, state, SIDE);
		for row in self.span(tiles, WIDTH) {
			for dy in leaves.tile(dy, row, self.cell.col)?.chunks_exact(SIDE) {
				scalar::add_assign(&mut sums, dy);
			}
		}
		if self.last() {
			sums.resize(NUMBERS, 0.0);
		}
		Ok(sums)
	}
}
