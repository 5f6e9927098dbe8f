//! The aggregation of deltas.

use super::{begun, Cached, Leaves, Malformed, Piece, Tile, DELTAS, NUMBERS, SIDE, TILES};
use crate::{
	graph::{Distance, TensorId},
	outer::Weighing,
	plan::Plan,
};
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{num::fma, scalar};

/// Numbers that one piece of a trimmed mean computes.
const PART: usize = NUMBERS / 8;
/// Rows and columns of a tile of distances that one piece adds to: as many deltas as rows and columns are opened.
const PAIRS: [u32; 2] = [16, 8];
/// Side of a tile.
const TILE: u32 = 32;

/// Rows of tiles that the distances of a segment take.
fn bands(plan: &Plan, distance: Distance) -> u32 {
	match distance {
		Distance::Pairs => plan.deltas().div_ceil(TILE).max(1),
		Distance::Norms => 1,
	}
}

/// Groups of `size` that the deltas are which row or column `tile` of tiles is about.
fn groups(plan: &Plan, tile: u32, size: u32) -> u32 {
	plan.deltas().saturating_sub(tile.saturating_mul(TILE)).min(TILE).div_ceil(size)
}

/// Pieces of a tile of sums of distances: for each part of it all tiles of the segment.
pub(super) fn distance_pieces(plan: &Plan, distance: Distance, row: u32, col: u32) -> u32 {
	let bands = bands(plan, distance);
	let segment = plan.segment(row / bands);
	let parts = match distance {
		Distance::Pairs => groups(plan, row % bands, PAIRS[0]).saturating_mul(groups(plan, col, PAIRS[1])),
		Distance::Norms => 1,
	};
	segment.end.saturating_sub(segment.start).saturating_mul(parts)
}

/// Pieces of a tile of distances: all segments.
pub(super) fn segment_pieces(plan: &Plan) -> u32 {
	plan.segments().div_ceil(TILES)
}

impl Piece<'_> {
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

	/// `deltas -> g`.
	pub(super) fn trimmed_mean<L: Leaves>(&self, trim: u32, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let count = u32::try_from(self.inputs().len()).map_err(|_| Malformed)?;
		let (row, col) = (self.cell.row, self.cell.col);
		self.sorted(count, &[], trim, state, |delta, quarter| leaves.leaves.quarter(self.input(delta as usize)?, row, col, quarter))
	}

	/// `[factors] -> g`.
	pub(super) fn clipped_trimmed_mean<L: Leaves>(
		&self,
		(slot, trim): (u32, u32),
		state: Vec<f32>,
		leaves: &mut Cached<'_, L>,
	) -> Result<Vec<f32>, L::Error> {
		let factors = self.factors(self.optional(0), leaves)?;
		let place = (slot, self.cell.row, self.cell.col);
		self.sorted(self.plan.deltas(), &factors, trim, state, |delta, quarter| self.delta_quarter(delta, place, quarter, leaves))
	}

	/// A piece is 4 rows of all deltas, of which `quarter_of` gives 8.
	fn sorted<E: From<Malformed>>(
		&self,
		deltas: u32,
		factors: &[f32],
		trim: u32,
		state: Vec<f32>,
		mut quarter_of: impl FnMut(u32, u32) -> Result<[f32; NUMBERS / 4], E>,
	) -> Result<Vec<f32>, E> {
		let mut state = begun(self.piece, state, NUMBERS);
		// Half of what is proven: sorting costs as much as the proofs.
		let (quarter, half) = (self.piece / 2, self.piece % 2);
		let mut quarters = Vec::new();
		for delta in 0..deltas {
			quarters.push(quarter_of(delta, quarter)?);
		}
		let rows = half as usize * PART..(half as usize + 1) * PART;
		let inputs: Vec<&[f32]> = quarters.iter().map(|quarter| &quarter[rows.clone()]).collect();
		let out = state.chunks_exact_mut(PART).nth(self.piece as usize).ok_or(Malformed)?;
		let trim = usize::try_from(trim).map_err(|_| Malformed)?;
		if inputs.len() <= 2 * trim {
			return Err(Malformed.into());
		}
		scalar::trimmed_mean(&inputs, factors, trim, out);
		Ok(state)
	}

	/// Number of deltas.
	fn count(&self) -> Result<usize, Malformed> {
		usize::try_from(self.plan.deltas()).map_err(|_| Malformed)
	}

	/// The first row of `tensor`: a number for each delta.
	fn line<L: Leaves>(&self, tensor: TensorId, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut line = Vec::new();
		for col in 0..self.plan.deltas().div_ceil(TILE) {
			line.extend(&leaves.leaves.quarter(tensor, 0, col, 0)?[..SIDE]);
		}
		line.truncate(self.count()?);
		Ok(line)
	}

	/// The factors that shorten deltas; none without a tensor.
	fn factors<L: Leaves>(&self, tensor: Option<TensorId>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		tensor.map_or(Ok(Vec::new()), |tensor| self.line(tensor, leaves))
	}

	/// Input `number`, if there are so many.
	fn optional(&self, number: usize) -> Option<TensorId> {
		self.inputs().get(number).map(|&(tensor, _)| tensor)
	}

	/// Tile `tile` of a vector's list of `delta`, times its factor.
	fn delta<L: Leaves>(&self, delta: u32, tile: u32, factors: &[f32], leaves: &mut Cached<'_, L>) -> Result<Tile, L::Error> {
		let mut values = self.delta_at(delta, self.plan.slot_of(tile).ok_or(Malformed)?, leaves)?;
		if let Some(factor) = factors.get(delta as usize) {
			values.iter_mut().for_each(|value| *value *= factor);
		}
		Ok(values)
	}

	/// `[factors] -> sums`: a piece is one tile of some deltas.
	pub(super) fn distance_sums<L: Leaves>(
		&self,
		distance: Distance,
		state: Vec<f32>,
		leaves: &mut Cached<'_, L>,
	) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		let (plan, bands) = (self.plan, bands(self.plan, distance));
		let segment = plan.segment(self.cell.row / bands);
		let length = segment.end.checked_sub(segment.start).filter(|&length| length > 0).ok_or(Malformed)?;
		let (part, tile) = (self.piece / length, segment.start.saturating_add(self.piece % length));
		let factors = self.factors(self.optional(0), leaves)?;
		// Deltas `first..` of those that tile `tiles` of rows or columns has, `size` at most.
		let some = |tiles: u32, first: u32, size: u32| {
			let first = tiles.saturating_mul(TILE).saturating_add(first);
			first..first.saturating_add(size).min(tiles.saturating_add(1).saturating_mul(TILE)).min(plan.deltas())
		};
		let place = |delta: u32| (delta % TILE) as usize;
		match distance {
			Distance::Pairs => {
				let (down, across) = (self.cell.row % bands, groups(plan, self.cell.col, PAIRS[1]).max(1));
				let mut rows = Vec::new();
				for delta in some(down, part / across * PAIRS[0], PAIRS[0]) {
					rows.push((delta, self.delta(delta, tile, &factors, leaves)?));
				}
				for delta in some(self.cell.col, part % across * PAIRS[1], PAIRS[1]) {
					let values = self.delta(delta, tile, &factors, leaves)?;
					for (row, other) in rows.iter().filter(|(row, _)| *row != delta) {
						*state.get_mut(place(*row) * SIDE + place(delta)).ok_or(Malformed)? += scalar::tile_distance(other, &values);
					}
				}
			}
			Distance::Norms => {
				for delta in some(self.cell.col, 0, TILE) {
					let values = self.delta(delta, tile, &factors, leaves)?;
					*state.get_mut(place(delta)).ok_or(Malformed)? += scalar::tile_distance(&values, &[0.0; NUMBERS]);
				}
			}
		}
		Ok(state)
	}

	/// `sums -> squares`.
	pub(super) fn distances<L: Leaves>(
		&self,
		distance: Distance,
		state: Vec<f32>,
		leaves: &mut Cached<'_, L>,
	) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		let (sums, bands) = (self.input(0)?, bands(self.plan, distance));
		for segment in self.span(self.plan.segments(), TILES) {
			let row = segment.saturating_mul(bands).saturating_add(self.cell.row);
			scalar::add_assign(&mut state, leaves.tile(sums, row, self.cell.col)?);
		}
		Ok(state)
	}

	/// `[squares], [factors] -> w`.
	pub(super) fn weights<L: Leaves>(&self, weighing: Weighing, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let count = self.count()?;
		let squares = match weighing.distance() {
			None => Vec::new(),
			Some(Distance::Pairs) => {
				let width = self.plan.deltas().div_ceil(TILE);
				let mut squares = vec![0.0; count.next_multiple_of(SIDE) * count.next_multiple_of(SIDE)];
				let stride = width as usize * SIDE;
				for (row, col) in (0..width).flat_map(|row| (0..width).map(move |col| (row, col))) {
					let tile = leaves.tile(self.input(0)?, row, col)?;
					for (line, values) in tile.chunks_exact(SIDE).enumerate() {
						let at = (row as usize * SIDE + line) * stride + col as usize * SIDE;
						squares.get_mut(at..at + SIDE).ok_or(Malformed)?.copy_from_slice(values);
					}
				}
				squares
			}
			Some(Distance::Norms) => self.line(self.input(0)?, leaves)?,
		};
		let factors = self.factors(self.optional(usize::from(weighing.distance().is_some())), leaves)?;
		let steps = &self.parameters.inner_steps;
		if weighing == Weighing::Steps && steps.len() != count {
			return Err(Malformed.into());
		}
		let weights = weighing.weigh(&squares, count, &factors, steps);
		let mut out = vec![0.0; NUMBERS];
		let own = weights.iter().skip(self.cell.col as usize * SIDE);
		out.iter_mut().take(SIDE).zip(own).for_each(|(slot, &weight)| *slot = weight);
		Ok(out)
	}

	/// `w -> g`: a piece is some deltas.
	pub(super) fn weighted_sum<L: Leaves>(&self, slot: u32, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut state = begun(self.piece, state, NUMBERS);
		let weights = self.line(self.input(0)?, leaves)?;
		for delta in self.span(self.plan.deltas(), DELTAS) {
			let values = self.delta_at(delta, (slot, self.cell.row, self.cell.col), leaves)?;
			let weight = *weights.get(delta as usize).ok_or(Malformed)?;
			state.iter_mut().zip(&values).for_each(|(sum, &value)| *sum = fma(weight, value, *sum));
		}
		Ok(state)
	}
}
