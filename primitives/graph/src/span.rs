//! Spans: a model cut into parts that different machines hold.
//!
//! A model of L layers has L + 2 *units*: the embedding, the layers, and the end with final norm, head and loss. A *span* is a run of them around the ring
//! that they form, in which the embedding follows the end: so who reads the tokens may also compute the loss, and must where embedding and head are one
//! matrix. A *cut* is spans that hold each unit once.
//!
//! Rows go from span to span forwards, their gradients backwards. Nothing else does within a step but one number for each unit, the sum of its gradient's
//! squares. So whoever holds a span needs memory for its own parameters, and every bit is that of one machine which holds the model.

use crate::{
	config::{Adapter, ConfigError, ModelConfig},
	cover::Cover,
	layout::{trained_parts, ParamLayout, Part},
	merkle::Hash,
	tiles,
};
use alloc::{vec, vec::Vec};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use core::ops::Range;
use scale_info::TypeInfo;

/// Units of a model.
pub const fn units(model: &ModelConfig) -> u32 {
	model.layers.saturating_add(2)
}

/// Consecutive units of a model, around the ring of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub struct Span {
	/// The first unit: 0 is the embedding, l the layer number l - 1, and what follows the last layer the end.
	pub first: u32,
	/// Number of units; after the end comes the embedding.
	pub count: u32,
}

/// Why spans are no cut of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CutError {
	/// A span begins or ends where the model has no unit.
	#[error("a span of {0:?} is not one of a model with {1} units")]
	Span(Span, u32),
	/// A unit is held by nobody, or by two.
	#[error("unit {0} is held by {1} spans where it has to be one")]
	Holders(u32, usize),
	/// Embedding and head are one matrix, and apart.
	#[error("embedding and head of this model are one matrix, so one span has to hold both")]
	Tied,
}

impl Span {
	/// The whole of a model.
	pub const fn all(model: &ModelConfig) -> Self {
		Self { first: 0, count: units(model) }
	}

	/// Whether it is one of a model.
	pub fn is_of(self, model: &ModelConfig) -> bool {
		self.first < units(model) && (1..=units(model)).contains(&self.count)
	}

	/// Its units as ranges in ascending order: one, or two if it goes on behind the end with the embedding.
	pub fn ranges(self, model: &ModelConfig) -> impl Iterator<Item = Range<u32>> {
		self.ranges_of(units(model))
	}

	/// The same of a model with so many units.
	pub(crate) fn ranges_of(self, units: u32) -> impl Iterator<Item = Range<u32>> {
		let end = self.first.saturating_add(self.count);
		let parts = match end.checked_sub(units).filter(|&rest| rest > 0) {
			None => [self.first..end, 0..0],
			Some(rest) if rest >= self.first => [0..units, 0..0],
			Some(rest) => [0..rest, self.first..units],
		};
		parts.into_iter().filter(|range| !range.is_empty())
	}

	/// Whether it has unit `unit` of a model.
	pub fn has(self, model: &ModelConfig, unit: u32) -> bool {
		self.has_of(units(model), unit)
	}

	/// The same of a model with so many units.
	pub(crate) fn has_of(self, units: u32, unit: u32) -> bool {
		self.ranges_of(units).any(|range| range.contains(&unit))
	}
}

/// Checks that `spans` hold each unit of `model` once.
///
/// # Errors
/// [`CutError`].
pub fn check_cut(model: &ModelConfig, spans: &[Span]) -> Result<(), CutError> {
	let units = units(model);
	if let Some(&span) = spans.iter().find(|span| !span.is_of(model)) {
		return Err(CutError::Span(span, units));
	}
	for unit in 0..units {
		let holders = spans.iter().filter(|span| span.has(model, unit)).count();
		if holders != 1 {
			return Err(CutError::Holders(unit, holders));
		}
	}
	let apart = |span: &Span| span.has(model, 0) != span.has(model, units.saturating_sub(1));
	if model.tied && spans.iter().any(apart) {
		return Err(CutError::Tied);
	}
	Ok(())
}

/// What a span holds of a vector in parameter layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
	/// Its tensors, without gaps: the layout of the span's own vectors.
	pub layout: ParamLayout,
	/// Elements of the whole vector, in the order of the span's own: at most two ranges.
	pub elements: Vec<Range<usize>>,
	/// Tiles of the whole vector, likewise.
	pub tiles: Vec<Range<u32>>,
	/// Tiles of the whole vector.
	pub all_tiles: u32,
}

impl Held {
	/// What `span` holds of the parameters of `model`, or of those of `adapter` beside it.
	///
	/// # Errors
	/// Those of [`ParamLayout::of`]; [`ConfigError::Dimension`] for a span of another model.
	pub fn new(model: &ModelConfig, adapter: Option<Adapter>, span: Span) -> Result<Self, ConfigError> {
		let Parts { held, elements, tiles, all_tiles } = Parts::new(model, adapter, span)?;
		Ok(Self { layout: ParamLayout::from_parts(held)?, elements, tiles, all_tiles })
	}

	/// The span's own vector of a whole one.
	///
	/// # Panics
	/// If `whole` is shorter than the layout.
	pub fn of<T: Copy>(&self, whole: &[T]) -> Vec<T> {
		self.elements.iter().flat_map(|range| &whole[range.clone()]).copied().collect()
	}

	/// Writes the span's own vector into a whole one.
	///
	/// # Panics
	/// If one of them is shorter than its layout.
	pub fn write<T: Copy>(&self, own: &[T], whole: &mut [T]) {
		let mut first = 0;
		for range in &self.elements {
			let end = first + range.len();
			whole[range.clone()].copy_from_slice(&own[first..end]);
			first = end;
		}
	}

	/// The largest subtrees of the whole vector's tree that the span's tiles are all leaves of.
	pub fn cover(&self) -> Cover {
		Cover::new(self.all_tiles, self.tiles.iter().cloned())
	}

	/// Roots of these subtrees, of the span's own vector.
	///
	/// # Panics
	/// If `own` is shorter than the layout.
	pub fn roots(&self, own: &[f32], threads: usize) -> Vec<Hash> {
		self.cover().roots(&tiles::tile_hashes(&self.layout, own, threads))
	}
}

/// What a span holds of a vector, without the names of tensors, which cost more than everything else.
struct Parts {
	held: Vec<Part>,
	elements: Vec<Range<usize>>,
	tiles: Vec<Range<u32>>,
	all_tiles: u32,
}

impl Parts {
	fn new(model: &ModelConfig, adapter: Option<Adapter>, span: Span) -> Result<Self, ConfigError> {
		if !span.is_of(model) {
			return Err(ConfigError::Dimension);
		}
		let mut parts = Self { held: Vec::new(), elements: Vec::new(), tiles: Vec::new(), all_tiles: 0 };
		let mut element = 0usize;
		for part in trained_parts(model, adapter)? {
			let size = |value: u32| usize::try_from(value).map_err(|_| ConfigError::TooLarge);
			let (rows, cols) = (size(part.rows)?, size(part.cols)?);
			let count = u32::try_from(tiles::tile_count(rows, cols)).map_err(|_| ConfigError::TooLarge)?;
			let end = rows.checked_mul(cols).and_then(|len| element.checked_add(len)).ok_or(ConfigError::TooLarge)?;
			let end_tile = parts.all_tiles.checked_add(count).ok_or(ConfigError::TooLarge)?;
			if span.has(model, part.unit(model.layers)) {
				parts.held.push(part);
				extend(&mut parts.elements, element..end);
				extend(&mut parts.tiles, parts.all_tiles..end_tile);
			}
			(element, parts.all_tiles) = (end, end_tile);
		}
		Ok(parts)
	}
}

/// Adds `range` to ranges that end where it begins, or before.
fn extend<T: Copy + PartialEq>(ranges: &mut Vec<Range<T>>, range: Range<T>) {
	match ranges.last_mut() {
		Some(last) if last.end == range.start => last.end = range.end,
		_ => ranges.push(range),
	}
}

/// Cuts a model into spans with so many units each, of which the first one has the end, the embedding and then layers.
///
/// # Errors
/// [`CutError`], if they do not add up to the model's units, or the first one has less than two where embedding and head are one matrix.
pub fn cut(model: &ModelConfig, counts: &[u32]) -> Result<Vec<Span>, CutError> {
	let units = units(model);
	let mut first = units.saturating_sub(1);
	let mut spans = vec![];
	for &count in counts {
		spans.push(Span { first, count });
		first = first.saturating_add(count).checked_rem(units).unwrap_or_default();
	}
	check_cut(model, &spans)?;
	Ok(spans)
}

/// Where something passes from a unit to the next one, or back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum Seam {
	/// The rows that unit `.0` is given by the one before it.
	Rows(u32),
	/// The gradient of the rows that unit `.0` is given, which it gives back.
	Gradient(u32),
}

/// What a span is given in a step, in the order of [`crate::plan::Seams::given`] but for the sums. `adapter`: whether an adapter is trained, not the model.
pub fn given(model: &ModelConfig, adapter: bool, span: Span) -> Vec<Seam> {
	let rows = span.ranges(model).filter(|units| units.start > 0).map(|units| Seam::Rows(units.start));
	let asked = span.ranges(model).filter(|range| range.end < units(model) && is_asked(range.end, adapter));
	rows.chain(asked.map(|range| Seam::Gradient(range.end))).collect()
}

/// What a span gives in a step, in the order of [`crate::plan::Seams::results`] but for the sums.
pub fn gave(model: &ModelConfig, adapter: bool, span: Span) -> Vec<Seam> {
	let rows = span.ranges(model).filter(|range| range.end < units(model)).map(|range| Seam::Rows(range.end));
	let asked = span.ranges(model).filter(|units| is_asked(units.start, adapter));
	rows.chain(asked.map(|units| Seam::Gradient(units.start))).collect()
}

/// Whether anybody asks for the gradient of the rows that a unit is given: of an adapter, who has the embedding does not.
pub(crate) const fn is_asked(unit: u32, adapter: bool) -> bool {
	unit > if adapter { 1 } else { 0 }
}

/// Sums of squares of gradients of a step: one for each unit that is trained, with an adapter each layer.
pub const fn sums(model: &ModelConfig, adapter: bool) -> u32 {
	if adapter {
		model.layers
	} else {
		units(model)
	}
}

/// Places of the span's units that are trained among these sums, ascending.
pub fn trained_units(model: &ModelConfig, adapter: bool, span: Span) -> Vec<u32> {
	let all = sums(model, adapter);
	let first = if adapter { 1 } else { 0 };
	span.ranges(model).flatten().filter_map(|unit| unit.checked_sub(first)).filter(|&place| place < all).collect()
}

/// Puts what a span says of each of its units that are trained, in the order of [`trained_units`], into its places among that of all units.
pub fn put_sums<T: Copy>(model: &ModelConfig, adapter: bool, span: Span, own: &[T], all: &mut [T]) {
	for (place, said) in trained_units(model, adapter, span).into_iter().zip(own) {
		usize::try_from(place).ok().and_then(|place| all.get_mut(place)).into_iter().for_each(|slot| *slot = *said);
	}
}

/// What is said of those of a span's units that are trained, in the order of [`trained_units`], among that of all units.
pub fn own_sums<T: Copy>(model: &ModelConfig, adapter: bool, span: Span, all: &[T]) -> Vec<T> {
	let places = trained_units(model, adapter, span).into_iter();
	places.filter_map(|place| all.get(usize::try_from(place).ok()?).copied()).collect()
}

/// The subtrees of the tree of a vector in parameter layout, of `model` or of `adapter` beside it, that `span` has: [`Held::cover`] without names.
///
/// # Errors
/// As [`Held::new`].
pub fn cover(model: &ModelConfig, adapter: Option<Adapter>, span: Span) -> Result<Cover, ConfigError> {
	let parts = Parts::new(model, adapter, span)?;
	Ok(Cover::new(parts.all_tiles, parts.tiles))
}

/// Hashes of the tiles of rows that go from span to span, or of their gradients: `rows` of so many numbers each. A list of them is that of the rows of all
/// micro-batches one after the other, each of which is a multiple of 32 rows.
pub fn row_tiles(rows: &[f32], width: usize) -> Vec<Hash> {
	let count = rows.len().checked_div(width).unwrap_or_default();
	let across = width.div_ceil(tiles::TILE);
	let mut hashes = vec![Hash::default(); count.div_ceil(tiles::TILE) * across];
	tiles::hash_written(0, &mut hashes, |tile, leaf| tiles::write_tile(rows, [count, width], tile / across, tile % across, leaf));
	hashes
}
