//! A step executed node by node equals the fused step bit for bit.
//!
//! Each value has memory of its own here, each node computes only its rows, and nothing is fused: attention runs as the
//! separate operators that the plan lists.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{
	adapter, adapters, lively_theta, random_tokens,
	small::{muon_train, other_families},
	tiny_model, tiny_train,
};
use neuroshard_compute::exec::{Arena, Exec, Trainer};
use neuroshard_graph::{
	corpus::MASK,
	graph::{Extent, Node, Op, Place, Product, TensorId},
	plan::Plan,
	ModelConfig, ParamLayout, Products, TrainConfig,
};
use neuroshard_kernels::{
	math::exp,
	num::{fma, max},
	scalar::{self, Lanes, RmsBackward, NO_TARGET},
	schedule,
	shape::{tile_count, AdamW, MatDims, Muon, RopeDims, Start, FAN_IN},
};
use std::{collections::HashMap, ops::Range, sync::Arc};

struct Interpreter<'a> {
	plan: &'a Plan,
	model: &'a ModelConfig,
	train: &'a TrainConfig,
	/// The arena before the step: parameters and moments.
	before: &'a [f32],
	values: HashMap<TensorId, Vec<f32>>,
	ids: Vec<u32>,
	targets: Vec<u32>,
	cos: Vec<f32>,
	sin: Vec<f32>,
}

impl Interpreter<'_> {
	fn cols(&self, id: TensorId) -> usize {
		self.plan.tensor(id).unwrap().cols as usize
	}

	/// A whole value.
	fn whole(&self, id: TensorId) -> &[f32] {
		let info = self.plan.tensor(id).unwrap();
		match (self.values.get(&id), info.place) {
			(Some(value), _) => value,
			(None, Place::Arena(at)) => &self.before[at as usize..][..info.len() as usize],
			(None, _) => panic!("a fused value is read before it is written"),
		}
	}

	fn run(&mut self, node: &Node) {
		let rows = node.outputs[0].first as usize..(node.outputs[0].first + node.outputs[0].rows) as usize;
		let results = self.compute(node, rows.clone());
		for (output, result) in node.outputs.iter().zip(results) {
			let info = self.plan.tensor(output.tensor).unwrap();
			let value = self.values.entry(output.tensor).or_insert_with(|| vec![f32::NAN; info.len() as usize]);
			let cols = info.cols as usize;
			value[rows.start * cols..rows.end * cols].copy_from_slice(&result);
		}
	}

	/// The rows `rows` of each output.
	fn compute(&self, node: &Node, rows: Range<usize>) -> Vec<Vec<f32>> {
		// Input `n`: the rows that the plan grants.
		let input = |n: usize| {
			let slice = node.inputs[n];
			let cols = self.cols(slice.tensor);
			&self.whole(slice.tensor)[slice.first as usize * cols..(slice.first + slice.rows) as usize * cols]
		};
		let cols = self.cols(node.outputs[0].tensor);
		let mut out = vec![0.0; rows.len() * cols];
		let (dim, vocab, eps) = (self.model.dim as usize, self.model.vocab as usize, self.model.norm_eps.get());
		// Of a masked batch the number of targets that count is an input.
		let inverse_count = |n: usize| match node.inputs.len() > n {
			true if input(n)[0] == 0.0 => 0.0,
			true => 1.0 / input(n)[0],
			false => schedule::reciprocal(self.ids.len() as u64),
		};
		let start = |n: usize, out: &mut Vec<f32>| match node.inputs.len() > n {
			true => {
				out.copy_from_slice(input(n));
				Start::Existing
			}
			false => Start::Zero,
		};
		match node.op {
			Op::Gather => scalar::embedding_gather(input(1), dim, &self.ids[rows], &mut out),
			Op::RmsStats => scalar::rms_stats(input(0), input(0).len() / out.len(), eps, &mut out),
			Op::RmsApply => scalar::rms_apply(input(0), input(1), input(2), &mut out),
			Op::Product(kind) => {
				let start = start(2, &mut out);
				let (a, b) = (input(0), input(1));
				let (m, n) = (rows.len(), cols);
				match kind {
					Product::Nt => scalar::matmul_nt(MatDims { m, n, k: b.len() / n }, a, b, &mut out, start),
					Product::Int8 => panic!("not part of a step"),
					Product::Nn => scalar::matmul_nn(MatDims { m, n, k: b.len() / n }, a, b, &mut out, start),
					Product::Int8Nt => scalar::matmul_int8_nt(MatDims { m, n, k: b.len() / n }, a, b, &mut out, start),
					Product::Int8Nn => scalar::matmul_int8_nn(MatDims { m, n, k: b.len() / n }, a, b, &mut out, start),
					Product::Tn | Product::Int8Tn => {
						let product = if kind == Product::Tn { scalar::matmul_tn } else { scalar::matmul_int8_tn };
						let width = self.cols(node.inputs[0].tensor);
						let columns: Vec<f32> = a.chunks(width).flat_map(|row| row[rows.clone()].to_vec()).collect();
						product(MatDims { m, n, k: b.len() / n }, &columns, b, &mut out, start)
					}
				}
			}
			Op::Scale => {
				out.copy_from_slice(input(0));
				let adapter = self.train.adapter.unwrap();
				out.iter_mut().for_each(|value| *value *= adapter.alpha.get() / adapter.rank as f32);
			}
			Op::AddBias => {
				out.copy_from_slice(input(0));
				scalar::add_bias(&mut out, input(1));
			}
			Op::Rope { heads } | Op::RopeBack { heads } => {
				out.copy_from_slice(input(0));
				let half = self.model.head_dim() as usize / 2;
				let dims = RopeDims { seq: 1, heads: heads as usize, head_dim: 2 * half };
				for (row, x) in rows.zip(out.chunks_mut(cols)) {
					let at = row % self.train.seq_len as usize * half;
					let (cos, sin) = (&self.cos[at..at + half], &self.sin[at..at + half]);
					match node.op {
						Op::Rope { .. } => scalar::rope_forward(dims, x, cos, sin),
						_ => scalar::rope_backward(dims, x, cos, sin),
					}
				}
			}
			Op::Scores | Op::Context | Op::HeadDots | Op::ProbabilityBack | Op::QueryBack | Op::KeyBack | Op::ValueBack => {
				for (row, out) in rows.zip(out.chunks_mut(cols)) {
					self.attention(node.op, input(0), input(1), row, out);
				}
			}
			Op::RowMax(_) => {
				for ((row, x), out) in rows.zip(self.seen_rows(node, input(0))).zip(&mut out) {
					*out = self.seen(node, row, x).iter().copied().reduce(max).unwrap();
				}
			}
			Op::ExpSum(_) => {
				for (((row, x), &max), out) in rows.zip(self.seen_rows(node, input(0))).zip(input(1)).zip(&mut out) {
					let mut lanes = Lanes::default();
					for (e, x) in self.seen(node, row, x).iter().enumerate() {
						lanes.add(e, exp(x - max));
					}
					*out = lanes.finish();
				}
			}
			Op::Softmax => {
				for (n, row) in rows.enumerate() {
					let (max, inv) = (input(1)[n], 1.0 / input(2)[n]);
					for e in 0..self.seen(node, row, &input(0)[n * cols..(n + 1) * cols]).len() {
						out[n * cols + e] = exp(input(0)[n * cols + e] - max) * inv;
					}
				}
			}
			Op::ScoreBack => {
				let scale = schedule::attention_scale(self.model.head_dim() as usize);
				for (n, row) in rows.enumerate() {
					for e in 0..self.seen(node, row, &input(0)[n * cols..(n + 1) * cols]).len() {
						out[n * cols + e] = (input(0)[n * cols + e] * (input(1)[n * cols + e] - input(2)[n])) * scale;
					}
				}
			}
			Op::Swiglu => scalar::swiglu_forward(input(0), input(1), &mut out),
			Op::SwigluBack => {
				let mut up = out.clone();
				scalar::swiglu_backward(input(0), input(1), input(2), &mut out, &mut up);
				return vec![out, up];
			}
			Op::CountTargets => out = self.targets[rows].iter().map(|&target| f32::from(target != NO_TARGET)).collect(),
			Op::LossRows => scalar::cross_entropy_loss(input(0), vocab, &self.targets[rows], input(2), input(3), &mut out),
			Op::LossBack => {
				out.copy_from_slice(input(0));
				scalar::cross_entropy_backward(&mut out, vocab, &self.targets[rows], input(2), input(3), inverse_count(4))
			}
			Op::TileSums => {
				let mut all = vec![0.0; input(0).len().div_ceil(32)];
				scalar::tile_sums(input(0), input(0).len(), 1, &mut all);
				all.resize(all.len().next_multiple_of(32), 0.0);
				out.copy_from_slice(&all[rows.start * 32..rows.end * 32]);
			}
			Op::SquareTiles => {
				let mut all = Vec::new();
				for slice in &node.inputs {
					let (rows, cols) = (slice.rows as usize, self.cols(slice.tensor));
					let mut partials = vec![0.0; tile_count(rows, cols)];
					scalar::tile_sum_squares(self.whole(slice.tensor), rows, cols, &mut partials);
					all.extend(partials);
				}
				all.resize(all.len().next_multiple_of(32), 0.0);
				out.copy_from_slice(&all[rows.start * 32..rows.end * 32]);
			}
			Op::TreeSum => {
				let groups = input(0).chunks(FAN_IN).skip(rows.start * cols);
				for (group, out) in groups.zip(&mut out) {
					let mut lanes = Lanes::default();
					for (e, &x) in group.iter().enumerate() {
						lanes.add(e, x);
					}
					*out = lanes.finish();
				}
			}
			Op::AddUp => out[0] = (0..node.inputs.len()).flat_map(|number| input(number).to_vec()).fold(0.0, |sum, number| sum + number),
			Op::MeanLoss => out[0] = input(0)[0] * inverse_count(1),
			Op::RmsBackStats => scalar::rms_backward_stats(input(0), input(1), input(3), input(2), &mut out),
			Op::RmsBackApply => {
				let start = start(5, &mut out);
				let input = RmsBackward { dy: input(0), x: input(1), r: input(2), k: input(3), w: input(4) };
				scalar::rms_backward_apply(input, &mut out, start);
			}
			Op::RmsWeightGrad => {
				scalar::rms_weight_grad(input(0), input(1), input(2), self.cols(node.inputs[2].tensor), &mut out, Start::Zero)
			}
			Op::ColumnSums => scalar::column_sums(input(0), &mut out, Start::Zero),
			Op::ScatterAdd => {
				start(2, &mut out);
				for (&id, dx) in self.ids.iter().zip(input(0).chunks(dim)) {
					if rows.contains(&(id as usize)) {
						scalar::add_assign(&mut out[(id as usize - rows.start) * dim..][..dim], dx);
					}
				}
			}
			Op::ClipScale => out[0] = scalar::clip_scale(input(0)[0], self.train.clip.get()),
			Op::AdamW => {
				let [mut p, mut m, mut v] = [0, 1, 2].map(|n| input(n).to_vec());
				scalar::adamw(&first_step(self.train, input(4)[0]), &mut p, &mut m, &mut v, input(3));
				return vec![p, m, v];
			}
			Op::MuonDirection => scalar::muon_direction(&self.muon(node, input(2)[0]), input(0), input(1), &mut out),
			Op::MuonNormalize => {
				let norm = input(1)[0].sqrt() + 1e-7;
				out.iter_mut().zip(input(0)).for_each(|(out, x)| *out = x / norm);
			}
			Op::MuonPolynomial => {
				for (place, (out, (&a, &aa))) in (rows.start * cols..).zip(out.iter_mut().zip(input(0).iter().zip(input(1)))) {
					let sum = fma(2.0315, aa, -4.775 * a);
					*out = if place / cols == place % cols { 3.4445 + sum } else { sum };
				}
			}
			Op::Muon => {
				let [mut p, mut m] = [0, 1].map(|n| input(n).to_vec());
				scalar::muon(&self.muon(node, input(3)[0]), &mut p, &mut m, input(2), input(4));
				return vec![p, m, out];
			}
			Op::Init | Op::Delta | Op::Mean | Op::TrimmedMean { .. } | Op::ClippedTrimmedMean { .. } | Op::Nesterov => {
				panic!("not part of a step")
			}
			Op::DistanceSums(_) | Op::Distances(_) | Op::Weights(_) | Op::WeightedSum { .. } => panic!("not part of a step"),
			Op::Encode(_) | Op::Residual(_) => panic!("not part of a step"),
		}
		vec![out]
	}

	/// Muon's scalars for the tensor that a node writes a part of.
	fn muon(&self, node: &Node, clip: f32) -> Muon {
		let info = self.plan.tensor(node.outputs[0].tensor).unwrap();
		let AdamW { lr, decay, .. } = first_step(self.train, clip);
		let momentum = self.train.optimizer.momentum().unwrap().get();
		Muon { rate: lr * (0.2 * (info.rows.max(info.cols) as f32).sqrt()), momentum, decay, clip }
	}

	fn seen_rows<'v>(&self, node: &Node, x: &'v [f32]) -> std::slice::Chunks<'v, f32> {
		x.chunks(self.cols(node.inputs[0].tensor))
	}

	/// The part of a row that counts: all logits, or the scores of the keys up to the query.
	fn seen<'v>(&self, node: &Node, row: usize, x: &'v [f32]) -> &'v [f32] {
		match node.op {
			Op::RowMax(Extent::Row) | Op::ExpSum(Extent::Row) => x,
			_ => &x[..row % self.train.seq_len as usize + 1],
		}
	}

	/// One output row of an attention operator on inputs `a` and `b`.
	fn attention(&self, op: Op, a: &[f32], b: &[f32], row: usize, out: &mut [f32]) {
		let (seq, hd) = (self.train.seq_len as usize, self.model.head_dim() as usize);
		let (heads, kv_heads) = (self.model.heads as usize, self.model.kv_heads as usize);
		let group = heads / kv_heads;
		// Of a score row: its sequence, head and query.
		let (batch, head, query) = (row / (heads * seq), row / seq % heads, row % seq);
		fn vector(x: &[f32], token: usize, heads: usize, head: usize, hd: usize) -> &[f32] {
			&x[(token * heads + head) * hd..][..hd]
		}
		let chain = |x: &[f32], y: &[f32]| x.iter().zip(y).fold(0.0, |acc, (&x, &y)| fma(x, y, acc));
		let score_row = |token: usize, head: usize| (token / seq * heads + head) * seq + token % seq;
		match op {
			Op::Scores => {
				for (j, out) in out.iter_mut().enumerate().take(query + 1) {
					let (q, k) = (vector(a, batch * seq + query, heads, head, hd), vector(b, batch * seq + j, kv_heads, head / group, hd));
					*out = schedule::attention_scale(hd) * chain(q, k);
				}
			}
			Op::ProbabilityBack => {
				for (j, out) in out.iter_mut().enumerate().take(query + 1) {
					let (d_o, v) =
						(vector(a, batch * seq + query, heads, head, hd), vector(b, batch * seq + j, kv_heads, head / group, hd));
					*out = chain(d_o, v);
				}
			}
			Op::HeadDots => {
				let mut lanes = Lanes::default();
				let token = batch * seq + query;
				for (e, (&d_o, &o)) in vector(a, token, heads, head, hd).iter().zip(vector(b, token, heads, head, hd)).enumerate() {
					lanes.add_product(e, d_o, o);
				}
				out[0] = lanes.finish();
			}
			Op::Context | Op::QueryBack => {
				let first = row / seq * seq;
				for (head, out) in out.chunks_mut(hd).enumerate() {
					for j in 0..=row % seq {
						let weight = a[score_row(row, head) * seq + j];
						for (out, &x) in out.iter_mut().zip(vector(b, first + j, kv_heads, head / group, hd)) {
							*out = fma(weight, x, *out);
						}
					}
				}
			}
			_ => {
				for (kv_head, out) in out.chunks_mut(hd).enumerate() {
					for head in kv_head * group..(kv_head + 1) * group {
						for token in row..(row / seq + 1) * seq {
							let weight = a[score_row(token, head) * seq + row % seq];
							for (out, &x) in out.iter_mut().zip(vector(b, token, heads, head, hd)) {
								*out = fma(weight, x, *out);
							}
						}
					}
				}
			}
		}
	}
}

/// AdamW's scalars for step 1 at schedule index 0.
fn first_step(train: &TrainConfig, clip: f32) -> AdamW {
	let (beta1, beta2) = (train.beta1.get(), train.beta2.get());
	let lr = train.lr.get() / train.warmup_steps as f32;
	AdamW {
		lr,
		beta1,
		complement1: schedule::complement(beta1),
		beta2,
		complement2: schedule::complement(beta2),
		correction1: schedule::bias_correction(beta1, 1),
		correction2: schedule::bias_correction(beta2, 1),
		eps: train.eps.get(),
		decay: schedule::decay_factor(lr, train.weight_decay.get()),
		clip,
	}
}

fn node_by_node_equals_fused(model: &ModelConfig, train: &TrainConfig) {
	masked_step(model, train, |_| false);
}

/// The same with a mask of those tokens of the batch whose place the rule holds for. Returns loss and square norm of the gradient.
fn masked_step(model: &ModelConfig, train: &TrainConfig, is_masked: impl Fn(usize) -> bool) -> [f32; 2] {
	let mut trainer = Trainer::new(Arc::new(Exec::new(2).unwrap()), model, train).unwrap();
	let mut arena = Arena::new(trainer.arena_len());
	let theta = lively_theta(trainer.layout(), 11);
	trainer.theta_mut(&mut arena).copy_from_slice(&theta);
	if let Some(base) = trainer.model_mut(&mut arena) {
		base.copy_from_slice(&lively_theta(&ParamLayout::new(model).unwrap(), 13));
	}
	let before = arena.to_vec();
	let mut tokens = random_tokens(trainer.batch_tokens(), model.vocab, 12);
	tokens.iter_mut().enumerate().filter(|(place, _)| is_masked(*place)).for_each(|(_, token)| *token |= MASK);
	let outcome = trainer.train_step(&mut arena, &tokens, 0, 1).unwrap();

	let seq = train.seq_len as usize;
	let (cos, sin) = model.rope_tables(seq);
	let plan = Plan::training(model, train).unwrap();
	let sequences = || tokens.chunks(seq + 1);
	let mut interpreter = Interpreter {
		plan: &plan,
		model,
		train,
		before: &before,
		values: HashMap::new(),
		ids: sequences().flat_map(|s| &s[..seq]).map(|token| token & !MASK).collect(),
		targets: sequences().flat_map(|s| &s[1..]).map(|&token| if token & MASK == 0 { token } else { NO_TARGET }).collect(),
		cos,
		sin,
	};
	for index in 0..plan.node_count() {
		interpreter.run(&plan.node(index).unwrap());
	}

	let mut updated = 0;
	for stage in plan.stages() {
		let result = interpreter.whole(plan.outputs(stage)[0]);
		match stage.op {
			Op::MeanLoss => assert_eq!(result[0].to_bits(), outcome.loss.to_bits()),
			Op::AdamW | Op::Muon => {
				for &output in plan.outputs(stage) {
					let info = plan.tensor(output).unwrap();
					let Place::Arena(at) = info.place else { panic!("parameters are in the arena") };
					let fused = &arena[at as usize..][..info.len() as usize];
					let same = interpreter.whole(output).iter().zip(fused).all(|(a, b)| a.to_bits() == b.to_bits());
					assert!(same, "tensor {updated} of the update differs");
				}
				updated += 1;
			}
			_ => {}
		}
	}
	assert_eq!(updated, trainer.layout().tensors().len());
	let count = interpreter.targets.iter().filter(|&&target| target != NO_TARGET).count();
	let counted = plan.stages().iter().find(|stage| stage.op == Op::MeanLoss).and_then(|stage| plan.inputs(stage).get(1));
	assert_eq!(counted.map(|&(sum, _)| interpreter.whole(sum)[0]), train.masked.then_some(count as f32));
	[outcome.loss, outcome.grad_norm]
}

#[test]
fn a_masked_step_whose_targets_count_as_the_mask_says() {
	let masked = |batch| TrainConfig { batch, masked: true, ..tiny_train() };
	let seq = tiny_train().seq_len as usize;
	// Every third token counts; a sequence without targets; and one target of all.
	for (batch, rule) in [(2, (|place| place % 3 != 0) as fn(usize) -> bool), (3, |place| place < 40), (2, |place| place != 50)] {
		let [loss, norm] = masked_step(&tiny_model(), &masked(batch), rule);
		assert!(loss > 0.0 && norm > 0.0, "{loss} {norm}");
	}
	// More than a segment of the chains over tokens, whose first and last blocks have no target.
	let small = ModelConfig { dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, ..tiny_model() };
	let whole = 130 * (seq + 1);
	for tied in [true, false] {
		let rule = |place| !(whole / 3..whole / 2).contains(&place) || place % 2 == 0;
		let [loss, norm] = masked_step(&ModelConfig { tied, ..small.clone() }, &masked(130), rule);
		assert!(loss > 0.0 && norm > 0.0);
	}
}

#[test]
fn a_masked_step_without_targets_has_no_loss_and_no_gradient() {
	let train = TrainConfig { masked: true, ..tiny_train() };
	for model in [tiny_model(), ModelConfig { tied: !tiny_model().tied, ..tiny_model() }] {
		let found = masked_step(&model, &train, |_| true);
		assert_eq!(found.map(f32::to_bits), [0; 2]);
	}
}

#[test]
fn a_masked_step_in_which_all_targets_count_has_the_loss_of_one_without_mask() {
	let train = TrainConfig { masked: true, ..tiny_train() };
	let [all, plain] = [&train, &tiny_train()].map(|train| masked_step(&tiny_model(), train, |_| false));
	assert_eq!(all.map(f32::to_bits), plain.map(f32::to_bits));
}

#[test]
fn a_step_of_an_adapter_of_any_rank_on_any_projections() {
	for (rank, projections) in adapters() {
		let train = TrainConfig { adapter: Some(adapter([0; 32], rank, projections)), ..tiny_train() };
		for model in other_families().into_iter().chain([tiny_model()]) {
			node_by_node_equals_fused(&model, &train);
		}
		masked_step(&tiny_model(), &TrainConfig { masked: true, ..train }, |place| place % 3 != 0);
	}
}

#[test]
fn a_step_with_grouped_heads_and_a_tied_head() {
	node_by_node_equals_fused(&tiny_model(), &tiny_train());
}

#[test]
fn a_step_of_muon_of_every_family_and_of_a_matrix_with_more_than_4096_rows() {
	for model in other_families().into_iter().chain([tiny_model()]) {
		node_by_node_equals_fused(&model, &muon_train());
	}
	let tall = ModelConfig { ffn: 4_160, dim: 32, heads: 1, kv_heads: 1, layers: 1, ..tiny_model() };
	node_by_node_equals_fused(&tall, &muon_train());
}

#[test]
fn a_step_of_more_than_4096_tokens() {
	for products in [Products::F32, Products::Int8] {
		let train = TrainConfig { batch: 130, products, ..tiny_train() };
		for tied in [true, false] {
			node_by_node_equals_fused(&ModelConfig { tied, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, ..tiny_model() }, &train);
		}
	}
}

#[test]
fn a_step_in_exact_int8() {
	let train = TrainConfig { products: Products::Int8, ..tiny_train() };
	for model in other_families().into_iter().chain([tiny_model()]) {
		node_by_node_equals_fused(&model, &train);
	}
	let (rank, projections) = adapters()[0];
	node_by_node_equals_fused(&tiny_model(), &TrainConfig { adapter: Some(adapter([0; 32], rank, projections)), ..train });
}

#[test]
fn steps_with_biases_and_with_norms_of_heads() {
	for model in other_families() {
		node_by_node_equals_fused(&model, &tiny_train());
	}
}

#[test]
fn a_step_whose_embedding_and_logits_need_several_nodes() {
	// Of the larger vocabulary a row of tiles is a node of more tiles than others have.
	for (vocab, tied) in [(65_536, false), (151_936, true)] {
		let model = ModelConfig { vocab, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, tied, ..tiny_model() };
		let plan = Plan::training(&model, &tiny_train()).unwrap();
		assert!(plan.node_count() as usize > plan.stages().len());
		node_by_node_equals_fused(&model, &tiny_train());
	}
}
