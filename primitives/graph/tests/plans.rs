//! Plans, and the outer step against numbers worked out by hand.

mod common;

use common::{tiny_model, tiny_train};
use neuroshard_graph::{
	exec,
	graph::{Op, Place, RowSlice, MAX_NODES, MAX_TILES_PER_NODE},
	outer::{aggregate, effective_trim, outer_step, AggregateError},
	plan::Plan,
	Aggregator, Class, ConfigError, ModelConfig, TrainConfig,
};
use proptest::prelude::*;
use std::collections::HashMap;

/// A model whose embedding, logits and feed-forward layers need several nodes per stage.
fn wide() -> (ModelConfig, TrainConfig) {
	let model = ModelConfig { vocab: 8192, dim: 384, heads: 6, kv_heads: 2, ffn: 1024, max_seq: 256, ..tiny_model() };
	(model, TrainConfig { batch: 8, seq_len: 256, ..tiny_train() })
}

fn plans() -> Vec<Plan> {
	let (model, train) = wide();
	vec![
		Plan::training(&tiny_model(), &tiny_train()).unwrap(),
		Plan::training(&model, &train).unwrap(),
		Plan::validation(&model, &train).unwrap(),
		Plan::reading(&model, 224, Class::ExactF32).unwrap(),
		Plan::reading(&model, 224, Class::ExactInt8).unwrap(),
		Plan::init(&model).unwrap(),
		Plan::delta(&model).unwrap(),
		Plan::outer(&model, &train, 3).unwrap(),
	]
}

#[test]
fn nodes_cover_every_stage_once_within_the_limit_of_tiles() {
	for plan in plans() {
		assert!(plan.node_count() <= MAX_NODES);
		let mut nodes = (0..plan.node_count()).map(|index| plan.node(index).unwrap());
		for stage in plan.stages() {
			let mut next = 0;
			for node in nodes.by_ref().take(stage.nodes() as usize) {
				assert_eq!(node.op, stage.op);
				let mut tiles = 0;
				for (&RowSlice { tensor, first, rows }, &output) in node.outputs.iter().zip(plan.outputs(stage)) {
					assert_eq!((tensor, first), (output, next));
					let cols = plan.tensor(tensor).unwrap().cols;
					tiles += rows.div_ceil(32) * cols.div_ceil(32);
				}
				assert!((1..=MAX_TILES_PER_NODE).contains(&tiles));
				next += node.outputs[0].rows;
			}
			for &output in plan.outputs(stage) {
				assert_eq!(next, plan.tensor(output).unwrap().rows);
			}
		}
		assert_eq!(plan.node(plan.node_count()), None);
	}
}

#[test]
fn every_value_is_written_once_and_before_it_is_read() {
	for plan in plans() {
		let mut writers = HashMap::new();
		for (number, stage) in plan.stages().iter().enumerate() {
			for &(input, _) in plan.inputs(stage) {
				assert!(writers.get(&input).is_none_or(|&writer| writer < number));
			}
			for &output in plan.outputs(stage) {
				assert_eq!(writers.insert(output, number), None, "{:?} writes a value again", stage.op);
			}
		}
	}
}

/// What shares memory with a later value must not be read after that value is written.
#[test]
fn memory_is_reused_only_after_the_last_reader() {
	for plan in plans() {
		let mut owner: HashMap<u64, _> = HashMap::new();
		for stage in plan.stages() {
			for &(input, _) in plan.inputs(stage) {
				if let Some(Place::Arena(offset)) = plan.tensor(input).map(|info| info.place) {
					assert!(owner.get(&offset).is_none_or(|&id| id == input), "{:?} reads a value that is gone", stage.op);
				}
			}
			for &output in plan.outputs(stage) {
				if let Some(Place::Arena(offset)) = plan.tensor(output).map(|info| info.place) {
					owner.insert(offset, output);
				}
			}
		}
	}
}

#[test]
fn arena_buffers_are_aligned_and_never_overlap_in_part() {
	for plan in plans() {
		let mut buffers: Vec<(u64, u64)> = plan
			.tensors()
			.filter_map(|info| match info.place {
				Place::Arena(offset) => Some((offset, offset + info.len())),
				Place::Fused | Place::External => None,
			})
			.collect();
		buffers.sort_unstable();
		buffers.dedup();
		for (first, end) in &buffers {
			assert!(first % 16 == 0 && *end <= plan.arena_len());
		}
		for pair in buffers.windows(2) {
			assert!(pair[0].1 <= pair[1].0, "{pair:?}");
		}
	}
}

#[test]
fn a_large_product_is_split_by_rows() {
	let (model, train) = wide();
	let plan = Plan::training(&model, &train).unwrap();
	// Logits: 64 bands of 256 tiles, 8 bands to a node.
	let stage = plan.stages().iter().find(|stage| plan.tensor(plan.outputs(stage)[0]).unwrap().cols == 8192).unwrap();
	assert!(matches!(stage.op, Op::Product(_)));
	assert_eq!((stage.nodes(), stage.rows_per_node), (8, 256));
	let node = plan.node(stage.first_node + 3).unwrap();
	assert_eq!((node.outputs[0].first, node.outputs[0].rows), (768, 256));
	assert_eq!((node.inputs[0].first, node.inputs[0].rows), (768, 256));
	assert_eq!((node.inputs[1].first, node.inputs[1].rows), (0, 8192));
}

#[test]
fn a_step_with_too_many_nodes_is_refused() {
	let model = ModelConfig { dim: 32, heads: 1, kv_heads: 1, ffn: 32, vocab: 32, layers: 100, max_seq: 32, ..tiny_model() };
	assert_eq!(tiny_train().validate(&model), Ok(()));
	// Two nodes a stage.
	let many = TrainConfig { batch: 4_096, ..tiny_train() };
	assert_eq!(many.validate(&ModelConfig { layers: 50, ..model.clone() }), Ok(()));
	assert_eq!(many.validate(&model), Err(ConfigError::TooLarge));
}

#[test]
fn an_outer_step_of_more_than_128_deltas_is_refused_however_many_layers_it_is_about() {
	let model = ModelConfig { dim: 32, heads: 1, kv_heads: 1, ffn: 32, vocab: 32, layers: 128, max_seq: 32, ..tiny_model() };
	assert!(Plan::outer(&model, &tiny_train(), 128).is_ok());
	assert_eq!(Plan::outer(&model, &tiny_train(), 129), Err(ConfigError::TooLarge));
	assert_eq!(Plan::outer(&model, &tiny_train(), 0), Err(ConfigError::TooLarge));
}

#[test]
fn mean_and_trimmed_mean_match_hand_computation() {
	let deltas: [&[f32]; 5] = [&[1.0, -4.0], &[2.0, 0.5], &[100.0, 0.25], &[3.0, 0.75], &[-50.0, 9.0]];
	let mut out = [0.0; 2];
	aggregate(&deltas[..2], Aggregator::Mean, &mut out).unwrap();
	assert_eq!(out, [1.5, -1.75]);
	aggregate(&deltas, Aggregator::TrimmedMean { trim: 1 }, &mut out).unwrap();
	assert_eq!(out, [2.0, 0.5]);
	// Two deltas leave nothing to trim, five at most two at each end.
	aggregate(&deltas[..2], Aggregator::TrimmedMean { trim: 3 }, &mut out).unwrap();
	assert_eq!(out, [1.5, -1.75]);
	assert_eq!([1, 2, 3, 4, 5].map(|n| effective_trim(9, n)), [0, 0, 1, 1, 2]);
}

#[test]
fn outer_step_matches_hand_computation() {
	let (mut theta, mut momentum) = ([1.0, -2.0], [0.5, 0.0]);
	outer_step(&mut theta, &mut momentum, &[0.25, 4.0], 0.5, 0.5).unwrap();
	assert_eq!(momentum, [0.5, 4.0]);
	assert_eq!(theta, [1.0 - 0.5 * 0.5, -2.0 - 0.5 * 6.0]);
	// Learning rate 1 without momentum puts theta at the mean of the workers' parameters.
	let mut theta = [3.0];
	outer_step(&mut theta, &mut [0.0], &[1.25], 1.0, 0.0).unwrap();
	assert_eq!(theta, [1.75]);
}

proptest! {
	#[test]
	fn all_cores_give_the_bits_of_the_reference(
		deltas in prop::collection::vec(prop::collection::vec(-1e3f32..1e3, 333), 1..7),
		trim in 0u16..4,
		lr in 0f32..2.0,
		beta in 0f32..1.0,
	) {
		let executor = exec::Exec::new(2).unwrap();
		let deltas: Vec<&[f32]> = deltas.iter().map(Vec::as_slice).collect();
		for aggregator in [Aggregator::Mean, Aggregator::TrimmedMean { trim }] {
			let (mut one, mut all) = (vec![0.0; 333], vec![0.0; 333]);
			aggregate(&deltas, aggregator, &mut one).unwrap();
			exec::aggregate(&executor, &deltas, aggregator, &mut all).unwrap();
			prop_assert_eq!(&one, &all);
			let (mut theta, mut momentum) = (vec![0.5; 333], one.clone());
			let (mut theta_all, mut momentum_all) = (theta.clone(), one.clone());
			outer_step(&mut theta, &mut momentum, deltas[0], lr, beta).unwrap();
			exec::outer_step(&executor, &mut theta_all, &mut momentum_all, deltas[0], lr, beta).unwrap();
			prop_assert_eq!((theta, momentum), (theta_all, momentum_all));
		}
	}
}

#[test]
fn aggregation_refuses_mismatched_vectors() {
	let mut out = [0.0; 2];
	assert_eq!(aggregate(&[], Aggregator::Mean, &mut out), Err(AggregateError::Count(0)));
	assert_eq!(aggregate(&[&[1.0]], Aggregator::Mean, &mut out), Err(AggregateError::Length(2, 1)));
	assert_eq!(outer_step(&mut out, &mut [0.0], &[0.0; 2], 1.0, 0.0), Err(AggregateError::Length(2, 1)));
}
