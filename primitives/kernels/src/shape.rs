//! Shapes and parameters of operators, shared by the scalar reference and [`crate::exec`].

/// Side of the square tiles that tensors are committed and reduced by.
pub const TILE: usize = 32;
/// Partial sums that one node of a whole-tensor reduction adds up.
pub const FAN_IN: usize = 1024;
/// Longest chain of a product over tokens; longer ones are cut into segments of this length.
pub const SEGMENT: usize = 4096;

/// Neighbouring numbers along the chain of a product that share a scale where they are held in 8 bits.
pub const GROUP: usize = 32;

/// What an accumulating operator starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
	/// From +0; what the output holds is ignored.
	Zero,
	/// From what the output holds.
	Existing,
}

/// Dimensions of a matrix product: `[m, n]` outputs, each a chain over `k`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatDims {
	/// Rows of the output.
	pub m: usize,
	/// Columns of the output.
	pub n: usize,
	/// Length of each output's chain.
	pub k: usize,
}

impl MatDims {
	/// Asserts that the slices have the lengths `m * k`, `k * n` and `m * n`.
	pub(crate) fn check(&self, a: &[f32], b: &[f32], c: &[f32]) {
		assert_eq!(a.len(), self.m * self.k, "left operand");
		assert_eq!(b.len(), self.k * self.n, "right operand");
		assert_eq!(c.len(), self.m * self.n, "output");
	}
}

/// Shape of causal grouped-query attention over `[batch, seq, heads * head_dim]` queries and `[batch, seq, kv_heads * head_dim]` keys and values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttentionDims {
	/// Sequences.
	pub batch: usize,
	/// Tokens of a sequence.
	pub seq: usize,
	/// Query heads.
	pub heads: usize,
	/// Key and value heads; divides `heads`. Query head `h` reads key head `h / (heads / kv_heads)`.
	pub kv_heads: usize,
	/// Numbers in a head.
	pub head_dim: usize,
}

impl AttentionDims {
	/// Length of a query, output or their gradients' tensor.
	pub fn query_len(&self) -> usize {
		self.batch * self.seq * self.query_width()
	}
	/// Length of a key or value tensor.
	pub fn key_len(&self) -> usize {
		self.batch * self.seq * self.key_width()
	}
	/// Numbers in a token's queries.
	pub fn query_width(&self) -> usize {
		self.heads * self.head_dim
	}
	/// Numbers in a token's keys.
	pub fn key_width(&self) -> usize {
		self.kv_heads * self.head_dim
	}
	/// Length of a tensor of scores `[batch * heads * seq, seq]`: row `(b * heads + h) * seq + i` is query `i` of head `h`.
	pub fn score_len(&self) -> usize {
		self.batch * self.heads * self.seq * self.seq
	}
	/// Query heads that share a key head.
	pub fn group(&self) -> usize {
		self.heads / self.kv_heads
	}
}

/// Shape of a tensor that rotary position embedding turns: `[batch, seq, heads * head_dim]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RopeDims {
	/// Tokens of a sequence, which is also the number of rows of the tables.
	pub seq: usize,
	/// Heads of a token.
	pub heads: usize,
	/// Numbers in a head; even. The first half of a head turns with the second.
	pub head_dim: usize,
}

impl RopeDims {
	/// Asserts that the tensor and the tables fit.
	pub(crate) fn check(&self, x: &[f32], cos: &[f32], sin: &[f32]) {
		assert!(self.head_dim.is_multiple_of(2) && x.len().is_multiple_of(self.seq * self.heads * self.head_dim), "rope shape");
		assert!(cos.len() == self.seq * self.head_dim / 2 && sin.len() == cos.len(), "rope tables");
	}
}

/// Scalars of one AdamW step; see [`crate::schedule`] for how they are computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AdamW {
	/// Learning rate of this step.
	pub lr: f32,
	/// Decay of the first moment.
	pub beta1: f32,
	/// `1 - beta1`.
	pub complement1: f32,
	/// Decay of the second moment.
	pub beta2: f32,
	/// `1 - beta2`.
	pub complement2: f32,
	/// `1 / (1 - beta1^t)`.
	pub correction1: f32,
	/// `1 / (1 - beta2^t)`.
	pub correction2: f32,
	/// Added to the root of the second moment.
	pub eps: f32,
	/// `1 - lr * weight_decay`; 1 for tensors without weight decay.
	pub decay: f32,
	/// Factor of the gradient, from [`crate::scalar::clip_scale`].
	pub clip: f32,
}

/// Tiles of a `[rows, cols]` tensor: edge tiles count as whole ones.
pub fn tile_count(rows: usize, cols: usize) -> usize {
	rows.div_ceil(TILE) * cols.div_ceil(TILE)
}
