//! Where each parameter lives in one flat vector of f32.

use crate::config::{Adapter, ConfigError, Family, ModelConfig, Projection, TrainConfig};
use alloc::{format, string::String, vec::Vec};
use neuroshard_kernels::shape::Tiling;

/// What a parameter tensor does; decides its initial values and where gradients come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
	/// Token embedding, one row per token.
	Embedding,
	/// Weight of a linear map that does not write to the residual stream.
	Linear,
	/// Weight of a linear map whose output is added to the residual stream.
	ResidualLinear,
	/// RMSNorm scale.
	Norm,
	/// Bias of a linear map.
	Bias,
	/// Output head of an untied model.
	Head,
	/// The A of an adapter, `[rank, in]`.
	AdapterIn,
	/// The B of an adapter as it is stored, `[rank, out]`: the rows of a rank below 32 then are the only ones in their tiles that hold anything.
	AdapterOut,
	/// No parameter, but what deltas are sent as: see [`crate::code`].
	Code,
}

/// One parameter tensor, row-major `[out, in]`; a vector is one row. The B of an adapter stands the other way round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamTensor {
	/// Name that Hugging Face's models of the family have for it; of an adapter's that of its projection, with `lora_A.weight` or `lora_B.transposed`.
	pub name: String,
	/// Rows.
	pub rows: usize,
	/// Columns, a multiple of 32.
	pub cols: usize,
	/// First element in the flat vector.
	pub offset: usize,
	/// Role.
	pub kind: ParamKind,
}

impl ParamTensor {
	/// Elements.
	pub const fn len(&self) -> usize {
		self.rows * self.cols
	}

	/// Whether the tensor has no element; never true in a [`ParamLayout`].
	pub const fn is_empty(&self) -> bool {
		self.len() == 0
	}

	/// Elements of the flat vector that belong to this tensor.
	pub const fn range(&self) -> core::ops::Range<usize> {
		self.offset..self.offset + self.len()
	}
}

/// What stands for each parameter tensor of one decoder layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerTensors<T> {
	/// Of the input norm.
	pub norm1: T,
	/// Of the query projection.
	pub q: T,
	/// Of the key projection.
	pub k: T,
	/// Of the value projection.
	pub v: T,
	/// Of the biases of these three, if the family has them.
	pub biases: Option<[T; 3]>,
	/// Of the output projection.
	pub o: T,
	/// Of the norms of the heads of queries and of keys, if the family has them.
	pub head_norms: Option<[T; 2]>,
	/// Of the post-attention norm.
	pub norm2: T,
	/// Of the gate.
	pub gate: T,
	/// Of what the gate lets through.
	pub up: T,
	/// Of the way back to the residual stream.
	pub down: T,
}

impl<T: Copy> LayerTensors<T> {
	/// Of a projection.
	pub const fn projection(&self, which: Projection) -> T {
		match which {
			Projection::Q => self.q,
			Projection::K => self.k,
			Projection::V => self.v,
			Projection::O => self.o,
			Projection::Gate => self.gate,
			Projection::Up => self.up,
			Projection::Down => self.down,
		}
	}
}

impl<T> LayerTensors<T> {
	/// Takes them from `next`, which gives them in the order of [`ParamLayout`].
	///
	/// # Errors
	/// Those of `next`.
	pub fn in_order<E>(family: Family, mut next: impl FnMut() -> Result<T, E>) -> Result<Self, E> {
		let norm1 = next()?;
		let (q, k, v, biases) = if family.has_biases() {
			let [q, q_bias, k, k_bias, v, v_bias] = [next()?, next()?, next()?, next()?, next()?, next()?];
			(q, k, v, Some([q_bias, k_bias, v_bias]))
		} else {
			(next()?, next()?, next()?, None)
		};
		let o = next()?;
		let head_norms = if family.has_head_norms() { Some([next()?, next()?]) } else { None };
		Ok(Self { norm1, q, k, v, biases, o, head_norms, norm2: next()?, gate: next()?, up: next()?, down: next()? })
	}
}

/// A parameter tensor without its name, which only files need and which costs more than everything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
	/// Decoder layer; `None` for what lies around them.
	layer: Option<u32>,
	/// What the name says behind the layer.
	label: &'static str,
	pub rows: u32,
	pub cols: u32,
	kind: ParamKind,
}

impl Part {
	/// The [unit](crate::span) of a model of so many layers that it belongs to.
	pub fn unit(&self, layers: u32) -> u32 {
		match (self.layer, self.kind) {
			(Some(layer), _) => layer.saturating_add(1),
			(None, ParamKind::Embedding) => 0,
			(None, _) => layers.saturating_add(1),
		}
	}

	fn name(&self) -> String {
		let part = match self.kind {
			ParamKind::AdapterIn => ".lora_A.weight",
			ParamKind::AdapterOut => ".lora_B.transposed",
			ParamKind::Linear | ParamKind::ResidualLinear => ".weight",
			_ => "",
		};
		match (self.layer, self.label) {
			(Some(layer), label) => format!("model.layers.{layer}.{label}{part}"),
			(None, label) => label.into(),
		}
	}
}

/// The parameter tensors of `model` in the order of [`ParamLayout`].
///
/// # Errors
/// Those of [`ModelConfig::validate`].
pub(crate) fn parts(model: &ModelConfig) -> Result<impl Iterator<Item = Part>, ConfigError> {
	model.validate()?;
	let (vocab, dim, q, kv, head, family) = (model.vocab, model.dim, model.q_dim(), model.kv_dim(), model.head_dim(), model.family);
	let part = |label, rows, cols, kind| Part { layer: None, label, rows, cols, kind };
	let weight = |which, kind| {
		let (label, rows, cols) = projection(model, which);
		Some(part(label, rows, cols, kind))
	};
	let bias = |label, cols| family.has_biases().then_some(part(label, 1, cols, ParamKind::Bias));
	let head_norm = |label| family.has_head_norms().then_some(part(label, 1, head, ParamKind::Norm));
	let layer = [
		Some(part("input_layernorm.weight", 1, dim, ParamKind::Norm)),
		weight(Projection::Q, ParamKind::Linear),
		bias("self_attn.q_proj.bias", q),
		weight(Projection::K, ParamKind::Linear),
		bias("self_attn.k_proj.bias", kv),
		weight(Projection::V, ParamKind::Linear),
		bias("self_attn.v_proj.bias", kv),
		weight(Projection::O, ParamKind::ResidualLinear),
		head_norm("self_attn.q_norm.weight"),
		head_norm("self_attn.k_norm.weight"),
		Some(part("post_attention_layernorm.weight", 1, dim, ParamKind::Norm)),
		weight(Projection::Gate, ParamKind::Linear),
		weight(Projection::Up, ParamKind::Linear),
		weight(Projection::Down, ParamKind::ResidualLinear),
	];
	let layers =
		(0..model.layers).flat_map(move |number| layer.into_iter().flatten().map(move |part| Part { layer: Some(number), ..part }));
	let norm = part("model.norm.weight", 1, dim, ParamKind::Norm);
	let last = [Some(norm), (!model.tied).then_some(part("lm_head.weight", vocab, dim, ParamKind::Head))];
	let first = part("model.embed_tokens.weight", vocab, dim, ParamKind::Embedding);
	Ok(core::iter::once(first).chain(layers).chain(last.into_iter().flatten()))
}

/// Where a projection stands in a layer, and its rows and columns.
pub(crate) fn projection(model: &ModelConfig, projection: Projection) -> (&'static str, u32, u32) {
	let (dim, ffn, q, kv) = (model.dim, model.ffn, model.q_dim(), model.kv_dim());
	match projection {
		Projection::Q => ("self_attn.q_proj", q, dim),
		Projection::K => ("self_attn.k_proj", kv, dim),
		Projection::V => ("self_attn.v_proj", kv, dim),
		Projection::O => ("self_attn.o_proj", dim, q),
		Projection::Gate => ("mlp.gate_proj", ffn, dim),
		Projection::Up => ("mlp.up_proj", ffn, dim),
		Projection::Down => ("mlp.down_proj", dim, ffn),
	}
}

/// The tensors of an adapter of `model` in the order of [`ParamLayout::of`].
fn adapter_parts(model: &ModelConfig, adapter: Adapter) -> impl Iterator<Item = Part> + '_ {
	(0..model.layers).flat_map(move |layer| {
		adapter.projections.iter().flat_map(move |which| {
			let (label, rows, cols) = projection(model, which);
			let part = |cols, kind| Part { layer: Some(layer), label, rows: adapter.rank, cols, kind };
			[part(cols, ParamKind::AdapterIn), part(rows, ParamKind::AdapterOut)]
		})
	})
}

/// The tensors of what is trained, `model` or `adapter` beside it, in the order of [`ParamLayout::of`].
///
/// # Errors
/// Those of [`ModelConfig::validate`], and of [`Adapter::validate`].
pub(crate) fn trained_parts(model: &ModelConfig, adapter: Option<Adapter>) -> Result<Vec<Part>, ConfigError> {
	let Some(adapter) = adapter else { return Ok(parts(model)?.collect()) };
	model.validate()?;
	adapter.validate(model)?;
	Ok(adapter_parts(model, adapter).collect())
}

/// All parameter tensors of a model in their fixed order, without gaps.
///
/// Order: embedding; per layer input norm, q, k and v each followed by its bias, o, norms of the heads of q and of k, post-attention norm, gate, up,
/// down; final norm; head if untied.
/// Moments, gradients, deltas and the outer momentum have the same layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamLayout {
	tensors: Vec<ParamTensor>,
	len: usize,
}

impl ParamLayout {
	/// Lays out the parameters of `model`.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`].
	pub fn new(model: &ModelConfig) -> Result<Self, ConfigError> {
		Self::from_parts(parts(model)?)
	}

	/// Lays out what `train` trains: see [`ParamLayout::of`].
	///
	/// # Errors
	/// Those of [`ParamLayout::of`].
	pub fn trained(model: &ModelConfig, train: &TrainConfig) -> Result<Self, ConfigError> {
		Self::of(model, train.adapter)
	}

	/// Lays out the parameters of `model`, or those of `adapter` beside it. Of that for each layer, and in it for each projection in the order of
	/// [`Projection`], A and then B.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`], and of [`Adapter::validate`].
	pub fn of(model: &ModelConfig, adapter: Option<Adapter>) -> Result<Self, ConfigError> {
		Self::from_parts(trained_parts(model, adapter)?)
	}

	pub(crate) fn from_parts(parts: impl IntoIterator<Item = Part>) -> Result<Self, ConfigError> {
		let size = |value: u32| usize::try_from(value).map_err(|_| ConfigError::TooLarge);
		let mut layout = Self { tensors: Vec::new(), len: 0 };
		for part in parts {
			let (rows, cols) = (size(part.rows)?, size(part.cols)?);
			let tensor = ParamTensor { name: part.name(), rows, cols, offset: layout.len, kind: part.kind };
			// At most 2^31 elements: `ModelConfig::validate` or `Adapter::validate` has seen to it.
			layout.len += tensor.len();
			layout.tensors.push(tensor);
		}
		Ok(layout)
	}

	/// The layout of a code of so many rows.
	pub fn of_code(rows: usize) -> Self {
		let tensor = ParamTensor { name: "code".into(), rows, cols: crate::tiles::TILE, offset: 0, kind: ParamKind::Code };
		let len = tensor.len();
		Self { tensors: alloc::vec![tensor], len }
	}

	/// Its tensors, as operators on whole vectors ask for them.
	pub fn tiling(&self) -> Tiling {
		Tiling::new(self.tensors.iter().map(|tensor| (tensor.rows, tensor.cols)))
	}

	/// The tensors in order.
	pub fn tensors(&self) -> &[ParamTensor] {
		&self.tensors
	}

	/// The tensor called `name`.
	pub fn get(&self, name: &str) -> Option<&ParamTensor> {
		self.tensors.iter().find(|tensor| tensor.name == name)
	}

	/// Elements of the flat vector.
	pub const fn len(&self) -> usize {
		self.len
	}

	/// Whether there is no element; never true.
	pub const fn is_empty(&self) -> bool {
		self.len == 0
	}

	/// Tiles of the whole flat vector; see [`crate::tiles`].
	pub fn tile_count(&self) -> usize {
		self.tensors.iter().map(|tensor| crate::tiles::tile_count(tensor.rows, tensor.cols)).sum()
	}

	/// Bytes of [`crate::tiles::encode`] that hold tensor `index`; `None` if there is no such tensor.
	pub fn encoded_range(&self, index: usize) -> Option<core::ops::Range<usize>> {
		let bytes = |tensor: &ParamTensor| crate::tiles::tile_count(tensor.rows, tensor.cols) * crate::tiles::LEAF_BYTES;
		let tensor = self.tensors.get(index)?;
		let start = self.tensors[..index].iter().map(bytes).sum();
		Some(start..start + bytes(tensor))
	}

	/// Bytes of [`crate::tiles::encode`].
	pub fn encoded_len(&self) -> usize {
		self.tile_count() * crate::tiles::LEAF_BYTES
	}
}
