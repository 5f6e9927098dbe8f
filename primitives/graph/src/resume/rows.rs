//! Reductions of rows: 32 rows at a time, 16 lanes each.

use super::{begun, column, Cached, Leaves, Malformed, Piece, SIDE, WIDTH};
use crate::graph::Extent;
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{math::exp, num::max, scalar::Lanes};

/// Lanes of a row.
pub(super) const LANES: usize = 16;

/// The lanes of 32 rows.
pub(super) struct RowLanes([Lanes; SIDE]);

impl RowLanes {
	/// The lanes after earlier pieces.
	pub(super) fn resume(piece: u32, state: Vec<f32>) -> Self {
		let state = begun(piece, state, SIDE * LANES);
		let mut lanes = [Lanes::default(); SIDE];
		for (lanes, state) in lanes.iter_mut().zip(state.chunks_exact(LANES)) {
			lanes.0.copy_from_slice(state);
		}
		Self(lanes)
	}

	/// The lanes of row `row`, below 32.
	#[inline]
	pub(super) fn row(&mut self, row: usize) -> &mut Lanes {
		&mut self.0[row]
	}

	/// The state, or after the last piece the tile whose first column is `finish` of each row's sum.
	pub(super) fn leave(self, last: bool, mut finish: impl FnMut(usize, f32) -> f32) -> Vec<f32> {
		if last {
			column(self.0.iter().enumerate().map(|(row, lanes)| finish(row, lanes.finish())))
		} else {
			self.0.iter().flat_map(|lanes| lanes.0).collect()
		}
	}
}

impl Piece<'_> {
	/// Columns of the input's rows that this piece reads.
	#[inline]
	fn columns(&self, extent: Extent) -> Result<core::ops::Range<usize>, Malformed> {
		let cols = self.plan.tensor(self.input(0)?).ok_or(Malformed)?.cols;
		let tiles = match extent {
			Extent::Row => cols.div_ceil(32),
			Extent::Causal => self.cell.row % self.parameters.sequence_tiles() + 1,
		};
		let span = self.span(tiles, WIDTH);
		let end = (span.end as usize * SIDE).min(usize::try_from(cols).map_err(|_| Malformed)?);
		Ok(span.start as usize * SIDE..end)
	}

	/// Columns of row `row` of the tile that count, of those that a piece reads.
	#[inline]
	fn counted(&self, extent: Extent, row: usize, columns: &core::ops::Range<usize>) -> usize {
		match extent {
			Extent::Row => columns.len(),
			Extent::Causal => {
				let position = (self.cell.row % self.parameters.sequence_tiles()) as usize * SIDE + row;
				(position + 1).saturating_sub(columns.start).min(columns.len())
			}
		}
	}

	/// `x -> max`.
	pub(super) fn row_max<L: Leaves>(&self, extent: Extent, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let columns = self.columns(extent)?;
		let x = leaves.columns(self.input(0)?, self.cell.row, columns.start, columns.len())?;
		// Nothing is below it in the total order.
		let mut most = if self.piece == 0 { vec![f32::NEG_INFINITY; SIDE] } else { state };
		for (row, (most, x)) in most.iter_mut().zip(x.chunks_exact(columns.len())).enumerate() {
			*most = x[..self.counted(extent, row, &columns)].iter().fold(*most, |most, &x| max(most, x));
		}
		Ok(if self.last() { column(most) } else { most })
	}

	/// `x, max -> sum`.
	pub(super) fn exp_sum<L: Leaves>(&self, extent: Extent, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let columns = self.columns(extent)?;
		let x = leaves.columns(self.input(0)?, self.cell.row, columns.start, columns.len())?;
		let most = leaves.tile(self.input(1)?, self.cell.row, 0)?;
		let mut lanes = RowLanes::resume(self.piece, state);
		for (row, x) in x.chunks_exact(columns.len()).enumerate() {
			for (element, &x) in columns.clone().zip(&x[..self.counted(extent, row, &columns)]) {
				lanes.row(row).add(element, exp(x - most[row * SIDE]));
			}
		}
		Ok(lanes.leave(self.last(), |_, sum| sum))
	}
}
