//! Where each parameter lives in one flat vector of f32.

use crate::config::{ConfigError, ModelConfig};
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
	/// Output head of an untied model.
	Head,
	/// No parameter, but what deltas are sent as: see [`crate::code`].
	Code,
}

/// One parameter tensor, row-major `[out, in]`; a vector is one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamTensor {
	/// Name in the Hugging Face Llama layout.
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

/// Tensors of one decoder layer.
pub const TENSORS_PER_LAYER: usize = 9;

/// A parameter tensor without its name, which only files need and which costs more than everything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
	/// Decoder layer; `None` for what lies around them.
	layer: Option<u32>,
	/// What the name says beside the layer.
	label: &'static str,
	pub rows: u32,
	pub cols: u32,
	kind: ParamKind,
}

impl Part {
	fn name(&self) -> String {
		match (self.layer, self.label) {
			(Some(layer), label) => format!("model.layers.{layer}.{label}.weight"),
			(None, label) => format!("{label}.weight"),
		}
	}
}

/// The parameter tensors of `model` in the order of [`ParamLayout`].
///
/// # Errors
/// Those of [`ModelConfig::validate`].
pub(crate) fn parts(model: &ModelConfig) -> Result<impl Iterator<Item = Part>, ConfigError> {
	model.validate()?;
	let (vocab, dim, ffn, kv) = (model.vocab, model.dim, model.ffn, model.kv_dim());
	let part = |label, rows, cols, kind| Part { layer: None, label, rows, cols, kind };
	let layer: [Part; TENSORS_PER_LAYER] = [
		part("input_layernorm", 1, dim, ParamKind::Norm),
		part("self_attn.q_proj", dim, dim, ParamKind::Linear),
		part("self_attn.k_proj", kv, dim, ParamKind::Linear),
		part("self_attn.v_proj", kv, dim, ParamKind::Linear),
		part("self_attn.o_proj", dim, dim, ParamKind::ResidualLinear),
		part("post_attention_layernorm", 1, dim, ParamKind::Norm),
		part("mlp.gate_proj", ffn, dim, ParamKind::Linear),
		part("mlp.up_proj", ffn, dim, ParamKind::Linear),
		part("mlp.down_proj", dim, ffn, ParamKind::ResidualLinear),
	];
	let layers = (0..model.layers).flat_map(move |number| layer.map(|part| Part { layer: Some(number), ..part }));
	let last = [Some(part("model.norm", 1, dim, ParamKind::Norm)), (!model.tied).then_some(part("lm_head", vocab, dim, ParamKind::Head))];
	let first = part("model.embed_tokens", vocab, dim, ParamKind::Embedding);
	Ok(core::iter::once(first).chain(layers).chain(last.into_iter().flatten()))
}

/// All parameter tensors of a model in their fixed order, without gaps.
///
/// Order: embedding; per layer input norm, q, k, v, o, post-attention norm, gate, up, down; final norm; head if untied.
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
		let size = |value: u32| usize::try_from(value).map_err(|_| ConfigError::TooLarge);
		let mut layout = Self { tensors: Vec::new(), len: 0 };
		for part in parts(model)? {
			let (rows, cols) = (size(part.rows)?, size(part.cols)?);
			let tensor = ParamTensor { name: part.name(), rows, cols, offset: layout.len, kind: part.kind };
			// At most 2^31 elements: `ModelConfig::validate` has seen to it.
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
