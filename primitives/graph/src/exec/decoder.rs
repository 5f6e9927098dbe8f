//! Logits of arbitrary text, with a cache of keys and values: generation, and checks of exported models.
//!
//! A token's logits have the same bits whether its text is given at once, token by token, or in a training batch.

use super::{Exec, SetupError};
use crate::{
	config::ModelConfig,
	layout::{ParamLayout, TENSORS_PER_LAYER},
};
use alloc::{sync::Arc, vec, vec::Vec};
use neuroshard_kernels::{
	schedule,
	shape::{AttentionDims, MatDims, RopeDims, Start},
};

/// Why text has no logits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
	/// There is no token.
	#[error("no token was given")]
	Empty,
	/// More tokens than the decoder was made for.
	#[error("{found} tokens where the decoder holds {capacity}")]
	Capacity {
		/// Tokens that it holds.
		capacity: usize,
		/// Tokens that it would need to hold.
		found: usize,
	},
	/// A token outside the model's vocabulary.
	#[error("token {0} is not in the model's vocabulary")]
	Vocabulary(u16),
	/// The parameters do not have the layout's length.
	#[error("{found} parameters where the model has {expected}")]
	Parameters {
		/// Parameters of the model.
		expected: usize,
		/// Parameters given.
		found: usize,
	},
}

/// Activations of the tokens being added.
#[derive(Default)]
struct Scratch {
	x: Vec<f32>,
	r: Vec<f32>,
	h: Vec<f32>,
	q: Vec<f32>,
	o: Vec<f32>,
	gate: Vec<f32>,
	up: Vec<f32>,
	ffn: Vec<f32>,
	logits: Vec<f32>,
}

/// A text of up to `capacity` tokens with the keys and values of every layer.
pub struct Decoder {
	exec: Arc<Exec>,
	layout: ParamLayout,
	dims: AttentionDims,
	ffn: usize,
	vocab: usize,
	eps: f32,
	capacity: usize,
	len: usize,
	cos: Vec<f32>,
	sin: Vec<f32>,
	/// Keys and values of each layer, `[capacity, key width]`.
	cache: Vec<[Vec<f32>; 2]>,
	scratch: Scratch,
}

impl Decoder {
	/// An empty text; it holds up to `capacity` tokens, at most the model's `max_seq`.
	///
	/// # Errors
	/// [`SetupError`] if the model is refused.
	pub fn new(exec: Arc<Exec>, model: &ModelConfig, capacity: usize) -> Result<Self, SetupError> {
		let layout = ParamLayout::new(model)?;
		let size = |value: u32| usize::try_from(value).map_err(|_| SetupError::Memory);
		let capacity = capacity.min(size(model.max_seq)?);
		let dims = AttentionDims {
			batch: 1,
			seq: 1,
			heads: size(model.heads)?,
			kv_heads: size(model.kv_heads)?,
			head_dim: size(model.head_dim())?,
		};
		let table = capacity * dims.head_dim / 2;
		let (mut cos, mut sin) = (vec![0.0; table], vec![0.0; table]);
		schedule::rope_tables(model.rope_theta, dims.head_dim, 0, &mut cos, &mut sin);
		let cached = || vec![0.0; capacity * dims.key_width()];
		Ok(Self {
			exec,
			cache: (0..model.layers).map(|_| [cached(), cached()]).collect(),
			layout,
			dims,
			ffn: size(model.ffn)?,
			vocab: size(model.vocab)?,
			eps: model.norm_eps.get(),
			capacity,
			len: 0,
			cos,
			sin,
			scratch: Scratch::default(),
		})
	}

	/// Tokens of the text so far.
	pub fn len(&self) -> usize {
		self.len
	}

	/// Whether the text is empty.
	pub fn is_empty(&self) -> bool {
		self.len == 0
	}

	/// Begins a new text.
	pub fn clear(&mut self) {
		self.len = 0;
	}

	/// Appends `tokens` and returns the logits of the token after the last, computed with `theta`.
	///
	/// # Errors
	/// [`DecodeError`]; the text is then as before.
	pub fn extend(&mut self, theta: &[f32], tokens: &[u16]) -> Result<&[f32], DecodeError> {
		self.advance(theta, tokens)?;
		let last = self.scratch.x.len() - self.dims.query_width();
		self.head(theta, last);
		Ok(&self.scratch.logits)
	}

	/// Runs all layers on `tokens`; leaves the residual stream in the scratch.
	fn advance(&mut self, theta: &[f32], tokens: &[u16]) -> Result<(), DecodeError> {
		let (n, dim, end) = (tokens.len(), self.dims.query_width(), self.len + tokens.len());
		if tokens.is_empty() {
			return Err(DecodeError::Empty);
		}
		if end > self.capacity {
			return Err(DecodeError::Capacity { capacity: self.capacity, found: end });
		}
		if theta.len() != self.layout.len() {
			return Err(DecodeError::Parameters { expected: self.layout.len(), found: theta.len() });
		}
		if let Some(&token) = tokens.iter().find(|&&token| usize::from(token) >= self.vocab) {
			return Err(DecodeError::Vocabulary(token));
		}
		let ids: Vec<u32> = tokens.iter().map(|&token| token.into()).collect();
		for (buffer, width) in self.scratch.buffers(dim, self.ffn) {
			buffer.resize(n * width, 0.0);
		}
		let embedding = &theta[self.layout.tensors()[0].range()];
		self.exec.embedding_gather(embedding, dim, &ids, &mut self.scratch.x);
		for layer in 0..self.cache.len() {
			self.layer(theta, layer, n);
		}
		self.len = end;
		Ok(())
	}

	fn layer(&mut self, theta: &[f32], layer: usize, n: usize) {
		let exec = &*self.exec;
		let params: [&[f32]; TENSORS_PER_LAYER] =
			core::array::from_fn(|i| &theta[self.layout.tensors()[1 + TENSORS_PER_LAYER * layer + i].range()]);
		let [norm1, wq, wk, wv, wo, norm2, w_gate, w_up, w_down] = params;
		let (dim, width, ffn, half) = (self.dims.query_width(), self.dims.key_width(), self.ffn, self.dims.head_dim / 2);
		let Scratch { x, r, h, q, o, gate, up, ffn: act, .. } = &mut self.scratch;
		let [keys, values] = &mut self.cache[layer];
		let new = self.len * width..(self.len + n) * width;
		let table = self.len * half..(self.len + n) * half;
		let (cos, sin) = (&self.cos[table.clone()], &self.sin[table]);
		let dims = |out, k| MatDims { m: n, n: out, k };
		let rope = |heads| RopeDims { seq: n, heads, head_dim: self.dims.head_dim };

		exec.rms_stats(x, dim, self.eps, r);
		exec.rms_apply(x, r, norm1, h);
		exec.matmul_nt(dims(dim, dim), h, wq, q, Start::Zero);
		exec.matmul_nt(dims(width, dim), h, wk, &mut keys[new.clone()], Start::Zero);
		exec.matmul_nt(dims(width, dim), h, wv, &mut values[new.clone()], Start::Zero);
		exec.rope_forward(rope(self.dims.heads), q, cos, sin);
		exec.rope_forward(rope(self.dims.kv_heads), &mut keys[new], cos, sin);
		for (i, (q, o)) in q.chunks_exact(dim).zip(o.chunks_exact_mut(dim)).enumerate() {
			let seen = (self.len + i + 1) * width;
			exec.attention_decode(self.dims, q, &keys[..seen], &values[..seen], o);
		}
		exec.matmul_nt(dims(dim, dim), o, wo, x, Start::Existing);
		exec.rms_stats(x, dim, self.eps, r);
		exec.rms_apply(x, r, norm2, h);
		exec.matmul_nt(dims(ffn, dim), h, w_gate, gate, Start::Zero);
		exec.matmul_nt(dims(ffn, dim), h, w_up, up, Start::Zero);
		exec.swiglu_forward(gate, up, act);
		exec.matmul_nt(dims(dim, ffn), act, w_down, x, Start::Existing);
	}

	/// Logits of the residual stream from element `first` on, into the scratch.
	fn head(&mut self, theta: &[f32], first: usize) {
		let dim = self.dims.query_width();
		let Scratch { x, r, h, logits, .. } = &mut self.scratch;
		let x = &x[first..];
		let n = x.len() / dim;
		// The embedding is the first tensor; the final norm follows the layers, the head of an untied model is last.
		let tensors = self.layout.tensors();
		let last = 1 + TENSORS_PER_LAYER * self.cache.len();
		let norm = &theta[tensors[last].range()];
		let head = tensors.get(last + 1).unwrap_or(&tensors[0]);
		logits.resize(n * self.vocab, 0.0);
		self.exec.rms_stats(x, dim, self.eps, &mut r[..n]);
		self.exec.rms_apply(x, &r[..n], norm, &mut h[..n * dim]);
		let dims = MatDims { m: n, n: self.vocab, k: dim };
		self.exec.matmul_nt(dims, &h[..n * dim], &theta[head.range()], logits, Start::Zero);
	}
}

impl Scratch {
	/// The buffers of a layer, with their widths.
	fn buffers(&mut self, dim: usize, ffn: usize) -> [(&mut Vec<f32>, usize); 8] {
		let Self { x, r, h, q, o, gate, up, ffn: act, .. } = self;
		[(x, dim), (r, 1), (h, dim), (q, dim), (o, dim), (gate, ffn), (up, ffn), (act, ffn)]
	}
}

/// Logits after every token of `tokens`, `[tokens, vocab]`.
///
/// # Errors
/// [`DecodeError::Capacity`] beyond the model's `max_seq`; otherwise as [`Decoder::extend`].
pub fn forward_logits(decoder: &mut Decoder, theta: &[f32], tokens: &[u16]) -> Result<Vec<f32>, DecodeError> {
	decoder.clear();
	decoder.advance(theta, tokens)?;
	decoder.head(theta, 0);
	Ok(decoder.scratch.logits.clone())
}
