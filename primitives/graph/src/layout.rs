//! Where each parameter lives in one flat vector of f32.

use crate::config::{ConfigError, ModelConfig};
use alloc::{format, string::String, vec::Vec};

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
pub(crate) const TENSORS_PER_LAYER: usize = 9;

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
		model.validate()?;
		let size = |value: u32| usize::try_from(value).map_err(|_| ConfigError::TooLarge);
		let (vocab, dim, ffn, kv) = (size(model.vocab)?, size(model.dim)?, size(model.ffn)?, size(model.kv_dim())?);
		let mut layout = Self { tensors: Vec::new(), len: 0 };
		layout.push("model.embed_tokens.weight".into(), vocab, dim, ParamKind::Embedding);
		for layer in 0..model.layers {
			let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
			layout.push(name("input_layernorm"), 1, dim, ParamKind::Norm);
			layout.push(name("self_attn.q_proj"), dim, dim, ParamKind::Linear);
			layout.push(name("self_attn.k_proj"), kv, dim, ParamKind::Linear);
			layout.push(name("self_attn.v_proj"), kv, dim, ParamKind::Linear);
			layout.push(name("self_attn.o_proj"), dim, dim, ParamKind::ResidualLinear);
			layout.push(name("post_attention_layernorm"), 1, dim, ParamKind::Norm);
			layout.push(name("mlp.gate_proj"), ffn, dim, ParamKind::Linear);
			layout.push(name("mlp.up_proj"), ffn, dim, ParamKind::Linear);
			layout.push(name("mlp.down_proj"), dim, ffn, ParamKind::ResidualLinear);
		}
		layout.push("model.norm.weight".into(), 1, dim, ParamKind::Norm);
		if !model.tied {
			layout.push("lm_head.weight".into(), vocab, dim, ParamKind::Head);
		}
		Ok(layout)
	}

	fn push(&mut self, name: String, rows: usize, cols: usize, kind: ParamKind) {
		let tensor = ParamTensor { name, rows, cols, offset: self.len, kind };
		// At most 2^31 elements: `ModelConfig::validate` has seen to it.
		self.len += tensor.len();
		self.tensors.push(tensor);
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
