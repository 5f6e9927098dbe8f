//! What the job of a span is given by others, and what it gives them.

use super::Plan;
use crate::{
	cover::Cover,
	graph::{Origin, TensorId, TensorInfo},
};
use alloc::vec::Vec;
use core::ops::Range;

/// A tensor that a span is given: a vector of its own that the job starts from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
	pub(super) info: TensorInfo,
	/// 0, and the number of its tiles.
	pub(super) tiles: [u32; 2],
}

/// Consecutive units of a span. It has two such parts if it goes on behind the end with the embedding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
	/// The units.
	pub units: Range<u32>,
	/// Rows that the first one is given, `[tokens, dim]`; `None` for the embedding.
	pub rows_in: Option<TensorId>,
	/// Rows that the last one gives; `None` for the end.
	pub rows_out: Option<TensorId>,
	/// The gradient of the rows that the last one gives; `None` for the end, and of an adapter for the embedding.
	pub gradient_in: Option<TensorId>,
	/// The gradient of the rows that the first one is given; `None` where there is no `gradient_in` on the other side.
	pub gradient_out: Option<TensorId>,
	/// Stages of the forward pass; those of the end go up to the losses.
	pub forward: Range<usize>,
	/// Stages of the backward pass, but for the embedding's own.
	pub backward: Range<usize>,
}

/// The seams of a span: what passes between it and others in a step.
///
/// As vectors that the job starts from it is given, in this order: the rows of its segments, the gradients of its segments, and last the row of the
/// [sums](Self::sums) of all units. It gives the rows of its segments, their gradients, and the sums of its units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seams {
	/// Parts of the span, ascending.
	pub segments: Vec<Segment>,
	/// `[1, units]` sums of the squares of the gradients of all units of the model that are trained, ascending.
	pub sums: TensorId,
	/// The same of the span's own units: the place in the row, and a `[1, 1]` tensor.
	pub own_sums: Vec<(u32, TensorId)>,
	pub(super) given: Vec<Given>,
	pub(super) cover: Cover,
	pub(super) base_cover: Option<Cover>,
}

impl Seams {
	/// The tensors that the job ends with, besides parameters and moments: result 3 and so on.
	pub fn results(&self) -> impl Iterator<Item = TensorId> + '_ {
		let rows = self.segments.iter().filter_map(|segment| segment.rows_out);
		let gradients = self.segments.iter().filter_map(|segment| segment.gradient_out);
		rows.chain(gradients).chain(self.own_sums.iter().map(|&(_, sum)| sum))
	}

	/// The tensors that it is given, in the order of their vectors.
	pub fn given(&self) -> impl Iterator<Item = TensorId> + '_ {
		let rows = self.segments.iter().filter_map(|segment| segment.rows_in);
		let gradients = self.segments.iter().filter_map(|segment| segment.gradient_in);
		rows.chain(gradients).chain([self.sums])
	}
}

impl Plan {
	/// Nodes up to those of result `result` of a span, a single tensor: what is behind may depend on what others make of it. `None` for other results.
	pub fn nodes_up_to(&self, result: u32) -> Option<u32> {
		self.single_len(result)?;
		let id = *self.results.get(usize::try_from(result).ok()?)?.first()?;
		let Some(Origin::Stage { stage, .. }) = self.origin(id) else { return None };
		let next = self.stages.get(usize::try_from(stage).ok()?.checked_add(1)?);
		Some(next.map_or(self.nodes, |next| next.first_node))
	}

	/// Tiles of a single tensor among the results of a span; `None` for other results.
	pub(crate) fn single_len(&self, result: u32) -> Option<u32> {
		self.seams.as_ref().filter(|_| result >= 3)?;
		let &[id] = self.results.get(usize::try_from(result).ok()?)?.as_slice() else { return None };
		let info = self.tensor(id)?;
		info.rows.div_ceil(super::TILE).checked_mul(info.cols.div_ceil(super::TILE))
	}
}
