//! Shapes and parameters of operators, shared by the scalar reference and executors.

use alloc::vec::Vec;
use core::ops::Range;

/// Side of the square tiles that tensors are committed and reduced by.
pub const TILE: usize = 32;
/// Partial sums that one node of a whole-tensor reduction adds up.
pub const FAN_IN: usize = 1024;
/// Longest chain of a product over tokens; longer ones are cut into segments of this length.
pub const SEGMENT: usize = 4096;

/// Neighbouring numbers along the chain of a product that share a scale where they are held in 8 bits.
pub const GROUP: usize = 32;

/// Tiles of a vector whose distances are one sum: a vector's list of tiles is cut into segments of this length.
pub const SUMMED_TILES: usize = 256;

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
	pub fn check(&self, a: &[f32], b: &[f32], c: &[f32]) {
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
	#[inline]
	pub fn query_len(&self) -> usize {
		self.batch * self.seq * self.query_width()
	}
	/// Length of a key or value tensor.
	#[inline]
	pub fn key_len(&self) -> usize {
		self.batch * self.seq * self.key_width()
	}
	/// Numbers in a token's queries.
	#[inline]
	pub fn query_width(&self) -> usize {
		self.heads * self.head_dim
	}
	/// Numbers in a token's keys.
	#[inline]
	pub fn key_width(&self) -> usize {
		self.kv_heads * self.head_dim
	}
	/// Length of a tensor of scores `[batch * heads * seq, seq]`: row `(b * heads + h) * seq + i` is query `i` of head `h`.
	#[inline]
	pub fn score_len(&self) -> usize {
		self.batch * self.heads * self.seq * self.seq
	}
	/// Query heads that share a key head.
	#[inline]
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
	pub fn check(&self, x: &[f32], cos: &[f32], sin: &[f32]) {
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

/// Scalars of one step of Muon on a tensor; see [`crate::schedule`] for how they are computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Muon {
	/// Learning rate of this step, times [`crate::schedule::muon_scale`] of the tensor.
	pub rate: f32,
	/// Decay of the momentum.
	pub momentum: f32,
	/// `1 - lr * weight_decay`.
	pub decay: f32,
	/// Factor of the gradient, from [`crate::scalar::clip_scale`].
	pub clip: f32,
}

/// Tiles of a `[rows, cols]` tensor: edge tiles count as whole ones.
#[inline]
pub fn tile_count(rows: usize, cols: usize) -> usize {
	rows.div_ceil(TILE) * cols.div_ceil(TILE)
}

/// Tensors that follow each other in one vector, and their tiles: tensor after tensor, row by row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tiling {
	/// By tensor: first element, rows, columns, and first tile.
	tensors: Vec<[usize; 4]>,
	len: usize,
	tiles: usize,
}

impl Tiling {
	/// Of tensors with so many rows and columns.
	pub fn new(shapes: impl IntoIterator<Item = (usize, usize)>) -> Self {
		let mut tiling = Self::default();
		for (rows, cols) in shapes {
			tiling.tensors.push([tiling.len, rows, cols, tiling.tiles]);
			tiling.len += rows * cols;
			tiling.tiles += tile_count(rows, cols);
		}
		tiling
	}

	/// Elements of the vector.
	pub fn len(&self) -> usize {
		self.len
	}

	/// Whether there is no element.
	pub fn is_empty(&self) -> bool {
		self.len == 0
	}

	/// Number of tiles.
	pub fn tiles(&self) -> usize {
		self.tiles
	}

	/// Rows and columns of each tensor.
	pub fn shapes(&self) -> impl Iterator<Item = [usize; 2]> + '_ {
		self.tensors.iter().map(|&[_, rows, cols, _]| [rows, cols])
	}

	/// Segments of [`SUMMED_TILES`] tiles; the last may be shorter.
	pub fn segments(&self) -> usize {
		self.tiles.div_ceil(SUMMED_TILES)
	}

	/// Tiles of a segment; none beyond the last.
	pub fn segment(&self, segment: usize) -> Range<usize> {
		let first = segment.saturating_mul(SUMMED_TILES).min(self.tiles);
		first..first.saturating_add(SUMMED_TILES).min(self.tiles)
	}

	/// Copies tile `tile` of `vector`, of which there is one; +0 beyond its tensor's edge.
	pub fn gather(&self, vector: &[f32], tile: usize, out: &mut [f32; TILE * TILE]) {
		let after = self.tensors.partition_point(|&[.., first]| first <= tile);
		let [start, rows, cols, first] = self.tensors[after - 1];
		let across = cols.div_ceil(TILE);
		let (top, left) = ((tile - first) / across * TILE, (tile - first) % across * TILE);
		let (height, width) = (TILE.min(rows - top), TILE.min(cols - left));
		if (height, width) != (TILE, TILE) {
			out.fill(0.0);
		}
		for (row, out) in (top..top + height).zip(out.as_chunks_mut::<TILE>().0) {
			let at = start + row * cols + left;
			out[..width].copy_from_slice(&vector[at..at + width]);
		}
	}
}

/// What the distances of vectors are measured from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distance {
	/// From each other: a square of numbers for each segment.
	Pairs,
	/// From zero, so that they are norms: one row of numbers for each segment, and 31 of zeros.
	Norms,
}

impl Distance {
	/// Rows and columns that hold the distances of `count` vectors.
	pub fn block(self, count: usize) -> (usize, usize) {
		let side = count.next_multiple_of(TILE);
		match self {
			Self::Pairs => (side, side),
			Self::Norms => (TILE, side),
		}
	}
}

/// Vectors whose distances are measured: the number at index e of vector i is `factors[i] * vectors[i][e]`, or as it is without factors.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
	/// Their tensors.
	pub tiling: &'a Tiling,
	/// The vectors.
	pub vectors: &'a [&'a [f32]],
	/// A factor of each, or nothing.
	pub factors: &'a [f32],
}

impl Measured<'_> {
	/// Asserts that the lengths match, `out` being that of all segments.
	pub fn check(&self, from: Distance, out: &[f32]) {
		let len = self.tiling.len();
		assert!(!self.vectors.is_empty() && self.vectors.iter().all(|vector| vector.len() == len), "vectors");
		assert!(self.factors.is_empty() || self.factors.len() == self.vectors.len(), "factors");
		let (rows, cols) = from.block(self.vectors.len());
		assert_eq!(out.len(), self.tiling.segments() * rows * cols, "sums");
	}
}
