//! Operators that read tokens: gather, scatter-add and cross-entropy. What a token is to them: see [`id`] and [`target`].

use super::{column, Cached, Leaves, Malformed, Piece, NUMBERS, SIDE, WIDTH};
use crate::corpus::{id, target};
use alloc::{vec, vec::Vec};
use neuroshard_kernels::{
	math::{exp, ln},
	scalar::{self, NO_TARGET},
	schedule::reciprocal_count,
};

/// The row of a token in the tile of the embedding that has it.
fn line(token: u32) -> usize {
	token as usize % SIDE
}

impl Piece<'_> {
	/// Tokens of `tiles` tiles of the batch, all in one sequence, `ahead` tokens further on.
	fn tokens<L: Leaves>(&self, tile: u32, tiles: u32, ahead: u32, leaves: &mut Cached<'_, L>) -> Result<Vec<u32>, L::Error> {
		let per_sequence = self.parameters.sequence_tiles();
		let (sequence, place) = (tile / per_sequence, tile % per_sequence);
		let first = place.checked_mul(32).and_then(|first| first.checked_add(ahead)).ok_or(Malformed)?;
		let count = tiles.checked_mul(32).ok_or(Malformed)?;
		let tokens = leaves.leaves.tokens(sequence, first, count)?;
		if u32::try_from(tokens.len()) != Ok(count) {
			return Err(Malformed.into());
		}
		Ok(tokens)
	}

	/// What is read of the rows of `tiles` tiles of the batch, all in one sequence.
	fn ids<L: Leaves>(&self, tile: u32, tiles: u32, leaves: &mut Cached<'_, L>) -> Result<Vec<u32>, L::Error> {
		let mut tokens = self.tokens(tile, tiles, 0, leaves)?;
		tokens.iter_mut().for_each(|token| *token = id(*token, self.parameters.vocab, self.parameters.masked));
		Ok(tokens)
	}

	/// Targets of the 32 rows of a tile of the batch.
	fn targets<L: Leaves>(&self, tile: u32, leaves: &mut Cached<'_, L>) -> Result<Vec<u32>, L::Error> {
		let mut tokens = self.tokens(tile, 1, 1, leaves)?;
		tokens.iter_mut().for_each(|token| *token = target(*token, self.parameters.vocab, self.parameters.masked));
		Ok(tokens)
	}

	/// One by the number of targets that count, which is input `number`; by that of all tokens where there is no such input.
	pub(super) fn inverse_count<L: Leaves>(&self, number: usize, leaves: &mut Cached<'_, L>) -> Result<f32, L::Error> {
		match self.inputs().get(number) {
			Some(&(count, _)) => Ok(reciprocal_count(leaves.tile(count, 0, 0)?[0])),
			None => Ok(self.parameters.inverse_tokens),
		}
	}

	/// `targets -> counts`.
	pub(super) fn count_targets<L: Leaves>(&self, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let mut counts = vec![0.0; SIDE];
		scalar::count_targets(&self.targets(self.cell.row, leaves)?, &mut counts);
		Ok(column(counts))
	}

	/// `tokens, table -> x`.
	pub(super) fn gather<L: Leaves>(&self, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let table = self.input(1)?;
		let tokens = self.ids(self.cell.row, 1, leaves)?;
		let mut out = vec![0.0; NUMBERS];
		for (&token, out) in tokens.iter().zip(out.chunks_exact_mut(SIDE)) {
			let tile = leaves.tile(table, token / 32, self.cell.col)?;
			out.copy_from_slice(&tile[line(token) * SIDE..][..SIDE]);
		}
		Ok(out)
	}

	/// `dx, tokens, [grad] -> grad'`.
	pub(super) fn scatter_add<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let dx = self.input(0)?;
		let tiles = self.plan.tensor(dx).ok_or(Malformed)?.rows.div_ceil(32);
		let mut state = if self.piece == 0 { self.start(2, leaves)? } else { state };
		let span = self.span(tiles, WIDTH);
		let per_sequence = self.parameters.sequence_tiles();
		let mut tile = span.start;
		while tile < span.end {
			let run = (per_sequence - tile % per_sequence).min(span.end - tile);
			let tokens = self.ids(tile, run, leaves)?;
			for (tile, tokens) in (tile..).zip(tokens.chunks_exact(SIDE)) {
				for (row, &token) in tokens.iter().enumerate() {
					let (block, slot) = (token / 32, line(token));
					if block == self.cell.row {
						let dx = leaves.tile(dx, tile, self.cell.col)?;
						scalar::add_assign(&mut state[slot * SIDE..][..SIDE], &dx[row * SIDE..][..SIDE]);
					}
				}
			}
			tile += run;
		}
		Ok(state)
	}

	/// `logits, targets, max, sum -> loss`.
	pub(super) fn loss_rows<L: Leaves>(&self, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let (row, logits) = (self.cell.row, self.input(0)?);
		let targets = self.targets(row, leaves)?;
		let most = *leaves.tile(self.input(2)?, row, 0)?;
		let sum = *leaves.tile(self.input(3)?, row, 0)?;
		let mut losses = Vec::with_capacity(SIDE);
		for (slot, &target) in targets.iter().enumerate() {
			if target == NO_TARGET {
				losses.push(0.0);
				continue;
			}
			let logit = leaves.tile(logits, row, target / 32)?[slot * SIDE + line(target)];
			losses.push((most[slot * SIDE] + ln(sum[slot * SIDE])) - logit);
		}
		Ok(column(losses))
	}

	/// `logits, targets, max, sum, [count] -> d_logits`.
	pub(super) fn loss_back<L: Leaves>(&self, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let row = self.cell.row;
		let targets = self.targets(row, leaves)?;
		let mut out = leaves.tile(self.input(0)?, row, self.cell.col)?.to_vec();
		let most = *leaves.tile(self.input(2)?, row, 0)?;
		let sum = *leaves.tile(self.input(3)?, row, 0)?;
		let inverse_count = self.inverse_count(4, leaves)?;
		for (slot, (&target, out)) in targets.iter().zip(out.chunks_exact_mut(SIDE)).enumerate() {
			if target == NO_TARGET {
				out.fill(0.0);
				continue;
			}
			let inv = 1.0 / sum[slot * SIDE];
			for (element, logit) in (self.cell.col * 32..).zip(out) {
				let p = exp(*logit - most[slot * SIDE]) * inv;
				*logit = (if element == target { p - 1.0 } else { p }) * inverse_count;
			}
		}
		Ok(out)
	}
}
