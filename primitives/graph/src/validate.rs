//! Which configurations are accepted, and the numbers that follow from them.
//!
//! Everything here is integer arithmetic on 64 bits or more: the chain runs it on whatever a sponsor sends.

use crate::{
	config::{
		Adapter, Aggregator, Code, Compressed, ConfigError, ModelConfig, Projection, Robust, RopeScaling, Rule, TopK, TrainConfig,
		ARITHMETIC_VERSION, F32, LEAST_LIMIT, MAX_CLIP, MAX_MOVES, MAX_RADIUS, MAX_RANK, OLDEST_ARITHMETIC,
	},
	layout::projection,
	plan::{Plan, NEWTON_SCHULZ_STEPS},
};

/// Side of a tile; dimensions are multiples of it.
const SIDE: u32 = 32;
/// Largest vocabulary that is trained: a row of logits is a node's 8,192 tiles, and a sum over it has 1,023 states between its pieces.
pub const MAX_TRAINED_VOCAB: u32 = 1 << 18;
/// Of models that only answer, 32 bits: no vocabulary comes near it.
const MAX_VOCAB: u32 = 1 << 20;
/// Longest sequence that the RoPE tables' range reduction covers.
const MAX_POSITIONS: u32 = 1 << 20;
/// Most parameters of a model, and of an adapter.
const MAX_PARAMETERS: u64 = 1 << 31;
/// Operations of an optimizer for each parameter and step: both moments, their correction, root and quotient, and the decay.
const OF_OPTIMIZER: u128 = 16;
/// Most attention probabilities of one layer and step.
pub(crate) const MAX_PROBABILITIES: u64 = 1 << 28;
/// Most tokens of one inner step: chains over them are disputed in pieces of 256, and a list of states between pieces is bounded.
const MAX_TOKENS: u64 = 1 << 22;
/// Largest number of a RoPE scaling.
const MAX_SCALING: f32 = 1e6;
/// Most inner steps between two committed states: their roots are one list in a dispute.
const MAX_INTERVAL: u32 = crate::game::MAX_LIST;
/// Most state roots of one round.
const MAX_STATE_ROOTS: u32 = 64;

/// Whether `value` is a non-zero multiple of `unit`.
fn is_multiple(value: u32, unit: u32) -> bool {
	value != 0 && value.is_multiple_of(unit)
}

fn within(value: F32, low: f32, high: f32) -> Result<(), ConfigError> {
	let value = value.get();
	// A NaN fails both comparisons.
	if value >= low && value <= high {
		Ok(())
	} else {
		Err(ConfigError::Hyperparameter)
	}
}

impl ModelConfig {
	/// Accepts a model that this crate can lay out; [`TrainConfig::validate`] one that it can train.
	///
	/// # Errors
	/// [`ConfigError::Dimension`], [`ConfigError::Heads`], [`ConfigError::TooLarge`] or, for `norm_eps`, `rope_theta` and `rope_scaling`,
	/// [`ConfigError::Hyperparameter`].
	pub fn validate(&self) -> Result<(), ConfigError> {
		if self.heads == 0 || self.kv_heads == 0 || !self.heads.is_multiple_of(self.kv_heads) {
			return Err(ConfigError::Heads);
		}
		// The heads are `dim` wide together exactly where their width is not given.
		if (self.head_dim().checked_mul(self.heads) == Some(self.dim)) != self.head_dim.is_none() {
			return Err(ConfigError::Heads);
		}
		let dims = [self.vocab, self.dim, self.ffn, self.q_dim(), self.kv_dim(), self.max_seq];
		let head_unit = if self.family.has_head_norms() { SIDE } else { 2 };
		if !dims.iter().all(|&d| is_multiple(d, SIDE)) || !is_multiple(self.head_dim(), head_unit) || self.layers == 0 {
			return Err(ConfigError::Dimension);
		}
		let too_deep = self.layers > self.family.most_layers();
		if self.vocab > MAX_VOCAB || self.max_seq > MAX_POSITIONS || too_deep || self.parameters() > MAX_PARAMETERS {
			return Err(ConfigError::TooLarge);
		}
		if self.rope_theta < 2 {
			return Err(ConfigError::Hyperparameter);
		}
		self.rope_scaling.check_values()?;
		within(self.norm_eps, f32::MIN_POSITIVE, 1.0)
	}

	/// Width of one attention head; 0 without heads.
	pub const fn head_dim(&self) -> u32 {
		match (self.head_dim, self.heads) {
			(Some(width), _) => width,
			(None, 0) => 0,
			(None, heads) => self.dim / heads,
		}
	}

	/// Width of the query projection.
	pub const fn q_dim(&self) -> u32 {
		self.head_dim().saturating_mul(self.heads)
	}

	/// Width of the key and of the value projection.
	pub const fn kv_dim(&self) -> u32 {
		self.head_dim().saturating_mul(self.kv_heads)
	}

	/// Parameters of the model; saturates.
	pub fn parameters(&self) -> u64 {
		let [vocab, dim, layers, ffn, q, kv] = [self.vocab, self.dim, self.layers, self.ffn, self.q_dim(), self.kv_dim()].map(u64::from);
		let embeddings = vocab.saturating_mul(dim).saturating_mul(if self.tied { 1 } else { 2 });
		let attention = dim.saturating_mul(q).saturating_add(dim.saturating_mul(kv)).saturating_mul(2);
		let mlp = dim.saturating_mul(ffn).saturating_mul(3);
		let layer = attention.saturating_add(mlp);
		embeddings.saturating_add(layer.saturating_mul(layers)).saturating_add(self.vector_parameters())
	}

	/// Those parameters that are in tensors of one row, norms and biases; saturates.
	pub fn vector_parameters(&self) -> u64 {
		let [dim, layers, q, kv, head] = [self.dim, self.layers, self.q_dim(), self.kv_dim(), self.head_dim()].map(u64::from);
		let biases = if self.family.has_biases() { q.saturating_add(kv.saturating_mul(2)) } else { 0 };
		let norms = if self.family.has_head_norms() { head.saturating_mul(2) } else { 0 };
		let layer = dim.saturating_mul(2).saturating_add(biases).saturating_add(norms);
		layer.saturating_mul(layers).saturating_add(dim)
	}

	/// Floating-point operations of training on one token in a sequence of `seq_len`; saturates.
	///
	/// Six per parameter (forward and backward), plus causal attention: scores and values over `(seq_len + 1) / 2` keys
	/// on average, 4 operations per key and channel forward, twice that backward.
	pub fn flops_per_token(&self, seq_len: u32) -> u64 {
		let attention = self.attention_flops(seq_len).saturating_mul(self.layers.into());
		self.parameters().saturating_mul(6).saturating_add(attention)
	}

	/// Of them those of attention in one layer.
	fn attention_flops(&self, seq_len: u32) -> u64 {
		u64::from(self.q_dim()).saturating_mul(6).saturating_mul(u64::from(seq_len).saturating_add(1))
	}

	/// Floating-point operations of a step's Newton-Schulz steps on all projections; saturates. Each is three products along the shorter side: of the
	/// matrix with itself, of that with itself, and of what is made of both with the matrix.
	fn muon_flops(&self) -> u128 {
		let matrix = |which| {
			let (_, rows, cols) = projection(self, which);
			let [short, long] = [rows.min(cols), rows.max(cols)].map(u128::from);
			let lengths = long.saturating_mul(2).saturating_add(short);
			short.saturating_mul(short).saturating_mul(lengths).saturating_mul(2 * u128::from(NEWTON_SCHULZ_STEPS))
		};
		let layer = Projection::ALL.into_iter().map(matrix).fold(0, u128::saturating_add);
		layer.saturating_mul(self.layers.into())
	}
}

impl RopeScaling {
	/// Accepts numbers by which a model turns otherwise than without scaling.
	fn check_values(self) -> Result<(), ConfigError> {
		let more = |value: F32, than: f32| {
			within(value, than, MAX_SCALING)?;
			if value.get() > than {
				Ok(())
			} else {
				Err(ConfigError::Hyperparameter)
			}
		};
		match self {
			Self::None => Ok(()),
			Self::Linear { factor } => more(factor, 1.0),
			Self::Llama3 { original: 0, .. } => Err(ConfigError::Hyperparameter),
			Self::Llama3 { factor, low, high, original: _ } => {
				more(factor, 1.0)?;
				within(low, f32::MIN_POSITIVE, MAX_SCALING)?;
				more(high, low.get())
			}
		}
	}
}

impl TrainConfig {
	/// Accepts a training configuration for `model`, which it validates first.
	///
	/// # Errors
	/// Those of [`ModelConfig::validate`], and every other [`ConfigError`].
	pub fn validate(&self, model: &ModelConfig) -> Result<(), ConfigError> {
		Plan::training(model, self).map(|_| ())
	}

	/// [`TrainConfig::validate`] except for the number of nodes.
	pub(crate) fn check_values(&self, model: &ModelConfig) -> Result<(), ConfigError> {
		model.validate()?;
		if !(OLDEST_ARITHMETIC..=ARITHMETIC_VERSION).contains(&self.arithmetic_version) {
			return Err(ConfigError::ArithmeticVersion);
		}
		let counts = [self.batch, self.inner_steps, self.validation_sequences];
		if counts.contains(&0) || !is_multiple(self.seq_len, SIDE) || self.seq_len > model.max_seq {
			return Err(ConfigError::Dimension);
		}
		// The chain of a head's norm goes over all heads.
		let chain = self.tokens_per_step().saturating_mul(if model.family.has_head_norms() { model.heads.into() } else { 1 });
		if chain > MAX_TOKENS || model.vocab > MAX_TRAINED_VOCAB {
			return Err(ConfigError::TooLarge);
		}
		if self.commit_interval == 0 || self.commit_interval.min(self.inner_steps) > MAX_INTERVAL || self.revealed_roots() > MAX_STATE_ROOTS
		{
			return Err(ConfigError::CommitInterval);
		}
		if self.total_steps != 0 && self.total_steps < self.warmup_steps {
			return Err(ConfigError::Hyperparameter);
		}
		within(self.lr, 0.0, 1.0)?;
		within(self.lr_min, 0.0, self.lr.get())?;
		within(self.beta1, 0.0, 0.9999)?;
		// Neither a decay below that of the first moment nor a smaller epsilon: what a step can change would have no useful bound.
		within(self.beta2, self.beta1.get(), 0.999_999)?;
		within(self.eps, 1e-16, 1.0)?;
		within(self.weight_decay, 0.0, 1.0)?;
		within(self.clip, f32::MIN_POSITIVE, 1e6)?;
		within(self.outer_lr, 0.0, 10.0)?;
		within(self.outer_beta, 0.0, 0.9999)?;
		match self.aggregator {
			Aggregator::Mean | Aggregator::TrimmedMean { .. } => {}
			Aggregator::Robust(robust) => robust.check_values()?,
			Aggregator::Compressed(compressed) => compressed.check_values()?,
		}
		if !(1..=self.inner_steps).contains(&self.least_steps()) {
			return Err(ConfigError::LeastSteps);
		}
		self.adapter.map_or(Ok(()), |adapter| adapter.validate(model))?;
		if let Some(momentum) = self.optimizer.momentum() {
			let good = self.adapter.is_none() && within(momentum, 0.0, 0.9999).is_ok();
			good.then_some(()).ok_or(ConfigError::Optimizer)?;
		}
		let probabilities = [self.batch, model.heads, self.seq_len, self.seq_len]
			.into_iter()
			.try_fold(1u64, |product, factor| product.checked_mul(u64::from(factor)));
		match probabilities {
			Some(count) if count <= MAX_PROBABILITIES => Ok(()),
			_ => Err(ConfigError::TooLarge),
		}
	}

	/// Tokens of one inner step.
	pub fn tokens_per_step(&self) -> u64 {
		u64::from(self.batch) * u64::from(self.seq_len)
	}

	/// Tokens that one participant trains on in a round of all inner steps; saturates.
	pub fn tokens_per_round(&self) -> u64 {
		self.tokens_after(self.inner_steps)
	}

	/// Tokens of so many inner steps; saturates.
	pub fn tokens_after(&self, steps: u32) -> u64 {
		self.tokens_per_step().saturating_mul(u64::from(steps))
	}

	/// Inner steps that so many tokens take, if a participant's round can end after them.
	pub fn steps_of(&self, tokens: u64) -> Option<u32> {
		let steps = u32::try_from(tokens.checked_div(self.tokens_per_step())?).ok()?;
		(self.tokens_after(steps) == tokens && self.may_end_after(steps)).then_some(steps)
	}

	/// Fewest inner steps of a participant's round.
	pub fn least_steps(&self) -> u32 {
		match self.aggregator.robust() {
			Some(Robust { rule: Rule::WeightedMean { least_steps }, .. }) => least_steps,
			_ => self.inner_steps,
		}
	}

	/// Whether deltas weigh by the inner steps behind them.
	pub fn weighs_steps(&self) -> bool {
		self.aggregator.weighs_steps()
	}

	/// Whether a participant's round can end after so many inner steps: the state there is one that is committed.
	pub fn may_end_after(&self, steps: u32) -> bool {
		(self.least_steps()..=self.inner_steps).contains(&steps) && self.commits_after(steps)
	}

	/// Floating-point operations of one participant's round on `model`; saturates.
	pub fn flops_per_round(&self, model: &ModelConfig) -> u128 {
		self.flops_of(model, self.tokens_per_round())
	}

	/// Floating-point operations of training on so many tokens; saturates. Of an adapter's base no weight has a gradient: that is a third less. Muon's
	/// products are those of each step.
	pub fn flops_of(&self, model: &ModelConfig, tokens: u64) -> u128 {
		let per_token = match self.adapter {
			None => model.flops_per_token(self.seq_len),
			Some(adapter) => {
				let weights = model.parameters().saturating_mul(2);
				model.flops_per_token(self.seq_len).saturating_sub(weights).saturating_add(adapter.parameters(model).saturating_mul(6))
			}
		};
		let tokens = u128::from(tokens);
		let per_step = self.optimizer.momentum().map_or(0, |_| model.muon_flops());
		let steps = tokens.saturating_mul(per_step).checked_div(self.tokens_per_step().into()).unwrap_or_default();
		tokens.saturating_mul(per_token.into()).saturating_add(steps)
	}

	/// Floating-point operations of an inner step that fall to a unit of `model` ([`crate::span`]); saturates. Those of tokens as in [`Self::flops_of`], but that the
	/// embedding has none, and those of the optimizer, 16 for each parameter that is trained.
	pub fn flops_of_unit(&self, model: &ModelConfig, unit: u32) -> u128 {
		let [vocab, dim, layers] = [model.vocab, model.dim, model.layers].map(u64::from);
		let table = vocab.saturating_mul(dim);
		let outside = table.saturating_mul(if model.tied { 1 } else { 2 }).saturating_add(dim);
		let layer = model.parameters().saturating_sub(outside).checked_div(layers).unwrap_or_default();
		let is_layer = (1..=model.layers).contains(&unit);
		// Weights that tokens are multiplied by, and parameters of the unit.
		let (weights, parameters) = match unit {
			0 => (0, table),
			_ if is_layer => (layer, layer),
			// With the final norm.
			_ => (table.saturating_add(dim), if model.tied { dim } else { table.saturating_add(dim) }),
		};
		let attention = if is_layer { model.attention_flops(self.seq_len) } else { 0 };
		let (per_token, trained) = match self.adapter {
			None => (weights.saturating_mul(6), parameters),
			Some(adapter) if is_layer => {
				let own = adapter.parameters(model).checked_div(layers).unwrap_or_default();
				(weights.saturating_mul(4).saturating_add(own.saturating_mul(6)), own)
			}
			Some(_) => (weights.saturating_mul(4), 0),
		};
		let muon = match self.optimizer.momentum() {
			Some(_) if is_layer => model.muon_flops().checked_div(layers.into()).unwrap_or_default(),
			_ => 0,
		};
		let of_tokens = u128::from(self.tokens_per_step()).saturating_mul(per_token.saturating_add(attention).into());
		let of_optimizer = u128::from(trained).saturating_mul(OF_OPTIMIZER);
		of_tokens.saturating_add(of_optimizer).saturating_add(muon)
	}

	/// State roots of a round of all inner steps: one every `commit_interval` of them, and one after the last; 0 for an interval of 0.
	pub const fn state_roots(&self) -> u32 {
		self.state_roots_after(self.inner_steps)
	}

	/// State roots of a round of so many inner steps.
	pub const fn state_roots_after(&self, steps: u32) -> u32 {
		match self.commit_interval {
			0 => 0,
			interval => steps.div_ceil(interval),
		}
	}

	/// Roots that a participant reveals beside that of its delta after a round of all inner steps: [`TrainConfig::state_roots`], and of a code that leaves
	/// a residual those of the residual before the round and after it.
	pub fn revealed_roots(&self) -> u32 {
		self.revealed_roots_after(self.inner_steps)
	}

	/// The same after so many inner steps.
	pub fn revealed_roots_after(&self, steps: u32) -> u32 {
		let residuals = if self.leaves_residual() { 2 } else { 0 };
		self.state_roots_after(steps).saturating_add(residuals)
	}

	/// Whether deltas are sent as a code that leaves a residual to the next one.
	pub fn leaves_residual(&self) -> bool {
		self.code().and_then(Code::decay).is_some()
	}

	/// What deltas are sent as, if not as they are.
	pub const fn code(&self) -> Option<Code> {
		match self.aggregator {
			Aggregator::Compressed(Compressed { code, .. }) => Some(code),
			_ => None,
		}
	}

	/// Held-out sequences that are evaluated together: the largest divisor of `validation_sequences` up to `batch`; at
	/// least 1. How they are grouped does not change the validation loss.
	pub fn validation_batch(&self) -> u32 {
		let most = self.batch.min(self.validation_sequences);
		(1..=most).rev().find(|&group| self.validation_sequences.is_multiple_of(group)).unwrap_or(1)
	}

	/// Whether the state is committed after inner step `step`, counted from 1.
	pub const fn commits_after(&self, step: u32) -> bool {
		step == self.inner_steps || (self.commit_interval != 0 && step != 0 && step.is_multiple_of(self.commit_interval))
	}
}

impl Adapter {
	/// Accepts an adapter of `model`.
	///
	/// # Errors
	/// [`ConfigError::Adapter`]; [`ConfigError::TooLarge`] for more parameters than a model may have.
	pub fn validate(&self, model: &ModelConfig) -> Result<(), ConfigError> {
		let good = (1..=MAX_RANK).contains(&self.rank) && self.projections.is_valid();
		if !good || within(self.alpha, f32::MIN_POSITIVE, 1e6).is_err() {
			return Err(ConfigError::Adapter);
		}
		match self.parameters(model) <= MAX_PARAMETERS {
			true => Ok(()),
			false => Err(ConfigError::TooLarge),
		}
	}

	/// Its parameters; saturates.
	pub fn parameters(&self, model: &ModelConfig) -> u64 {
		let sides = self.projections.iter().map(|which| {
			let (_, rows, cols) = projection(model, which);
			u64::from(rows).saturating_add(cols.into())
		});
		sides.fold(0, u64::saturating_add).saturating_mul(model.layers.into()).saturating_mul(self.rank.into())
	}

	/// Tiles of its tensors; saturates. Only those of a rank that is a multiple of 32 are full.
	pub fn tiles(&self, model: &ModelConfig) -> u64 {
		let padded = Self { rank: self.rank.next_multiple_of(SIDE), ..*self };
		padded.parameters(model).div_ceil(u64::from(SIDE * SIDE))
	}
}

impl Compressed {
	fn check_values(&self) -> Result<(), ConfigError> {
		self.robust.check_values()?;
		let good = match self.code {
			Code::Int8 => !self.robust.sorts(),
			Code::TopK(TopK { numbers, decay, cosine }) => {
				within(decay, 0.0, 1.0)?;
				matches!(numbers, 4 | 8 | 16 | 32 | 64) && !(cosine && self.robust.sorts())
			}
		};
		match good {
			true => Ok(()),
			false => Err(ConfigError::Code),
		}
	}
}

impl Robust {
	/// Whether numbers of all deltas are sorted.
	fn sorts(&self) -> bool {
		matches!(self.rule, Rule::Median | Rule::TrimmedMean { .. })
	}

	/// Accepts limits that mean something.
	fn check_values(&self) -> Result<(), ConfigError> {
		if self.clip.get() != 0.0 {
			within(self.clip, LEAST_LIMIT, MAX_CLIP)?;
		}
		let ((limit, most), steps) = match self.rule {
			Rule::CentredClipping { radius, steps, .. } => ((radius, MAX_RADIUS), steps),
			Rule::GeometricMedian { floor, steps, .. } => ((floor, 1.0), steps),
			_ => return Ok(()),
		};
		within(limit, LEAST_LIMIT, most)?;
		match (1..=MAX_MOVES).contains(&steps) {
			true => Ok(()),
			false => Err(ConfigError::Hyperparameter),
		}
	}
}
