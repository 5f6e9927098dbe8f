//! Sums over tiles.

use super::{begun, Cached, Leaves, Malformed, Piece, NUMBERS, TILES};
use crate::graph::TensorId;
use alloc::vec::Vec;
use neuroshard_kernels::scalar::Lanes;

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
	#[inline]
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
}
