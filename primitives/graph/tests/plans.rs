//! Plans.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{adapter, every_rule, muon_train, other_families, tiny_model, tiny_train};
use neuroshard_graph::{
	graph::{Op, Place, Product, RowSlice, Stage, MAX_NODES, MAX_TILES_PER_NODE, MAX_TILES_PER_ROW},
	plan::Plan,
	Aggregator, Class, ConfigError, Family, ModelConfig, Products, Projection, Projections, Robust, Rule, TrainConfig, F32,
	MAX_TRAINED_VOCAB,
};
use std::collections::HashMap;

/// A model whose embedding, logits and feed-forward layers need several nodes per stage.
fn wide() -> (ModelConfig, TrainConfig) {
	let model = ModelConfig { vocab: 8192, dim: 384, heads: 6, kv_heads: 2, ffn: 1024, max_seq: 256, ..tiny_model() };
	(model, TrainConfig { batch: 8, seq_len: 256, ..tiny_train() })
}

/// One layer, with logits of so many tokens.
fn of_vocabulary(vocab: u32) -> ModelConfig {
	ModelConfig { vocab, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, ..tiny_model() }
}

fn plans() -> Vec<Plan> {
	let (model, train) = wide();
	let large = of_vocabulary(151_936);
	let families = other_families().into_iter().flat_map(|model| {
		let train = tiny_train();
		let reading = Plan::reading(&model, 64, Class::ExactInt8);
		[Plan::training(&model, &train), Plan::validation(&model, &train), reading, Plan::outer(&model, &train, 2)].map(Result::unwrap)
	});
	let mut plans = vec![
		Plan::training(&tiny_model(), &tiny_train()).unwrap(),
		Plan::training(&model, &train).unwrap(),
		Plan::validation(&model, &train).unwrap(),
		Plan::reading(&model, 224, Class::ExactF32).unwrap(),
		Plan::reading(&model, 224, Class::ExactInt8).unwrap(),
		Plan::init(&model).unwrap(),
		Plan::delta(&model, &train).unwrap(),
		Plan::outer(&model, &train, 3).unwrap(),
		Plan::training(&large, &tiny_train()).unwrap(),
		Plan::validation(&large, &tiny_train()).unwrap(),
		Plan::reading(&large, 64, Class::ExactF32).unwrap(),
		Plan::training(&tiny_model(), &muon_train()).unwrap(),
		Plan::recomputing(&ModelConfig { layers: 1, ..model }, &TrainConfig { optimizer: muon_train().optimizer, ..train }).unwrap(),
	];
	plans.extend(families);
	plans
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
				let (mut tiles, mut row_of_tiles) = (0, 0);
				for (&RowSlice { tensor, first, rows }, &output) in node.outputs.iter().zip(plan.outputs(stage)) {
					assert_eq!((tensor, first), (output, next));
					let cols = plan.tensor(tensor).unwrap().cols;
					tiles += rows.div_ceil(32) * cols.div_ceil(32);
					row_of_tiles += cols.div_ceil(32);
				}
				let most = if tiles > row_of_tiles { MAX_TILES_PER_NODE } else { MAX_TILES_PER_ROW };
				assert!((1..=most).contains(&tiles));
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
		// Matrices of several sizes share a buffer of Muon from its beginning on.
		buffers.sort_unstable_by_key(|&(first, end)| (first, core::cmp::Reverse(end)));
		buffers.dedup_by_key(|(first, _)| *first);
		for (first, end) in &buffers {
			assert!(first % 16 == 0 && *end <= plan.arena_len());
		}
		for pair in buffers.windows(2) {
			assert!(pair[0].1 <= pair[1].0, "{pair:?}");
		}
	}
}

#[test]
fn logits_of_a_large_vocabulary_take_no_more_than_256_mib() {
	let model = ModelConfig { vocab: 65_536, dim: 256, heads: 8, kv_heads: 8, ffn: 768, layers: 2, max_seq: 256, ..tiny_model() };
	let train = TrainConfig { batch: 8, seq_len: 256, validation_sequences: 8, ..tiny_train() };
	let small = ModelConfig { vocab: 32, ..model.clone() };
	// Vectors of the model's size, and all logits, beside the same buffers.
	let more = |plan: fn(&ModelConfig, &TrainConfig) -> Result<Plan, ConfigError>, vectors: u64| {
		let [large, small] = [&model, &small].map(|model| plan(model, &train).unwrap().arena_len());
		4 * (large - small - vectors * u64::from(model.vocab - 32) * 256)
	};
	for bytes in [more(Plan::training, 4), more(Plan::validation, 1)] {
		assert!((64 << 20..=256 << 20).contains(&bytes), "{bytes} bytes, where all logits together are 512 MiB");
	}
}

#[test]
fn rows_of_logits_at_a_time_are_multiples_of_32_and_at_most_512() {
	for (vocab, batch, rows) in [(64, 2, 64), (64, 17, 288), (64, 264, 512), (65_536, 64, 512), (60_000, 20, 320)] {
		let model = ModelConfig { vocab, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: 1, ..tiny_model() };
		let train = TrainConfig { batch, seq_len: 32, validation_sequences: batch, ..tiny_train() };
		for plan in [Plan::training(&model, &train).unwrap(), Plan::validation(&model, &train).unwrap()] {
			let job = plan.job.unwrap();
			assert_eq!(job.logits.rows, rows, "vocabulary {vocab}, batch {batch}");
			assert_eq!(job.logits.later.is_some(), job.update.is_some() && batch * 32 > 4_096);
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
fn a_node_has_the_rows_of_2048_tiles_and_at_least_32() {
	let vocabularies = [(288, 32 * 227), (32_768, 64), (32_800, 32), (65_536, 32), (65_568, 32), (151_936, 32), (MAX_TRAINED_VOCAB, 32)];
	for (vocab, rows_per_node) in vocabularies {
		let (model, train) = (of_vocabulary(vocab), TrainConfig { batch: 5, seq_len: 32, ..tiny_train() });
		let plan = Plan::training(&model, &train).unwrap();
		let wide = plan.stages().iter().filter(|stage| plan.tensor(plan.outputs(stage)[0]).unwrap().cols == vocab);
		let wide: Vec<_> = wide.map(|stage| (stage.op, stage.rows_per_node, stage.nodes(), plan.node_tiles(stage.first_node))).collect();
		// Logits and their gradient.
		assert_eq!(wide.len(), 2, "vocabulary {vocab}: {wide:?}");
		let rows = rows_per_node.min(160);
		for (op, per_node, nodes, tiles) in wide {
			let expected = (rows_per_node, 160u32.div_ceil(rows_per_node), Some(rows / 32 * (vocab / 32)));
			assert_eq!((per_node, nodes, tiles), expected, "vocabulary {vocab}: {op:?}");
		}
	}
}

#[test]
fn a_row_of_more_than_8192_tiles_is_refused() {
	let accepts = |model: &ModelConfig| tiny_train().validate(model);
	let vocab = |vocab| accepts(&of_vocabulary(vocab));
	assert_eq!((vocab(1 << 18), vocab((1 << 18) + 32)), (Ok(()), Err(ConfigError::TooLarge)));
	// A row of a weight of 2,730 tiles is updated with both of its moments.
	let ffn = |ffn| accepts(&ModelConfig { ffn, ..of_vocabulary(32) });
	assert_eq!((ffn(32 * 2_730), ffn(32 * 2_731)), (Ok(()), Err(ConfigError::TooLarge)));
}

#[test]
fn a_step_has_two_nodes_for_each_32_tokens_of_a_large_vocabulary() {
	// Sequences of 32 tokens.
	let large = |batch| TrainConfig { batch, ..tiny_train() }.validate(&of_vocabulary(MAX_TRAINED_VOCAB));
	assert_eq!((large(4_096), large(4_224)), (Ok(()), Err(ConfigError::TooLarge)));
}

/// Operators of a layer of a training step, up to its RoPE, and from its backward RoPE to the products with q, k and v.
#[test]
fn biases_and_norms_of_heads_come_between_products_and_rope_and_back() {
	let [qwen2, qwen3] = other_families().map(|model| {
		let plan = Plan::training(&ModelConfig { layers: 1, ..model }, &tiny_train()).unwrap();
		let names: Vec<String> =
			plan.stages().iter().map(|stage| format!("{:?}", stage.op).split(['(', ' ']).next().unwrap().into()).collect();
		let after = |name: &str, count: usize| {
			let last = names.iter().rposition(|other| other == name).unwrap();
			names[last + 1..][..count].join(" ")
		};
		let first = names.iter().position(|name| name == "Product").unwrap();
		(names[first..][..9].join(" "), after("RopeBack", 7))
	});
	assert_eq!(qwen2.0, "Product Product Product AddBias AddBias AddBias Rope Rope Scores");
	assert_eq!(qwen2.1, "ColumnSums ColumnSums ColumnSums Product Product Product Product");
	assert_eq!(qwen3.0, "Product Product Product RmsStats RmsApply RmsStats RmsApply Rope Rope");
	assert_eq!(qwen3.1, "RmsBackStats RmsBackApply RmsWeightGrad RmsBackStats RmsBackApply RmsWeightGrad Product");
}

#[test]
fn no_plan_has_more_stages_than_that_of_the_deepest_llama() {
	let count = |family: Family| {
		let model = ModelConfig { family, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers: family.most_layers(), ..ModelConfig::tiny() };
		let train = TrainConfig { batch: 1, ..tiny_train() };
		let plans = [Plan::training(&model, &train), Plan::outer(&model, &train, 128), Plan::reading(&model, 32, Class::ExactF32)];
		plans.map(|plan| plan.unwrap().stages().len())
	};
	let [training, outer, reading] = count(Family::Llama);
	for family in [Family::Qwen2, Family::Qwen3] {
		let [others_training, others_outer, others_reading] = count(family);
		assert!(others_training <= training && others_outer <= outer && others_reading <= reading, "{family:?}");
	}
}

/// What making a plan takes: its stages, what they read, what they write, and its tensors.
fn counts(plan: &Plan) -> [usize; 4] {
	let all = |of: fn(&Plan, &Stage) -> usize| plan.stages().iter().map(|stage| of(plan, stage)).sum();
	[plan.stages().len(), all(|plan, stage| plan.inputs(stage).len()), all(|plan, stage| plan.outputs(stage).len()), plan.tensor_count()]
}

#[test]
fn no_adapter_has_a_larger_plan_than_the_deepest_llama() {
	let deep = |family: Family, layers| ModelConfig { family, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 1, ..tiny_train() };
	let plans =
		|model: &ModelConfig, train: &TrainConfig| [Plan::training(model, train), Plan::outer(model, train, 128)].map(Result::unwrap);
	let most = plans(&deep(Family::Llama, 128), &train).map(|plan| counts(&plan));
	// All 59 stages of a layer, and 25 beside them.
	assert_eq!(most[0][0], 128 * 59 + 25);
	for family in [Family::Llama, Family::Qwen2, Family::Qwen3] {
		let deepest = (1..=7).flat_map(|count| [&Projection::ALL[..count], &Projection::ALL[7 - count..]]).map(|projections| {
			let adapter = adapter(1, projections.iter().copied().collect());
			let train = TrainConfig { adapter: Some(adapter), ..train.clone() };
			let layers = (1..=family.most_layers()).rev().find(|&layers| train.validate(&deep(family, layers)).is_ok()).unwrap();
			for (plan, most) in plans(&deep(family, layers), &train).iter().zip(most) {
				let found = counts(plan);
				assert!(found.iter().zip(most).all(|(found, most)| *found <= most), "{family:?} {projections:?}: {found:?} of {most:?}");
			}
			layers
		});
		let deepest: Vec<u32> = deepest.collect();
		// By the number of projections, the first ones and the last ones.
		let expected = match family {
			Family::Llama => [128, 128, 124, 124, 106, 106, 93, 93, 83, 83, 74, 74, 68, 68],
			Family::Qwen2 => [96, 96, 96, 96, 96, 96, 90, 90, 80, 80, 72, 72, 66, 66],
			Family::Qwen3 => [104, 104, 104, 104, 95, 95, 85, 85, 76, 76, 69, 69, 63, 63],
		};
		assert_eq!(deepest, expected, "{family:?}");
	}
}

/// Stages that a projection of a tile has with Muon: direction, its squares and their sum, the division, and four of each Newton-Schulz step.
const OF_MUON: usize = 4 + 5 * 4;

#[test]
fn muon_has_the_directions_of_all_projections_between_the_clip_factor_and_the_update() {
	let of_layer = "MuonDirection SquareTiles TreeSum MuonNormalize".to_owned();
	let step = |first: &str| format!(" Product({first}) Product(Nt) MuonPolynomial Product(Nn)");
	for (model, tensors) in [tiny_model()].into_iter().chain(other_families()).zip([9, 12, 11]) {
		let model = ModelConfig { layers: 1, ..model };
		let plan = Plan::training(&model, &muon_train()).unwrap();
		let update = plan.job.unwrap().update.unwrap();
		let names: Vec<String> = plan.stages().iter().map(|stage| format!("{:?}", stage.op)).collect();
		assert_eq!(names[update.first_direction - 1], "ClipScale");
		assert_eq!(update.first_stage, update.first_direction + 7 * OF_MUON);
		// Of matrices with more rows than columns, which the gate and the way up of all of these are, columns are multiplied with each other.
		let found: Vec<String> = names[update.first_direction..update.first_stage].chunks(OF_MUON).map(|stages| stages.join(" ")).collect();
		let shapes = plan.stages()[update.first_direction..].iter().filter(|stage| stage.op == Op::MuonDirection);
		for (found, stage) in found.iter().zip(shapes) {
			let info = plan.tensor(plan.outputs(stage)[0]).unwrap();
			let first = if info.rows > info.cols { "Tn" } else { "Nt" };
			assert_eq!(*found, of_layer.clone() + &step(first).repeat(5));
		}
		// Norms, biases, embedding and head have AdamW.
		let updates = &names[update.first_stage..];
		assert_eq!(updates.iter().filter(|name| *name == "Muon").count(), 7);
		assert_eq!(updates.iter().filter(|name| *name == "AdamW").count(), tensors - 7 + if model.tied { 2 } else { 3 });
		// All directions are listed, and no update.
		assert_eq!(plan.listed_nodes(), plan.stages()[update.first_stage].first_node);
		let adamw = Plan::training(&model, &tiny_train()).unwrap();
		assert_eq!(adamw.stages()[..update.first_direction], plan.stages()[..update.first_direction]);
		assert_eq!(adamw.job.unwrap().update.map(|update| update.first_stage), Some(update.first_direction));
	}
}

#[test]
fn muon_takes_memory_for_its_largest_matrix_and_two_of_its_squares_beside_the_arena_of_adamw() {
	let (model, train) = wide();
	let len = |train: &TrainConfig| Plan::training(&model, train).unwrap().arena_len();
	// Gate, up and down are 1,024 x 384, and a few partial sums of each matrix.
	let more = len(&TrainConfig { optimizer: muon_train().optimizer, ..train.clone() }) - len(&train);
	let matrices = 1_024 * 384 + 2 * 384 * 384;
	assert!((matrices..matrices + 7 * 2 * 1_024).contains(&more), "{more}");
}

#[test]
fn no_muon_has_a_larger_plan_than_the_deepest_llama() {
	let deep = |family: Family, layers| ModelConfig { family, dim: 32, heads: 1, kv_heads: 1, ffn: 32, layers, ..ModelConfig::tiny() };
	let train = TrainConfig { batch: 1, ..tiny_train() };
	let most = counts(&Plan::training(&deep(Family::Llama, 128), &train).unwrap());
	let train = TrainConfig { batch: 1, ..muon_train() };
	for (family, expected) in [(Family::Llama, 33), (Family::Qwen2, 32), (Family::Qwen3, 31)] {
		let layers = (1..=family.most_layers()).rev().find(|&layers| train.validate(&deep(family, layers)).is_ok()).unwrap();
		assert_eq!(layers, expected, "{family:?}");
		let found = counts(&Plan::training(&deep(family, layers), &train).unwrap());
		assert!(found.iter().zip(most).all(|(found, most)| *found <= most), "{family:?}: {found:?} of {most:?}");
	}
	let error = train.validate(&deep(Family::Llama, 34)).unwrap_err();
	assert!(error == ConfigError::TooLarge && error.to_string().contains("Muon"), "{error}");
	// The deepest of models that are usual for their width, by their nodes.
	for (dim, ffn, heads, kv_heads, expected) in [(768, 2_048, 12, 12, 28), (1_024, 2_816, 16, 16, 24), (2_048, 5_632, 32, 8, 11)] {
		let model = |layers| ModelConfig { vocab: 32_768, dim, ffn, heads, kv_heads, layers, max_seq: 1_024, ..tiny_model() };
		let train = TrainConfig { batch: 2, seq_len: 1_024, ..muon_train() };
		let layers = (1..=64).rev().find(|&layers| train.validate(&model(layers)).is_ok()).unwrap_or(0);
		assert_eq!(layers, expected, "of width {dim}");
	}
}

#[test]
fn a_step_in_exact_int8_has_the_stages_of_one_in_f32_with_other_products_in_its_layers() {
	use Product::{Int8Nn, Int8Nt, Int8Tn, Nn, Nt, Tn};
	let f32 = TrainConfig { ..tiny_train() };
	let int8 = TrainConfig { products: Products::Int8, ..tiny_train() };
	for model in other_families().into_iter().chain([tiny_model()]) {
		for adapter in [None, Some(adapter(8, Projections::ALL))] {
			let of = |train: &TrainConfig| TrainConfig { adapter, ..train.clone() };
			for make in [Plan::training, Plan::recomputing] {
				let [exact, plan] = [&f32, &int8].map(|train| make(&model, &of(train)).unwrap());
				let mut found = [0; 6];
				for (stage, other) in plan.stages().iter().zip(exact.stages()) {
					let plain = match stage.op {
						Op::Product(Int8Nt) => Op::Product(Nt),
						Op::Product(Int8Nn) => Op::Product(Nn),
						Op::Product(Int8Tn) => Op::Product(Tn),
						op => op,
					};
					assert_eq!((plain, plan.inputs(stage), plan.outputs(stage)), (other.op, exact.inputs(other), exact.outputs(other)));
					if let Op::Product(kind) = stage.op {
						found[[Int8Nt, Int8Nn, Int8Tn, Nt, Nn, Tn].iter().position(|one| *one == kind).unwrap()] += 1;
					}
				}
				assert_eq!(plan.stages().len(), exact.stages().len());
				assert_eq!(plan.tensors().collect::<Vec<_>>(), exact.tensors().collect::<Vec<_>>());
				// Of each of the seven projections forwards, back and its gradient; in f32 those of the head, and of an adapter its own, two forwards and
				// four backwards. Nothing goes back through the first queries, keys and values under an adapter.
				let layers = model.layers as usize;
				let expected = match adapter {
					None => [7 * layers, 7 * layers, 7 * layers, 1, 1, 1],
					Some(_) => [7 * layers, 7 * layers - 3, 0, 14 * layers + 1, 14 * layers - 3 + 1, 14 * layers],
				};
				assert_eq!(found, expected, "{:?}", model.family);
			}
			// What is measured is measured in f32.
			let [exact, plan] = [&f32, &int8].map(|train| Plan::validation(&model, &of(train)).unwrap());
			assert_eq!(plan, exact);
		}
	}
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
fn robust_limits_that_mean_nothing_are_refused_and_no_clip_is_none_whatever_its_sign() {
	let model = tiny_model();
	let accepts = |clip: f32, rule| {
		TrainConfig { aggregator: Aggregator::Robust(Robust { clip: F32::new(clip), rule }), ..tiny_train() }.validate(&model)
	};
	let clipping = |radius: f32, steps| Rule::CentredClipping { liars: 1, radius: F32::new(radius), steps };
	let median = |floor: f32| Rule::GeometricMedian { liars: 1, floor: F32::new(floor), steps: 1 };
	let good = [accepts(0.0, clipping(1.0, 8)), accepts(-0.0, median(1.0)), accepts(2.0, Rule::Krum { liars: u16::MAX })];
	assert_eq!(good, [Ok(()); 3]);
	let bad = [(-1.0, Rule::Mean), (f32::NAN, Rule::Mean), (1e-45, Rule::Mean), (0.0, clipping(0.0, 1)), (0.0, clipping(9.0, 1))];
	for (clip, rule) in bad.into_iter().chain([(0.0, clipping(1.0, 0)), (0.0, clipping(1.0, 9)), (0.0, median(1.5))]) {
		assert_eq!(accepts(clip, rule), Err(ConfigError::Hyperparameter), "{clip} {rule:?}");
	}
}

#[test]
fn plans_of_robust_rules_take_few_nodes_beside_those_of_the_mean() {
	for (layers, dim) in [(1, 32), (128, 64), (48, 5_120)] {
		let model = ModelConfig { layers, dim, heads: 2, kv_heads: 2, ffn: 3 * dim, vocab: 65_536, ..tiny_model() };
		let mean = |deltas| Plan::outer(&model, &tiny_train(), deltas).map(|plan| plan.node_count());
		for (robust, deltas) in every_rule().into_iter().flat_map(|robust| [1, 32, 33, 128].map(|deltas| (robust, deltas))) {
			let aggregator = Aggregator::Robust(robust);
			let plan = Plan::outer(&model, &TrainConfig { aggregator, ..tiny_train() }, deltas);
			match mean(deltas).ok().filter(|_| deltas <= aggregator.most_deltas()).ok_or(()) {
				Ok(nodes) => assert!(plan.unwrap().node_count() <= nodes + nodes / 16 + 8, "{robust:?}"),
				Err(_) => assert!(plan.is_err()),
			}
		}
	}
}

#[test]
fn multi_krum_of_mixed_deltas_combines_at_most_64() {
	let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::MixedKrum { liars: 2 } });
	let train = TrainConfig { aggregator, ..tiny_train() };
	assert!(Plan::outer(&tiny_model(), &train, 64).is_ok());
	assert_eq!(Plan::outer(&tiny_model(), &train, 65), Err(ConfigError::TooLarge));
}
