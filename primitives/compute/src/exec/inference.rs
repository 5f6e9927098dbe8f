//! A model that answers: logits of many texts at a time, with keys and values in pages.
//!
//! A token's logits have the same bits whether its text is given at once, token by token, in any pieces, beside any other texts, or in a
//! training batch: every row of an operator is computed by itself, in the order of the specification.

use super::{
	beside::{Beside, Sizes},
	kv_pages::{Pages, Sequence},
	weight::{Rows, Weight},
	Exec, SetupError,
};
use crate::native::{Packed, Quantized, Seen, PAGE};
use neuroshard_graph::{
	class::Class,
	config::{ModelConfig, Projection},
	layout::{LayerTensors, ParamLayout, ParamTensor},
};
use neuroshard_kernels::shape::{AttentionDims, RopeDims, Start};
use std::{borrow::Cow, ops::Range, sync::Arc};

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
	/// An adapter of a model of other sizes, or where only a part of the model is.
	#[error("this adapter does not belong to this model")]
	Adapter,
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
	q: Weight,
	k: Weight,
	v: Weight,
	biases: Option<[Vec<f32>; 3]>,
	head_norms: Option<[Vec<f32>; 2]>,
	o: Weight,
	norm2: Vec<f32>,
	gate: Weight,
	up: Weight,
	down: Weight,
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
	/// Queries, or keys, before their heads are normalised, and the factors of the heads.
	raw: Vec<f32>,
	factors: Vec<f32>,
	o: Vec<f32>,
	gate: Vec<f32>,
	up: Vec<f32>,
	act: Vec<f32>,
	cos: Vec<f32>,
	sin: Vec<f32>,
	logits: Vec<f32>,
	quantized: Quantized,
}

impl Scratch {
	/// The buffers of a layer, with their widths.
	fn buffers(&mut self, dims: AttentionDims, dim: usize, ffn: usize) -> [(&mut Vec<f32>, usize); 12] {
		let (queries, keys, half) = (dims.query_width(), dims.key_width(), dims.head_dim / 2);
		let Self { x, r, h, q, k, v, o, gate, up, act, cos, sin, .. } = self;
		[
			(x, dim),
			(r, 1),
			(h, dim),
			(q, queries),
			(k, keys),
			(v, keys),
			(o, queries),
			(gate, ffn),
			(up, ffn),
			(act, ffn),
			(cos, half),
			(sin, half),
		]
	}
}

/// A model, or a part of one, with its weights packed for this machine.
pub struct Inference {
	exec: Arc<Exec>,
	class: Class,
	dims: AttentionDims,
	dim: usize,
	ffn: usize,
	vocab: usize,
	longest: usize,
	eps: f32,
	cos: Vec<f32>,
	sin: Vec<f32>,
	/// Tokens are looked up in it.
	embedding: Option<Arc<Packed>>,
	layers: Vec<Layer>,
	norm: Vec<f32>,
	/// It turns rows into logits. In exact f32, that of a tied model is the embedding itself.
	head: Option<Weight>,
	scratch: Scratch,
}

impl Inference {
	/// Packs the parameters `theta`, which are in the order of [`ParamLayout`], for answers in exact f32.
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
		Self::in_class(exec, model, theta, stage, Class::ExactF32)
	}

	/// As [`Self::stage`], for answers in a class. The parameters are the checkpoint's in every class.
	///
	/// # Errors
	/// As [`Self::stage`].
	pub fn in_class(exec: Arc<Exec>, model: &ModelConfig, theta: &[f32], stage: &Stage, class: Class) -> Result<Self, InferenceError> {
		let expected = ParamLayout::new(model).map_err(SetupError::Config)?.len();
		if theta.len() != expected {
			return Err(InferenceError::Parameters { expected, found: theta.len() });
		}
		Self::load(exec, model, stage, class, |_, tensor| Ok(Cow::Borrowed(&theta[tensor.range()])))
	}

	/// As [`Self::in_class`], with parameters that are read tensor by tensor, and only those that the stage needs. `read` gets the number of the tensor in
	/// [`ParamLayout`], and the tensor, and returns its values.
	///
	/// # Errors
	/// Those of `read`, and as [`Self::in_class`].
	pub fn load<'a, E: From<InferenceError>>(
		exec: Arc<Exec>,
		model: &ModelConfig,
		stage: &Stage,
		class: Class,
		mut read: impl FnMut(usize, &ParamTensor) -> Result<Cow<'a, [f32]>, E>,
	) -> Result<Self, E> {
		let layout = ParamLayout::new(model).map_err(|error| InferenceError::from(SetupError::Config(error)))?;
		let size = |value: u32| usize::try_from(value).map_err(|_| InferenceError::Setup(SetupError::Memory));
		let dims = AttentionDims {
			batch: 1,
			seq: 1,
			heads: size(model.heads)?,
			kv_heads: size(model.kv_heads)?,
			head_dim: size(model.head_dim())?,
		};
		let longest = size(model.max_seq)?;
		let (cos, sin) = model.rope_tables(longest);
		let (Range { start: first, end }, all) = (stage.layers.clone(), size(model.layers)?);
		if first > end || end > all {
			return Err(InferenceError::Layers { first, end, layers: all }.into());
		}
		let tensors = layout.tensors();
		let mut values = |index: usize| -> Result<_, E> {
			let tensor = &tensors[index];
			let values = read(index, tensor)?;
			match values.len() == tensor.len() {
				true => Ok((tensor, values)),
				false => Err(InferenceError::Parameters { expected: tensor.len(), found: values.len() }.into()),
			}
		};
		let pack = |(tensor, values): (&ParamTensor, Cow<[f32]>)| Weight::pack(&exec, class, tensor.rows, tensor.cols, &values);
		let per_layer = size(model.family.tensors_per_layer())?;
		let mut layers = Vec::with_capacity(stage.layers.len());
		for layer in stage.layers.clone() {
			let mut numbers = 1 + per_layer * layer..;
			let at = LayerTensors::in_order(model.family, || numbers.next().ok_or(InferenceError::Setup(SetupError::Memory)))?;
			let mut vector = |tensor| values(tensor).map(|(_, values)| values.into_owned());
			let (norm1, norm2) = (vector(at.norm1)?, vector(at.norm2)?);
			let biases = match at.biases {
				Some([q, k, v]) => Some([vector(q)?, vector(k)?, vector(v)?]),
				None => None,
			};
			let head_norms = match at.head_norms {
				Some([q, k]) => Some([vector(q)?, vector(k)?]),
				None => None,
			};
			// One after the other: no more than one is held unpacked.
			let mut matrix = |tensor| values(tensor).map(pack);
			layers.push(Layer {
				norm1,
				q: matrix(at.q)?,
				k: matrix(at.k)?,
				v: matrix(at.v)?,
				biases,
				head_norms,
				o: matrix(at.o)?,
				norm2,
				gate: matrix(at.gate)?,
				up: matrix(at.up)?,
				down: matrix(at.down)?,
			});
		}
		// The final norm follows the layers, the head of an untied model is last.
		let last = 1 + per_layer * all;
		let norm = values(last)?.1.into_owned();
		let embedding = match stage.embedding {
			true => {
				let (tensor, values) = values(0)?;
				Some(Arc::new(exec.pack(tensor.rows, tensor.cols, &values)))
			}
			false => None,
		};
		let own = tensors.get(last + 1).map(|_| last + 1);
		let head = match (stage.head, own, class, &embedding) {
			(false, ..) => None,
			(true, None, Class::ExactF32, Some(embedding)) => Some(Weight::F32(embedding.clone())),
			_ => Some(pack(values(own.unwrap_or(0))?)),
		};
		Ok(Self {
			dims,
			dim: size(model.dim)?,
			ffn: size(model.ffn)?,
			vocab: size(model.vocab)?,
			longest,
			eps: model.norm_eps.get(),
			cos,
			sin,
			embedding,
			layers,
			norm,
			head,
			scratch: Scratch::default(),
			class,
			exec,
		})
	}

	/// The arithmetic that it answers in.
	pub fn class(&self) -> Class {
		self.class
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
		self.dim
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
		let dim = self.dim;
		match input {
			Input::Tokens if self.embedding.is_none() => return Err(InferenceError::Stage("embedding")),
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
		let mut beside = Beside::new(pieces);
		for layer in 0..self.layers.len() {
			self.layer(layer, pieces, &mut beside);
		}
		for piece in &mut *pieces {
			piece.sequence.advance(piece.tokens.len());
		}
		if output == Output::Rows {
			return Ok(&self.scratch.x);
		}
		let wanted = self.finish(pieces);
		let Scratch { h, logits, quantized, .. } = &mut self.scratch;
		let hidden = &h[..wanted * dim];
		let (Output::Logits, Some(head)) = (output, &self.head) else { return Ok(hidden) };
		logits.resize(wanted * self.vocab, 0.0);
		if wanted > 0 {
			Rows::new(&self.exec, self.class, dim, hidden, quantized).times(head, logits, Start::Zero);
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
			if sequence.adapter().is_some_and(|adapter| !adapter.fits(self.sizes())) {
				return Err(InferenceError::Adapter);
			}
		}
		Ok(())
	}

	/// Of a part of a model, the layers are fewer than those of an adapter.
	fn sizes(&self) -> Sizes {
		Sizes { layers: self.layers.len(), widths: [self.dim, self.ffn, self.dims.query_width(), self.dims.key_width()] }
	}

	/// The rows of the tables of the tokens' positions, and room for all others.
	fn place(&mut self, pieces: &[Piece], rows: usize) {
		for (buffer, width) in self.scratch.buffers(self.dims, self.dim, self.ffn) {
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
		for (&token, x) in tokens.zip(self.scratch.x.chunks_exact_mut(self.dim)) {
			// Below the vocabulary, which fits.
			embedding.row(token as usize, x);
		}
	}

	fn layer(&mut self, index: usize, pieces: &mut [Piece], beside: &mut Beside) {
		let (exec, dims, class) = (&*self.exec, self.dims, self.class);
		let Layer { norm1, q: wq, k: wk, v: wv, biases, head_norms, o: wo, norm2, gate: w_gate, up: w_up, down } = &self.layers[index];
		let Scratch { x, r, h, q, k, v, raw, factors, o, gate, up, act, cos, sin, quantized, .. } = &mut self.scratch;
		let (dim, width, n) = (self.dim, dims.key_width(), r.len());
		let rope = |heads| RopeDims { seq: n, heads, head_dim: dims.head_dim };

		exec.rms_stats(x, dim, self.eps, r);
		exec.rms_apply(x, r, norm1, h);
		let rows = Rows::new(exec, class, dim, h, quantized);
		rows.times(wq, q, Start::Zero);
		rows.times(wk, k, Start::Zero);
		rows.times(wv, v, Start::Zero);
		for (which, out) in [(Projection::Q, &mut *q), (Projection::K, &mut *k), (Projection::V, &mut *v)] {
			beside.add(exec, (index, which), h, out);
		}
		if let Some(biases) = biases {
			for (rows, bias) in [&mut *q, &mut *k, &mut *v].into_iter().zip(biases) {
				exec.add_bias(rows, bias);
			}
		}
		if let Some(norms) = head_norms {
			for (rows, norm) in [&mut *q, &mut *k].into_iter().zip(norms) {
				std::mem::swap(rows, raw);
				rows.resize(raw.len(), 0.0);
				factors.resize(raw.len() / dims.head_dim, 0.0);
				exec.rms_stats(raw, dims.head_dim, self.eps, factors);
				exec.rms_apply(raw, factors, norm, rows);
			}
		}
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
		Rows::new(exec, class, dims.query_width(), o, quantized).times(wo, x, Start::Existing);
		beside.add(exec, (index, Projection::O), o, x);
		exec.rms_stats(x, dim, self.eps, r);
		exec.rms_apply(x, r, norm2, h);
		let rows = Rows::new(exec, class, dim, h, quantized);
		rows.times(w_gate, gate, Start::Zero);
		rows.times(w_up, up, Start::Zero);
		for (which, out) in [(Projection::Gate, &mut *gate), (Projection::Up, &mut *up)] {
			beside.add(exec, (index, which), h, out);
		}
		exec.swiglu_forward(gate, up, act);
		Rows::new(exec, class, self.ffn, act, quantized).times(down, x, Start::Existing);
		beside.add(exec, (index, Projection::Down), act, x);
	}

	/// The last norm of the wanted rows.
	fn finish(&mut self, pieces: &[Piece]) -> usize {
		let dim = self.dim;
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
