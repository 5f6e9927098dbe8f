//! Configuration of a model and of its training: everything that fixes the operator graph.
//!
//! Floats cross the chain as their bits (`scale-info` has no `f32`), so every float field is an [`F32`].

use crate::graph::Product;
use alloc::{vec, vec::Vec};
use codec::{Decode, DecodeWithMemTracking, Encode, MaxEncodedLen};
use neuroshard_kernels::schedule;
use scale_info::TypeInfo;

/// Newest version of the exact-f32 specification that this crate implements: it covers kernels, graph and witness format.
pub const ARITHMETIC_VERSION: u16 = 2;
/// The version in which the bits of answers changed last: what came after it is of training alone.
pub const ANSWERS_ARITHMETIC: u16 = 1;
/// Oldest one: version 1 sums the squares of a gradient over the whole of it, not unit by unit.
pub const OLDEST_ARITHMETIC: u16 = 1;

/// Most layers of a model of any family. A training step of a few more of them, however narrow, has more nodes than the protocol judges; but every
/// move of a dispute makes a plan on chain, of all stages of all layers, and pays for the largest. See [`Family::most_layers`]; of the plans of
/// adapters and of Muon the stages are counted.
pub const MAX_LAYERS: u32 = 128;

/// An `f32` carried as its IEEE-754 bits, so that it can be SCALE-encoded, hashed and compared exactly.
///
/// In JSON it is a number, written as the shortest decimal that means this float. Many readers of JSON round through `f64`, which for a
/// few floats ends one unit beside: what must be exact travels as SCALE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(into = "f32", from = "f32"))]
pub struct F32(pub u32);

impl F32 {
	/// The bits of `value`.
	pub const fn new(value: f32) -> Self {
		Self(value.to_bits())
	}
	/// The float that these bits stand for.
	#[inline]
	pub const fn get(self) -> f32 {
		f32::from_bits(self.0)
	}
}

impl From<f32> for F32 {
	fn from(value: f32) -> Self {
		Self::new(value)
	}
}

impl From<F32> for f32 {
	fn from(value: F32) -> Self {
		value.get()
	}
}

/// Decoders with RMSNorm, RoPE, grouped-query attention and SwiGLU, by what their queries, keys and values get before RoPE. Their names are those of
/// Hugging Face.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Family {
	/// Nothing.
	#[default]
	Llama,
	/// A bias of queries, of keys and of values (Qwen 2 and 2.5).
	Qwen2,
	/// RMSNorm of every head of queries, and of keys.
	Qwen3,
}

impl Family {
	/// Whether queries, keys and values have biases.
	pub const fn has_biases(self) -> bool {
		matches!(self, Self::Qwen2)
	}

	/// Whether the heads of queries and keys are normalised.
	pub const fn has_head_norms(self) -> bool {
		matches!(self, Self::Qwen3)
	}

	/// Parameter tensors of a layer.
	pub const fn tensors_per_layer(self) -> u32 {
		match self {
			Self::Llama => 9,
			Self::Qwen2 => 12,
			Self::Qwen3 => 11,
		}
	}

	/// Most layers of a model: with them, none has more tensors in its layers than [`MAX_LAYERS`] of Llama, and fewer stages in its plans.
	pub const fn most_layers(self) -> u32 {
		MAX_LAYERS * Self::Llama.tensors_per_layer() / self.tensors_per_layer()
	}
}

/// How models that were made for short texts turn by smaller angles, to read longer ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum RopeScaling {
	/// Not at all.
	#[default]
	None,
	/// All frequencies are divided by `factor` ([Chen et al. 2023](https://arxiv.org/abs/2306.15595)).
	Linear {
		/// Divisor of frequencies; more than 1.
		factor: F32,
	},
	/// Frequencies that turn less than `low` times in a text of `original` tokens are divided by `factor`, those that turn more than `high` times stay,
	/// and between them it is interpolated by the number of turns (Llama 3.1).
	Llama3 {
		/// Divisor of low frequencies; more than 1.
		factor: F32,
		/// Turns of low frequencies, at most.
		low: F32,
		/// Turns of high frequencies, at least; more than `low`.
		high: F32,
		/// Tokens of the texts that the model was made for.
		original: u32,
	},
}

impl From<RopeScaling> for schedule::RopeScaling {
	fn from(scaling: RopeScaling) -> Self {
		let number = |value: F32| f64::from(value.get());
		match scaling {
			RopeScaling::None => Self::None,
			RopeScaling::Linear { factor } => Self::Linear { factor: number(factor) },
			RopeScaling::Llama3 { factor, low, high, original } => {
				Self::Llama3 { factor: number(factor), low: number(low), high: number(high), original }
			}
		}
	}
}

/// Shape of a decoder: RMSNorm, RoPE, grouped-query attention, SwiGLU.
///
/// `vocab`, `dim`, `ffn`, and the widths of all queries and of all keys are multiples of 32; a head's is even, and where heads are normalised a
/// multiple of 32.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct ModelConfig {
	/// Rows of the embedding, a multiple of 32.
	pub vocab: u32,
	/// Width of the residual stream.
	pub dim: u32,
	/// Decoder layers.
	pub layers: u32,
	/// Query heads.
	pub heads: u32,
	/// Key and value heads; divides `heads`.
	pub kv_heads: u32,
	/// Width of the SwiGLU hidden layer.
	pub ffn: u32,
	/// Longest sequence, in tokens.
	pub max_seq: u32,
	/// Whether the output head shares the embedding matrix.
	pub tied: bool,
	/// Base of the RoPE frequencies (10,000 in Llama).
	pub rope_theta: u32,
	/// Epsilon inside the RMSNorm square root.
	pub norm_eps: F32,
	/// What queries, keys and values get before RoPE.
	#[cfg_attr(feature = "std", serde(default, skip_serializing_if = "is_default"))]
	pub family: Family,
	/// Numbers in a head, if not `dim / heads`. Never that number: a model has one configuration.
	#[cfg_attr(feature = "std", serde(default, skip_serializing_if = "is_default"))]
	pub head_dim: Option<u32>,
	/// Scaling of the RoPE frequencies.
	#[cfg_attr(feature = "std", serde(default, skip_serializing_if = "is_default"))]
	pub rope_scaling: RopeScaling,
}

/// Whether a field says what is meant without it.
#[cfg(feature = "std")]
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
	*value == T::default()
}

impl ModelConfig {
	/// A very small model for tests and benchmarks, which replace what matters to them.
	pub const fn tiny() -> Self {
		Self {
			vocab: 64,
			dim: 32,
			layers: 1,
			heads: 2,
			kv_heads: 2,
			ffn: 64,
			max_seq: 32,
			tied: true,
			rope_theta: 10_000,
			norm_eps: F32::new(1e-5),
			family: Family::Llama,
			head_dim: None,
			rope_scaling: RopeScaling::None,
		}
	}

	/// RoPE tables for so many positions from 0 on: cosines and sines, `[positions, head_dim / 2]`; see [`schedule::rope_tables`].
	///
	/// # Panics
	/// For a model that [`ModelConfig::validate`] refuses, or more than 2^20 positions.
	pub fn rope_tables(&self, positions: usize) -> (Vec<f32>, Vec<f32>) {
		let head_dim = self.head_dim() as usize;
		let (mut cos, mut sin) = (vec![0.0; positions * (head_dim / 2)], vec![0.0; positions * (head_dim / 2)]);
		schedule::rope_tables(self.rope_theta, self.rope_scaling.into(), head_dim, 0, &mut cos, &mut sin);
		(cos, sin)
	}
}

/// How the deltas of a round become one pseudo-gradient.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub enum Aggregator {
	/// Arithmetic mean.
	Mean,
	/// Per coordinate, drops the `trim` smallest and the `trim` largest values, then takes the mean.
	TrimmedMean {
		/// Values dropped at each end. Lowered to `(n - 1) / 2` when fewer deltas arrive.
		trim: u16,
	},
	/// A rule that compares whole deltas with each other, or shortens them first.
	Robust(Robust),
	/// Deltas travel as codes, and a rule combines what these stand for.
	Compressed(Compressed),
}

/// How deltas travel, and how what arrives is combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Compressed {
	/// The code.
	pub code: Code,
	/// The rule.
	pub robust: Robust,
}

/// What a delta is sent as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum Code {
	/// 8 bits a number, in multiples of the 126th part of its tile's largest: a fourth of the bytes, as
	/// [INTELLECT-1](https://arxiv.org/abs/2412.01152) sends them. Not with a rule that sorts.
	Int8,
	/// The largest numbers of each tile, 12 bits each. What they do not say is a participant's *residual*, which it adds to its next delta: error
	/// feedback, as in [SparseLoCo](https://arxiv.org/abs/2508.15706).
	TopK(TopK),
}

/// See [`Code::TopK`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct TopK {
	/// Numbers of 4 bytes that the code of a tile takes, of the tile's 1,024: 4, 8, 16, 32 or 64. They hold the 7, 17, 37, 77 or 157 largest.
	pub numbers: u8,
	/// What the residual is multiplied by before a delta is added; up to 1.
	pub decay: F32,
	/// Whether the largest of the tile's cosine transform are sent, as in [DeMo](https://arxiv.org/abs/2411.19870). Not with a rule that sorts.
	pub cosine: bool,
}

/// A rule that bears liars, and what is done to deltas before it. Limits are multiples of a lower median over the deltas, so that they hold for a whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Robust {
	/// Longer deltas are shortened to this many times the median norm; 0 to leave them as they are.
	pub clip: F32,
	/// The rule.
	pub rule: Rule,
}

/// How deltas are combined by [`Robust`]. So many liars as a rule names are lowered to what it bears when fewer deltas arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum Rule {
	/// Arithmetic mean.
	Mean,
	/// Median of each coordinate; of an even number of deltas the mean of the two in the middle.
	Median,
	/// As [`Aggregator::TrimmedMean`].
	TrimmedMean {
		/// Values dropped at each end.
		trim: u16,
	},
	/// The delta that is nearest to its n - liars - 1 nearest others, by the sum of squared distances
	/// ([Blanchard et al. 2017](https://arxiv.org/abs/1703.02757)).
	Krum {
		/// Liars that it bears.
		liars: u16,
	},
	/// The mean of the n - liars deltas that Krum puts first.
	MultiKrum {
		/// Liars that it bears.
		liars: u16,
	},
	/// A centre that moves `steps` times by the mean of the ways to all deltas, long ones shortened
	/// ([Karimireddy et al. 2021](https://arxiv.org/abs/2012.10333)). Each delta is mixed first: with the n - liars - 1 others that are nearest to it
	/// ([Allouah et al. 2023](https://arxiv.org/abs/2302.01772)).
	CentredClipping {
		/// Liars that it bears.
		liars: u16,
		/// Longest way, in multiples of the median distance; up to [`MAX_RADIUS`].
		radius: F32,
		/// From 1 to [`MAX_MOVES`].
		steps: u8,
	},
	/// `steps` steps of smoothed Weiszfeld towards the geometric median ([Pillutla et al. 2022](https://arxiv.org/abs/1912.13445)) of mixed deltas, as above.
	GeometricMedian {
		/// Liars that it bears.
		liars: u16,
		/// Distance below which deltas count alike, in multiples of the median distance; up to 1.
		floor: F32,
		/// From 1 to [`MAX_MOVES`].
		steps: u8,
	},
	/// The mean by inner steps, for machines of different speed: a participant takes as many as its machine does in time, and its delta weighs, and is paid,
	/// by them.
	WeightedMean {
		/// Fewest inner steps of a participant; up to [`TrainConfig::inner_steps`], which are the most.
		least_steps: u32,
	},
	/// As [`Rule::MultiKrum`], of mixed deltas, as above: lies that hide among the others' deltas keep closer to each other than to those, and honest deltas
	/// mix with honest ones. For at most [`MAX_MIXED`] deltas.
	MixedKrum {
		/// Liars that it bears.
		liars: u16,
	},
}

/// Most deltas of [`Rule::MixedKrum`], whose distances from each other are judged in one piece: its time grows with the cube of their number.
pub const MAX_MIXED: u32 = 64;
/// Most steps of a rule that moves a centre.
pub const MAX_MOVES: u8 = 8;
/// Smallest limit of a robust rule that is not 0.
pub const LEAST_LIMIT: f32 = 1e-6;
/// Largest clip of a robust rule.
pub const MAX_CLIP: f32 = 1e6;
/// Largest radius of centred clipping.
pub const MAX_RADIUS: f32 = 8.0;

/// The inner optimizer, its schedule, the batch, and the DiLoCo outer optimizer.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize))]
pub struct TrainConfig {
	/// Version of the exact-f32 specification; see [`ARITHMETIC_VERSION`].
	pub arithmetic_version: u16,
	/// Seed of theta_0; in JSON hexadecimal digits after `0x`.
	#[cfg_attr(feature = "std", serde(with = "crate::hexadecimal"))]
	pub seed: [u8; 32],
	/// Sequences per inner step.
	pub batch: u32,
	/// Tokens per sequence, a multiple of 32 and at most the model's `max_seq`.
	pub seq_len: u32,
	/// Inner steps of a round (H); with [`Rule::WeightedMean`] the most of them.
	pub inner_steps: u32,
	/// Inner steps between two committed states (S); at most 64 roots a round.
	pub commit_interval: u32,
	/// Peak learning rate of the inner optimizer.
	pub lr: F32,
	/// Learning rate at the end of the cosine schedule.
	pub lr_min: F32,
	/// Steps of linear warm-up, counted over the whole run.
	pub warmup_steps: u32,
	/// Steps of the whole schedule; 0 for an unlimited run: warm-up, then constant.
	pub total_steps: u32,
	/// AdamW first-moment decay.
	pub beta1: F32,
	/// AdamW second-moment decay, at least that of the first moment.
	pub beta2: F32,
	/// AdamW epsilon, at least 1e-16.
	pub eps: F32,
	/// Decoupled weight decay.
	pub weight_decay: F32,
	/// Gradient-norm clip.
	pub clip: F32,
	/// Learning rate of the outer Nesterov step.
	pub outer_lr: F32,
	/// Momentum of the outer Nesterov step.
	pub outer_beta: F32,
	/// How deltas are combined.
	pub aggregator: Aggregator,
	/// Sequences of held-out text that the validation loss is measured on.
	pub validation_sequences: u32,
	/// Whether the tokens of the dataset say which of them are targets of the loss: see [`crate::corpus::MASK`]. The mean is over those.
	#[cfg_attr(feature = "std", serde(default, skip_serializing_if = "is_default"))]
	pub masked: bool,
	/// What is trained beside a model that stays as it is; `None` to train the model itself.
	#[cfg_attr(feature = "std", serde(default, skip_serializing_if = "is_default"))]
	pub adapter: Option<Adapter>,
	/// What the products of the layers are computed in.
	#[cfg_attr(feature = "std", serde(default, skip_serializing_if = "is_default"))]
	pub products: Products,
	/// What changes the weights of the layers' projections.
	#[cfg_attr(feature = "std", serde(default, skip_serializing_if = "is_default"))]
	pub optimizer: Optimizer,
}

/// What the seven projections of a layer are multiplied in, forwards and backwards, in a training step. All else is f32: the parameters that are trained,
/// the head, attention, norms, the optimizer and the validation loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Products {
	/// Exact f32.
	#[default]
	F32,
	/// Exact int8: each 32x32 block of both operands is quantized to 8 bits with one scale, as in [Jetfire](https://arxiv.org/abs/2403.12422). Beside an
	/// adapter it is the model's projections, which are not trained; those of A and B stay f32.
	Int8,
}

impl Products {
	/// Kinds of a projection's product, of that back through it, and of that of its weight's gradient.
	pub(crate) const fn kinds(self) -> [Product; 3] {
		match self {
			Self::F32 => [Product::Nt, Product::Nn, Product::Tn],
			Self::Int8 => [Product::Int8Nt, Product::Int8Nn, Product::Int8Tn],
		}
	}
}

/// What changes the weights of the seven projections of a layer. All other parameters, embeddings, head, norms and biases, have AdamW.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum Optimizer {
	/// AdamW.
	#[default]
	AdamW,
	/// Nesterov momentum that is orthogonalised by five Newton-Schulz steps ([Jordan 2024](https://kellerjordan.github.io/posts/muon/)), with the learning
	/// rate and decay of AdamW: directions are as large as AdamW's ([Liu et al. 2025](https://arxiv.org/abs/2502.16982)). Not of an adapter.
	Muon {
		/// Decay of the momentum, up to 0.9999; 0.95 is usual.
		momentum: F32,
	},
}

impl Optimizer {
	/// Decay of Muon's momentum; `None` for AdamW.
	pub const fn momentum(self) -> Option<F32> {
		match self {
			Self::AdamW => None,
			Self::Muon { momentum } => Some(momentum),
		}
	}
}

/// A low-rank adapter ([Hu et al. 2021](https://arxiv.org/abs/2106.09685)): a projection `y = x W^T` of the *base* becomes
/// `y + (alpha / rank) (x A^T) B^T`. Only A and B are trained: vectors of the run are the adapter's, and the base is named by its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(feature = "std", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Adapter {
	/// Root over the tiles of the base's parameters: see [`crate::commit::tensors_root`]. In JSON hexadecimal digits after `0x`.
	#[cfg_attr(feature = "std", serde(with = "crate::hexadecimal"))]
	pub base: [u8; 32],
	/// Rows of A and columns of B, from 1 to [`MAX_RANK`].
	pub rank: u32,
	/// What the product of both is multiplied by, times `rank`.
	pub alpha: F32,
	/// Which projections have one, in every layer.
	pub projections: Projections,
}

/// Largest rank of an [`Adapter`].
pub const MAX_RANK: u32 = 256;

/// Projections of a layer, in the order of [`crate::ParamLayout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Projection {
	/// Of queries.
	Q,
	/// Of keys.
	K,
	/// Of values.
	V,
	/// Of attention's output.
	O,
	/// Of the gate.
	Gate,
	/// Of what the gate lets through.
	Up,
	/// Back to the residual stream.
	Down,
}

impl Adapter {
	/// What the product of A and B is multiplied by.
	pub fn scale(&self) -> f32 {
		// Ranks up to 256 are exact.
		self.alpha.get() / self.rank as f32
	}

	/// What parameters of an adapter mean something for: all of it but alpha, with which training may go on as with another learning rate.
	pub const fn place(&self) -> ([u8; 32], u32, Projections) {
		(self.base, self.rank, self.projections)
	}
}

impl Projection {
	/// All of them.
	pub const ALL: [Self; 7] = [Self::Q, Self::K, Self::V, Self::O, Self::Gate, Self::Up, Self::Down];

	/// Its name in Hugging Face's models, as PEFT's `target_modules` have it.
	pub const fn name(self) -> &'static str {
		match self {
			Self::Q => "q_proj",
			Self::K => "k_proj",
			Self::V => "v_proj",
			Self::O => "o_proj",
			Self::Gate => "gate_proj",
			Self::Up => "up_proj",
			Self::Down => "down_proj",
		}
	}

	/// Its bit in [`Projections`].
	const fn bit(self) -> u8 {
		match self {
			Self::Q => 1,
			Self::K => 2,
			Self::V => 4,
			Self::O => 8,
			Self::Gate => 16,
			Self::Up => 32,
			Self::Down => 64,
		}
	}
}

/// A set of projections; in JSON their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
#[cfg_attr(
	feature = "std",
	derive(serde::Serialize, serde::Deserialize),
	serde(into = "Vec<&'static str>", try_from = "Vec<alloc::string::String>")
)]
pub struct Projections(u8);

impl Projections {
	/// All seven.
	pub const ALL: Self = Self(127);

	/// Whether `projection` is among them.
	pub const fn has(self, projection: Projection) -> bool {
		self.0 & projection.bit() != 0
	}

	/// Those among them, in order.
	pub fn iter(self) -> impl Iterator<Item = Projection> {
		Projection::ALL.into_iter().filter(move |&projection| self.has(projection))
	}

	/// Whether there is one, and nothing else.
	pub(crate) const fn is_valid(self) -> bool {
		self.0 != 0 && self.0 <= Self::ALL.0
	}
}

impl FromIterator<Projection> for Projections {
	fn from_iter<I: IntoIterator<Item = Projection>>(projections: I) -> Self {
		Self(projections.into_iter().fold(0, |bits, projection| bits | projection.bit()))
	}
}

#[cfg(feature = "std")]
impl From<Projections> for Vec<&'static str> {
	fn from(projections: Projections) -> Self {
		projections.iter().map(Projection::name).collect()
	}
}

#[cfg(feature = "std")]
impl TryFrom<Vec<alloc::string::String>> for Projections {
	type Error = alloc::string::String;

	fn try_from(names: Vec<alloc::string::String>) -> Result<Self, Self::Error> {
		let find = |name: alloc::string::String| {
			let found = Projection::ALL.into_iter().find(|projection| projection.name() == name);
			found.ok_or_else(|| {
				alloc::format!("there is no projection {name}: they are {}", Projection::ALL.map(Projection::name).join(", "))
			})
		};
		names.into_iter().map(find).collect()
	}
}

impl TrainConfig {
	/// A very short training of [`ModelConfig::tiny`] for tests and benchmarks, which replace what matters to them.
	pub const fn tiny() -> Self {
		Self {
			arithmetic_version: ARITHMETIC_VERSION,
			seed: [5; 32],
			batch: 2,
			seq_len: 32,
			inner_steps: 4,
			commit_interval: 2,
			lr: F32::new(1e-3),
			lr_min: F32::new(1e-4),
			warmup_steps: 2,
			total_steps: 0,
			beta1: F32::new(0.9),
			beta2: F32::new(0.95),
			eps: F32::new(1e-8),
			weight_decay: F32::new(0.1),
			clip: F32::new(1.0),
			outer_lr: F32::new(1.0),
			outer_beta: F32::new(0.0),
			aggregator: Aggregator::Mean,
			validation_sequences: 4,
			masked: false,
			adapter: None,
			products: Products::F32,
			optimizer: Optimizer::AdamW,
		}
	}
}

/// Why a configuration is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error, Encode, Decode, DecodeWithMemTracking, MaxEncodedLen, TypeInfo)]
pub enum ConfigError {
	/// A dimension is zero or not a multiple of what the field's documentation asks.
	#[error(
		"a dimension is zero or not a multiple of what it must be (32 for vocab, dim, ffn, query and key width, sequence, and a head with a norm)"
	)]
	Dimension,
	/// `kv_heads` does not divide `heads`, `heads` does not divide `dim` where there is no `head_dim`, or `head_dim` is `dim / heads`.
	#[error(
		"kv_heads must divide heads; heads must divide dim, or head_dim be given, and not as dim / heads, which it is without being given"
	)]
	Heads,
	/// `batch * heads * seq_len^2` exceeds 2^28, `batch * seq_len` 2^22, or `batch * seq_len * heads` 2^22 where heads are normalised; or the step
	/// would have more than 8,448 nodes, or with an adapter or Muon more stages than any without; or the model or its adapter more than 2^31 parameters, or the
	/// model more layers than its family has.
	#[error(
		"the model, the batch or the adapter is too large; use fewer sequences, shorter ones, a smaller model, an adapter of fewer projections or ranks, or AdamW, with which a model may have more layers than with Muon"
	)]
	TooLarge,
	/// `arithmetic_version` is not one that this build implements.
	#[error("this build does not implement the configuration's arithmetic version")]
	ArithmeticVersion,
	/// `commit_interval` is zero, longer than 16,384 steps, or leads to more than 64 state roots a round.
	#[error("commit_interval must be at most 16,384 steps and lead to between 1 and 64 state roots a round")]
	CommitInterval,
	/// A float is not finite or outside its range.
	#[error("a learning rate, decay, epsilon, clip or schedule value is out of range")]
	Hyperparameter,
	/// A code of a length that there is none of, or whose tiles a rule that sorts cannot be judged with.
	#[error(
		"numbers of a code must be 4, 8, 16, 32 or 64; Median and TrimmedMean sort numbers of all deltas, and go with TopK without cosine only"
	)]
	Code,
	/// A weighted mean's fewest inner steps are none, or more than the most.
	#[error("least_steps of WeightedMean must be from 1 to inner_steps")]
	LeastSteps,
	/// An adapter has no projection, a rank of 0 or more than [`MAX_RANK`], or an alpha that is not above 0.
	#[error("an adapter has a rank from 1 to 256, an alpha above 0 and up to 1,000,000, and at least one projection")]
	Adapter,
	/// Muon trains an adapter, or its momentum is not from 0 to 0.9999.
	#[error("Muon has a momentum from 0 to 0.9999, and trains a model, not an adapter: leave one of optimizer and adapter out")]
	Optimizer,
}
