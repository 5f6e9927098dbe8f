//! RMSNorm of the heads of rows. A norm of whole rows has one head.
//!
//! A head with a norm is whole tiles wide, so that every tile of a tensor belongs to one head, and every tile of their factors to up to 32.

use super::{
	begun,
	rows::{RowLanes, LANES},
	Cached, Leaves, Malformed, Piece, NUMBERS, SIDE, WIDTH,
};
use crate::{cell::Cell, graph::Stage, plan::Plan};
use alloc::{vec, vec::Vec};
use neuroshard_kernels::num::{fma, sqrt};

/// The heads that a tile of factors is about.
pub(super) struct Heads {
	/// Number of the first.
	first: u32,
	/// How many there are.
	count: u32,
	/// Tiles of a head.
	width: u32,
}

impl Heads {
	/// Those that a cell of factors is about; `None` if it is none of factors.
	pub(super) fn of(plan: &Plan, stage: &Stage, cell: Cell) -> Option<Self> {
		let cols = |tensor| plan.tensor(tensor).map(|info| info.cols);
		let all = cols(plan.cell_tensor(cell)?)?;
		let first = cell.col.checked_mul(32)?;
		let (input, _) = *plan.inputs(stage).first()?;
		let width = (cols(input)? / 32).checked_div(all).filter(|&width| width > 0)?;
		Some(Self { first, count: all.checked_sub(first)?.min(32), width })
	}

	/// Tiles in a row of all of them.
	pub(super) fn tiles(&self) -> u32 {
		self.count.saturating_mul(self.width)
	}

	/// Numbers of the state between two pieces: the lanes of the head under way, and where there are several then the tile as far as it is finished.
	pub(super) fn state_len(&self) -> usize {
		SIDE * LANES + if self.count > 1 { NUMBERS } else { 0 }
	}
}

impl Piece<'_> {
	/// The head that the cell belongs to, and the cell's place in it, in tiles; input `factors` has a column for each head.
	fn head(&self, factors: usize) -> Result<(u32, u32), Malformed> {
		let cols = |tensor| self.plan.tensor(tensor).map(|info| info.cols);
		let heads = cols(self.input(factors)?).ok_or(Malformed)?;
		let tiles = self.plan.cell_tensor(self.cell).and_then(cols).ok_or(Malformed)? / 32;
		let width = tiles.checked_div(heads).filter(|&width| width > 0).ok_or(Malformed)?;
		Ok((self.cell.col / width, self.cell.col % width))
	}

	/// Factors of the rows of the cell, for its head, of input `number`.
	pub(super) fn head_factors<L: Leaves>(&self, number: usize, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let (head, _) = self.head(number)?;
		let tile = leaves.tile(self.input(number)?, self.cell.row, head / 32)?;
		Ok(tile.iter().copied().skip(head as usize % SIDE).step_by(SIDE).collect())
	}

	/// Weights of the cell's columns, of input `number`, which all heads share; input `factors` has a column for each head.
	pub(super) fn head_weights<L: Leaves>(&self, number: usize, factors: usize, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let (_, within) = self.head(factors)?;
		Ok(leaves.tile(self.input(number)?, 0, within)?[..SIDE].to_vec())
	}

	/// Goes on with sums of products along heads, of the columns that this piece reads: `product(row, column)` is what is multiplied in a row at one of
	/// them, counted from the first. What is complete of a head becomes `finish(row, head, sum)`, with heads counted within the tile.
	fn sums_of_heads(
		&self,
		heads: &Heads,
		state: Vec<f32>,
		product: impl Fn(usize, usize) -> (f32, f32),
		finish: impl Fn(usize, usize, f32) -> f32,
	) -> Vec<f32> {
		let span = self.span(heads.tiles(), WIDTH);
		let (first, end, length) = (span.start as usize * SIDE, span.end as usize * SIDE, heads.width as usize * SIDE);
		let state = begun(self.piece, state, heads.state_len());
		let (lanes, finished) = state.split_at(SIDE * LANES);
		let mut lanes = RowLanes::resume(self.piece, lanes.to_vec());
		let mut tile = if finished.is_empty() { vec![0.0; NUMBERS] } else { finished.to_vec() };
		for head in first / length..end.div_ceil(length) {
			let (begin, stop) = (first.max(head * length), end.min((head + 1) * length));
			for row in 0..SIDE {
				let lanes = lanes.row(row);
				for column in begin..stop {
					let (a, b) = product(row, column - first);
					lanes.add_product(column - head * length, a, b);
				}
				if stop == (head + 1) * length {
					tile[row * SIDE + head] = finish(row, head, lanes.finish());
					*lanes = Default::default();
				}
			}
		}
		if self.last() {
			return tile;
		}
		let mut state = lanes.leave(false, |_, sum| sum);
		if heads.count > 1 {
			state.extend(tile);
		}
		state
	}

	/// `x -> r`.
	pub(super) fn rms_stats<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let heads = Heads::of(self.plan, self.stage, self.cell).ok_or(Malformed)?;
		let span = self.span(heads.tiles(), WIDTH);
		let (first, count) = ((heads.first * heads.width + span.start) as usize * SIDE, span.len() * SIDE);
		let x = leaves.columns(self.input(0)?, self.cell.row, first, count)?;
		let (dim, eps) = ((heads.width * 32) as f32, self.parameters.norm_eps);
		let at = |row: usize, column: usize| x[row * count + column];
		let product = |row, column| (at(row, column), at(row, column));
		Ok(self.sums_of_heads(&heads, state, product, |_, _, sum| 1.0 / sqrt(sum / dim + eps)))
	}

	/// `dy, x, r, w -> k`.
	pub(super) fn rms_back_stats<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let heads = Heads::of(self.plan, self.stage, self.cell).ok_or(Malformed)?;
		let span = self.span(heads.tiles(), WIDTH);
		let (first, count) = ((heads.first * heads.width + span.start) as usize * SIDE, span.len() * SIDE);
		let dy = leaves.columns(self.input(0)?, self.cell.row, first, count)?;
		let x = leaves.columns(self.input(1)?, self.cell.row, first, count)?;
		let mut w = Vec::with_capacity(count);
		for tile in span.clone() {
			w.extend_from_slice(&leaves.tile(self.input(3)?, 0, tile % heads.width)?[..SIDE]);
		}
		let finishes = span.start / heads.width != span.end / heads.width;
		let factors = if finishes { leaves.tile(self.input(2)?, self.cell.row, self.cell.col)?.to_vec() } else { Vec::new() };
		let dim = (heads.width * 32) as f32;
		let product = |row: usize, column: usize| (dy[row * count + column] * w[column], x[row * count + column]);
		Ok(self.sums_of_heads(&heads, state, product, |row, head, sum| {
			let r = factors[row * SIDE + head];
			(sum / dim) * ((r * r) * r)
		}))
	}

	/// `dy, x, r -> dw`: one row of chains over the rows of tiles, and for each of them over the heads.
	pub(super) fn rms_weight_grad<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let [dy, x, r] = [self.input(0)?, self.input(1)?, self.input(2)?];
		let [info, factors] = [self.plan.tensor(dy).ok_or(Malformed)?, self.plan.tensor(r).ok_or(Malformed)?];
		let (tiles, heads) = (info.rows.div_ceil(32), factors.cols);
		let width = (info.cols / 32).checked_div(heads).ok_or(Malformed)?;
		let mut sums = begun(self.piece, state, SIDE);
		for number in self.span(heads.checked_mul(tiles).ok_or(Malformed)?, WIDTH) {
			let (row, head) = (number / heads, number % heads);
			let col = head.checked_mul(width).and_then(|first| first.checked_add(self.cell.col)).ok_or(Malformed)?;
			let dy = *leaves.tile(dy, row, col)?;
			let x = *leaves.tile(x, row, col)?;
			let r = leaves.tile(r, row, head / 32)?;
			let factors = r.iter().skip(head as usize % SIDE).step_by(SIDE);
			for ((dy, x), &r) in dy.chunks_exact(SIDE).zip(x.chunks_exact(SIDE)).zip(factors) {
				for ((sum, &dy), &x) in sums.iter_mut().zip(dy).zip(x) {
					*sum = fma(dy, x * r, *sum);
				}
			}
		}
		if self.last() {
			sums.resize(NUMBERS, 0.0);
		}
		Ok(sums)
	}
}
