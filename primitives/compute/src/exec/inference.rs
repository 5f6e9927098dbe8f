//! A model that answers: logits of many texts at a time, with keys and values in pages.
//!
//! A token's logits have the same bits whether its text is given at once, token by token, in any pieces, beside any other texts, or in a
//! training batch: every row of an operator is computed by itself, in the order of the specification.

use super::{
	beside::{Beside, Sizes},
	decoding::{Decoding, Tokens},
	kv_pages::{Pages, Sequence},
	At, DeviceError, Exec, SetupError,
};
use neuroshard_graph::{
	class::Class,
	config::{ModelConfig, Projection},
	layout::{LayerTensors, ParamLayout, ParamTensor},
	plan::ALIGNMENT,
};
use neuroshard_kernels::shape::{AttentionDims, RopeDims, Start};
use std::{
	borrow::{Borrow, BorrowMut, Cow},
	ops::Range,
	sync::Arc,
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
	/// An adapter of a model of other sizes, or where only a part of the model is, or one that a device is to compute.
	#[error("this adapter does not belong to this model, or what computes it takes none")]
	Adapter,
	/// Pages of another pool, or of another engine.
	#[error("the pages of a text are not those that this engine was given")]
	Pages,
	/// The device that computes.
	#[error(transparent)]
	Device(#[from] DeviceError),
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

impl Piece<'_> {
	/// The tokens behind which something is wanted.
	fn wanted_rows(&self) -> Range<usize> {
		let end = self.tokens.len();
		match self.wanted {
			Wanted::Nothing => end..end,
			Wanted::Last => end - 1..end,
			Wanted::All => 0..end,
		}
	}
}

/// Weights of a decoder layer. Norms and biases are in the arena.
struct Layer<W> {
	norm1: At,
	q: W,
	k: W,
	v: W,
	biases: Option<[At; 3]>,
	head_norms: Option<[At; 2]>,
	o: W,
	norm2: At,
	gate: W,
	up: W,
	down: W,
}

/// Where activations of the tokens of a pass lie in the arena, behind norms and biases.
#[derive(Clone, Default)]
struct Places {
	x: At,
	r: At,
	h: At,
	q: At,
	k: At,
	v: At,
	/// Queries, or keys, before their heads are normalised, and the factors of the heads.
	raw: At,
	factors: At,
	o: At,
	gate: At,
	up: At,
	act: At,
	/// The wanted rows before the last norm.
	last: At,
	logits: At,
	end: usize,
}

/// Numbers of an arena that are taken one after the other, each aligned.
struct Taken(usize);

impl Taken {
	fn take(&mut self, len: usize) -> At {
		let first = self.0;
		// Alignment is a few elements.
		self.0 = (first + len).next_multiple_of(ALIGNMENT as usize);
		first..first + len
	}
}

/// A model, or a part of one, with its weights as what computes reads them.
pub struct Inference<B: Decoding = Exec> {
	backend: Arc<B>,
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
	embedding: Option<Arc<B::Weight>>,
	layers: Vec<Layer<B::Weight>>,
	norm: At,
	/// It turns rows into logits. In exact f32, that of a tied model is the embedding itself.
	head: Option<Arc<B::Weight>>,
	/// Norms and biases, with which the arena begins.
	constants: Vec<f32>,
	memory: B::Memory,
	rows: B::Rows,
	/// What came out, if it is a copy.
	out: Vec<f32>,
}

impl<B: Decoding> Inference<B> {
	/// Packs the parameters `theta`, which are in the order of [`ParamLayout`], for answers in exact f32.
	///
	/// # Errors
	/// [`InferenceError::Setup`] or [`InferenceError::Parameters`].
	pub fn new(backend: Arc<B>, model: &ModelConfig, theta: &[f32]) -> Result<Self, InferenceError> {
		let layers = usize::try_from(model.layers).map_err(|_| SetupError::Memory)?;
		Self::stage(backend, model, theta, &Stage::whole(layers))
	}

	/// As [`Self::new`], for a part of the model.
	///
	/// # Errors
	/// Also [`InferenceError::Layers`].
	pub fn stage(backend: Arc<B>, model: &ModelConfig, theta: &[f32], stage: &Stage) -> Result<Self, InferenceError> {
		Self::in_class(backend, model, theta, stage, Class::ExactF32)
	}

	/// As [`Self::stage`], for answers in a class. The parameters are the checkpoint's in every class.
	///
	/// # Errors
	/// As [`Self::stage`].
	pub fn in_class(backend: Arc<B>, model: &ModelConfig, theta: &[f32], stage: &Stage, class: Class) -> Result<Self, InferenceError> {
		let expected = ParamLayout::new(model).map_err(SetupError::Config)?.len();
		if theta.len() != expected {
			return Err(InferenceError::Parameters { expected, found: theta.len() });
		}
		Self::load(backend, model, stage, class, |_, tensor| Ok(Cow::Borrowed(&theta[tensor.range()])))
	}

	/// As [`Self::in_class`], with parameters that are read tensor by tensor, and only those that the stage needs. `read` gets the number of the tensor in
	/// [`ParamLayout`], and the tensor, and returns its values.
	///
	/// # Errors
	/// Those of `read`, and as [`Self::in_class`]; [`InferenceError::Device`].
	pub fn load<'a, E: From<InferenceError>>(
		backend: Arc<B>,
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
		let weight = |(tensor, values): (&ParamTensor, Cow<[f32]>)| {
			backend.weight(class, tensor.rows, tensor.cols, &values).map_err(|error| E::from(InferenceError::from(error)))
		};
		let (mut constants, mut taken) = (Vec::new(), Taken(0));
		let mut constant = |(_, values): (&ParamTensor, Cow<[f32]>)| {
			let at = taken.take(values.len());
			constants.resize(at.start, 0.0);
			constants.extend_from_slice(&values);
			at
		};
		let per_layer = size(model.family.tensors_per_layer())?;
		let mut layers = Vec::with_capacity(stage.layers.len());
		for layer in stage.layers.clone() {
			let mut numbers = 1 + per_layer * layer..;
			let at = LayerTensors::in_order(model.family, || numbers.next().ok_or(InferenceError::Setup(SetupError::Memory)))?;
			let mut vector = |tensor| values(tensor).map(&mut constant);
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
			let mut matrix = |tensor| values(tensor).and_then(weight);
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
		let norm = values(last).map(&mut constant)?;
		let embedding = match stage.embedding {
			true => {
				let (tensor, values) = values(0)?;
				let table = backend.weight(Class::ExactF32, tensor.rows, tensor.cols, &values);
				Some(Arc::new(table.map_err(InferenceError::from)?))
			}
			false => None,
		};
		let own = tensors.get(last + 1).map(|_| last + 1);
		let head = match (stage.head, own, class, &embedding) {
			(false, ..) => None,
			(true, None, Class::ExactF32, Some(embedding)) => Some(embedding.clone()),
			_ => Some(Arc::new(weight(values(own.unwrap_or(0))?)?)),
		};
		let memory = backend.memory(0).map_err(InferenceError::from)?;
		backend.settled().map_err(InferenceError::from)?;
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
			constants,
			memory,
			rows: B::Rows::default(),
			out: Vec::new(),
			class,
			backend,
		})
	}

	/// What it computes with.
	pub fn backend(&self) -> &Arc<B> {
		&self.backend
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
		self.backend.page_len(self.layers.len(), self.dims)
	}

	/// Room for at most `limit` pages, or for as many as there is memory for.
	pub fn pages(&self, limit: usize) -> Pages {
		self.backend.pages(limit, self.page_len())
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
	/// [`InferenceError`]; all texts are then as before, but those that a device held when it failed.
	pub fn pass(&mut self, pages: &Pages, pieces: &mut [Piece], input: Input, output: Output) -> Result<&[f32], InferenceError> {
		self.check(pages, pieces)?;
		let tokens: usize = pieces.iter().map(|piece| piece.tokens.len()).sum();
		match input {
			Input::Tokens if self.embedding.is_none() => return Err(InferenceError::Stage("embedding")),
			Input::Rows(rows) if rows.len() != tokens * self.dim => {
				return Err(InferenceError::Rows { expected: tokens * self.dim, found: rows.len() })
			}
			_ if output != Output::Rows && self.head.is_none() => return Err(InferenceError::Stage("head")),
			_ => {}
		}
		let wanted = match output {
			Output::Rows => 0,
			_ => pieces.iter().map(|piece| piece.wanted_rows().len()).sum(),
		};
		let at = self.place(tokens, wanted, output == Output::Logits)?;
		let needed: usize = pieces.iter().map(|piece| piece.sequence.pages_for(piece.tokens.len())).sum();
		let mut new = pages.take(needed, self.page_len()).ok_or(InferenceError::NoPages { tokens })?.into_iter();
		for piece in &mut *pieces {
			piece.sequence.fill(piece.tokens.len(), &mut new);
		}
		let tables = self.tables(pieces);
		match (input, &self.embedding) {
			(Input::Tokens, Some(embedding)) => {
				let ids: Vec<u32> = pieces.iter().flat_map(|piece| piece.tokens).copied().collect();
				self.backend.look_up(self.memory.borrow_mut(), embedding, &ids, at.x.clone());
			}
			(Input::Rows(rows), _) => self.backend.write(self.memory.borrow_mut(), at.x.start, rows),
			_ => {}
		}
		let places = self.backend.places(pieces);
		let mut beside = Beside::new(pieces);
		for layer in 0..self.layers.len() {
			let tokens = Tokens { pieces: &mut *pieces, places: &places };
			self.layer(layer, &at, (pages, tokens), &mut beside, &tables);
		}
		let came = match output {
			Output::Rows => at.x,
			_ => self.finish(&at, pieces, wanted, output),
		};
		self.backend.settled()?;
		for piece in &mut *pieces {
			piece.sequence.advance(piece.tokens.len());
		}
		match self.backend.view(self.memory.borrow(), came) {
			Cow::Borrowed(rows) => Ok(rows),
			Cow::Owned(rows) => {
				self.out = rows;
				self.backend.settled()?;
				Ok(&self.out)
			}
		}
	}

	fn check(&self, pages: &Pages, pieces: &[Piece]) -> Result<(), InferenceError> {
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
			if sequence.adapter().is_some_and(|adapter| !B::ADAPTERS || !adapter.fits(self.sizes())) {
				return Err(InferenceError::Adapter);
			}
			if !self.backend.holds(pages, self.page_len()) || !sequence.fits(pages) {
				return Err(InferenceError::Pages);
			}
		}
		Ok(())
	}

	/// Of a part of a model, the layers are fewer than those of an adapter.
	fn sizes(&self) -> Sizes {
		Sizes { layers: self.layers.len(), widths: [self.dim, self.ffn, self.dims.query_width(), self.dims.key_width()] }
	}

	/// Where activations of so many tokens lie, and room for them.
	fn place(&mut self, rows: usize, wanted: usize, logits: bool) -> Result<Places, InferenceError> {
		let (dims, mut taken) = (self.dims, Taken(self.constants.len().next_multiple_of(ALIGNMENT as usize)));
		let mut take = |width: usize| taken.take(rows * width);
		let (queries, keys) = (dims.query_width(), dims.key_width());
		let mut at = Places {
			x: take(self.dim),
			r: take(1),
			h: take(self.dim),
			q: take(queries),
			k: take(keys),
			v: take(keys),
			raw: take(queries),
			factors: take(dims.heads),
			o: take(queries),
			gate: take(self.ffn),
			up: take(self.ffn),
			act: take(self.ffn),
			..Places::default()
		};
		at.last = taken.take(wanted * self.dim);
		at.logits = taken.take(if logits { wanted * self.vocab } else { 0 });
		at.end = taken.0;
		let found = self.backend.len(self.memory.borrow());
		if found < at.end {
			// Half as much again if there is room, so that longer and longer passes do not each take new memory.
			self.memory = self.backend.memory(0)?;
			let more = self.backend.memory(at.end.max(found + found / 2));
			self.memory = more.or_else(|_| self.backend.memory(at.end))?;
			self.backend.write(self.memory.borrow_mut(), 0, &self.constants);
		}
		Ok(at)
	}

	/// The rows of the tables of the tokens' positions.
	fn tables(&self, pieces: &[Piece]) -> [B::Table; 2] {
		let half = self.dims.head_dim / 2;
		let places = || pieces.iter().flat_map(|piece| (piece.sequence.len()..).take(piece.tokens.len()));
		let rows = |table: &[f32]| places().flat_map(|place| table[place * half..(place + 1) * half].iter().copied()).collect();
		[rows(&self.cos), rows(&self.sin)].map(|table| self.backend.table(table))
	}

	fn layer(&mut self, index: usize, at: &Places, (pages, tokens): (&Pages, Tokens<B>), beside: &mut Beside, tables: &[B::Table; 2]) {
		let (backend, dims, dim) = (&*self.backend, self.dims, self.dim);
		let Layer { norm1, q: wq, k: wk, v: wv, biases, head_norms, o: wo, norm2, gate: w_gate, up: w_up, down } = &self.layers[index];
		let (arena, quantized) = (self.memory.borrow_mut(), &mut self.rows);
		let Places { x, r, h, q, k, v, raw, factors, o, gate, up, act, .. } = at;
		let copied = |at: &At| at.clone();
		let tables = tables.each_ref();
		let rope = |heads| RopeDims { seq: r.len(), heads, head_dim: dims.head_dim };

		backend.rms_stats(arena, copied(x), dim, self.eps, copied(r));
		backend.rms_apply(arena, copied(x), copied(r), copied(norm1), copied(h));
		backend.multiply(arena, (copied(h), dim), &[(wq, copied(q)), (wk, copied(k)), (wv, copied(v))], quantized, Start::Zero);
		for (which, out) in [(Projection::Q, q), (Projection::K, k), (Projection::V, v)] {
			backend.add_beside(arena, beside, (index, which), copied(h), copied(out));
		}
		for (rows, bias) in [q, k, v].into_iter().zip(biases.iter().flatten()) {
			backend.add_bias(arena, copied(rows), copied(bias));
		}
		for (rows, norm) in [q, k].into_iter().zip(head_norms.iter().flatten()) {
			let raw = raw.start..raw.start + rows.len();
			let factors = factors.start..factors.start + rows.len() / dims.head_dim;
			backend.copy(arena, copied(rows), raw.start);
			backend.rms_stats(arena, copied(&raw), dims.head_dim, self.eps, copied(&factors));
			backend.rms_apply(arena, raw, factors, copied(norm), copied(rows));
		}
		backend.rope(arena, rope(dims.heads), copied(q), tables, false);
		backend.rope(arena, rope(dims.kv_heads), copied(k), tables, false);
		let Tokens { pieces, places } = tokens;
		backend.keep(arena, pages, (dims, index), Tokens { pieces: &mut *pieces, places }, [copied(k), copied(v)]);
		backend.attend(arena, pages, (dims, index), Tokens { pieces, places }, [copied(q), copied(o)]);
		backend.multiply(arena, (copied(o), dims.query_width()), &[(wo, copied(x))], quantized, Start::Existing);
		backend.add_beside(arena, beside, (index, Projection::O), copied(o), copied(x));
		backend.rms_stats(arena, copied(x), dim, self.eps, copied(r));
		backend.rms_apply(arena, copied(x), copied(r), copied(norm2), copied(h));
		backend.multiply(arena, (copied(h), dim), &[(w_gate, copied(gate)), (w_up, copied(up))], quantized, Start::Zero);
		for (which, out) in [(Projection::Gate, gate), (Projection::Up, up)] {
			backend.add_beside(arena, beside, (index, which), copied(h), copied(out));
		}
		backend.swiglu_forward(arena, copied(gate), copied(up), copied(act));
		backend.multiply(arena, (copied(act), self.ffn), &[(down, copied(x))], quantized, Start::Existing);
		backend.add_beside(arena, beside, (index, Projection::Down), copied(act), copied(x));
	}

	/// The wanted rows after the last norm, or their logits.
	fn finish(&mut self, at: &Places, pieces: &[Piece], wanted: usize, output: Output) -> At {
		let (backend, dim, arena) = (&*self.backend, self.dim, self.memory.borrow_mut());
		let (mut first, mut to) = (at.x.start, at.last.start);
		for piece in pieces {
			let rows = piece.wanted_rows();
			let from = first + rows.start * dim..first + rows.end * dim;
			if !from.is_empty() {
				backend.copy(arena, from, to);
			}
			(first, to) = (first + piece.tokens.len() * dim, to + rows.len() * dim);
		}
		let (r, h) = (at.r.start..at.r.start + wanted, at.h.start..at.h.start + wanted * dim);
		if wanted == 0 {
			return h;
		}
		backend.rms_stats(arena, at.last.clone(), dim, self.eps, r.clone());
		backend.rms_apply(arena, at.last.clone(), r, self.norm.clone(), h.clone());
		let (Output::Logits, Some(head)) = (output, &self.head) else { return h };
		backend.multiply(arena, (h, dim), &[(head, at.logits.clone())], &mut self.rows, Start::Zero);
		at.logits.clone()
	}
}
