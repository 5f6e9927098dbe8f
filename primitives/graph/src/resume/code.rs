//! Deltas as they are sent.

use super::{begun, Cached, Leaves, Malformed, Piece, Tile, NUMBERS};
use crate::{config::Code, graph::TensorId};
use alloc::vec::Vec;

/// Numbers of a code that one piece computes: of at most 16 tiles.
const PART: usize = 16;
/// Numbers of a quarter of a tile.
const QUARTER: usize = NUMBERS / 4;
/// Pieces of a tile of a code.
pub(super) const PIECES: u32 = 64;
const _: () = assert!(PART * 64 == NUMBERS);

impl Piece<'_> {
	/// `-> code`: a piece is some numbers, for which it reads the tiles that they are of.
	pub(super) fn encode<L: Leaves>(&self, code: Code, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		let first = u64::from(self.cell.row) * (NUMBERS as u64) + u64::from(self.piece) * (PART as u64);
		let out = state.chunks_exact_mut(PART).nth(self.piece as usize).ok_or(Malformed)?;
		code.numbers(self.plan.vector_len(), first, out, |tile| {
			let (slot, row, col) = self.plan.slot_of(tile).ok_or(Malformed)?;
			let of = |vector| self.plan.vector_tensor(vector, slot).ok_or(Malformed);
			let start = *leaves.tile(of(0)?, row, col)?;
			let end = *leaves.tile(of(1)?, row, col)?;
			let residual = match code.decay() {
				Some(_) => Some(*leaves.tile(of(2)?, row, col)?),
				None => None,
			};
			Ok::<_, L::Error>(code.delta(&start, &end, residual.as_ref()))
		})?;
		Ok(state)
	}

	/// `theta_r, theta_h, residual -> residual'`.
	pub(super) fn residual<L: Leaves>(&self, code: Code, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut tiles = [[0.0; NUMBERS]; 3];
		for (number, tile) in tiles.iter_mut().enumerate() {
			*tile = *leaves.tile(self.input(number)?, self.cell.row, self.cell.col)?;
		}
		let [start, end, residual] = &tiles;
		let output = self.plan.cell_tensor(self.cell).and_then(|output| self.plan.tensor(output)).ok_or(Malformed)?;
		let rows = output.rows.saturating_sub(self.cell.row.saturating_mul(32)).min(32);
		Ok(code.rest(&code.delta(start, end, Some(residual)), rows as usize).to_vec())
	}

	/// Tile (`row`, `col`) of tensor `slot` of `delta`: as it was sent, or what its code says.
	pub(super) fn delta_at<L: Leaves>(
		&self,
		delta: u32,
		(slot, row, col): (u32, u32, u32),
		leaves: &mut Cached<'_, L>,
	) -> Result<Tile, L::Error> {
		let Some(sent) = self.plan.delta_code(delta) else {
			return Ok(*leaves.tile(self.plan.delta_tensor(delta, slot).ok_or(Malformed)?, row, col)?);
		};
		self.decoded((slot, row, col), sent, leaves)
	}

	/// Quarter `quarter` of such a tile, of which no more than that is opened, or of a code that quarter which has it.
	pub(super) fn delta_quarter<L: Leaves>(
		&self,
		delta: u32,
		(slot, row, col): (u32, u32, u32),
		quarter: u32,
		leaves: &mut Cached<'_, L>,
	) -> Result<[f32; QUARTER], L::Error> {
		let Some(sent) = self.plan.delta_code(delta) else {
			return leaves.leaves.quarter(self.plan.delta_tensor(delta, slot).ok_or(Malformed)?, row, col, quarter);
		};
		let tile = self.decoded((slot, row, col), sent, leaves)?;
		let mut part = [0.0; QUARTER];
		part.copy_from_slice(tile.chunks_exact(QUARTER).nth(quarter as usize).ok_or(Malformed)?);
		Ok(part)
	}

	/// What the code `sent` says of a tile: the quarters that have it are opened.
	fn decoded<L: Leaves>(&self, (slot, row, col): (u32, u32, u32), sent: TensorId, leaves: &mut Cached<'_, L>) -> Result<Tile, L::Error> {
		let code = self.plan.coded.ok_or(Malformed)?.code;
		let tile = self.plan.tile_of(slot, row, col).ok_or(Malformed)?;
		let rows = self.plan.rows_inside(slot, row).ok_or(Malformed)?;
		code.tile(self.plan.vector_len(), tile, rows, |first, out| {
			let row = u32::try_from(first / NUMBERS as u64).map_err(|_| Malformed)?;
			let within = (first % NUMBERS as u64) as usize;
			let quarter = u32::try_from(within / QUARTER).map_err(|_| Malformed)?;
			let numbers = leaves.quarter(sent, row, quarter)?;
			out.iter_mut().zip(&numbers[within % QUARTER..]).for_each(|(out, &number)| *out = number);
			Ok(())
		})
	}
}
