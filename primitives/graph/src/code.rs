//! What deltas are sent as: which numbers of a code belong to which tile, and what they stand for.
//!
//! A code is a vector of its own: one tensor of 32 columns whose numbers are those of the codes of all tiles, tile after tile; in 8 bits the scales of
//! all tiles follow. It is hashed, sent and proven by its own tiles like any other vector. What is encoded is the delta, to which the residual was
//! added if the code leaves one: `x = decay e + delta`, and afterwards `e = x - what the code stands for`.

use crate::{
	config::{Code, ConfigError, ModelConfig, TopK, TrainConfig, F32},
	layout::ParamLayout,
	resume::{Tile, NUMBERS, SIDE},
};
use core::ops::Range;
use neuroshard_kernels::{
	num::fma,
	scalar::{cosine_forward, cosine_inverse, int8_decode, int8_encode, int8_scale, sub, top_decode, top_encode, INT8_CODE},
};

/// Numbers of the longest code of a tile.
pub(crate) const LONGEST: usize = INT8_CODE;

impl Code {
	/// What the residual is multiplied by; `None` for a code that leaves none.
	#[inline]
	pub const fn decay(self) -> Option<F32> {
		match self {
			Self::Int8 => None,
			Self::TopK(TopK { decay, .. }) => Some(decay),
		}
	}

	/// Numbers that the code of a tile takes, beside its scale.
	#[inline]
	pub const fn per_tile(self) -> usize {
		match self {
			Self::Int8 => INT8_CODE,
			Self::TopK(TopK { numbers, .. }) => numbers as usize,
		}
	}

	/// Whether each tile has a scale beside its code.
	#[inline]
	pub const fn scales(self) -> bool {
		matches!(self, Self::Int8)
	}

	/// Numbers of the codes of so many tiles, and of their scales, which follow.
	pub const fn lengths(self, tiles: usize) -> [usize; 2] {
		[tiles.saturating_mul(self.per_tile()), if self.scales() { tiles } else { 0 }]
	}

	/// Rows of the code of so many tiles, 32 numbers each.
	pub(crate) fn rows(self, tiles: u32) -> u64 {
		let each = u64::try_from(self.per_tile()).unwrap_or(u64::MAX).saturating_add(u64::from(self.scales()));
		u64::from(tiles).saturating_mul(each).div_ceil(32)
	}

	/// Tiles of the code of a vector of so many.
	pub fn tiles(self, tiles: u64) -> u64 {
		u32::try_from(tiles).map_or(u64::MAX, |tiles| self.rows(tiles).div_ceil(32))
	}

	/// The numbers of tile `tile` of `tiles`, and its scale.
	fn place(self, tiles: u32, tile: u32) -> (Range<u64>, Option<u64>) {
		let each = u64::try_from(self.per_tile()).unwrap_or(u64::MAX);
		let first = u64::from(tile).saturating_mul(each);
		let scale = u64::from(tiles).saturating_mul(each).saturating_add(u64::from(tile));
		(first..first.saturating_add(each), self.scales().then_some(scale))
	}

	/// Encodes a tile into its numbers and returns its scale, 0 without one.
	pub fn encode(self, tile: &Tile, numbers: &mut [f32]) -> f32 {
		match self {
			Self::Int8 => {
				let scale = int8_scale(tile);
				int8_encode(tile, scale, numbers);
				scale
			}
			Self::TopK(TopK { cosine: false, .. }) => {
				top_encode(tile, numbers);
				0.0
			}
			Self::TopK(TopK { cosine: true, .. }) => {
				let mut coefficients = [0.0; NUMBERS];
				cosine_forward(tile, &mut coefficients);
				top_encode(&coefficients, numbers);
				0.0
			}
		}
	}

	/// The tile that these numbers and this scale stand for, of whose rows the first `rows` are inside the tensor.
	pub fn decode(self, numbers: &[f32], scale: f32, rows: usize) -> Tile {
		let mut tile = [0.0; NUMBERS];
		match self {
			Self::Int8 => int8_decode(numbers, scale, &mut tile),
			Self::TopK(TopK { cosine: false, .. }) => top_decode(numbers, &mut tile),
			Self::TopK(TopK { cosine: true, .. }) => {
				let mut coefficients = [0.0; NUMBERS];
				top_decode(numbers, &mut coefficients);
				cosine_inverse(&coefficients, &mut tile);
			}
		}
		tile.iter_mut().skip(rows.saturating_mul(SIDE)).for_each(|outside| *outside = 0.0);
		tile
	}

	/// `end` is after the inner steps, `start` before them; `residual` is none for a code that leaves none.
	pub(crate) fn delta(self, start: &Tile, end: &Tile, residual: Option<&Tile>) -> Tile {
		let mut tile = [0.0; NUMBERS];
		sub(start, end, &mut tile);
		if let (Some(decay), Some(residual)) = (self.decay(), residual) {
			add_residual(decay.get(), residual, &mut tile);
		}
		tile
	}

	/// What the code does not say of a tile, of whose rows the first `rows` are inside the tensor.
	pub(crate) fn rest(self, tile: &Tile, rows: usize) -> Tile {
		let mut numbers = [0.0; LONGEST];
		let numbers = &mut numbers[..self.per_tile()];
		let scale = self.encode(tile, numbers);
		let mut rest = [0.0; NUMBERS];
		sub(tile, &self.decode(numbers, scale, rows), &mut rest);
		rest
	}

	/// Numbers `first..` of the code of `tiles` tiles, as many as `out` has, from what `tile` gives for each of them that they are of.
	///
	/// # Errors
	/// Those of `tile`.
	pub(crate) fn numbers<E>(self, tiles: u32, first: u64, out: &mut [f32], mut tile: impl FnMut(u32) -> Result<Tile, E>) -> Result<(), E> {
		out.fill(0.0);
		let end = first.saturating_add(u64::try_from(out.len()).unwrap_or(u64::MAX));
		let each = u64::try_from(self.per_tile()).unwrap_or(u64::MAX);
		let scales = u64::from(tiles).saturating_mul(each);
		let mut at = first;
		while at < end {
			let offset = usize::try_from(at - first).unwrap_or(usize::MAX);
			let slots = out.get_mut(offset..).unwrap_or_default();
			let number = u32::try_from(if at < scales { at / each } else { at - scales }).unwrap_or(u32::MAX);
			if number >= tiles || (at >= scales && !self.scales()) {
				break;
			}
			let values = tile(number)?;
			let mut numbers = [0.0; LONGEST];
			let numbers = &mut numbers[..self.per_tile()];
			let scale = self.encode(&values, numbers);
			if at < scales {
				let within = usize::try_from(at % each).unwrap_or(usize::MAX);
				let part = numbers.get(within..).unwrap_or_default();
				slots.iter_mut().zip(part).for_each(|(slot, &number)| *slot = number);
				at = at.saturating_add(u64::try_from(part.len().max(1)).unwrap_or(u64::MAX));
			} else {
				slots.iter_mut().take(1).for_each(|slot| *slot = scale);
				at = at.saturating_add(1);
			}
		}
		Ok(())
	}

	/// What the code of `tiles` tiles says of tile `tile`, of whose rows the first `rows` are inside the tensor; `read` fills in numbers of the code from
	/// the one that it is given on, which lie in one quarter of a tile of the code.
	///
	/// # Errors
	/// Those of `read`.
	pub(crate) fn tile<E>(
		self,
		tiles: u32,
		tile: u32,
		rows: usize,
		mut read: impl FnMut(u64, &mut [f32]) -> Result<(), E>,
	) -> Result<Tile, E> {
		let (place, scale) = self.place(tiles, tile);
		let (mut numbers, mut scales) = ([0.0; LONGEST], [0.0]);
		let numbers = &mut numbers[..self.per_tile()];
		read(place.start, numbers)?;
		if let Some(scale) = scale {
			read(scale, &mut scales)?;
		}
		let [scale] = scales;
		Ok(self.decode(numbers, scale, rows))
	}
}

/// `x <- decay e + x`.
pub fn add_residual(decay: f32, residual: &[f32], x: &mut [f32]) {
	x.iter_mut().zip(residual).for_each(|(x, &e)| *x = fma(decay, e, *x));
}

impl ParamLayout {
	/// The layout of what deltas are sent as: this one's own, or that of their code.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`], and [`ConfigError::TooLarge`].
	pub fn of_deltas(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		let layout = Self::trained(model, train)?;
		let Some(code) = train.code() else { return Ok(layout) };
		let tiles = u32::try_from(layout.tile_count()).map_err(|_| ConfigError::TooLarge)?;
		let rows = usize::try_from(code.rows(tiles)).map_err(|_| ConfigError::TooLarge)?;
		Ok(Self::of_code(rows))
	}
}

// The code of a tile does not go over the end of a quarter of a tile.
const _: () = assert!(LONGEST == NUMBERS / 4);
