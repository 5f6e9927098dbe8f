//! The training step after the loss: gradients, their norm, clipping and the update.

use super::{
	forward::{adapters, ByProjection, Forward, Keep, Layer, LayerValues, Params},
	rows, rows_and,
	seams::{Seams, Segment},
	whole, ArenaJob, Builder, LogitsBlock, Plan, Sizes, Update, Vector, TILE,
};
use crate::{
	config::{ConfigError, ModelConfig, Optimizer, Projection, TrainConfig},
	graph::{Access, Op, Place, Product, TensorId, TensorInfo},
	layout::LayerTensors,
	span::{self, is_asked, Span},
};
use alloc::vec::Vec;

/// Gradients of what is trained.
struct Grads {
	/// All of them, in layout order.
	all: Vec<TensorId>,
	/// Those of a model.
	model: Option<Params>,
	/// Those of an adapter, by layer.
	adapters: Vec<ByProjection<[TensorId; 2]>>,
}

/// Gradients of what is trained in a layer.
#[derive(Clone, Copy)]
struct LayerGrads<'a> {
	model: Option<&'a LayerTensors<TensorId>>,
	adapter: Option<&'a ByProjection<[TensorId; 2]>>,
}

/// Buffers that all layers' backward passes share.
struct Temporaries {
	/// Row scalars of RMSNorm.
	k: Place,
	/// Gradient of a normalised input.
	dh: Place,
	/// Of attention's output; in the same memory if it is as wide.
	d_o: Place,
	dq: Place,
	dk: Place,
	dv: Place,
	/// Gradients of queries and keys before their heads were normalised, each with the scalars of its heads.
	raw: Option<[(Place, Place); 2]>,
	/// Gradients of the SwiGLU output and of its inputs.
	d_ffn: [Place; 3],
	/// Gradient of what the B of an adapter is multiplied with.
	low: Option<Place>,
}

impl Temporaries {
	fn new(builder: &mut Builder, sizes: &Sizes) -> Result<Self, ConfigError> {
		let n = sizes.tokens;
		let adapter = builder.adapter;
		let mut buffer = |cols| builder.buffer(n, cols);
		let dh = buffer(sizes.dim)?;
		let raw = match sizes.family.has_head_norms() {
			true => Some([(buffer(sizes.q_dim)?, buffer(sizes.heads)?), (buffer(sizes.kv_dim)?, buffer(sizes.kv_heads)?)]),
			false => None,
		};
		Ok(Self {
			k: buffer(1)?,
			dh,
			d_o: if sizes.q_dim == sizes.dim { dh } else { buffer(sizes.q_dim)? },
			dq: buffer(sizes.q_dim)?,
			dk: buffer(sizes.kv_dim)?,
			dv: buffer(sizes.kv_dim)?,
			raw,
			d_ffn: [buffer(sizes.ffn)?, buffer(sizes.ffn)?, buffer(sizes.ffn)?],
			low: adapter.map(|adapter| buffer(adapter.rank)).transpose()?,
		})
	}
}

impl Builder {
	/// `dy w` by `kind` in the buffer of `place`, from `start` if given.
	fn back(&mut self, kind: Product, dy: TensorId, w: TensorId, start: Option<TensorId>, place: Place) -> Result<TensorId, ConfigError> {
		let (rows, cols) = (self.info(dy)?.rows, self.info(w)?.cols);
		let dx = self.tensor(rows, cols, place)?;
		self.product(kind, dy, w, start, dx)
	}

	/// Back through a projection of `x`, to whose adapter the gradients belong if it has one: `dy W` in the buffer of `place`, from `start` if given, and
	/// what comes through A and B. Without a place nobody asks for that.
	fn projection_back(
		&mut self,
		(which, dy, x): (Projection, TensorId, TensorId),
		(params, grads, values): (Layer<'_>, LayerGrads<'_>, &LayerValues),
		low: Option<Place>,
		start: Option<TensorId>,
		place: Option<Place>,
	) -> Result<Option<TensorId>, ConfigError> {
		let [_, kind, _] = self.layers;
		let dx = place.map(|place| self.back(kind, dy, params.model.projection(which), start, place)).transpose()?;
		let pair = grads.adapter.and_then(|grads| grads[which as usize]);
		let (Some([da, db]), Some([a, b]), Some(h), Some(low)) = (pair, params.adapter[which as usize], values.low[which as usize], low)
		else {
			return Ok(dx);
		};
		self.product(Product::Tn, h, dy, None, db)?;
		let dh = self.tensor(self.info(dy)?.rows, self.info(b)?.rows, low)?;
		let dh = self.product(Product::Nt, dy, b, None, dh)?;
		let dh = self.scaled(dh)?;
		self.product(Product::Tn, dh, x, None, da)?;
		let Some(dx) = dx else { return Ok(None) };
		let place = self.info(dx)?.place;
		self.back(Product::Nn, dh, a, Some(dx), place).map(Some)
	}

	/// The gradient of a layer's weight that is trained.
	fn weight_back(&mut self, dy: TensorId, x: TensorId, dw: Option<TensorId>) -> Result<(), ConfigError> {
		let [.., kind] = self.layers;
		dw.map_or(Ok(()), |dw| self.product(kind, dy, x, None, dw).map(|_| ()))
	}

	/// Backward RMSNorm: the weight's gradient into `dw` if that is trained, and the input's added to `dx` if there is one, else at `place`.
	fn norm_back(
		&mut self,
		[dy, x, w, r]: [TensorId; 4],
		dw: Option<TensorId>,
		k: Place,
		dx: Option<TensorId>,
		place: Place,
	) -> Result<TensorId, ConfigError> {
		let info = self.info(x)?;
		let k = self.tensor(info.rows, self.heads_of(x, w)?, k)?;
		let out = self.tensor(info.rows, info.cols, place)?;
		self.stage(Op::RmsBackStats, rows_and([dy, x, r], w), &[k])?;
		let before = dx.map(|dx| (dx, Access::SameRows));
		self.stage(Op::RmsBackApply, rows_and([dy, x, r, k], w).chain(before), &[out])?;
		if let Some(dw) = dw {
			self.stage(Op::RmsWeightGrad, whole([dy, x, r]), &[dw])?;
		}
		Ok(out)
	}

	/// Gradients of queries and keys before RoPE, and of values.
	fn attention_back(
		&mut self,
		sizes: &Sizes,
		values: &LayerValues,
		d_o: TensorId,
		at: &Temporaries,
	) -> Result<[TensorId; 3], ConfigError> {
		let score_rows = sizes.score_rows()?;
		let d = self.tensor(score_rows, 1, Place::Fused)?;
		let dp = self.tensor(score_rows, sizes.seq, Place::Fused)?;
		let ds = self.tensor(score_rows, sizes.seq, Place::Fused)?;
		let dq = self.tensor(sizes.tokens, sizes.q_dim, at.dq)?;
		let dk = self.tensor(sizes.tokens, sizes.kv_dim, at.dk)?;
		let dv = self.tensor(sizes.tokens, sizes.kv_dim, at.dv)?;
		self.stage(Op::HeadDots, whole([d_o, values.o]), &[d])?;
		self.stage(Op::ProbabilityBack, whole([d_o, values.v]), &[dp])?;
		self.stage(Op::ScoreBack, rows([values.p, dp, d]), &[ds])?;
		self.stage(Op::QueryBack, whole([ds, values.k]), &[dq])?;
		self.stage(Op::KeyBack, whole([ds, values.q]), &[dk])?;
		self.stage(Op::ValueBack, whole([values.p, d_o]), &[dv])?;
		let (dq, dk) = (self.rope_back(dq, sizes.heads)?, self.rope_back(dk, sizes.kv_heads)?);
		Ok([dq, dk, dv])
	}

	fn rope_back(&mut self, dy: TensorId, heads: u32) -> Result<TensorId, ConfigError> {
		let dx = self.in_place(dy)?;
		self.stage(Op::RopeBack { heads }, rows([dy]), &[dx])?;
		Ok(dx)
	}

	/// Back through one layer: `dx` is the gradient of its output, the result that of its input, in the same memory. Nobody asks for that of the first
	/// layer under an adapter.
	fn layer_back(
		&mut self,
		sizes: &Sizes,
		(params, grads, first): (Layer<'_>, LayerGrads<'_>, bool),
		values: &LayerValues,
		at: &Temporaries,
		dx: TensorId,
	) -> Result<TensorId, ConfigError> {
		use Projection::{Down, Gate, Up, K, O, Q, V};
		let (all, stream) = ((params, grads, values), self.info(dx)?.place);
		let (params, grads) = (params.model, grads.model);
		let known = |dx: Option<TensorId>| dx.ok_or(ConfigError::Dimension);
		let dh = known(self.projection_back((Down, dx, values.h), all, at.low, None, Some(at.d_ffn[0]))?)?;
		self.weight_back(dx, values.h, grads.map(|grads| grads.down))?;
		let d_gate = self.tensor(sizes.tokens, sizes.ffn, at.d_ffn[1])?;
		let d_up = self.tensor(sizes.tokens, sizes.ffn, at.d_ffn[2])?;
		self.stage(Op::SwigluBack, rows([dh, values.gate, values.up]), &[d_gate, d_up])?;
		let dh = self.projection_back((Gate, d_gate, values.h2), all, at.low, None, Some(at.dh))?;
		let dh = known(self.projection_back((Up, d_up, values.h2), all, at.low, dh, Some(at.dh))?)?;
		self.weight_back(d_gate, values.h2, grads.map(|grads| grads.gate))?;
		self.weight_back(d_up, values.h2, grads.map(|grads| grads.up))?;
		let norm2 = [dh, values.middle, params.norm2, values.norm2];
		let dx = self.norm_back(norm2, grads.map(|grads| grads.norm2), at.k, Some(dx), stream)?;

		let d_o = known(self.projection_back((O, dx, values.o), all, at.low, None, Some(at.d_o))?)?;
		self.weight_back(dx, values.o, grads.map(|grads| grads.o))?;
		let [mut dq, mut dk, dv] = self.attention_back(sizes, values, d_o, at)?;
		if let (Some([wq, wk]), Some([q, k]), Some(places)) = (params.head_norms, values.raw, at.raw) {
			let [(q_place, q_scalars), (k_place, k_scalars)] = places;
			let dw = grads.and_then(|grads| grads.head_norms);
			dq = self.norm_back([dq, q.0, wq, q.1], dw.map(|[dwq, _]| dwq), q_scalars, None, q_place)?;
			dk = self.norm_back([dk, k.0, wk, k.1], dw.map(|[_, dwk]| dwk), k_scalars, None, k_place)?;
		}
		if let Some(biases) = grads.and_then(|grads| grads.biases) {
			for (dy, db) in [dq, dk, dv].into_iter().zip(biases) {
				self.stage(Op::ColumnSums, whole([dy]), &[db])?;
			}
		}
		let place = (!first || grads.is_some()).then_some(at.dh);
		let dh = self.projection_back((Q, dq, values.h1), all, at.low, None, place)?;
		let dh = self.projection_back((K, dk, values.h1), all, at.low, dh, place)?;
		let dh = self.projection_back((V, dv, values.h1), all, at.low, dh, place)?;
		self.weight_back(dq, values.h1, grads.map(|grads| grads.q))?;
		self.weight_back(dk, values.h1, grads.map(|grads| grads.k))?;
		self.weight_back(dv, values.h1, grads.map(|grads| grads.v))?;
		let Some(dh) = dh else { return Ok(dx) };
		self.norm_back([dh, values.x, params.norm1, values.norm1], grads.map(|grads| grads.norm1), at.k, Some(dx), stream)
	}

	/// Back from the losses: the gradient of the last layer's output, at `stream`, and of the head's weight.
	fn end_back(
		&mut self,
		(params, grads, values): (&Params, Option<&Params>, &Forward),
		(at, stream): (&Temporaries, Place),
	) -> Result<(TensorId, Option<TensorId>), ConfigError> {
		let head = values.head.as_ref().ok_or(ConfigError::Dimension)?;
		let [norm, weight] = params.end.ok_or(ConfigError::Dimension)?;
		let grads = grads.and_then(|grads| grads.end);
		let d_logits = self.in_place(head.logits)?;
		let count = values.count.map(|count| (count, Access::Whole));
		self.stage(Op::LossBack, rows([head.logits, values.targets, head.max, head.sum]).into_iter().chain(count), &[d_logits])?;
		let dh = self.back(Product::Nn, d_logits, weight, None, at.dh)?;
		let head_grad = grads.map(|[_, grad]| self.product(Product::Tn, d_logits, head.h, None, grad)).transpose()?;
		let dx = self.norm_back([dh, head.x, norm, head.norm], grads.map(|[grad, _]| grad), at.k, None, stream)?;
		Ok((dx, head_grad))
	}

	/// Gradients of all that is trained, in layout order. `grads` are those values, but for the embedding of a tied model:
	/// there it is the head's gradient, which the embedding's begins with. The gradient of the residual stream lies at `stream`.
	fn backward(
		&mut self,
		sizes: &Sizes,
		params: &Params,
		grads: &Grads,
		values: &Forward,
		stream: Place,
	) -> Result<Vec<TensorId>, ConfigError> {
		let model = grads.model.as_ref();
		let at = Temporaries::new(self, sizes)?;
		let mut all = grads.all.clone();
		let mut head_grad = None;
		let mut left = self.plan.layers.len();
		let segments: Vec<_> = sizes.span.ranges_of(sizes.units()).enumerate().collect();
		for (segment, units) in segments.into_iter().rev() {
			let begun = self.plan.stages.len();
			let seam = self.plan.seams.as_ref().and_then(|seams| seams.segments.get(segment));
			let mut dx = seam.and_then(|seam| seam.gradient_in);
			if units.contains(&sizes.layers.saturating_add(1)) {
				let (of_end, of_head) = self.end_back((params, model, values), (&at, stream))?;
				(dx, head_grad) = (Some(of_end), of_head);
			}
			for unit in (units.start.max(1)..units.end.min(sizes.layers.saturating_add(1))).rev() {
				let layer = usize::try_from(unit.saturating_sub(1)).map_err(|_| ConfigError::TooLarge)?;
				left = left.saturating_sub(1);
				let given = dx.ok_or(ConfigError::Dimension)?;
				dx = Some(self.one_layer_back(sizes, (params, grads, values), (layer, left), &at, given)?);
			}
			let ended = self.plan.stages.len();
			let asked = is_asked(units.start, model.is_none());
			if let Some(seam) = self.plan.seams.as_mut().and_then(|seams| seams.segments.get_mut(segment)) {
				(seam.gradient_out, seam.backward) = (dx.filter(|_| asked), begun..ended);
			}
			if let (0, Some(grads), Some(dx)) = (units.start, model, dx) {
				let embedding = grads.embedding.ok_or(ConfigError::Dimension)?;
				let written = if sizes.tied { self.in_place(embedding)? } else { embedding };
				let before = head_grad.filter(|_| sizes.tied).map(|grad| (grad, Access::SameRows));
				self.stage(Op::ScatterAdd, whole([dx, values.tokens]).into_iter().chain(before), &[written])?;
				if let Some(first) = all.first_mut() {
					*first = written;
				}
			}
		}
		Ok(all)
	}

	/// Back through layer `layer`, number `place` of the plan's.
	fn one_layer_back(
		&mut self,
		sizes: &Sizes,
		(params, grads, values): (&Params, &Grads, &Forward),
		(layer, place): (usize, usize),
		at: &Temporaries,
		dx: TensorId,
	) -> Result<TensorId, ConfigError> {
		let first = self.plan.stages.len();
		if let Some(stages) = self.plan.layers.get_mut(place) {
			stages.backward = first;
		}
		let model = grads.model.as_ref();
		let of_model = model.map(|model| model.layers.get(layer).and_then(Option::as_ref).ok_or(ConfigError::Dimension)).transpose()?;
		let of_adapter = grads.adapters.get(layer);
		let values = values.layers.get(layer).and_then(Option::as_ref).ok_or(ConfigError::Dimension)?;
		let params = params.layer(layer).ok_or(ConfigError::Dimension)?;
		self.layer_back(sizes, (params, LayerGrads { model: of_model, adapter: of_adapter }, layer == 0), values, at, dx)
	}

	/// `[1, 1]` mean of losses whose partial sums are given.
	fn mean_loss(&mut self, tiles: TensorId, count: Option<TensorId>) -> Result<TensorId, ConfigError> {
		let sum = self.tree_sum(tiles)?;
		let loss = self.fresh(1, 1)?;
		let count = count.map(|count| (count, Access::Whole));
		self.stage(Op::MeanLoss, rows([sum]).into_iter().chain(count), &[loss])?;
		Ok(loss)
	}

	/// `[1, 1]` sum of the squares of `gradients`.
	fn squares(&mut self, gradients: &[TensorId]) -> Result<TensorId, ConfigError> {
		let mut tiles = 0u32;
		for &gradient in gradients {
			let TensorInfo { rows, cols, .. } = self.info(gradient)?;
			let those = rows.div_ceil(TILE).checked_mul(cols.div_ceil(TILE));
			tiles = those.and_then(|those| tiles.checked_add(those)).ok_or(ConfigError::TooLarge)?;
		}
		let partials = self.partials(tiles)?;
		self.stage(Op::SquareTiles, gradients.iter().map(|&id| (id, Access::Whole)), &[partials])?;
		self.tree_sum(partials)
	}

	/// The same unit by unit, each with its unit.
	fn squares_by_unit(&mut self, gradients: &[TensorId]) -> Result<Vec<(u32, TensorId)>, ConfigError> {
		let mut sums = Vec::new();
		let mut first = 0usize;
		while let Some(unit) = self.unit_of(first) {
			let count = (first..gradients.len()).take_while(|&index| self.unit_of(index) == Some(unit)).count();
			let those = gradients.get(first..).and_then(|rest| rest.get(..count)).ok_or(ConfigError::Dimension)?;
			sums.push((unit, self.squares(those)?));
			first = first.saturating_add(count);
		}
		Ok(sums)
	}

	/// The sum of the squares of all gradients of a step. Of a span: from those of all units, which it is given.
	fn square_norm(&mut self, train: &TrainConfig, gradients: &[TensorId]) -> Result<TensorId, ConfigError> {
		if train.arithmetic_version == 1 {
			return self.squares(gradients);
		}
		let own = self.squares_by_unit(gradients)?;
		let sum = self.fresh(1, 1)?;
		// Only layers have an adapter.
		let first = if train.adapter.is_some() { 1 } else { 0 };
		let inputs: Vec<TensorId> = match &mut self.plan.seams {
			None => own.into_iter().map(|(_, sum)| sum).collect(),
			Some(seams) => {
				seams.own_sums = own.into_iter().map(|(unit, sum)| (unit.saturating_sub(first), sum)).collect();
				alloc::vec![seams.sums]
			}
		};
		self.stage(Op::AddUp, inputs.into_iter().map(|sum| (sum, Access::Whole)), &[sum])?;
		Ok(sum)
	}

	/// What a span is given in a step: see [`Seams`]. The gradient of the residual stream lies at `stream`.
	fn seams(&mut self, sizes: &Sizes, (model, train): (&ModelConfig, &TrainConfig), stream: Place) -> Result<(), ConfigError> {
		let adapter = train.adapter.is_some();
		let ranges: Vec<_> = sizes.span.ranges_of(sizes.units()).collect();
		self.plan.seams = Some(Seams {
			segments: Vec::new(),
			sums: TensorId(0),
			own_sums: Vec::new(),
			given: Vec::new(),
			cover: span::cover(model, train.adapter, sizes.span)?,
			base_cover: train.adapter.map(|_| span::cover(model, None, sizes.span)).transpose()?,
		});
		let (mut rows_in, mut gradient_in) = (Vec::new(), Vec::new());
		for units in &ranges {
			let place = if units.start > 0 { Some(self.buffer(sizes.tokens, sizes.dim)?) } else { None };
			rows_in.push(place.map(|place| self.given_tensor(sizes.tokens, sizes.dim, place)).transpose()?);
		}
		for units in &ranges {
			let given = units.end < sizes.units() && is_asked(units.end, adapter);
			gradient_in.push(given.then(|| self.given_tensor(sizes.tokens, sizes.dim, stream)).transpose()?);
		}
		let count = span::sums(model, adapter);
		let place = self.buffer(1, count)?;
		let sums = self.given_tensor(1, count, place)?;
		let ends = rows_in.into_iter().zip(gradient_in);
		let segments = ranges.into_iter().zip(ends).map(|(units, (rows_in, gradient_in))| Segment {
			units,
			rows_in,
			rows_out: None,
			gradient_in,
			gradient_out: None,
			forward: 0..0,
			backward: 0..0,
		});
		if let Some(seams) = &mut self.plan.seams {
			(seams.segments, seams.sums) = (segments.collect(), sums);
		}
		Ok(())
	}

	/// AdamW on every tensor but those that have a `direction` of Muon, in place.
	fn update(
		&mut self,
		[theta, first, second]: [Vector; 3],
		gradient: &[TensorId],
		clip: TensorId,
		directions: &[Option<TensorId>],
	) -> Result<(), ConfigError> {
		let mut results = [Vec::new(), Vec::new(), Vec::new()];
		for ((((p, m), v), &g), direction) in theta.ids().zip(first.ids()).zip(second.ids()).zip(gradient).zip(directions) {
			let outputs = [self.in_place(p)?, self.in_place(m)?, self.in_place(v)?];
			match *direction {
				None => self.stage(Op::AdamW, rows_and([p, m, v, g], clip), &outputs)?,
				Some(x) => self.stage(Op::Muon, rows_and([p, m, g], clip).chain(rows([x])), &outputs)?,
			}
			for (result, output) in results.iter_mut().zip(outputs) {
				result.push(output);
			}
		}
		self.plan.results = results.into();
		Ok(())
	}
}

/// See [`Plan::training`], [`Plan::recomputing`] and [`Plan::span`].
pub(super) fn training(model: &ModelConfig, train: &TrainConfig, span: Option<Span>, keep: Keep) -> Result<Plan, ConfigError> {
	let sizes = Sizes { span: span.unwrap_or(Span::all(model)), ..Sizes::new(model, train.batch, train.seq_len)? };
	let mut builder = Builder::trained(model, train, sizes.span)?;
	builder.layers = train.products.kinds();
	let len = builder.len;
	let [theta, first_moment, second_moment] = [builder.room(len)?, builder.room(len)?, builder.room(len)?];
	let trained = builder.vector(Some(theta))?;
	let first = builder.vector(Some(first_moment))?;
	let second = builder.vector(Some(second_moment))?;
	let params = builder.params(model, &sizes, &trained)?;
	let gradient = builder.room(len)?;
	let stream = match span {
		None => None,
		Some(_) => Some(builder.buffer(sizes.tokens, sizes.dim)?),
	};
	if let Some(stream) = stream {
		builder.seams(&sizes, (model, train), stream)?;
	}
	let all = builder.parameters(Some(gradient))?;
	let grads = match train.adapter {
		None => Grads { model: Some(Params::new(&sizes, all.iter().copied())?), all, adapters: Vec::new() },
		Some(adapter) => Grads { adapters: adapters(&sizes, adapter, all.iter().copied())?, all, model: None },
	};

	let forward = builder.forward(&sizes, &params, keep, train.masked)?;
	let loss = forward.head.as_ref().map(|head| builder.mean_loss(head.loss_tiles, forward.count)).transpose()?;
	let stream = stream.map_or_else(|| builder.buffer(sizes.tokens, sizes.dim), Ok)?;
	let gradients = builder.backward(&sizes, &params, &grads, &forward, stream)?;

	let square_norm = builder.square_norm(train, &gradients)?;
	let clip = builder.fresh(1, 1)?;
	builder.stage(Op::ClipScale, rows([square_norm]), &[clip])?;
	let first_direction = builder.plan.stages.len();
	let directions = match train.optimizer {
		Optimizer::AdamW => alloc::vec![None; gradients.len()],
		Optimizer::Muon { .. } => builder.directions(&sizes, [&first, &second], &gradients, clip)?,
	};
	let first_stage = builder.plan.stages.len();
	builder.update([trained, first, second], &gradients, clip, &directions)?;

	let logits = match sizes.has_end() {
		true => builder.logits_block(&sizes, true)?,
		false => LogitsBlock { offset: 0, rows: 0, later: None },
	};
	let update = Some(Update { first_moment, second_moment, gradient, square_norm, first_direction, first_stage });
	builder.plan.job = Some(ArenaJob { sizes, loss, logits, masked: train.masked, update });
	let given: Vec<TensorId> = builder.plan.seams.iter().flat_map(Seams::results).collect();
	builder.plan.results.extend(given.into_iter().map(|id| alloc::vec![id]));
	Ok(builder.finish())
}
