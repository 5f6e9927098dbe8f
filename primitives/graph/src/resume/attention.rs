//! Attention, unfused: scores and what is weighted by them, one tile at a time.

use super::{add_row_products, begun, rows::RowLanes, Cached, Leaves, Malformed, Parameters, Piece, NUMBERS, SIDE, WIDTH};
use crate::cell::Cell;
use alloc::{vec, vec::Vec};
use core::ops::Range;
use neuroshard_kernels::{num::fma, schedule::attention_scale};

/// A row of tiles of scores: its sequence, head, and place in the sequence.
struct ScoreRow {
	sequence: usize,
	head: usize,
	place: usize,
}

impl Parameters {
	#[inline]
	fn score_row(&self, row: u32) -> ScoreRow {
		let tiles = self.seq / SIDE;
		let row = row as usize;
		ScoreRow { sequence: row / tiles / self.heads, head: row / tiles % self.heads, place: row % tiles }
	}

	/// Row of tiles of the scores of a head at a place of a sequence.
	#[inline]
	fn score_tile(&self, sequence: usize, head: usize, place: usize) -> Result<u32, Malformed> {
		number((sequence * self.heads + head) * (self.seq / SIDE) + place)
	}

	/// The heads that a tile of a tensor `[tokens, heads * head_dim]` covers, each with its columns within the tile and the first of
	/// them within the head.
	#[inline]
	fn heads_of(&self, col: u32, heads: usize) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
		let first = col as usize * SIDE;
		let end = (first + SIDE).min(heads * self.head_dim);
		let head_dim = self.head_dim;
		(first / head_dim..end.div_ceil(head_dim)).map(move |head| {
			let begin = (head * head_dim).max(first);
			let stop = ((head + 1) * head_dim).min(end);
			(head, begin - first..stop - first, begin - head * head_dim)
		})
	}

	/// Tiles along a sequence that one piece reads for every head that the tile covers.
	#[inline]
	fn width(&self, col: u32, heads: usize) -> u32 {
		let covered = u32::try_from(self.heads_of(col, heads).count()).unwrap_or(WIDTH);
		(WIDTH / covered.max(1)).max(1)
	}
}

#[inline]
fn number(value: usize) -> Result<u32, Malformed> {
	u32::try_from(value).map_err(|_| Malformed)
}

/// Pieces of a sum over the keys that a query sees.
pub(super) fn row_pieces(parameters: &Parameters, cell: Cell) -> u32 {
	(cell.row % parameters.sequence_tiles() + 1).div_ceil(parameters.width(cell.col, parameters.heads))
}

/// Pieces of a sum over the queries that see a key, for every head of the group.
pub(super) fn column_pieces(parameters: &Parameters, cell: Cell) -> u32 {
	let group = u32::try_from(parameters.group()).unwrap_or(u32::MAX);
	let places = parameters.sequence_tiles() - cell.row % parameters.sequence_tiles();
	group.saturating_mul(places).div_ceil(parameters.width(cell.col, parameters.kv_heads))
}

/// Sets to zero what lies right of the diagonal of a tile on it.
#[inline]
fn below_diagonal(tile: &mut [f32]) {
	for (row, values) in tile.chunks_exact_mut(SIDE).enumerate() {
		values[row + 1..].fill(0.0);
	}
}

impl Piece<'_> {
	/// `q, k -> s` (scaled) and `d_o, v -> dp`.
	pub(super) fn scores<L: Leaves>(&self, scaled: bool, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let parameters = self.parameters;
		let ScoreRow { sequence, head, place } = parameters.score_row(self.cell.row);
		let key_place = self.cell.col as usize;
		if key_place > place {
			return Ok(vec![0.0; NUMBERS]);
		}
		let tiles = parameters.seq / SIDE;
		let span = parameters.head_span(self.piece);
		let (left, right) = (head * parameters.head_dim, head / parameters.group() * parameters.head_dim);
		let a = leaves.columns(self.input(0)?, number(sequence * tiles + place)?, left + span.start, span.len())?;
		let b = leaves.columns(self.input(1)?, number(sequence * tiles + key_place)?, right + span.start, span.len())?;
		let mut state = begun(self.piece, state, NUMBERS);
		add_row_products(&a, &b, &mut state);
		if self.last() {
			if scaled {
				let scale = attention_scale(parameters.head_dim);
				state.iter_mut().for_each(|value| *value *= scale);
			}
			if key_place == place {
				below_diagonal(&mut state);
			}
		}
		Ok(state)
	}

	/// `d_o, o -> d`.
	pub(super) fn head_dots<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let parameters = self.parameters;
		let ScoreRow { sequence, head, place } = parameters.score_row(self.cell.row);
		let row = number(sequence * (parameters.seq / SIDE) + place)?;
		let span = parameters.head_span(self.piece);
		let first = head * parameters.head_dim + span.start;
		let a = leaves.columns(self.input(0)?, row, first, span.len())?;
		let b = leaves.columns(self.input(1)?, row, first, span.len())?;
		let mut lanes = RowLanes::resume(self.piece, state);
		for (row, (a, b)) in a.chunks_exact(span.len()).zip(b.chunks_exact(span.len())).enumerate() {
			for ((element, &a), &b) in span.clone().zip(a).zip(b) {
				lanes.row(row).add_product(element, a, b);
			}
		}
		Ok(lanes.leave(self.last(), |_, sum| sum))
	}

	/// `p, v -> o` and `ds, k -> dq`: every query's weights times what belongs to its keys, keys ascending.
	pub(super) fn weighted_rows<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let (parameters, weights, values) = (self.parameters, self.input(0)?, self.input(1)?);
		let tiles = parameters.seq / SIDE;
		let (sequence, place) = (self.cell.row as usize / tiles, self.cell.row as usize % tiles);
		let mut state = begun(self.piece, state, NUMBERS);
		for key_place in self.span(number(place + 1)?, parameters.width(self.cell.col, parameters.heads)) {
			for (head, columns, offset) in parameters.heads_of(self.cell.col, parameters.heads) {
				let weights = *leaves.tile(weights, parameters.score_tile(sequence, head, place)?, key_place)?;
				let first = head / parameters.group() * parameters.head_dim + offset;
				let row = number(sequence * tiles + key_place as usize)?;
				let values = leaves.columns(values, row, first, columns.len())?;
				for (i, out) in state.chunks_exact_mut(SIDE).enumerate() {
					let seen = if key_place as usize == place { i + 1 } else { SIDE };
					for (&weight, x) in weights[i * SIDE..i * SIDE + seen].iter().zip(values.chunks_exact(columns.len())) {
						for (out, &x) in out[columns.clone()].iter_mut().zip(x) {
							*out = fma(weight, x, *out);
						}
					}
				}
			}
		}
		Ok(state)
	}

	/// `ds, q -> dk` and `p, d_o -> dv`: for every key the weights that queries give it, heads of the group ascending, then queries.
	pub(super) fn weighted_columns<L: Leaves>(&self, state: Vec<f32>, leaves: &mut Cached<'_, L>) -> Result<Vec<f32>, L::Error> {
		let (parameters, weights, values) = (self.parameters, self.input(0)?, self.input(1)?);
		let (tiles, group) = (parameters.seq / SIDE, parameters.group());
		let (sequence, place) = (self.cell.row as usize / tiles, self.cell.row as usize % tiles);
		let places = tiles - place;
		let mut state = begun(self.piece, state, NUMBERS);
		for pair in self.span(number(group * places)?, parameters.width(self.cell.col, parameters.kv_heads)) {
			let (within, query_place) = (pair as usize / places, place + pair as usize % places);
			for (kv_head, columns, offset) in parameters.heads_of(self.cell.col, parameters.kv_heads) {
				let head = kv_head * group + within;
				let weights = *leaves.tile(weights, parameters.score_tile(sequence, head, query_place)?, number(place)?)?;
				let row = number(sequence * tiles + query_place)?;
				let values = leaves.columns(values, row, head * parameters.head_dim + offset, columns.len())?;
				for (j, out) in state.chunks_exact_mut(SIDE).enumerate() {
					let unseen = if query_place == place { j } else { 0 };
					for (i, x) in values.chunks_exact(columns.len()).enumerate().skip(unseen) {
						let weight = weights[i * SIDE + j];
						for (out, &x) in out[columns.clone()].iter_mut().zip(x) {
							*out = fma(weight, x, *out);
						}
					}
				}
			}
		}
		Ok(state)
	}
}
