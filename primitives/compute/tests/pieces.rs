//! Every tile of every tensor, computed piece by piece, equals the trace; and the trace equals the executor.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{
	adapter, adapters, every_code, every_compressed, every_rule, lively_theta, random_tokens, sent, sent_as,
	small::{muon_train, other_families},
	steps_behind, tiny_model, tiny_train,
};
use neuroshard_compute::{
	exec::{decode_delta, Arena, Exec, Trainer},
	trace::Trace,
};
use neuroshard_graph::{
	cell::{Address, Cell},
	graph::Op,
	merkle::merkle_root,
	resume::{Leaves, NUMBERS},
	tiles, Adapter, Aggregator, Class, ModelConfig, ParamLayout, Products, Projections, Robust, Rule, TrainConfig, F32,
};
use neuroshard_kernels::num::canon_bits;
use std::{collections::BTreeSet, sync::Arc};

/// The second step of a round, so that moments are not zero, and the arena after it.
fn second_step(model: &ModelConfig, train: &TrainConfig) -> (Trace, Trainer, Arena) {
	second_step_on(model, train, |len, seed| random_tokens(len, model.vocab, seed))
}

/// [`second_step`] on so many tokens of a seed.
fn second_step_on(model: &ModelConfig, train: &TrainConfig, tokens: impl Fn(usize, u64) -> Vec<u32>) -> (Trace, Trainer, Arena) {
	let exec = Arc::new(Exec::new(2).unwrap());
	let mut trainer = Trainer::new(exec.clone(), model, train).unwrap();
	let mut arena = Arena::new(trainer.arena_len());
	let base = train.adapter.map(|_| lively_theta(&ParamLayout::new(model).unwrap(), 6));
	if let (Some(base), Some(place)) = (&base, trainer.model_mut(&mut arena)) {
		place.copy_from_slice(base);
	}
	trainer.theta_mut(&mut arena).copy_from_slice(&lively_theta(trainer.layout(), 3));
	trainer.train_step(&mut arena, &tokens(trainer.batch_tokens(), 4), 8, 1).unwrap();
	let before = [trainer.theta(&arena), trainer.first_moment(&arena), trainer.second_moment(&arena)].map(<[f32]>::to_vec);
	let tokens = tokens(trainer.batch_tokens(), 5);
	// Two rounds adopted before: the schedule index of step 1 is 2 H + 1.
	let index = 2 * u64::from(train.inner_steps) + 1;
	trainer.train_step(&mut arena, &tokens, index, 2).unwrap();
	let vectors: Vec<&[f32]> = before.iter().chain(&base).map(Vec::as_slice).collect();
	let trace = Trace::step(&exec, model, train, &vectors, &tokens, 2, 1).unwrap();
	(trace, trainer, arena)
}

fn same_bits(a: &[f32], b: &[f32]) -> bool {
	a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| canon_bits(a) == canon_bits(b))
}

/// Recomputes every tile of every stage from the trace's inputs, and returns the operators seen.
fn every_tile_is_what_its_pieces_give(trace: &Trace) -> BTreeSet<String> {
	let (job, mut ops) = (trace.job(), BTreeSet::new());
	for (number, stage) in (0..).zip(trace.plan().stages()) {
		ops.insert(format!("{:?}", stage.op).split([' ', '{', '(']).next().unwrap().to_owned());
		for (output, &tensor) in (0..).zip(trace.plan().outputs(stage)) {
			let info = trace.plan().tensor(tensor).unwrap();
			for row in 0..info.rows.div_ceil(32) {
				for col in 0..info.cols.div_ceil(32) {
					let cell = Cell { stage: number, output, row, col };
					let pieces = job.pieces(cell).unwrap();
					let mut state = Vec::new();
					for piece in 0..pieces {
						state = job.advance(cell, piece, state, &mut &*trace).unwrap();
						let expected = if piece + 1 == pieces { NUMBERS } else { job.state_len(cell).unwrap() };
						assert_eq!(state.len(), expected, "{:?}", stage.op);
					}
					let tile = trace.tile_values(tensor, row, col).unwrap();
					assert!(same_bits(&state, &*tile), "{:?}: tile {row}, {col} of output {output}", stage.op);
				}
			}
		}
	}
	ops
}

fn check_step(model: &ModelConfig, train: &TrainConfig) -> BTreeSet<String> {
	check(&second_step(model, train))
}

fn check((trace, trainer, arena): &(Trace, Trainer, Arena)) -> BTreeSet<String> {
	assert!(same_bits(&trace.result(0), trainer.theta(arena)), "parameters");
	assert!(same_bits(&trace.result(1), trainer.first_moment(arena)), "first moments");
	assert!(same_bits(&trace.result(2), trainer.second_moment(arena)), "second moments");
	every_tile_is_what_its_pieces_give(trace)
}

#[test]
fn of_a_step_with_grouped_heads_a_tied_head_and_small_heads() {
	let ops = check_step(&tiny_model(), &tiny_train());
	assert_eq!(ops.len(), 32, "{ops:?}");
}

#[test]
fn of_a_step_of_an_adapter_of_any_rank_on_any_projections() {
	for (rank, projections) in adapters() {
		let train = TrainConfig { adapter: Some(adapter([0; 32], rank, projections)), ..tiny_train() };
		let ops = check_step(&tiny_model(), &train);
		// Neither weights of norms nor the embedding have gradients.
		assert!(ops.contains("Scale") && !ops.contains("ScatterAdd") && !ops.contains("RmsWeightGrad"), "{ops:?}");
		for model in other_families() {
			check_step(&model, &train);
		}
	}
}

#[test]
fn of_steps_of_muon() {
	let own = ["Muon", "MuonDirection", "MuonNormalize", "MuonPolynomial"].map(String::from);
	assert!(check_step(&tiny_model(), &muon_train()).is_superset(&own.into()));
	for model in other_families() {
		check_step(&ModelConfig { layers: 1, ..model }, &muon_train());
	}
	// Sides of several tiles and pieces, and chains over rows that are cut into segments.
	for ffn in [320, 4_160] {
		check_step(&ModelConfig { ffn, dim: 288, heads: 9, kv_heads: 1, layers: 1, ..tiny_model() }, &muon_train());
	}
}

#[test]
fn of_a_step_on_tokens_beyond_the_vocabulary_which_stand_for_its_last() {
	let (model, train) = (tiny_model(), tiny_train());
	let foreign = second_step_on(&model, &train, |len, seed| random_tokens(len, 65_536, seed));
	check(&foreign);
	let last = |token: u32| token.min(63);
	let usual = second_step_on(&model, &train, |len, seed| random_tokens(len, 65_536, seed).into_iter().map(last).collect());
	assert!(same_bits(foreign.1.theta(&foreign.2), usual.1.theta(&usual.2)));
	// One that is just beyond, as an input and as a target, in places where nothing else is.
	let only = |token: u32| second_step_on(&model, &train, move |len, _| (0..len).map(|place| [1, token][place % 2]).collect());
	assert!(same_bits(&check_and_result(only(64)), &check_and_result(only(63))));
	assert!(!same_bits(&check_and_result(only(64)), &check_and_result(only(62))));
}

fn check_and_result(step: (Trace, Trainer, Arena)) -> Vec<f32> {
	check(&step);
	step.0.result(0)
}

#[test]
fn of_a_step_with_sequences_and_heads_of_several_tiles() {
	let model = ModelConfig { vocab: 320, dim: 640, heads: 2, kv_heads: 1, ffn: 320, layers: 1, max_seq: 320, tied: false, ..tiny_model() };
	check_step(&model, &TrainConfig { batch: 1, seq_len: 320, ..tiny_train() });
}

#[test]
fn of_steps_in_exact_int8() {
	let train = TrainConfig { products: Products::Int8, ..tiny_train() };
	for model in other_families().into_iter().chain([tiny_model()]) {
		check_step(&model, &train);
	}
	// Chains of more than a piece, in each of the three products, and over more tokens than a segment.
	let wide = ModelConfig { dim: 288, heads: 9, kv_heads: 9, ffn: 320, layers: 1, ..tiny_model() };
	check_step(&wide, &TrainConfig { batch: 9, ..train.clone() });
	let small = ModelConfig { dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, ..tiny_model() };
	check_step(&small, &TrainConfig { batch: 130, ..train.clone() });
	let (rank, projections) = adapters()[0];
	check_step(&tiny_model(), &TrainConfig { adapter: Some(adapter([0; 32], rank, projections)), ..train });
}

#[test]
fn of_steps_with_biases_and_with_norms_of_heads() {
	let [qwen2, qwen3] = other_families();
	assert!(check_step(&qwen2, &tiny_train()).is_superset(&["AddBias", "ColumnSums"].map(String::from).into()));
	check_step(&qwen3, &tiny_train());
	// Heads of several pieces, of parts of one and of one and a half, and more of them than a tile of their factors has; with a chain over them of
	// several pieces.
	for (heads, kv_heads, head_dim) in [(2, 1, 320), (3, 1, 192), (35, 5, 32)] {
		let model = ModelConfig { heads, kv_heads, head_dim: Some(head_dim), layers: 1, ..qwen3.clone() };
		check_step(&model, &TrainConfig { batch: 3, ..tiny_train() });
	}
	// More tokens than a piece of a bias's sum reads.
	check_step(&ModelConfig { layers: 1, ..qwen2 }, &TrainConfig { batch: 10, ..tiny_train() });
}

#[test]
fn of_a_step_whose_heads_do_not_end_at_tiles() {
	let model = ModelConfig { dim: 96, heads: 2, kv_heads: 2, ffn: 32, layers: 1, max_seq: 64, ..tiny_model() };
	check_step(&model, &TrainConfig { batch: 2, seq_len: 64, ..tiny_train() });
	let model = ModelConfig { dim: 64, heads: 32, kv_heads: 16, ffn: 32, layers: 1, max_seq: 64, ..tiny_model() };
	check_step(&model, &TrainConfig { batch: 1, seq_len: 64, ..tiny_train() });
}

#[test]
fn of_a_step_whose_chains_over_tokens_are_cut_into_segments() {
	let model = ModelConfig { vocab: 32, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, max_seq: 32, ..tiny_model() };
	check_step(&model, &TrainConfig { batch: 264, seq_len: 32, ..tiny_train() });
}

/// Vectors of noise in the model's layout.
fn noise(layout: &ParamLayout, count: u64) -> Vec<Vec<f32>> {
	(0..count).map(|seed| lively_theta(layout, 20 + seed)).collect()
}

#[test]
fn of_deltas_and_outer_steps() {
	let (model, exec) = (tiny_model(), Arc::new(Exec::new(2).unwrap()));
	let layout = ParamLayout::new(&model).unwrap();
	let vectors = noise(&layout, 35);
	let delta = Trace::delta(&exec, &model, &tiny_train(), [&vectors[0], &vectors[1]], None).unwrap();
	let expected: Vec<f32> = vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a - b).collect();
	assert!(same_bits(&delta.result(0), &expected));
	every_tile_is_what_its_pieces_give(&delta);
	let deltas: Vec<&[f32]> = vectors[2..].iter().map(Vec::as_slice).collect();
	let simple = [(Aggregator::Mean, 33), (Aggregator::Mean, 1), (Aggregator::TrimmedMean { trim: 2 }, 7)];
	let robust = every_rule().into_iter().flat_map(|robust| [1, 7, 33].map(|count| (Aggregator::Robust(robust), count)));
	for (aggregator, count) in simple.into_iter().chain(robust) {
		let train = TrainConfig { aggregator, ..tiny_train() };
		let steps = steps_behind(aggregator, count);
		let trace = Trace::outer(&exec, &model, &train, [&vectors[0], &vectors[1]], &deltas[..count], &steps).unwrap();
		every_tile_is_what_its_pieces_give(&trace);
		let mut gradient = vec![0.0; layout.len()];
		neuroshard_compute::exec::aggregate(&exec, &layout.tiling(), &deltas[..count], &steps, aggregator, &mut gradient).unwrap();
		assert!(same_bits(&trace.result(0), &gradient));
	}
}

#[test]
fn of_codes_and_residuals() {
	of_codes_of(None);
}

#[test]
fn of_codes_and_residuals_of_adapters() {
	[8, 40].into_iter().for_each(|rank| of_codes_of(Some(adapter([0; 32], rank, Projections::ALL))));
}

fn of_codes_of(adapter: Option<Adapter>) {
	let (model, exec) = (tiny_model(), Arc::new(Exec::new(2).unwrap()));
	let layout = ParamLayout::of(&model, adapter).unwrap();
	let vectors = noise(&layout, 3);
	let ends = [vectors[0].as_slice(), &vectors[1]];
	for code in every_code() {
		let train = TrainConfig { adapter, ..sent_as(code) };
		let residual = code.decay().map(|_| vectors[2].as_slice());
		let trace = Trace::delta(&exec, &model, &train, ends, residual).unwrap();
		every_tile_is_what_its_pieces_give(&trace);
		assert_eq!(trace.result(0).len(), ParamLayout::of_deltas(&model, &train).unwrap().len(), "{code:?}");
		let mut encoded: Vec<f32> = vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a - b).collect();
		if let Some(decay) = code.decay() {
			encoded.iter_mut().zip(&vectors[2]).for_each(|(x, &e)| *x = decay.get().mul_add(e, *x));
		}
		let said = decode_delta(&train, &*exec, &layout, trace.result(0)).unwrap();
		if code.decay().is_some() {
			let rest: Vec<f32> = encoded.iter().zip(&said).map(|(x, said)| x - said).collect();
			assert!(same_bits(&trace.result(1), &rest), "{code:?}");
		} else {
			assert!(encoded.iter().zip(&said).all(|(x, said)| (x - said).abs() < 0.01), "{code:?}");
		}
		// Nothing beside a residual of zeros is one of zeros.
		let zeros = vec![0.0; layout.len()];
		let without = Trace::delta(&exec, &model, &train, ends, None).unwrap();
		if code.decay().is_some() {
			assert_eq!(without.all_result_roots(), Trace::delta(&exec, &model, &train, ends, Some(&zeros)).unwrap().all_result_roots());
		}
	}
}

#[test]
fn of_outer_steps_on_codes() {
	of_outer_steps_on_codes_of(None);
}

#[test]
fn of_outer_steps_on_codes_of_adapters() {
	[8, 40].into_iter().for_each(|rank| of_outer_steps_on_codes_of(Some(adapter([0; 32], rank, Projections::ALL))));
}

fn of_outer_steps_on_codes_of(adapter: Option<Adapter>) {
	let (model, exec) = (ModelConfig { layers: 1, ..tiny_model() }, Arc::new(Exec::new(2).unwrap()));
	let layout = ParamLayout::of(&model, adapter).unwrap();
	let vectors = noise(&layout, 7);
	let aggregators = every_compressed();
	assert_eq!(aggregators.len(), 5 * 18 - 3 * 4, "three codes do not go with the rules that sort");
	for aggregator in aggregators {
		let train = TrainConfig { aggregator, adapter, ..tiny_train() };
		let sent: Vec<Vec<f32>> = vectors[2..].iter().map(|delta| sent(&train, &layout, delta)).collect();
		let inputs: Vec<&[f32]> = sent.iter().map(Vec::as_slice).collect();
		let steps = steps_behind(aggregator, inputs.len());
		let trace = Trace::outer(&exec, &model, &train, [&vectors[0], &vectors[1]], &inputs, &steps).unwrap();
		every_tile_is_what_its_pieces_give(&trace);
		let said: Vec<Vec<f32>> = sent.into_iter().map(|sent| decode_delta(&train, &*exec, &layout, sent).unwrap()).collect();
		let said: Vec<&[f32]> = said.iter().map(Vec::as_slice).collect();
		let mut gradient = vec![0.0; layout.len()];
		neuroshard_compute::exec::aggregate(&exec, &layout.tiling(), &said, &steps, aggregator, &mut gradient).unwrap();
		assert!(same_bits(&trace.result(0), &gradient), "{aggregator:?}");
	}
}

#[test]
fn of_distances_over_several_segments() {
	let model = ModelConfig { vocab: 320, dim: 640, heads: 2, kv_heads: 1, ffn: 320, layers: 1, tied: false, ..tiny_model() };
	let (layout, exec) = (ParamLayout::new(&model).unwrap(), Arc::new(Exec::new(2).unwrap()));
	assert!(layout.tiling().segments() > 5);
	let vectors = noise(&layout, 7);
	let deltas: Vec<&[f32]> = vectors[2..].iter().map(Vec::as_slice).collect();
	for rule in [Rule::MultiKrum { liars: 1 }, Rule::CentredClipping { liars: 1, radius: F32::new(1.0), steps: 1 }] {
		let train = TrainConfig { aggregator: Aggregator::Robust(Robust { clip: F32::new(1.0), rule }), ..tiny_train() };
		let trace = Trace::outer(&exec, &model, &train, [&vectors[0], &vectors[1]], &deltas, &[]).unwrap();
		every_tile_is_what_its_pieces_give(&trace);
		let mut gradient = vec![0.0; layout.len()];
		neuroshard_compute::exec::aggregate(&exec, &layout.tiling(), &deltas, &[], train.aggregator, &mut gradient).unwrap();
		assert!(same_bits(&trace.result(0), &gradient));
	}
}

#[test]
fn lists_of_tiles_are_addressed_as_they_are_hashed() {
	let (trace, ..) = second_step(&tiny_model(), &tiny_train());
	let plan = trace.plan();
	let layout = ParamLayout::new(&tiny_model()).unwrap();
	assert_eq!(plan.vector_len() as usize, layout.tile_count());
	for (result, vector) in (0..3).map(|result| (result, trace.result(result as usize))) {
		let hashes = trace.result_hashes(result);
		assert_eq!(hashes, tiles::tile_hashes(&layout, &vector, 1));
		assert_eq!(merkle_root(&hashes), neuroshard_graph::commit::tensors_root(&layout, &vector, 1));
	}
	let mut seen = BTreeSet::new();
	let updates: u32 = plan.stages().iter().filter(|stage| stage.op == Op::AdamW).map(|stage| stage.nodes()).sum();
	assert_eq!(plan.listed_nodes() + updates, plan.node_count());
	assert_eq!(trace.node_roots().len() as u32, plan.listed_nodes());
	for node in 0..plan.listed_nodes() {
		let hashes = trace.node_hashes(node);
		assert_eq!(Some(hashes.len() as u32), plan.node_tiles(node));
		for leaf in 0..hashes.len() as u32 {
			let cell = plan.node_cell(node, leaf).unwrap();
			let tensor = plan.cell_tensor(cell).unwrap();
			let leaves = hashes.len() as u32;
			assert_eq!(plan.address(tensor, cell.row, cell.col), Some(Address::Node { node, leaf, leaves }));
			// Most tensors are not kept, and computed again here.
			let tile = trace.tile_values(tensor, cell.row, cell.col).unwrap();
			assert_eq!(hashes[leaf as usize], tiles::leaf_hash(&tiles::bytes_of(&*tile)));
			assert!(seen.insert((cell.stage, cell.output, cell.row, cell.col)), "a tile belongs to one node only");
		}
		assert_eq!(plan.node_cell(node, hashes.len() as u32), None);
	}
	for (result, ids) in (0..).zip(plan.results()) {
		for leaf in 0..plan.vector_len() {
			let cell = plan.result_cell(result, leaf).unwrap();
			let tensor = plan.cell_tensor(cell).unwrap();
			assert!(ids.contains(&tensor));
			assert_eq!(plan.address(tensor, cell.row, cell.col), Some(Address::Result { result, leaf, leaves: plan.vector_len() }));
		}
	}
	assert_eq!(plan.node_tiles(plan.node_count()), None);
	assert_eq!(plan.result_cell(0, plan.vector_len()), None);
}

/// Counts what a piece reads.
struct Counting<'a> {
	trace: &'a Trace,
	bytes: usize,
}

impl Leaves for Counting<'_> {
	type Error = neuroshard_graph::resume::Malformed;

	fn tile(&mut self, tensor: neuroshard_graph::graph::TensorId, row: u32, col: u32) -> Result<Box<[f32; NUMBERS]>, Self::Error> {
		self.bytes += 4 * NUMBERS;
		(&mut &*self.trace).tile(tensor, row, col)
	}

	fn quarter(
		&mut self,
		tensor: neuroshard_graph::graph::TensorId,
		row: u32,
		col: u32,
		quarter: u32,
	) -> Result<[f32; NUMBERS / 4], Self::Error> {
		self.bytes += NUMBERS;
		(&mut &*self.trace).quarter(tensor, row, col, quarter)
	}

	fn tokens(&mut self, sequence: u32, first: u32, count: u32) -> Result<Vec<u32>, Self::Error> {
		// Two chunks at most.
		self.bytes += 8 * NUMBERS;
		(&mut &*self.trace).tokens(sequence, first, count)
	}
}

#[test]
fn no_piece_reads_more_than_fifty_tiles() {
	// Heads of two numbers: a tile covers sixteen of them.
	let model = ModelConfig { dim: 64, heads: 32, kv_heads: 16, ffn: 32, layers: 1, max_seq: 64, ..tiny_model() };
	let (trace, ..) = second_step(&model, &TrainConfig { batch: 12, seq_len: 32, ..tiny_train() });
	let job = trace.job();
	let mut most = (0, Op::Init);
	for (number, stage) in (0..).zip(trace.plan().stages()) {
		for (output, &tensor) in (0..).zip(trace.plan().outputs(stage)) {
			let info = trace.plan().tensor(tensor).unwrap();
			for (row, col) in [(0, 0), (info.rows.div_ceil(32) - 1, info.cols.div_ceil(32) - 1)] {
				let cell = Cell { stage: number, output, row, col };
				let mut state = Vec::new();
				for piece in 0..job.pieces(cell).unwrap() {
					let mut counting = Counting { trace: &trace, bytes: 0 };
					state = job.advance(cell, piece, state, &mut counting).unwrap();
					most = if counting.bytes > most.0 { (counting.bytes, stage.op) } else { most };
				}
			}
		}
	}
	assert!(most.0 <= 50 * 4_096, "{most:?}");
}

#[test]
fn of_texts_that_are_read_whatever_their_length() {
	let tiny = ModelConfig { max_seq: 320, ..tiny_model() };
	let wide = ModelConfig { vocab: 288, dim: 320, heads: 2, kv_heads: 1, ffn: 288, layers: 1, tied: false, ..tiny.clone() };
	let exec = Arc::new(Exec::new(2).unwrap());
	let [qwen2, qwen3] = other_families();
	for (model, tokens, count) in [(tiny.clone(), 32, 11), (tiny, 96, 11), (wide, 320, 11), (qwen2, 64, 12), (qwen3, 64, 11)] {
		let params = Arc::new(lively_theta(&ParamLayout::new(&model).unwrap(), 3));
		// Some of the tokens stand for the last one.
		let text = random_tokens(tokens, 400, 4);
		for class in [Class::ExactF32, Class::ExactInt8] {
			let trace = Trace::reading(&exec, &model, &tiny_train(), params.clone(), (&text, class), None).unwrap();
			let ops = every_tile_is_what_its_pieces_give(&trace);
			assert_eq!(ops.len(), count, "{ops:?}");
		}
	}
}

#[test]
fn of_a_text_that_is_read_in_eight_bits_with_parameters_of_every_kind() {
	let (model, exec) = (ModelConfig { tied: false, ..tiny_model() }, Arc::new(Exec::new(2).unwrap()));
	let layout = ParamLayout::new(&model).unwrap();
	// Zeros, groups of tiny and of subnormal numbers, and after them such numbers beside usual ones; then some that are not finite.
	for (first, odd) in [(1e-30, 3e38), (1e-42, f32::INFINITY), (0.0, f32::NAN)] {
		let mut params = lively_theta(&layout, 3);
		for tensor in layout.tensors().iter().filter(|tensor| tensor.rows > 1) {
			let values = &mut params[tensor.range()];
			values.chunks_mut(32).step_by(3).flatten().for_each(|value| *value *= first);
			values.chunks_mut(32).step_by(5).for_each(|group| group[7] *= first);
		}
		// The last matrix is the head: what is not finite there leaves the other logits alone.
		let last = params.len() - 5 * 64 - 3;
		params[last] = odd;
		let tokens = random_tokens(32, model.vocab, 4);
		let trace = Trace::reading(&exec, &model, &tiny_train(), Arc::new(params), (&tokens, Class::ExactInt8), None).unwrap();
		every_tile_is_what_its_pieces_give(&trace);
		let logits = trace.logits(31).unwrap();
		assert_eq!(logits.iter().filter(|logit| logit.is_nan()).count(), usize::from(!odd.is_finite()));
	}
}
