//! Sums over tiles.

use super::{begun, Cached, Leaves, Malformed, Piece, NUMBERS, TILES};
use crate::graph::TensorId;
use alloc::vec::Vec;
use neuroshard_kernels::scalar::{self, Lanes};

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

	/// The sum of all numbers of the inputs, each of one row.
	pub(super) fn add_up<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		let first = self.piece.saturating_mul(TILES);
		for index in first..first.saturating_add(TILES) {
			// The last piece may be a short one.
			let Ok((tensor, row, col)) = self.nth_tile(index) else { break };
			let cols = self.plan.tensor(tensor).ok_or(Malformed)?.cols.saturating_sub(col.saturating_mul(32)).min(32);
			let numbers = leaves.tile(tensor, row, col)?.iter().take(usize::try_from(cols).map_err(|_| Malformed)?).copied();
			numbers.collect::<Vec<_>>().chunks(1).for_each(|number| scalar::add_assign(&mut state[..1], number));
		}
		Ok(state)
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
