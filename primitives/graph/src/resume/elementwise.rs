//! Operators that make a tile of the tiles at the same place, and row factors.

use super::{muon, Cached, Leaves, Malformed, Parameters, Piece, Tile, NUMBERS, SIDE};
use crate::graph::{Op, TensorId};
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{
	math::exp,
	num::fma,
	scalar::{self, RmsBackward},
	schedule::{attention_scale, rope_entry},
	shape::{AdamW, Muon, Start},
};

/// The first column of a tile: row factors.
fn factors(tile: &Tile) -> Vec<f32> {
	tile.iter().copied().step_by(SIDE).collect()
}

impl Piece<'_> {
	/// Input `number` at the cell's place.
	fn here<L: Leaves>(&self, number: usize, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		Ok(leaves.tile(self.input(number)?, self.cell.row, self.cell.col)?.to_vec())
	}

	/// Row factors of input `number`.
	fn row_factors<L: Leaves>(&self, number: usize, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		Ok(factors(leaves.tile(self.input(number)?, self.cell.row, 0)?))
	}

	/// The cell's columns of the one row of input `number`.
	fn one_row<L: Leaves>(&self, number: usize, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		Ok(leaves.tile(self.input(number)?, 0, self.cell.col)?[..SIDE].to_vec())
	}

	pub(super) fn elementwise<L: Leaves>(&self, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut out = vec![0.0; NUMBERS];
		match self.stage.op {
			Op::RmsApply => {
				let (x, r, w) = (self.here(0, leaves)?, self.head_factors(1, leaves)?, self.head_weights(2, 1, leaves)?);
				scalar::rms_apply(&x, &r, &w, &mut out);
			}
			Op::RmsBackApply => {
				let (dy, x) = (self.here(0, leaves)?, self.here(1, leaves)?);
				let (r, k, w) = (self.head_factors(2, leaves)?, self.head_factors(3, leaves)?, self.head_weights(4, 2, leaves)?);
				let start = if self.inputs().len() > 5 { Start::Existing } else { Start::Zero };
				if start == Start::Existing {
					out = self.here(5, leaves)?;
				}
				scalar::rms_backward_apply(RmsBackward { dy: &dy, x: &x, w: &w, r: &r, k: &k }, &mut out, start);
			}
			Op::AddBias => {
				out = self.here(0, leaves)?;
				scalar::add_bias(&mut out, &self.one_row(1, leaves)?);
			}
			Op::Scale => {
				out = self.here(0, leaves)?;
				scalar::scale(&mut out, self.parameters.adapter_scale);
			}
			Op::Rope { .. } | Op::RopeBack { .. } => self.turn(&mut out, leaves)?,
			Op::Softmax => {
				let (scores, most, sum) = (self.here(0, leaves)?, self.row_factors(1, leaves)?, self.row_factors(2, leaves)?);
				self.seen(&mut out, |row, at| exp(scores[at] - most[row]) * (1.0 / sum[row]));
			}
			Op::ScoreBack => {
				let (p, dp, d) = (self.here(0, leaves)?, self.here(1, leaves)?, self.row_factors(2, leaves)?);
				let scale = attention_scale(self.parameters.head_dim);
				self.seen(&mut out, |row, at| (p[at] * (dp[at] - d[row])) * scale);
			}
			Op::Swiglu => scalar::swiglu_forward(&self.here(0, leaves)?, &self.here(1, leaves)?, &mut out),
			Op::SwigluBack => {
				let mut up = vec![0.0; NUMBERS];
				let (dh, gate, value) = (self.here(0, leaves)?, self.here(1, leaves)?, self.here(2, leaves)?);
				scalar::swiglu_backward(&dh, &gate, &value, &mut out, &mut up);
				if self.cell.output == 1 {
					out = up;
				}
			}
			Op::MeanLoss => out[0] = self.here(0, leaves)?[0] * self.inverse_count(1, leaves)?,
			Op::ClipScale => out[0] = scalar::clip_scale(self.here(0, leaves)?[0], self.parameters.clip),
			Op::AdamW => {
				let [mut p, mut m, mut v] = [self.here(0, leaves)?, self.here(1, leaves)?, self.here(2, leaves)?];
				let (g, clip) = (self.here(3, leaves)?, leaves.tile(self.input(4)?, 0, 0)?[0]);
				scalar::adamw(&AdamW { clip, ..self.parameters.adamw }, &mut p, &mut m, &mut v, &g);
				out = self.chosen([p, m, v])?;
			}
			Op::MuonDirection => {
				let (m, g) = (self.here(0, leaves)?, self.here(1, leaves)?);
				let step = self.muon(leaves.tile(self.input(2)?, 0, 0)?[0])?;
				scalar::muon_direction(&step, &m, &g, &mut out);
			}
			Op::MuonNormalize => {
				out = self.here(0, leaves)?;
				scalar::muon_normalize(&mut out, leaves.tile(self.input(1)?, 0, 0)?[0]);
			}
			Op::MuonPolynomial => {
				let a = self.here(0, leaves)?;
				out = self.here(1, leaves)?;
				// In its tile the diagonal begins with the first row; in the others it is beyond the last column.
				let first = if self.cell.row == self.cell.col { 0 } else { SIDE };
				scalar::muon_polynomial(&a, &mut out, SIDE, first);
			}
			Op::Muon => {
				let [mut p, mut m, g] = [self.here(0, leaves)?, self.here(1, leaves)?, self.here(2, leaves)?];
				let step = self.muon(leaves.tile(self.input(3)?, 0, 0)?[0])?;
				scalar::muon(&step, &mut p, &mut m, &g, &self.here(4, leaves)?);
				out = self.chosen([p, m, vec![0.0; NUMBERS]])?;
			}
			Op::Delta => scalar::sub(&self.here(0, leaves)?, &self.here(1, leaves)?, &mut out),
			Op::Nesterov => {
				let [mut theta, mut momentum, g] = [self.here(0, leaves)?, self.here(1, leaves)?, self.here(2, leaves)?];
				scalar::nesterov(&mut theta, &mut momentum, &g, self.parameters.outer_lr, self.parameters.outer_beta);
				out = self.chosen([theta, momentum])?;
			}
			_ => return Err(Malformed.into()),
		}
		Ok(out)
	}

	/// Muon's scalars for the tensor of the cell, with this clip factor.
	fn muon(&self, clip: f32) -> Result<Muon, Malformed> {
		let info = self.plan.cell_tensor(self.cell).and_then(|tensor| self.plan.tensor(tensor)).ok_or(Malformed)?;
		let size = |value: u32| usize::try_from(value).map_err(|_| Malformed);
		let step = AdamW { clip, ..self.parameters.adamw };
		Ok(muon(&step, self.parameters.momentum, (size(info.rows)?, size(info.cols)?)))
	}

	/// The output that the cell belongs to.
	fn chosen<const N: usize>(&self, outputs: [Vec<f32>; N]) -> Result<Vec<f32>, Malformed> {
		outputs.into_iter().nth(self.cell.output as usize).ok_or(Malformed)
	}

	/// Fills in `f(row, index)` for the keys that each query of the tile sees; the others stay as they are.
	fn seen(&self, out: &mut [f32], f: impl Fn(usize, usize) -> f32) {
		let place = self.cell.row % self.parameters.sequence_tiles();
		if self.cell.col > place {
			return;
		}
		for (row, out) in out.chunks_exact_mut(SIDE).enumerate() {
			let count = if self.cell.col == place { row + 1 } else { SIDE };
			for (col, out) in out.iter_mut().enumerate().take(count) {
				*out = f(row, row * SIDE + col);
			}
		}
	}

	/// RoPE, forward or back: an element turns with the one half a head away.
	fn turn<L: Leaves>(&self, out: &mut [f32], leaves: &mut Cached<'_, L>) -> Result<(), L::Error> {
		let (x, row): (TensorId, u32) = (self.input(0)?, self.cell.row);
		let Parameters { head_dim, rope_theta, rope_scaling, .. } = *self.parameters;
		let half = head_dim / 2;
		let back = matches!(self.stage.op, Op::RopeBack { .. });
		let first = (row % self.parameters.sequence_tiles()) as usize * SIDE;
		for (slot, column) in (self.cell.col as usize * SIDE..).take(SIDE).enumerate() {
			let within = column % head_dim;
			let lower = within < half;
			let partner = if lower { column + half } else { column - half };
			let own = column_of(leaves, x, row, column)?;
			let other = column_of(leaves, x, row, partner)?;
			for (position, (&own, &other)) in own.iter().zip(&other).enumerate() {
				let (c, s) = rope_entry(rope_theta, rope_scaling, head_dim, first + position, within % half);
				// The lower half takes -x2 s, the upper one x1 s; backward it is the other way round.
				let turned = if lower == back { other * s } else { -(other * s) };
				out[position * SIDE + slot] = fma(own, c, turned);
			}
		}
		Ok(())
	}
}

/// Column `column` of the 32 rows of a row of tiles.
fn column_of<L: Leaves>(leaves: &mut Cached<'_, L>, tensor: TensorId, row: u32, column: usize) -> Result<Vec<f32>, L::Error> {
	let tile = leaves.tile(tensor, row, u32::try_from(column / SIDE).map_err(|_| Malformed)?)?;
	Ok(tile.iter().copied().skip(column % SIDE).step_by(SIDE).collect())
}
