//! The vocabulary of operator graphs: tensors, operators, stages and nodes.
//!
//! A *stage* is one operator applied to whole tensors. A *node* is a run of rows of a stage's outputs: as many rows of tiles as
//! [`MAX_TILES_PER_NODE`] allows, and at least one. Nodes are numbered through all stages; operator, inputs, outputs and shapes of
//! any node follow from its number ([`crate::plan::Plan::node`]), so that nobody ever has to send a graph.
//!
//! Tensors are values: each is written by one stage and never changes. Two values may share memory when the second is
//! only needed after the first, which is how operators work in place.

use crate::{config::Code, outer::Weighing};
use alloc::vec::Vec;
pub use neuroshard_kernels::shape::Distance;

/// Most tiles that a node of several rows of tiles outputs.
pub const MAX_TILES_PER_NODE: u32 = 2_048;
/// Most tiles in a row of tiles, across all outputs of a stage: a row of logits of the largest vocabulary has so many. A dispute posts their hashes as one list.
pub const MAX_TILES_PER_ROW: u32 = 8_192;
const _: () = assert!(MAX_TILES_PER_ROW >= crate::MAX_TRAINED_VOCAB / 32 && MAX_TILES_PER_ROW <= crate::game::MAX_LIST);
/// Most nodes of one plan.
pub const MAX_NODES: u32 = 8_448;

/// Number of a tensor within its plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TensorId(
	/// From 0.
	pub u32,
);

/// Where a tensor's values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
	/// At this offset of the arena, in elements; a multiple of 16.
	Arena(u64),
	/// Nowhere: it exists only between stages that execution fuses into one operator.
	Fused,
	/// With the caller: tokens, or the tensors of a checkpoint or delta.
	External,
}

/// Shape and place of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorInfo {
	/// Rows.
	pub rows: u32,
	/// Columns.
	pub cols: u32,
	/// Where it is.
	pub place: Place,
}

impl TensorInfo {
	/// Elements.
	#[inline]
	pub fn len(&self) -> u64 {
		u64::from(self.rows) * u64::from(self.cols)
	}

	/// Whether there is no element; never true in a plan.
	pub fn is_empty(&self) -> bool {
		self.len() == 0
	}
}

/// Which operands of a matrix product are transposed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Product {
	/// `a b^T`: activations times a weight.
	Nt,
	/// `a b`: a gradient back through a weight.
	Nn,
	/// `a^T b`: gradient of a weight, a chain over tokens in segments of 4,096; and so of any chain over rows.
	Tn,
	/// `a b^T` of rows that are quantized in groups of 32: activations times a weight in [`crate::Class::ExactInt8`].
	Int8,
	/// [`Product::Nt`] of operands that are quantized in 32x32 blocks, as the next two are: see [`crate::config::Products::Int8`].
	Int8Nt,
	/// [`Product::Nn`] of quantized blocks.
	Int8Nn,
	/// [`Product::Tn`] of quantized blocks.
	Int8Tn,
}

impl Product {
	/// Whether it is a gradient of a weight: its chains go over tokens, which are the rows of both operands.
	pub const fn over_tokens(self) -> bool {
		matches!(self, Self::Tn | Self::Int8Tn)
	}
}

/// Which elements of a row count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
	/// All of them.
	Row,
	/// Those up to the row's position in its sequence: a query's keys. The others are +0 wherever they are written.
	Causal,
}

/// An operator. The comment gives `inputs -> outputs`; formulas and orders are those of the kernel it names in
/// [`neuroshard_kernels::scalar`]. An input in brackets is the value that accumulation starts from, zero without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
	/// `-> theta`: see [`crate::init`].
	Init,
	/// `tokens, table -> x`: `embedding_gather`.
	Gather,
	/// `x -> r`: `rms_stats` of as many heads of each row as `r` has columns, one for a norm of whole rows; so are the operators with `r` below.
	RmsStats,
	/// `x, r, w -> y`: `rms_apply`.
	RmsApply,
	/// `a, b, [c] -> c'`: `matmul_nt`, `matmul_nn`, `matmul_tn`, `matmul_int8`, `matmul_int8_nt`, `matmul_int8_nn`, `matmul_int8_tn`.
	Product(Product),
	/// `x, b -> y`: `add_bias`.
	AddBias,
	/// `x -> y`: `scale` by an adapter's alpha by its rank.
	Scale,
	/// `x -> y`: `rope_forward` for heads of the given number.
	Rope {
		/// Heads in a row.
		heads: u32,
	},
	/// `q, k -> s`: scaled products of each query with the keys up to it, +0 for later keys; row `(b * heads + h) * seq + i`.
	Scores,
	/// `s -> max`: maximum of each row in the total order.
	RowMax(Extent),
	/// `s, max -> sum`: sum by lanes of `exp(s - max)` of each row.
	ExpSum(Extent),
	/// `s, max, sum -> p`: `exp(s - max) * (1 / sum)`.
	Softmax,
	/// `p, v -> o`: weighted sum of values. Scores to Context are `attention_forward`.
	Context,
	/// `gate, up -> h`: `swiglu_forward`.
	Swiglu,
	/// `targets -> counts`: `count_targets`. Only where the dataset is masked.
	CountTargets,
	/// `logits, targets, max, sum -> loss`: `cross_entropy_loss`.
	LossRows,
	/// `x -> partials`: `tile_sums`. Partial sums stand in rows of 32, so that a tile of them is what one sum of the tree adds up;
	/// the last row is filled up with zeros.
	TileSums,
	/// `partials -> sums`: one level of `tree_sum`.
	TreeSum,
	/// `sum, [count] -> mean`: times the reciprocal of the number of tokens, or of the sum of counts.
	MeanLoss,
	/// `logits, targets, max, sum, [count] -> d_logits`: `cross_entropy_backward`.
	LossBack,
	/// `dy, x, r, w -> k`: `rms_backward_stats`.
	RmsBackStats,
	/// `dy, x, r, k, w, [dx] -> dx'`: `rms_backward_apply`.
	RmsBackApply,
	/// `dy, x, r -> dw`: `rms_weight_grad`.
	RmsWeightGrad,
	/// `dy -> db`: `column_sums`.
	ColumnSums,
	/// `dh, gate, up -> d_gate, d_up`: `swiglu_backward`.
	SwigluBack,
	/// `d_o, o -> d`: sum of products of each head's row, by lanes.
	HeadDots,
	/// `d_o, v -> dp`: gradient of the probabilities, +0 for later keys.
	ProbabilityBack,
	/// `p, dp, d -> ds`: `(p * (dp - d)) * scale`.
	ScoreBack,
	/// `ds, k -> dq`: keys ascending.
	QueryBack,
	/// `ds, q -> dk`: heads of the group ascending, then queries.
	KeyBack,
	/// `p, d_o -> dv`: as KeyBack. HeadDots to ValueBack are `attention_backward`.
	ValueBack,
	/// `dx -> dx'`: `rope_backward`.
	RopeBack {
		/// Heads in a row.
		heads: u32,
	},
	/// `dx, tokens, [grad] -> grad'`: `embedding_scatter_add`.
	ScatterAdd,
	/// `gradients -> partials`: `tile_sum_squares` of every gradient of a unit in layout order, or of all of them; or of one direction of Muon.
	SquareTiles,
	/// `sums -> sum`: all their numbers added up from +0 in their order, inputs of one row each. They are those of the [units](crate::span) of the model.
	AddUp,
	/// `sum of squares -> factor`: `clip_scale`.
	ClipScale,
	/// `p, m, v, g, factor -> p', m', v'`: `adamw`.
	AdamW,
	/// `m, g, factor -> u`: `muon_direction`.
	MuonDirection,
	/// `u, sum of squares -> x`: `muon_normalize`.
	MuonNormalize,
	/// `a, aa -> b`: `muon_polynomial`.
	MuonPolynomial,
	/// `p, m, g, factor, x -> p', m', v'`: `muon`. No second moment is needed: it stays +0.
	Muon,
	/// `theta_r, theta_h -> delta`: `sub`.
	Delta,
	/// `-> code`: see [`crate::code`]. Its inputs, those of [`Op::Delta`] and the residual before if the code leaves one, are not listed.
	Encode(Code),
	/// `theta_r, theta_h, residual -> residual'`: what the code does not say.
	Residual(Code),
	/// `deltas -> g`: `mean`.
	Mean,
	/// `deltas -> g`: `trimmed_mean`.
	TrimmedMean {
		/// Values dropped at each end.
		trim: u32,
	},
	/// `[factors] -> sums`: `distance_sums` of the job's deltas, which are not listed.
	DistanceSums(Distance),
	/// `sums -> squares`: blocks of a segment each, added in ascending order.
	Distances(Distance),
	/// `[squares], [factors] -> w`: see [`Weighing`].
	Weights(Weighing),
	/// `w -> g`: `weighted_sum` of tensor `slot` of the job's deltas, which are not listed.
	WeightedSum {
		/// Number of the tensor in the layout.
		slot: u32,
	},
	/// `[factors] -> g`: `trimmed_mean` of tensor `slot` of the job's deltas, which are not listed, times their factors.
	ClippedTrimmedMean {
		/// Number of the tensor in the layout.
		slot: u32,
		/// Values dropped at each end.
		trim: u32,
	},
	/// `theta, m, g -> theta', m'`: `nesterov`.
	Nesterov,
}

/// Where a tensor's values come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
	/// A stage writes it.
	Stage {
		/// Number of the stage.
		stage: u32,
		/// Which of its outputs.
		output: u32,
	},
	/// Tensor of a vector in parameter layout that the job starts from. Training: 0 parameters, 1 first and 2 second moments; of an adapter 3 its base,
	/// in the layout of the model; of a span then what it is given, one tensor each: see [`crate::plan::Seams`]. Delta:
	/// 0 the round's start, 1 its end, 2 the residual before. Outer step: 0 parameters, 1 momentum, then the deltas, or their codes of one tensor
	/// each.
	Vector {
		/// Which vector.
		vector: u32,
		/// Which tensor of the layout.
		tensor: u32,
	},
	/// The identifiers of a batch, or the targets, which are one token further on.
	Tokens,
}

/// Which rows of an input a node reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
	/// The rows that it writes.
	SameRows,
	/// All of them (a node needs fewer where causality or the operator says so).
	Whole,
}

/// One operator on whole tensors. What it reads and writes is in the plan: see [`crate::plan::Plan::inputs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stage {
	/// The operator.
	pub op: Op,
	/// First and end in the plan's list of what all stages read.
	pub(crate) inputs: [u32; 2],
	/// First and end in the plan's list of what all stages write.
	pub(crate) outputs: [u32; 2],
	/// Rows of each output.
	pub rows: u32,
	/// Rows that one node writes, a multiple of 32; the last node may have fewer.
	pub rows_per_node: u32,
	/// Number of the first node.
	pub first_node: u32,
}

impl Stage {
	/// Nodes of the stage.
	pub fn nodes(&self) -> u32 {
		self.rows.div_ceil(self.rows_per_node)
	}
}

/// Consecutive rows of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowSlice {
	/// The tensor.
	pub tensor: TensorId,
	/// First row.
	pub first: u32,
	/// Number of rows.
	pub rows: u32,
}

/// One node of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
	/// The operator.
	pub op: Op,
	/// What it reads.
	pub inputs: Vec<RowSlice>,
	/// What it writes.
	pub outputs: Vec<RowSlice>,
}
