//! Where the time of a training step goes.

use neuroshard_graph::graph::{Op, Product};
use std::{collections::BTreeMap, time::Duration};

/// What an operator took in all of its stages of a step.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spent {
	/// Times that it was computed.
	pub calls: u32,
	/// Time of all of them.
	pub time: Duration,
	/// Multiplications and additions of products, in attention and cross-entropy too; 0 for other operators.
	pub flops: f64,
	/// Bytes of operands and results that lie in the arena.
	pub bytes: f64,
}

/// Operators by their names. What is computed as one operator counts as one: attention, and cross-entropy with the head and its gradients.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile(BTreeMap<&'static str, Spent>);

impl Profile {
	/// Notes a call.
	pub(super) fn note(&mut self, op: Op, time: Duration, flops: f64, bytes: f64) {
		let spent = self.0.entry(name(op)).or_default();
		spent.calls = spent.calls.saturating_add(1);
		spent.time = spent.time.saturating_add(time);
		spent.flops += flops;
		spent.bytes += bytes;
	}

	/// Operators, those first that took most time.
	pub fn operators(&self) -> Vec<(&'static str, Spent)> {
		let mut all: Vec<_> = self.0.iter().map(|(name, spent)| (*name, *spent)).collect();
		all.sort_by_key(|(_, spent)| core::cmp::Reverse(spent.time));
		all
	}

	/// Time of all operators.
	pub fn time(&self) -> Duration {
		self.0.values().map(|spent| spent.time).sum()
	}
}

/// The operator as the specification calls it, or what it is computed with.
fn name(op: Op) -> &'static str {
	match op {
		Op::Gather => "embedding_gather",
		Op::ScatterAdd => "embedding_scatter_add",
		Op::RmsStats => "rms_stats",
		Op::RmsApply => "rms_apply",
		Op::RmsBackStats => "rms_backward_stats",
		Op::RmsBackApply => "rms_backward_apply",
		Op::RmsWeightGrad => "rms_weight_grad",
		Op::Product(Product::Nt) => "matmul_nt",
		Op::Product(Product::Nn) => "matmul_nn",
		Op::Product(Product::Tn) => "matmul_tn",
		Op::Product(Product::Int8) => "matmul_int8",
		Op::Product(Product::Int8Nt) => "matmul_int8_nt",
		Op::Product(Product::Int8Nn) => "matmul_int8_nn",
		Op::Product(Product::Int8Tn) => "matmul_int8_tn",
		Op::AddBias => "add_bias",
		Op::ColumnSums => "column_sums",
		Op::Scale => "scale",
		Op::Rope { .. } => "rope_forward",
		Op::RopeBack { .. } => "rope_backward",
		Op::Context => "attention_forward",
		Op::ValueBack => "attention_backward",
		Op::Swiglu => "swiglu_forward",
		Op::SwigluBack => "swiglu_backward",
		Op::LossRows => "cross_entropy",
		Op::SquareTiles => "tile_sum_squares",
		Op::AdamW => "adamw",
		Op::MuonDirection => "muon_direction",
		Op::MuonNormalize => "muon_normalize",
		Op::MuonPolynomial => "muon_polynomial",
		Op::Muon => "muon",
		_ => "others",
	}
}
