//! The forward pass and the loss.

use super::{rows, rows_and, whole, ArenaJob, Builder, LayerStages, LogitsBlock, Plan, Sizes, Vector, CHAIN, LOGITS, LOGIT_ROWS, TILE};
use crate::{
	class::Class,
	config::{Adapter, ConfigError, ModelConfig, Projection, TrainConfig},
	graph::{Access, Extent, Op, Place, Product, TensorId},
	layout::LayerTensors,
	validate::MAX_PROBABILITIES,
};
use alloc::vec::Vec;

/// The parameter tensors (or their gradients) of a layout, by role.
pub(super) struct Params {
	/// `None` where a span has none, as the others.
	pub embedding: Option<TensorId>,
	pub layers: Vec<Option<LayerTensors<TensorId>>>,
	/// Final norm and head; that is the embedding itself for a tied model.
	pub end: Option<[TensorId; 2]>,
	/// Beside the layers; nothing without an adapter.
	pub adapters: Vec<ByProjection<[TensorId; 2]>>,
}

impl Params {
	/// The parameters of `layer`.
	pub fn layer(&self, layer: usize) -> Option<Layer<'_>> {
		const NONE: &ByProjection<[TensorId; 2]> = &[None; Projection::ALL.len()];
		Some(Layer { model: self.layers.get(layer)?.as_ref()?, adapter: self.adapters.get(layer).unwrap_or(NONE) })
	}

	/// Assigns roles to `all`, in the order of [`crate::layout::ParamLayout`].
	pub fn new(sizes: &Sizes, all: impl IntoIterator<Item = TensorId>) -> Result<Self, ConfigError> {
		let mut rest = all.into_iter();
		let mut next = || rest.next().ok_or(ConfigError::Dimension);
		let embedding = if sizes.has(0) { Some(next()?) } else { None };
		let mut layer = |layer: u32| match sizes.has(layer.saturating_add(1)) {
			true => LayerTensors::in_order(sizes.family, &mut next).map(Some),
			false => Ok(None),
		};
		let layers = (0..sizes.layers).map(&mut layer).collect::<Result<_, _>>()?;
		let end = match (sizes.has_end(), sizes.tied) {
			(false, _) => None,
			// Whoever has one end of a tied model has both.
			(true, true) => Some([next()?, embedding.ok_or(ConfigError::Dimension)?]),
			(true, false) => Some([next()?, next()?]),
		};
		Ok(Self { embedding, layers, end, adapters: Vec::new() })
	}
}

/// What an adapter has in a layer, by [`Projection`].
pub(super) type ByProjection<T> = [Option<T>; Projection::ALL.len()];

/// A and B of an adapter (or their gradients), by layer, in the order of [`crate::layout::ParamLayout::of`].
pub(super) fn adapters(
	sizes: &Sizes,
	adapter: Adapter,
	all: impl IntoIterator<Item = TensorId>,
) -> Result<Vec<ByProjection<[TensorId; 2]>>, ConfigError> {
	let mut rest = all.into_iter();
	let mut layer = |layer: u32| {
		let mut pairs = ByProjection::default();
		if !sizes.has(layer.saturating_add(1)) {
			return Ok(pairs);
		}
		for which in adapter.projections.iter() {
			let mut next = || rest.next().ok_or(ConfigError::Dimension);
			pairs[which as usize] = Some([next()?, next()?]);
		}
		Ok(pairs)
	};
	(0..sizes.layers).map(&mut layer).collect()
}

/// The parameters of a layer.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
	/// Of the model.
	pub model: &'a LayerTensors<TensorId>,
	/// A and B of its adapter.
	pub adapter: &'a ByProjection<[TensorId; 2]>,
}

/// Which activations stay until the backward pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
	/// All.
	All,
	/// What layers begin with: all else is computed again, layer by layer.
	Stream,
	/// None: there is no backward pass.
	Nothing,
}

/// Where a layer's activations lie.
#[derive(Clone, Copy)]
pub(super) struct LayerBuffers {
	norm1: Place,
	h1: Place,
	q: Place,
	k: Place,
	v: Place,
	/// Queries and keys before their heads are normalised, each with the factors of its heads.
	raw: Option<[(Place, Place); 2]>,
	o: Place,
	/// The residual stream after attention.
	middle: Place,
	norm2: Place,
	h2: Place,
	gate: Place,
	up: Place,
	h: Place,
	/// What the B of an adapter is multiplied with.
	low: ByProjection<Place>,
	/// The residual stream after the layer.
	out: Place,
}

impl LayerBuffers {
	/// Buffers of their own for every activation. `stream` is where the residual stream stays, or `None` if each of
	/// its values is kept.
	fn new(builder: &mut Builder, sizes: &Sizes, stream: Option<Place>) -> Result<Self, ConfigError> {
		let n = sizes.tokens;
		let adapter = builder.adapter;
		let mut buffer = |cols| builder.buffer(n, cols);
		let mut low = ByProjection::default();
		if let Some(adapter) = adapter {
			for which in adapter.projections.iter() {
				low[which as usize] = Some(buffer(adapter.rank)?);
			}
		}
		let raw = match sizes.family.has_head_norms() {
			true => Some([(buffer(sizes.q_dim)?, buffer(sizes.heads)?), (buffer(sizes.kv_dim)?, buffer(sizes.kv_heads)?)]),
			false => None,
		};
		Ok(Self {
			norm1: buffer(1)?,
			h1: buffer(sizes.dim)?,
			q: buffer(sizes.q_dim)?,
			k: buffer(sizes.kv_dim)?,
			v: buffer(sizes.kv_dim)?,
			raw,
			o: buffer(sizes.q_dim)?,
			middle: stream.map_or_else(|| buffer(sizes.dim), Ok)?,
			norm2: buffer(1)?,
			h2: buffer(sizes.dim)?,
			gate: buffer(sizes.ffn)?,
			up: buffer(sizes.ffn)?,
			h: buffer(sizes.ffn)?,
			low,
			out: stream.map_or_else(|| buffer(sizes.dim), Ok)?,
		})
	}
}

/// Values of one layer that its backward pass reads.
pub(super) struct LayerValues {
	/// Input: the residual stream.
	pub x: TensorId,
	pub norm1: TensorId,
	pub h1: TensorId,
	/// Queries and keys are those after RoPE.
	pub q: TensorId,
	pub k: TensorId,
	pub v: TensorId,
	/// Queries and keys before their heads were normalised, each with the factors of its heads.
	pub raw: Option<[(TensorId, TensorId); 2]>,
	pub p: TensorId,
	pub o: TensorId,
	pub middle: TensorId,
	pub norm2: TensorId,
	pub h2: TensorId,
	pub gate: TensorId,
	pub up: TensorId,
	pub h: TensorId,
	/// What the B of an adapter is multiplied with.
	pub low: ByProjection<TensorId>,
}

/// Values after the last layer.
pub(super) struct HeadValues {
	/// The residual stream.
	pub x: TensorId,
	pub norm: TensorId,
	pub h: TensorId,
	pub logits: TensorId,
	pub max: TensorId,
	pub sum: TensorId,
	/// `tokens / 32` partial sums of the loss, in rows of 32.
	pub loss_tiles: TensorId,
}

/// Result of [`Builder::logits`].
struct Logits {
	/// The residual stream after the last layer.
	x: TensorId,
	norm: TensorId,
	h: TensorId,
	logits: TensorId,
}

/// Result of [`Builder::stream`].
#[derive(Default)]
struct Stream {
	layers: Vec<Option<LayerValues>>,
	/// What the units of a segment end with, if that is not the end of the model.
	x: Option<TensorId>,
	logits: Option<Logits>,
}

/// Result of [`forward`].
pub(super) struct Forward {
	pub tokens: TensorId,
	pub targets: TensorId,
	/// `[1, 1]` number of targets that count, where it is not that of all tokens.
	pub count: Option<TensorId>,
	/// `None` for those that a span does not have, as the head.
	pub layers: Vec<Option<LayerValues>>,
	pub head: Option<HeadValues>,
}

impl Builder {
	/// `c = a b` by `kind`, from `start` if given, in a buffer at `place`.
	pub(super) fn product(
		&mut self,
		kind: Product,
		a: TensorId,
		b: TensorId,
		start: Option<TensorId>,
		c: TensorId,
	) -> Result<TensorId, ConfigError> {
		// Rows of a^T are columns of a: a weight gradient's node reads all tokens of both.
		let a_access = if kind.over_tokens() { Access::Whole } else { Access::SameRows };
		let start = start.map(|start| (start, Access::SameRows));
		self.stage(Op::Product(kind), [(a, a_access), (b, Access::Whole)].into_iter().chain(start), &[c])?;
		Ok(c)
	}

	/// `x w^T` by `kind` at `place`.
	fn linear(&mut self, kind: Product, x: TensorId, w: TensorId, start: Option<TensorId>, place: Place) -> Result<TensorId, ConfigError> {
		let (rows, cols) = (self.info(x)?.rows, self.info(w)?.rows);
		let y = self.tensor(rows, cols, place)?;
		self.product(kind, x, w, start, y)
	}

	/// A projection of `x` at `place`, with its adapter if it has one: what B is multiplied with is then noted in `low`.
	fn projection(
		&mut self,
		(which, x): (Projection, TensorId),
		params: Layer<'_>,
		start: Option<TensorId>,
		place: Place,
		(buffers, low): (&LayerBuffers, &mut ByProjection<TensorId>),
	) -> Result<TensorId, ConfigError> {
		let [kind, ..] = self.layers;
		let y = self.linear(kind, x, params.model.projection(which), start, place)?;
		let (Some([a, b]), Some(buffer)) = (params.adapter[which as usize], buffers.low[which as usize]) else { return Ok(y) };
		let h = self.tensor(self.info(x)?.rows, self.info(a)?.rows, buffer)?;
		let h = self.product(Product::Nt, x, a, None, h)?;
		let h = self.scaled(h)?;
		low[which as usize] = Some(h);
		let sum = self.in_place(y)?;
		self.product(Product::Nn, h, b, Some(y), sum)
	}

	/// `x` times the adapter's factor, in place.
	pub(super) fn scaled(&mut self, x: TensorId) -> Result<TensorId, ConfigError> {
		let y = self.in_place(x)?;
		self.stage(Op::Scale, rows([x]), &[y])?;
		Ok(y)
	}

	/// RMSNorm of `x`, of as many heads of a row as `w` goes into it: the factors and the result.
	fn norm(&mut self, x: TensorId, w: TensorId, factors: Place, place: Place) -> Result<(TensorId, TensorId), ConfigError> {
		let info = self.info(x)?;
		let r = self.tensor(info.rows, self.heads_of(x, w)?, factors)?;
		let y = self.tensor(info.rows, info.cols, place)?;
		self.stage(Op::RmsStats, rows([x]), &[r])?;
		self.stage(Op::RmsApply, rows_and([x, r], w), &[y])?;
		Ok((r, y))
	}

	/// Heads of a row of `x` that have a norm `w`.
	pub(super) fn heads_of(&self, x: TensorId, w: TensorId) -> Result<u32, ConfigError> {
		self.info(x)?.cols.checked_div(self.info(w)?.cols).ok_or(ConfigError::Dimension)
	}

	/// `x` with its bias, in place.
	fn biased(&mut self, x: TensorId, bias: TensorId) -> Result<TensorId, ConfigError> {
		let y = self.in_place(x)?;
		self.stage(Op::AddBias, rows_and([x], bias), &[y])?;
		Ok(y)
	}

	fn rope(&mut self, x: TensorId, heads: u32) -> Result<TensorId, ConfigError> {
		let y = self.in_place(x)?;
		self.stage(Op::Rope { heads }, rows([x]), &[y])?;
		Ok(y)
	}

	/// Attention's output at `place`, and its probabilities.
	fn attention(&mut self, sizes: &Sizes, [q, k, v]: [TensorId; 3], place: Place) -> Result<(TensorId, TensorId), ConfigError> {
		let score_rows = sizes.score_rows()?;
		let [s, p] = [self.tensor(score_rows, sizes.seq, Place::Fused)?, self.tensor(score_rows, sizes.seq, Place::Fused)?];
		let [max, sum] = [self.tensor(score_rows, 1, Place::Fused)?, self.tensor(score_rows, 1, Place::Fused)?];
		let o = self.tensor(sizes.tokens, sizes.q_dim, place)?;
		self.stage(Op::Scores, whole([q, k]), &[s])?;
		self.stage(Op::RowMax(Extent::Causal), rows([s]), &[max])?;
		self.stage(Op::ExpSum(Extent::Causal), rows([s, max]), &[sum])?;
		self.stage(Op::Softmax, rows([s, max, sum]), &[p])?;
		self.stage(Op::Context, whole([p, v]), &[o])?;
		Ok((o, p))
	}

	fn layer(&mut self, sizes: &Sizes, params: Layer<'_>, at: &LayerBuffers, x: TensorId) -> Result<(LayerValues, TensorId), ConfigError> {
		let (all, params) = (params, params.model);
		let mut low = ByProjection::default();
		let (norm1, h1) = self.norm(x, params.norm1, at.norm1, at.h1)?;
		let [q_place, k_place] = at.raw.map_or([at.q, at.k], |raw| raw.map(|(place, _)| place));
		let mut q = self.projection((Projection::Q, h1), all, None, q_place, (at, &mut low))?;
		let mut k = self.projection((Projection::K, h1), all, None, k_place, (at, &mut low))?;
		let mut v = self.projection((Projection::V, h1), all, None, at.v, (at, &mut low))?;
		if let Some([q_bias, k_bias, v_bias]) = params.biases {
			(q, k, v) = (self.biased(q, q_bias)?, self.biased(k, k_bias)?, self.biased(v, v_bias)?);
		}
		let raw = match params.head_norms.zip(at.raw) {
			Some(([q_norm, k_norm], [(_, q_factors), (_, k_factors)])) => {
				let (q_raw, k_raw) = (q, k);
				let (q_factors, q_out) = self.norm(q_raw, q_norm, q_factors, at.q)?;
				let (k_factors, k_out) = self.norm(k_raw, k_norm, k_factors, at.k)?;
				(q, k) = (q_out, k_out);
				Some([(q_raw, q_factors), (k_raw, k_factors)])
			}
			None => None,
		};
		let q = self.rope(q, sizes.heads)?;
		let k = self.rope(k, sizes.kv_heads)?;
		let (o, p) = self.attention(sizes, [q, k, v], at.o)?;
		let middle = self.projection((Projection::O, o), all, Some(x), at.middle, (at, &mut low))?;
		let (norm2, h2) = self.norm(middle, params.norm2, at.norm2, at.h2)?;
		let gate = self.projection((Projection::Gate, h2), all, None, at.gate, (at, &mut low))?;
		let up = self.projection((Projection::Up, h2), all, None, at.up, (at, &mut low))?;
		let h = self.tensor(sizes.tokens, sizes.ffn, at.h)?;
		self.stage(Op::Swiglu, rows([gate, up]), &[h])?;
		let out = self.projection((Projection::Down, h), all, Some(middle), at.out, (at, &mut low))?;
		Ok((LayerValues { x, norm1, h1, q, k, v, raw, p, o, middle, norm2, h2, gate, up, h, low }, out))
	}

	/// Through consecutive units of the model, from the rows that the first one is given, or from tokens. Layers share the memory of what does not stay.
	fn stream(
		&mut self,
		sizes: &Sizes,
		params: &Params,
		(tokens, given): (TensorId, Option<TensorId>),
		(units, keep): (core::ops::Range<u32>, Keep),
		stream: &mut Stream,
	) -> Result<(), ConfigError> {
		let n = sizes.tokens;
		let mut x = match given {
			Some(x) => x,
			None => self.fresh(n, sizes.dim)?,
		};
		let place = if keep == Keep::Nothing { Some(self.info(x)?.place) } else { None };
		if given.is_none() {
			self.stage(Op::Gather, rows_and([tokens], params.embedding.ok_or(ConfigError::Dimension)?), &[x])?;
		}
		let mut shared = None;
		for number in units.start.max(1)..units.end.min(sizes.layers.saturating_add(1)) {
			let index = usize::try_from(number.saturating_sub(1)).map_err(|_| ConfigError::TooLarge)?;
			let layer = params.layer(index).ok_or(ConfigError::Dimension)?;
			let buffers = match shared {
				Some(buffers) if keep == Keep::Nothing => buffers,
				Some(buffers) if keep == Keep::Stream => LayerBuffers { out: self.buffer(n, sizes.dim)?, ..buffers },
				_ => LayerBuffers::new(self, sizes, place)?,
			};
			shared = Some(buffers);
			let first = self.plan.stages.len();
			let (values, out) = self.layer(sizes, layer, &buffers, x)?;
			self.plan.layers.push(LayerStages { forward: first..self.plan.stages.len(), backward: 0 });
			stream.layers.resize_with(index, || None);
			stream.layers.push(Some(values));
			x = out;
		}
		if units.end <= sizes.layers.saturating_add(1) {
			stream.x = Some(x);
			return Ok(());
		}
		let [weight, head] = params.end.ok_or(ConfigError::Dimension)?;
		let (factors, place) = (self.buffer(n, 1)?, self.buffer(n, sizes.dim)?);
		let (norm, h) = self.norm(x, weight, factors, place)?;
		let logits = self.linear(self.head, h, head, None, Place::Fused)?;
		stream.logits = Some(Logits { x, norm, h, logits });
		Ok(())
	}

	/// Room for the logits of as many rows of a segment as it is cut into, so that no part is much smaller than others; where `gradients` are
	/// summed up over several segments, also for those of the head of a later one.
	pub(super) fn logits_block(&mut self, sizes: &Sizes, gradients: bool) -> Result<LogitsBlock, ConfigError> {
		let segment = sizes.tokens.min(CHAIN);
		let most = LOGITS.checked_div(sizes.vocab).map_or(TILE, |rows| (rows / TILE).max(1).saturating_mul(TILE)).min(LOGIT_ROWS);
		let rows = segment.div_ceil(segment.div_ceil(most).max(1)).next_multiple_of(TILE);
		let offset = self.room(u64::from(rows) * u64::from(sizes.vocab))?;
		let head = u64::from(sizes.vocab) * u64::from(sizes.dim);
		let later = (gradients && sizes.tokens > CHAIN).then(|| self.room(head)).transpose()?;
		Ok(LogitsBlock { offset, rows, later })
	}

	/// All parameters, of which `trained` are trained: of an adapter with its base, which gets the next place in the arena.
	pub(super) fn params(&mut self, model: &ModelConfig, sizes: &Sizes, trained: &Vector) -> Result<Params, ConfigError> {
		let Some(adapter) = self.adapter else { return Params::new(sizes, trained.ids()) };
		let adapters = adapters(sizes, adapter, trained.ids())?;
		let at = self.room(0)?;
		let (base, len) = self.base(model, sizes.span, at)?;
		self.room(len)?;
		Ok(Params { adapters, ..Params::new(sizes, base.ids())? })
	}

	/// Forward pass and losses. `count`: the targets that count are counted, before there are logits.
	pub(super) fn forward(&mut self, sizes: &Sizes, params: &Params, keep: Keep, count: bool) -> Result<Forward, ConfigError> {
		let n = sizes.tokens;
		let tokens = self.tensor(n, 1, Place::External)?;
		let targets = self.tensor(n, 1, Place::External)?;
		let count = (count && sizes.has_end()).then(|| self.count(targets)).transpose()?;
		let mut stream = Stream::default();
		let all: Vec<_> = sizes.span.ranges_of(sizes.units()).collect();
		for (segment, units) in all.into_iter().enumerate() {
			let given = self.plan.seams.as_ref().and_then(|seams| seams.segments.get(segment)?.rows_in);
			let first = self.plan.stages.len();
			stream.x = None;
			self.stream(sizes, params, (tokens, given), (units, keep), &mut stream)?;
			let forward = first..self.plan.stages.len();
			if let Some(seam) = self.plan.seams.as_mut().and_then(|seams| seams.segments.get_mut(segment)) {
				(seam.rows_out, seam.forward) = (stream.x, forward);
			}
		}
		let head = stream.logits.map(|logits| self.losses(sizes, logits, targets)).transpose()?;
		if let Some(seams) = self.plan.seams.as_mut().filter(|_| head.is_some()) {
			let end = self.plan.stages.len();
			seams.segments.last_mut().into_iter().for_each(|last| last.forward.end = end);
		}
		Ok(Forward { tokens, targets, count, layers: stream.layers, head })
	}

	/// Losses of logits.
	fn losses(&mut self, sizes: &Sizes, Logits { x, norm, h, logits }: Logits, targets: TensorId) -> Result<HeadValues, ConfigError> {
		let n = sizes.tokens;
		let (max, sum, loss) = (self.fresh(n, 1)?, self.fresh(n, 1)?, self.fresh(n, 1)?);
		self.stage(Op::RowMax(Extent::Row), rows([logits]), &[max])?;
		self.stage(Op::ExpSum(Extent::Row), rows([logits, max]), &[sum])?;
		self.stage(Op::LossRows, rows([logits, targets, max, sum]), &[loss])?;
		let loss_tiles = self.tile_sums(loss)?;
		Ok(HeadValues { x, norm, h, logits, max, sum, loss_tiles })
	}

	/// Partial sums of a column, in rows of 32.
	fn tile_sums(&mut self, x: TensorId) -> Result<TensorId, ConfigError> {
		let tiles = self.partials(self.info(x)?.rows.div_ceil(TILE))?;
		self.stage(Op::TileSums, whole([x]), &[tiles])?;
		Ok(tiles)
	}

	/// The number of targets that count.
	fn count(&mut self, targets: TensorId) -> Result<TensorId, ConfigError> {
		let counts = self.fresh(self.info(targets)?.rows, 1)?;
		self.stage(Op::CountTargets, rows([targets]), &[counts])?;
		let tiles = self.tile_sums(counts)?;
		self.tree_sum(tiles)
	}
}

/// See [`Plan::validation`].
pub(super) fn validation(model: &ModelConfig, train: &TrainConfig) -> Result<Plan, ConfigError> {
	let sizes = Sizes::new(model, train.validation_batch(), train.seq_len)?;
	let mut builder = Builder::trained(model, train, sizes.span)?;
	let theta = builder.room(builder.len)?;
	let trained = builder.vector(Some(theta))?;
	if train.adapter.is_some() {
		// Where a training step has moments: the base lies at the same place.
		builder.room(builder.len)?;
		builder.room(builder.len)?;
	}
	let params = builder.params(model, &sizes, &trained)?;
	let forward = builder.forward(&sizes, &params, Keep::Nothing, false)?;
	let logits = builder.logits_block(&sizes, false)?;
	let loss = forward.head.map(|head| head.loss_tiles);
	builder.plan.job = Some(ArenaJob { sizes, loss, logits, masked: train.masked, update: None });
	Ok(builder.finish())
}

/// See [`Plan::reading`].
pub(super) fn reading(model: &ModelConfig, tokens: u32, class: Class) -> Result<Plan, ConfigError> {
	model.validate()?;
	if tokens == 0 || !tokens.is_multiple_of(TILE) {
		return Err(ConfigError::Dimension);
	}
	let probabilities = u64::from(tokens).checked_mul(tokens.into()).and_then(|pairs| pairs.checked_mul(model.heads.into()));
	if tokens > model.max_seq || probabilities.is_none_or(|count| count > MAX_PROBABILITIES) {
		return Err(ConfigError::TooLarge);
	}
	let sizes = Sizes::new(model, 1, tokens)?;
	let mut builder = Builder::new(model)?;
	builder.head = class.product();
	builder.layers[0] = class.product();
	let theta = builder.room(builder.len)?;
	let params = Params::new(&sizes, builder.vector(Some(theta))?.ids())?;
	let tokens = builder.tensor(sizes.tokens, 1, Place::External)?;
	builder.stream(&sizes, &params, (tokens, None), (0..sizes.units(), Keep::Nothing), &mut Stream::default())?;
	// No number ends it, and no executor runs it on an arena: answers come from `exec::Inference`, and disputes from a trace.
	Ok(builder.finish())
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn logits_of_2048_tokens_and_any_vocabulary_take_no_more_than_128_mib() {
		let model = ModelConfig::tiny();
		for (vocab, rows) in [(288, 512), (32_768, 512), (65_536, 512), (151_936, 192), (1 << 20, 32)] {
			for gradients in [false, true] {
				let sizes = Sizes { vocab, ..Sizes::new(&model, 8, 256).unwrap() };
				let mut builder = Builder::new(&model).unwrap();
				let block = builder.logits_block(&sizes, gradients).unwrap();
				assert_eq!(block, LogitsBlock { offset: 0, rows, later: None });
				let bytes = 4 * builder.plan.arena_len;
				assert_eq!(bytes, 4 * u64::from(rows) * u64::from(vocab), "vocabulary {vocab}");
				assert!(bytes <= 128 << 20, "vocabulary {vocab}");
			}
		}
	}
}
