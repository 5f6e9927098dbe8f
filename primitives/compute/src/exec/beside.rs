//! Adapters beside a model that answers: of the texts that are read together, each may have its own.

use super::{inference::Piece, Exec, InferenceError, SetupError};
use crate::native::Packed;
use neuroshard_graph::{
	config::{Adapter, ModelConfig, Projection},
	layout::ParamLayout,
};
use neuroshard_kernels::shape::Start;
use std::{fmt, ops::Range, sync::Arc};

const PROJECTIONS: usize = Projection::ALL.len();

/// A and B of one projection.
struct Pair {
	a: Packed,
	b: Packed,
}

/// The matrices of an adapter, packed for this machine.
pub struct PackedAdapter {
	rank: usize,
	scale: f32,
	/// Those of each layer, by the numbers of projections.
	layers: Vec<[Option<Pair>; PROJECTIONS]>,
	sizes: Sizes,
}

impl fmt::Debug for PackedAdapter {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		formatter.debug_struct("PackedAdapter").field("rank", &self.rank).field("layers", &self.layers.len()).finish_non_exhaustive()
	}
}

/// Layers of a model, and its widths: of the residual stream, of the hidden layer, of queries, of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
	pub(super) layers: usize,
	pub(super) widths: [usize; 4],
}

impl Sizes {
	fn new(model: &ModelConfig) -> Result<Self, SetupError> {
		let size = |value: u32| usize::try_from(value).map_err(|_| SetupError::Memory);
		let widths = [size(model.dim)?, size(model.ffn)?, size(model.q_dim())?, size(model.kv_dim())?];
		Ok(Self { layers: size(model.layers)?, widths })
	}
}

impl PackedAdapter {
	/// Packs the parameters of `adapter`, which are in the order of [`ParamLayout::of`].
	///
	/// # Errors
	/// [`InferenceError::Setup`] for an adapter or a model that is refused, [`InferenceError::Parameters`] for another number of parameters.
	pub fn new(exec: &Exec, model: &ModelConfig, adapter: &Adapter, params: &[f32]) -> Result<Self, InferenceError> {
		let layout = ParamLayout::of(model, Some(*adapter)).map_err(SetupError::Config)?;
		if params.len() != layout.len() {
			return Err(InferenceError::Parameters { expected: layout.len(), found: params.len() });
		}
		let sizes = Sizes::new(model)?;
		let mut pairs = layout.tensors().as_chunks::<2>().0.iter().map(|[a, b]| {
			let stored = &params[b.range()];
			// B is stored with rows and columns exchanged.
			let values: Vec<f32> = (0..b.cols).flat_map(|col| stored.iter().skip(col).step_by(b.cols).copied()).collect();
			Pair { a: exec.pack(a.rows, a.cols, &params[a.range()]), b: exec.pack(b.cols, b.rows, &values) }
		});
		let layer = |_| Projection::ALL.map(|which| if adapter.projections.has(which) { pairs.next() } else { None });
		let layers = (0..model.layers).map(layer).collect();
		let rank = usize::try_from(adapter.rank).map_err(|_| SetupError::Memory)?;
		Ok(Self { rank, scale: adapter.scale(), layers, sizes })
	}

	/// Whether it belongs to models of these sizes.
	pub(super) fn fits(&self, sizes: Sizes) -> bool {
		self.sizes == sizes
	}

	fn pair(&self, layer: usize, which: Projection) -> Option<&Pair> {
		// The number of a projection is its place.
		self.layers.get(layer)?.get(which as usize)?.as_ref()
	}
}

/// What the texts of a pass are read beside.
pub struct Beside {
	/// Rows of consecutive texts that have the same adapter, and it.
	groups: Vec<(Range<usize>, Arc<PackedAdapter>)>,
	/// Rows of the pass.
	rows: usize,
	/// What B is multiplied with.
	low: Vec<f32>,
}

impl Beside {
	pub(super) fn new(pieces: &[Piece]) -> Self {
		let (mut groups, mut rows) = (Vec::<(Range<usize>, Arc<PackedAdapter>)>::new(), 0);
		for piece in pieces {
			let own = rows..rows + piece.tokens.len();
			rows = own.end;
			let Some(adapter) = piece.sequence.adapter() else { continue };
			match groups.last_mut() {
				Some((before, same)) if before.end == own.start && Arc::ptr_eq(same, adapter) => before.end = own.end,
				_ => groups.push((own, adapter.clone())),
			}
		}
		Self { groups, rows, low: Vec::new() }
	}

	/// Adds to `out`, the products of the rows `x` with a projection, what adapters add to it: as a training step does, `(scale (x A^T)) B^T`.
	pub(super) fn add(&mut self, exec: &Exec, (layer, which): (usize, Projection), x: &[f32], out: &mut [f32]) {
		for (rows, adapter) in &self.groups {
			let Some(Pair { a, b }) = adapter.pair(layer, which) else { continue };
			let of = |len: usize| rows.start * (len / self.rows)..rows.end * (len / self.rows);
			let (x, at) = (&x[of(x.len())], of(out.len()));
			self.low.resize(rows.len() * adapter.rank, 0.0);
			exec.matmul_packed(x, a, &mut self.low, Start::Zero);
			exec.scale(&mut self.low, adapter.scale);
			exec.matmul_packed(&self.low, b, &mut out[at], Start::Existing);
		}
	}
}
