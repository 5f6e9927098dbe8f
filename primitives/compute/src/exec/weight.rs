//! The weights of a model that answers, packed for this machine in the class that it answers in.

use super::Exec;
use crate::native::{Packed, PackedInt8, Quantized};
use neuroshard_graph::class::Class;
use neuroshard_kernels::shape::Start;
use std::sync::Arc;

/// A matrix `[n, k]`.
pub(super) enum Weight {
	F32(Arc<Packed>),
	Int8(PackedInt8),
}

impl Weight {
	/// Packs `values`, `[n, k]`.
	pub fn pack(exec: &Exec, class: Class, n: usize, k: usize, values: &[f32]) -> Self {
		match class {
			Class::ExactF32 => Self::F32(Arc::new(exec.pack(n, k, values))),
			Class::ExactInt8 => Self::Int8(exec.pack_int8(n, k, values)),
		}
	}
}

/// Rows that weights of a class are multiplied with.
pub(super) struct Rows<'a> {
	exec: &'a Exec,
	plain: &'a [f32],
	quantized: &'a Quantized,
}

impl<'a> Rows<'a> {
	/// `rows`, which have `k` elements. They are quantized into `memory` once for all products of the class that needs it.
	pub fn new(exec: &'a Exec, class: Class, k: usize, rows: &'a [f32], memory: &'a mut Quantized) -> Self {
		if class == Class::ExactInt8 {
			exec.quantize(k, rows, memory);
		}
		Self { exec, plain: rows, quantized: memory }
	}

	/// `out = rows weight^T`, or `out + rows weight^T`, with a weight of the class that the rows were made for.
	pub fn times(&self, weight: &Weight, out: &mut [f32], start: Start) {
		match weight {
			Weight::F32(weight) => self.exec.matmul_packed(self.plain, weight, out, start),
			Weight::Int8(weight) => self.exec.matmul_packed_int8(self.quantized, weight, out, start),
		}
	}
}
