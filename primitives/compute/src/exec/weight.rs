//! The weights of a model that answers, packed for this machine in the class that it answers in.

use super::Exec;
use crate::native::{Packed, PackedInt8, Quantized};
use neuroshard_graph::class::Class;
use neuroshard_kernels::shape::Start;

/// A matrix `[n, k]`.
pub enum Weight {
	/// In exact f32.
	F32(Packed),
	/// In groups of 8-bit numbers.
	Int8(PackedInt8),
}

impl Weight {
	/// Packs `values`, `[n, k]`.
	pub(super) fn pack(exec: &Exec, class: Class, n: usize, k: usize, values: &[f32]) -> Self {
		match class {
			Class::ExactF32 => Self::F32(exec.pack(n, k, values)),
			Class::ExactInt8 => Self::Int8(exec.pack_int8(n, k, values)),
		}
	}

	/// Whether products with it read rows that are quantized.
	pub(super) fn reads_quantized(&self) -> bool {
		matches!(self, Self::Int8(_))
	}

	/// Copies row `row` of a matrix in exact f32 to `out`.
	pub(super) fn row(&self, row: usize, out: &mut [f32]) {
		if let Self::F32(weight) = self {
			weight.row(row, out);
		}
	}

	/// `out = rows weight^T`, or `out + rows weight^T`, of the rows as they are or as they were quantized.
	pub(super) fn times(&self, exec: &Exec, rows: &[f32], quantized: &Quantized, out: &mut [f32], start: Start) {
		match self {
			Self::F32(weight) => exec.matmul_packed(rows, weight, out, start),
			Self::Int8(weight) => exec.matmul_packed_int8(quantized, weight, out, start),
		}
	}
}
