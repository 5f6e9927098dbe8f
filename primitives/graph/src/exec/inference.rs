//! A model that answers: logits of many texts at a time, with keys and values in pages.
//!
//! A token's logits have the same bits whether its text is given at once, token by token, in any pieces, beside any other texts, or in a
//! training batch: every row of an operator is computed by itself, in the order of the specification.

use super::{
	pages::{Pages, Sequence},
	Exec, SetupError,
};
use crate::{
	config::ModelConfig,
	layout::{ParamLayout, TENSORS_PER_LAYER},
};
use alloc::{sync::Arc, vec, vec::Vec};
use core::ops::Range;
use neuroshard_kernels::{
	exec::{Packed, Seen, PAGE},
	schedule,
	shape::{AttentionDims, RopeDims, Start},
};

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
	/// A part of a model that the model does not have.
	#[error("layers {first} to {end} are not among the model's {layers}")]
	Layers {
		/// First layer.
		first: usize,
		/// The layer after the last one.
		end: usize,
		/// Layers of the model.
		layers: usize,
	},
	/// A part of a model is asked for what another part gives.
	#[error("this part of the model has no {0}")]
	Stage(&'static str),
	/// Not a row for every token.
	#[error("{found} numbers where the rows of the tokens have {expected}")]
	Rows {
		/// Numbers in the rows of all tokens.
		expected: usize,
		/// Numbers given.
		found: usize,
	},
	/// Somebody who holds a part of the model does not answer.
	#[error("a part of the model is not to be reached: nobody who holds it answers")]
	Lost,
}

/// A part of a model: some layers, with what comes before or after them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
	/// Whether it turns tokens into rows.
	pub embedding: bool,
	/// Its layers.
	pub layers: Range<usize>,
	/// Whether it turns rows into logits.
	pub head: bool,
}

impl Stage {
	/// All of a model with so many layers.
	pub fn whole(layers: usize) -> Self {
		Self { embedding: true, layers: 0..layers, head: true }
	}
}

/// What goes into a stage.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Input<'a> {
	/// The tokens of the pieces.
	Tokens,
	/// A row of the residual stream for each token, `[tokens, dim]`; only the number of the pieces' tokens matters.
	Rows(&'a [f32]),
}

/// What comes out of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
	/// A row of the residual stream for each token, `[tokens, dim]`.
	Rows,
	/// The wanted rows after the last norm, `[wanted, dim]`.
	Hidden,
	/// The logits of the wanted rows, `[wanted, vocab]`.
	Logits,
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

/// What turns rows into logits.
enum Head {
	/// The embedding.
	Tied,
	Own(Packed),
}

/// A model, or a part of one, with its weights packed for this machine.
pub struct Inference {
	exec: Arc<Exec>,
	dims: AttentionDims,
	ffn: usize,
	vocab: usize,
	longest: usize,
	eps: f32,
	cos: Vec<f32>,
	sin: Vec<f32>,
	/// The first token of a text is looked up in it, and a tied head multiplies by it.
	embedding: Option<Packed>,
	embeds: bool,
	layers: Vec<Layer>,
	norm: Vec<f32>,
	head: Option<Head>,
	scratch: Scratch,
}

impl Inference {
	/// Packs the parameters `theta`, which are in the order of [`ParamLayout`].
	///
	/// # Errors
	/// [`InferenceError::Setup`] or [`InferenceError::Parameters`].
	pub fn new(exec: Arc<Exec>, model: &ModelConfig, theta: &[f32]) -> Result<Self, InferenceError> {
		let layers = usize::try_from(model.layers).map_err(|_| SetupError::Memory)?;
		Self::stage(exec, model, theta, &Stage::whole(layers))
	}

	/// As [`Self::new`], for a part of the model.
	///
	/// # Errors
	/// Also [`InferenceError::Layers`].
	pub fn stage(exec: Arc<Exec>, model: &ModelConfig, theta: &[f32], stage: &Stage) -> Result<Self, InferenceError> {
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
		let (Range { start: first, end }, all) = (stage.layers.clone(), size(model.layers)?);
		if first > end || end > all {
			return Err(InferenceError::Layers { first, end, layers: all });
		}
		let layers = stage.layers.clone().map(|layer| {
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
		let last = 1 + TENSORS_PER_LAYER * all;
		let head = stage.head.then(|| tensors.get(last + 1).map_or(Head::Tied, |_| Head::Own(pack(last + 1))));
		let embedding = (stage.embedding || matches!(head, Some(Head::Tied))).then(|| pack(0));
		Ok(Self {
			dims,
			ffn: size(model.ffn)?,
			vocab: size(model.vocab)?,
			longest,
			eps: model.norm_eps.get(),
			cos,
			sin,
			embedding,
			embeds: stage.embedding,
			layers,
			norm: vector(last),
			head,
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
		self.pass(pages, pieces, Input::Tokens, Output::Logits)
	}

	/// One pass of the pieces through the stage.
	///
	/// # Errors
	/// [`InferenceError`]; all texts are then as before.
	pub fn pass(&mut self, pages: &Pages, pieces: &mut [Piece], input: Input, output: Output) -> Result<&[f32], InferenceError> {
		self.check(pieces)?;
		let tokens: usize = pieces.iter().map(|piece| piece.tokens.len()).sum();
		let dim = self.dims.query_width();
		match input {
			Input::Tokens if !self.embeds => return Err(InferenceError::Stage("embedding")),
			Input::Rows(rows) if rows.len() != tokens * dim => {
				return Err(InferenceError::Rows { expected: tokens * dim, found: rows.len() })
			}
			_ if output != Output::Rows && self.head.is_none() => return Err(InferenceError::Stage("head")),
			_ => {}
		}
		let needed: usize = pieces.iter().map(|piece| piece.sequence.pages_for(piece.tokens.len())).sum();
		let mut new = pages.take(needed, self.page_len()).ok_or(InferenceError::NoPages { tokens })?.into_iter();
		for piece in &mut *pieces {
			piece.sequence.fill(piece.tokens.len(), &mut new);
		}
		self.place(pieces, tokens);
		match input {
			Input::Tokens => self.embed(pieces),
			Input::Rows(rows) => self.scratch.x.copy_from_slice(rows),
		}
		for layer in 0..self.layers.len() {
			self.layer(layer, pieces);
		}
		for piece in &mut *pieces {
			piece.sequence.advance(piece.tokens.len());
		}
		if output == Output::Rows {
			return Ok(&self.scratch.x);
		}
		let wanted = self.finish(pieces);
		let Scratch { h, logits, .. } = &mut self.scratch;
		let hidden = &h[..wanted * dim];
		let head = match &self.head {
			Some(Head::Own(head)) => Some(head),
			Some(Head::Tied) => self.embedding.as_ref(),
			None => None,
		};
		let (Output::Logits, Some(head)) = (output, head) else { return Ok(hidden) };
		logits.resize(wanted * self.vocab, 0.0);
		if wanted > 0 {
			self.exec.matmul_packed(hidden, head, logits, Start::Zero);
		}
		Ok(logits)
	}

	fn check(&self, pieces: &[Piece]) -> Result<(), InferenceError> {
		for Piece { sequence, tokens, .. } in pieces {
			let found = sequence.len().saturating_add(tokens.len());
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

	/// The rows of the tables of the tokens' positions, and room for all others.
	fn place(&mut self, pieces: &[Piece], rows: usize) {
		for (buffer, width) in self.scratch.buffers(self.dims, self.ffn) {
			buffer.resize(rows * width, 0.0);
		}
		let half = self.dims.head_dim / 2;
		let Scratch { cos, sin, .. } = &mut self.scratch;
		let places = pieces.iter().flat_map(|piece| (piece.sequence.len()..).take(piece.tokens.len()));
		for ((position, cos), sin) in places.zip(cos.chunks_exact_mut(half)).zip(sin.chunks_exact_mut(half)) {
			cos.copy_from_slice(&self.cos[position * half..(position + 1) * half]);
			sin.copy_from_slice(&self.sin[position * half..(position + 1) * half]);
		}
	}

	/// The rows of the tokens.
	fn embed(&mut self, pieces: &[Piece]) {
		let Some(embedding) = &self.embedding else { return };
		let tokens = pieces.iter().flat_map(|piece| piece.tokens);
		for (&token, x) in tokens.zip(self.scratch.x.chunks_exact_mut(self.dims.query_width())) {
			// Below the vocabulary, which fits.
			embedding.row(token as usize, x);
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
			let first = piece.sequence.len();
			for (position, (keys, values)) in (first..first + piece.tokens.len()).zip(&mut rows) {
				if let Some(page) = piece.sequence.page_mut(position) {
					Exec::page_token(dims, index, position % PAGE, keys, values, &mut page.data);
				}
			}
		}
		let texts: Vec<Vec<&[f32]>> = pieces.iter().map(|piece| piece.sequence.pages()).collect();
		let seen = pieces.iter().zip(&texts).flat_map(|(piece, pages)| {
			let first = piece.sequence.len() + 1;
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
