//! A model that answers: logits of many texts at a time, with keys and values in pages.
//!
//! A token's logits have the same bits whether its text is given at once, token by token, in any pieces, beside any other texts, or in a
//! training batch: every row of an operator is computed by itself, in the order of the specification.

use super::{Exec, SetupError};
use crate::{
	config::ModelConfig,
	layout::{ParamLayout, TENSORS_PER_LAYER},
};
use alloc::{sync::Arc, vec, vec::Vec};
use core::sync::atomic::{AtomicUsize, Ordering};
use neuroshard_kernels::{
	exec::{Packed, Seen, PAGE},
	schedule,
	shape::{AttentionDims, RopeDims, Start},
};

/// Tokens whose keys and values lie in one page.
pub const PAGE_TOKENS: usize = PAGE;

/// Why text has no logits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InferenceError {
	/// The model is refused.
	#[error(transparent)]
	Setup(#[from] SetupError),
	/// The parameters do not have the layout's length.
	#[error("{found} parameters where the model has {expected}")]
	Parameters {
		/// Parameters of the model.
		expected: usize,
		/// Parameters given.
		found: usize,
	},
	/// There is no token.
	#[error("no token was given")]
	Empty,
	/// More tokens than the model's longest sequence.
	#[error("{found} tokens where the model's longest sequence has {longest}")]
	TooLong {
		/// Tokens of the longest sequence.
		longest: usize,
		/// Tokens of the text.
		found: usize,
	},
	/// A token outside the model's vocabulary.
	#[error("token {0} is not in the model's vocabulary")]
	Vocabulary(u32),
	/// No page is left for keys and values.
	#[error("no memory is left for keys and values of {tokens} more tokens; wait until another text has ended")]
	NoPages {
		/// Tokens to be added.
		tokens: usize,
	},
}

/// Memory for keys and values, in pages. Clones share it.
#[derive(Clone, Debug)]
pub struct Pages(Arc<PagesInner>);

#[derive(Debug)]
struct PagesInner {
	limit: usize,
	used: AtomicUsize,
}

impl Pages {
	/// Room for at most `limit` pages at a time.
	pub fn new(limit: usize) -> Self {
		Self(Arc::new(PagesInner { limit, used: AtomicUsize::new(0) }))
	}

	/// Pages in use.
	pub fn used(&self) -> usize {
		self.0.used.load(Ordering::Relaxed)
	}

	/// Pages that there may be.
	pub fn limit(&self) -> usize {
		self.0.limit
	}

	/// Takes `count` pages of `len` elements, or none.
	fn take(&self, count: usize, len: usize) -> Option<Vec<Page>> {
		let fits = |used: usize| used.checked_add(count).filter(|used| *used <= self.0.limit);
		self.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
		Some((0..count).map(|_| Page { data: vec![0.0; len], of: self.0.clone() }).collect())
	}
}

/// Keys and values of up to [`PAGE_TOKENS`] consecutive tokens of a text, in all layers.
#[derive(Debug)]
pub struct Page {
	data: Vec<f32>,
	of: Arc<PagesInner>,
}

impl Drop for Page {
	fn drop(&mut self) {
		self.of.used.fetch_sub(1, Ordering::Relaxed);
	}
}

/// A text that a model has read: the keys and values of its tokens.
#[derive(Default, Debug)]
pub struct Sequence {
	len: usize,
	/// Pages without room: texts that begin alike can share them.
	full: Vec<Arc<Page>>,
	open: Vec<Page>,
}

impl Sequence {
	/// A text that begins with what these full pages hold.
	pub fn with_prefix(full: Vec<Arc<Page>>) -> Self {
		Self { len: full.len() * PAGE, full, open: Vec::new() }
	}

	/// Tokens read so far.
	pub fn len(&self) -> usize {
		self.len
	}

	/// Whether nothing was read.
	pub fn is_empty(&self) -> bool {
		self.len == 0
	}

	/// Its pages without room, each of [`PAGE_TOKENS`] tokens, from the text's beginning on.
	pub fn full(&mut self) -> &[Arc<Page>] {
		let filled = self.len / PAGE - self.full.len();
		self.full.extend(self.open.drain(..filled).map(Arc::new));
		&self.full
	}

	/// Pages to be taken for `tokens` more.
	pub fn pages_for(&self, tokens: usize) -> usize {
		(self.len + tokens).div_ceil(PAGE).saturating_sub(self.full.len() + self.open.len())
	}

	fn pages(&self) -> Vec<&[f32]> {
		let full = self.full.iter().map(|page| &page.data[..]);
		full.chain(self.open.iter().map(|page| &page.data[..])).collect()
	}

	fn page_mut(&mut self, position: usize) -> Option<&mut Page> {
		self.open.get_mut((position / PAGE).checked_sub(self.full.len())?)
	}

	/// Forgets the tokens from `len` on. What [`Self::full`] has shown stays.
	pub fn truncate(&mut self, len: usize) {
		self.len = self.len.min(len.max(self.full.len() * PAGE));
		self.open.truncate(self.len.div_ceil(PAGE) - self.full.len());
	}
}

/// What is wanted of the tokens that a text gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
	/// Nothing: more of them will follow.
	Nothing,
	/// What comes after the last one.
	Last,
	/// What comes after each of them.
	All,
}

/// Tokens that a text gets in one pass.
#[derive(Debug)]
pub struct Piece<'a> {
	/// The text.
	pub sequence: &'a mut Sequence,
	/// Its next tokens.
	pub tokens: &'a [u32],
	/// What is wanted of them.
	pub wanted: Wanted,
}

/// Weights of a decoder layer.
struct Layer {
	norm1: Vec<f32>,
	q: Packed,
	k: Packed,
	v: Packed,
	o: Packed,
	norm2: Vec<f32>,
	gate: Packed,
	up: Packed,
	down: Packed,
}

/// Activations of the tokens of a pass.
#[derive(Default)]
struct Scratch {
	x: Vec<f32>,
	r: Vec<f32>,
	h: Vec<f32>,
	q: Vec<f32>,
	k: Vec<f32>,
	v: Vec<f32>,
	o: Vec<f32>,
	gate: Vec<f32>,
	up: Vec<f32>,
	act: Vec<f32>,
	cos: Vec<f32>,
	sin: Vec<f32>,
	logits: Vec<f32>,
}

impl Scratch {
	/// The buffers of a layer, with their widths.
	fn buffers(&mut self, dims: AttentionDims, ffn: usize) -> [(&mut Vec<f32>, usize); 12] {
		let (dim, width, half) = (dims.query_width(), dims.key_width(), dims.head_dim / 2);
		let Self { x, r, h, q, k, v, o, gate, up, act, cos, sin, .. } = self;
		[
			(x, dim),
			(r, 1),
			(h, dim),
			(q, dim),
			(k, width),
			(v, width),
			(o, dim),
			(gate, ffn),
			(up, ffn),
			(act, ffn),
			(cos, half),
			(sin, half),
		]
	}
}

/// A model with its weights packed for this machine.
pub struct Inference {
	exec: Arc<Exec>,
	dims: AttentionDims,
	ffn: usize,
	vocab: usize,
	longest: usize,
	eps: f32,
	cos: Vec<f32>,
	sin: Vec<f32>,
	/// Also the head of a tied model.
	embedding: Packed,
	layers: Vec<Layer>,
	norm: Vec<f32>,
	head: Option<Packed>,
	scratch: Scratch,
}

impl Inference {
	/// Packs the parameters `theta`, which are in the order of [`ParamLayout`].
	///
	/// # Errors
	/// [`InferenceError::Setup`] or [`InferenceError::Parameters`].
	pub fn new(exec: Arc<Exec>, model: &ModelConfig, theta: &[f32]) -> Result<Self, InferenceError> {
		let layout = ParamLayout::new(model).map_err(SetupError::Config)?;
		if theta.len() != layout.len() {
			return Err(InferenceError::Parameters { expected: layout.len(), found: theta.len() });
		}
		let size = |value: u32| usize::try_from(value).map_err(|_| SetupError::Memory);
		let dims = AttentionDims {
			batch: 1,
			seq: 1,
			heads: size(model.heads)?,
			kv_heads: size(model.kv_heads)?,
			head_dim: size(model.head_dim())?,
		};
		let longest = size(model.max_seq)?;
		let table = longest * dims.head_dim / 2;
		let (mut cos, mut sin) = (vec![0.0; table], vec![0.0; table]);
		schedule::rope_tables(model.rope_theta, dims.head_dim, 0, &mut cos, &mut sin);
		let tensors = layout.tensors();
		let vector = |index: usize| theta[tensors[index].range()].to_vec();
		let pack = |index: usize| exec.pack(tensors[index].rows, tensors[index].cols, &theta[tensors[index].range()]);
		let layers = (0..size(model.layers)?).map(|layer| {
			let at = |tensor: usize| 1 + TENSORS_PER_LAYER * layer + tensor;
			Layer {
				norm1: vector(at(0)),
				q: pack(at(1)),
				k: pack(at(2)),
				v: pack(at(3)),
				o: pack(at(4)),
				norm2: vector(at(5)),
				gate: pack(at(6)),
				up: pack(at(7)),
				down: pack(at(8)),
			}
		});
		let layers: Vec<_> = layers.collect();
		// The final norm follows the layers, the head of an untied model is last.
		let last = 1 + TENSORS_PER_LAYER * layers.len();
		Ok(Self {
			dims,
			ffn: size(model.ffn)?,
			vocab: size(model.vocab)?,
			longest,
			eps: model.norm_eps.get(),
			cos,
			sin,
			embedding: pack(0),
			layers,
			norm: vector(last),
			head: tensors.get(last + 1).map(|_| pack(last + 1)),
			scratch: Scratch::default(),
			exec,
		})
	}

	/// Tokens of the vocabulary: the length of a row of logits.
	pub fn vocab(&self) -> usize {
		self.vocab
	}

	/// Tokens of the longest sequence.
	pub fn longest(&self) -> usize {
		self.longest
	}

	/// Width of the residual stream.
	pub fn dim(&self) -> usize {
		self.dims.query_width()
	}

	/// Bytes of a page.
	pub fn page_bytes(&self) -> usize {
		self.page_len() * size_of::<f32>()
	}

	fn page_len(&self) -> usize {
		Exec::page_len(self.layers.len(), self.dims)
	}

	/// Has every text read its tokens; returns the wanted rows of logits, `[wanted, vocab]`, in the order of the pieces.
	///
	/// # Errors
	/// [`InferenceError`]; all texts are then as before.
	pub fn logits(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		let wanted = self.read(pages, pieces)?;
		let Scratch { h, logits, .. } = &mut self.scratch;
		logits.resize(wanted * self.vocab, 0.0);
		let head = self.head.as_ref().unwrap_or(&self.embedding);
		if wanted > 0 {
			self.exec.matmul_packed(&h[..wanted * self.dims.query_width()], head, logits, Start::Zero);
		}
		Ok(logits)
	}

	/// As [`Self::logits`], but the rows are the residual stream after the last norm, `[wanted, dim]`.
	///
	/// # Errors
	/// [`InferenceError`]; all texts are then as before.
	pub fn hidden(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<&[f32], InferenceError> {
		let wanted = self.read(pages, pieces)?;
		Ok(&self.scratch.h[..wanted * self.dims.query_width()])
	}

	/// Runs all layers, and the last norm on the wanted rows; leaves these at the beginning of the scratch's `h`, and returns how many they are.
	fn read(&mut self, pages: &Pages, pieces: &mut [Piece]) -> Result<usize, InferenceError> {
		self.check(pieces)?;
		let needed: usize = pieces.iter().map(|piece| piece.sequence.pages_for(piece.tokens.len())).sum();
		let tokens = pieces.iter().map(|piece| piece.tokens.len()).sum();
		let mut new = pages.take(needed, self.page_len()).ok_or(InferenceError::NoPages { tokens })?.into_iter();
		for piece in &mut *pieces {
			let count = piece.sequence.pages_for(piece.tokens.len());
			piece.sequence.open.extend(new.by_ref().take(count));
		}
		self.embed(pieces, tokens);
		for layer in 0..self.layers.len() {
			self.layer(layer, pieces);
		}
		for piece in &mut *pieces {
			piece.sequence.len += piece.tokens.len();
		}
		Ok(self.finish(pieces))
	}

	fn check(&self, pieces: &[Piece]) -> Result<(), InferenceError> {
		for Piece { sequence, tokens, .. } in pieces {
			let found = sequence.len.saturating_add(tokens.len());
			if tokens.is_empty() {
				return Err(InferenceError::Empty);
			}
			if found > self.longest {
				return Err(InferenceError::TooLong { longest: self.longest, found });
			}
			let unknown = |token: &&u32| usize::try_from(**token).map_or(true, |token| token >= self.vocab);
			if let Some(token) = tokens.iter().find(unknown) {
				return Err(InferenceError::Vocabulary(*token));
			}
		}
		Ok(())
	}

	/// The rows of the tokens, and of the tables of their positions.
	fn embed(&mut self, pieces: &[Piece], rows: usize) {
		for (buffer, width) in self.scratch.buffers(self.dims, self.ffn) {
			buffer.resize(rows * width, 0.0);
		}
		let (dim, half) = (self.dims.query_width(), self.dims.head_dim / 2);
		let Scratch { x, cos, sin, .. } = &mut self.scratch;
		let places = pieces.iter().flat_map(|piece| (piece.sequence.len..).zip(piece.tokens));
		let tables = cos.chunks_exact_mut(half).zip(sin.chunks_exact_mut(half));
		for (((position, &token), x), (cos, sin)) in places.zip(x.chunks_exact_mut(dim)).zip(tables) {
			// Below the vocabulary, which fits.
			self.embedding.row(token as usize, x);
			cos.copy_from_slice(&self.cos[position * half..(position + 1) * half]);
			sin.copy_from_slice(&self.sin[position * half..(position + 1) * half]);
		}
	}

	fn layer(&mut self, index: usize, pieces: &mut [Piece]) {
		let (exec, dims) = (&*self.exec, self.dims);
		let Layer { norm1, q: wq, k: wk, v: wv, o: wo, norm2, gate: w_gate, up: w_up, down } = &self.layers[index];
		let Scratch { x, r, h, q, k, v, o, gate, up, act, cos, sin, .. } = &mut self.scratch;
		let (dim, width, n) = (dims.query_width(), dims.key_width(), r.len());
		let rope = |heads| RopeDims { seq: n, heads, head_dim: dims.head_dim };

		exec.rms_stats(x, dim, self.eps, r);
		exec.rms_apply(x, r, norm1, h);
		exec.matmul_packed(h, wq, q, Start::Zero);
		exec.matmul_packed(h, wk, k, Start::Zero);
		exec.matmul_packed(h, wv, v, Start::Zero);
		exec.rope_forward(rope(dims.heads), q, cos, sin);
		exec.rope_forward(rope(dims.kv_heads), k, cos, sin);
		let mut rows = k.chunks_exact(width).zip(v.chunks_exact(width));
		for piece in &mut *pieces {
			let first = piece.sequence.len;
			for (position, (keys, values)) in (first..first + piece.tokens.len()).zip(&mut rows) {
				if let Some(page) = piece.sequence.page_mut(position) {
					Exec::page_token(dims, index, position % PAGE, keys, values, &mut page.data);
				}
			}
		}
		let texts: Vec<Vec<&[f32]>> = pieces.iter().map(|piece| piece.sequence.pages()).collect();
		let seen = pieces.iter().zip(&texts).flat_map(|(piece, pages)| {
			let first = piece.sequence.len + 1;
			(first..first + piece.tokens.len()).map(|keys| Seen { pages, keys })
		});
		exec.attention_paged(dims, index, &seen.collect::<Vec<_>>(), q, o);
		exec.matmul_packed(o, wo, x, Start::Existing);
		exec.rms_stats(x, dim, self.eps, r);
		exec.rms_apply(x, r, norm2, h);
		exec.matmul_packed(h, w_gate, gate, Start::Zero);
		exec.matmul_packed(h, w_up, up, Start::Zero);
		exec.swiglu_forward(gate, up, act);
		exec.matmul_packed(act, down, x, Start::Existing);
	}

	/// The last norm of the wanted rows.
	fn finish(&mut self, pieces: &[Piece]) -> usize {
		let dim = self.dims.query_width();
		let Scratch { x, r, h, .. } = &mut self.scratch;
		let (mut row, mut wanted) = (0, 0);
		for Piece { tokens, wanted: of, .. } in pieces {
			let first = match of {
				Wanted::Nothing => row + tokens.len(),
				Wanted::Last => row + tokens.len() - 1,
				Wanted::All => row,
			};
			row += tokens.len();
			x.copy_within(first * dim..row * dim, wanted * dim);
			wanted += row - first;
		}
		let (x, r, h) = (&x[..wanted * dim], &mut r[..wanted], &mut h[..wanted * dim]);
		self.exec.rms_stats(x, dim, self.eps, r);
		self.exec.rms_apply(x, r, &self.norm, h);
		wanted
	}
}
