//! Which configurations are accepted, and the numbers derived from them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use codec::Encode;
use common::{adapter, muon_train, other_families, tiny_model, tiny_train};
use neuroshard_graph::{
	init::theta_0, Aggregator, ConfigError, Family, ModelConfig, Optimizer, ParamKind, ParamLayout, Products, Projection, Projections,
	Robust, RopeScaling, Rule, TrainConfig, F32,
};

fn model_error(change: impl FnOnce(&mut ModelConfig)) -> Option<ConfigError> {
	let mut model = tiny_model();
	change(&mut model);
	model.validate().err()
}

fn train_error(change: impl FnOnce(&mut TrainConfig)) -> Option<ConfigError> {
	let mut train = tiny_train();
	change(&mut train);
	train.validate(&tiny_model()).err()
}

#[test]
fn good_configurations_are_accepted() {
	assert_eq!(tiny_train().validate(&tiny_model()), Ok(()));
	assert_eq!(model_error(|m| m.tied = false), None);
	assert_eq!(train_error(|t| (t.warmup_steps, t.total_steps) = (4, 4)), None);
}

#[test]
fn bad_models_are_refused_for_the_right_reason() {
	use ConfigError::*;
	assert_eq!(model_error(|m| m.vocab = 65), Some(Dimension));
	assert_eq!(model_error(|m| m.ffn = 0), Some(Dimension));
	assert_eq!(model_error(|m| m.layers = 0), Some(Dimension));
	assert_eq!(model_error(|m| m.max_seq = 40), Some(Dimension));
	assert_eq!(model_error(|m| m.kv_heads = 1), Some(Dimension));
	assert_eq!(model_error(|m| m.heads = 0), Some(Heads));
	assert_eq!(model_error(|m| m.heads = 5), Some(Heads));
	assert_eq!(model_error(|m| m.kv_heads = 3), Some(Heads));
	assert_eq!(model_error(|m| m.vocab = (1 << 20) + 32), Some(TooLarge));
	// Few enough parameters, but more tensors than a chain should lay out.
	assert_eq!(model_error(|m| m.layers = 128), None);
	assert_eq!(model_error(|m| m.layers = 129), Some(TooLarge));
	assert_eq!(model_error(|m| m.layers = 1 << 20), Some(TooLarge));
	assert_eq!(model_error(|m| m.layers = u32::MAX), Some(TooLarge));
	assert_eq!(model_error(|m| m.norm_eps = F32::new(0.0)), Some(Hyperparameter));
	assert_eq!(model_error(|m| m.rope_theta = 0), Some(Hyperparameter));
}

#[test]
fn heads_have_a_width_of_their_own_only_if_it_is_another_one() {
	use ConfigError::*;
	for model in other_families() {
		assert_eq!((model.validate(), tiny_train().validate(&model)), (Ok(()), Ok(())));
	}
	assert_eq!((tiny_model().head_dim(), tiny_model().q_dim(), tiny_model().kv_dim()), (16, 64, 32));
	assert_eq!(model_error(|m| m.head_dim = Some(16)), Some(Heads));
	let wide = ModelConfig { head_dim: Some(48), ..tiny_model() };
	assert_eq!((wide.validate(), wide.q_dim(), wide.kv_dim()), (Ok(()), 192, 96));
	// Heads that do not divide the residual stream need no other number.
	assert_eq!(model_error(|m| (m.heads, m.kv_heads, m.head_dim) = (6, 2, Some(16))), None);
	assert_eq!(model_error(|m| m.head_dim = Some(0)), Some(Dimension));
	assert_eq!(model_error(|m| m.head_dim = Some(33)), Some(Dimension));
	assert_eq!(model_error(|m| m.head_dim = Some(u32::MAX)), Some(Dimension));
	assert_eq!(model_error(|m| m.head_dim = Some(24)), Some(Dimension));
	assert_eq!(model_error(|m| (m.family, m.head_dim) = (Family::Qwen3, Some(48))), Some(Dimension));
	assert_eq!(model_error(|m| (m.family, m.head_dim) = (Family::Qwen3, None)), Some(Dimension));
}

#[test]
fn scalings_that_change_nothing_or_divide_by_nothing_are_refused() {
	let llama3 = |factor: f32, low: f32, high: f32, original| {
		let [factor, low, high] = [factor, low, high].map(F32::new);
		model_error(|m| m.rope_scaling = RopeScaling::Llama3 { factor, low, high, original })
	};
	let linear = |factor: f32| model_error(|m| m.rope_scaling = RopeScaling::Linear { factor: F32::new(factor) });
	assert_eq!([llama3(8.0, 1.0, 4.0, 8_192), linear(1.5), linear(1e6)], [None; 3]);
	let refused = [
		linear(1.0),
		linear(0.5),
		linear(f32::NAN),
		linear(f32::INFINITY),
		llama3(1.0, 1.0, 4.0, 8_192),
		llama3(8.0, 0.0, 4.0, 8_192),
		llama3(8.0, -0.0, 4.0, 8_192),
		llama3(8.0, 4.0, 4.0, 8_192),
		llama3(8.0, 4.0, 1.0, 8_192),
		llama3(8.0, 1.0, f32::INFINITY, 8_192),
		llama3(8.0, 1.0, 4.0, 0),
	];
	assert_eq!(refused, [Some(ConfigError::Hyperparameter); 11]);
}

#[test]
fn families_have_as_many_layers_as_give_no_more_tensors_than_the_deepest_llama() {
	for (family, most) in [(Family::Llama, 128), (Family::Qwen2, 96), (Family::Qwen3, 104)] {
		let deep = |layers| ModelConfig { family, heads: 2, head_dim: Some(64), layers, ..tiny_model() };
		assert_eq!((deep(most).validate(), deep(most + 1).validate()), (Ok(()), Err(ConfigError::TooLarge)), "{family:?}");
		let tensors = ParamLayout::new(&deep(most)).unwrap().tensors().len();
		assert_eq!(tensors, 2 + most as usize * family.tensors_per_layer() as usize);
		assert!(tensors <= 2 + 128 * 9);
	}
}

#[test]
fn a_norm_of_heads_bounds_their_tokens() {
	// 65,536 tokens of 64 heads are 2^22, with sequences so short that attention allows more.
	let [_, qwen3] = other_families();
	let model = ModelConfig { heads: 64, kv_heads: 1, ..qwen3 };
	let of = |batch| TrainConfig { batch, ..tiny_train() };
	assert_eq!((of(2_048).validate(&model), of(2_049).validate(&model)), (Ok(()), Err(ConfigError::TooLarge)));
	assert_eq!(of(4_096).validate(&ModelConfig { family: Family::Llama, ..model }), Ok(()));
}

#[test]
fn a_model_of_before_is_encoded_as_before_with_three_zeros_behind() {
	let model = tiny_model();
	let ModelConfig { vocab, dim, layers, heads, kv_heads, ffn, max_seq, tied, rope_theta, norm_eps, .. } = model.clone();
	let before = (vocab, dim, layers, heads, kv_heads, ffn, max_seq, tied, rope_theta, norm_eps).encode();
	assert_eq!(model.encode(), [before, vec![0; 3]].concat());
}

#[test]
fn layouts_of_other_families_follow_hugging_face_and_count_every_parameter() {
	let expected: [&[&str]; 2] = [
		&[
			"input_layernorm.weight",
			"self_attn.q_proj.weight",
			"self_attn.q_proj.bias",
			"self_attn.k_proj.weight",
			"self_attn.k_proj.bias",
			"self_attn.v_proj.weight",
			"self_attn.v_proj.bias",
			"self_attn.o_proj.weight",
			"post_attention_layernorm.weight",
			"mlp.gate_proj.weight",
			"mlp.up_proj.weight",
			"mlp.down_proj.weight",
		],
		&[
			"input_layernorm.weight",
			"self_attn.q_proj.weight",
			"self_attn.k_proj.weight",
			"self_attn.v_proj.weight",
			"self_attn.o_proj.weight",
			"self_attn.q_norm.weight",
			"self_attn.k_norm.weight",
			"post_attention_layernorm.weight",
			"mlp.gate_proj.weight",
			"mlp.up_proj.weight",
			"mlp.down_proj.weight",
		],
	];
	for (model, names) in other_families().iter().zip(expected) {
		let layout = ParamLayout::new(model).unwrap();
		for layer in 0..2 {
			let first = 1 + layer * names.len();
			let found: Vec<&str> = layout.tensors()[first..][..names.len()].iter().map(|t| t.name.as_str()).collect();
			let named: Vec<String> = names.iter().map(|name| format!("model.layers.{layer}.{name}")).collect();
			assert_eq!(found, named);
		}
		assert_eq!(layout.tensors()[1 + 2 * names.len()].name, "model.norm.weight");
		assert_eq!(model.parameters(), layout.len() as u64);
		let vectors = layout.tensors().iter().filter(|tensor| tensor.rows == 1);
		assert_eq!(model.vector_parameters(), vectors.map(|tensor| tensor.len() as u64).sum::<u64>());
	}
	let [qwen2, qwen3] = other_families().map(|model| ParamLayout::new(&model).unwrap());
	let shape = |layout: &ParamLayout, name: &str| {
		let tensor = layout.get(&format!("model.layers.1.self_attn.{name}")).unwrap();
		(tensor.rows, tensor.cols)
	};
	assert_eq!(["q_proj.weight", "q_proj.bias", "v_proj.bias"].map(|name| shape(&qwen2, name)), [(192, 64), (1, 192), (1, 96)]);
	assert_eq!(["o_proj.weight", "k_proj.weight", "k_norm.weight"].map(|name| shape(&qwen3, name)), [(64, 128), (64, 64), (1, 32)]);
}

#[test]
fn biases_begin_with_zeros_and_norms_of_heads_with_ones() {
	for model in other_families() {
		let layout = ParamLayout::new(&model).unwrap();
		let theta = theta_0(&model, &layout, &[3; 32]);
		for tensor in layout.tensors() {
			let first = theta[tensor.range()][0];
			match tensor.kind {
				ParamKind::Norm => assert!(theta[tensor.range()].iter().all(|&value| value == 1.0), "{}", tensor.name),
				ParamKind::Bias => assert!(theta[tensor.range()].iter().all(|&value| value == 0.0), "{}", tensor.name),
				_ => assert!(first != 0.0 && first.abs() < 0.2, "{}", tensor.name),
			}
		}
	}
}

#[test]
fn a_vocabulary_beyond_18_bits_answers_and_is_not_trained() {
	let wide = ModelConfig { vocab: (1 << 18) + 32, ..tiny_model() };
	assert_eq!((wide.validate(), tiny_train().validate(&wide)), (Ok(()), Err(ConfigError::TooLarge)));
	for vocab in [65_536, 65_568, 151_936, 1 << 18] {
		assert_eq!(tiny_train().validate(&ModelConfig { vocab, ..wide.clone() }), Ok(()));
	}
}

#[test]
fn bad_training_is_refused_for_the_right_reason() {
	use ConfigError::*;
	assert_eq!(train_error(|t| t.arithmetic_version = 3), Some(ArithmeticVersion));
	assert_eq!(train_error(|t| t.seq_len = 48), Some(Dimension));
	assert_eq!(train_error(|t| t.seq_len = 96), Some(Dimension));
	assert_eq!(train_error(|t| t.batch = 0), Some(Dimension));
	assert_eq!(train_error(|t| t.inner_steps = 0), Some(Dimension));
	assert_eq!(train_error(|t| t.validation_sequences = 0), Some(Dimension));
	assert_eq!(train_error(|t| t.commit_interval = 0), Some(CommitInterval));
	assert_eq!(train_error(|t| (t.inner_steps, t.commit_interval) = (65, 1)), Some(CommitInterval));
	assert_eq!(train_error(|t| t.batch = 1 << 17), Some(TooLarge));
	assert_eq!(train_error(|t| t.total_steps = 3), Some(Hyperparameter));
	for bad in [f32::NAN, f32::INFINITY, -1.0] {
		let bad = F32::new(bad);
		assert_eq!(train_error(|t| t.lr = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.lr_min = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.beta1 = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.beta2 = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.eps = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.weight_decay = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.clip = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.outer_lr = bad), Some(Hyperparameter));
		assert_eq!(train_error(|t| t.outer_beta = bad), Some(Hyperparameter));
	}
	assert_eq!(train_error(|t| t.beta1 = F32::new(1.0)), Some(Hyperparameter));
	assert_eq!(train_error(|t| (t.beta1, t.beta2) = (F32::new(0.9), F32::new(0.899))), Some(Hyperparameter));
	assert_eq!(train_error(|t| (t.beta1, t.beta2) = (F32::new(0.9), F32::new(0.9))), None);
	assert_eq!(train_error(|t| t.eps = F32::new(9e-17)), Some(Hyperparameter));
	assert_eq!(train_error(|t| t.eps = F32::new(1e-16)), None);
	assert_eq!(train_error(|t| t.lr_min = F32::new(1.0)), Some(Hyperparameter));
}

#[test]
fn muon_trains_a_model_and_has_a_momentum_below_one() {
	let with = |momentum: f32| train_error(|t| t.optimizer = Optimizer::Muon { momentum: F32::new(momentum) });
	assert_eq!([0.0, 0.95, 0.9999].map(with), [None; 3]);
	assert_eq!([-0.1, 1.0, f32::NAN].map(with), [Some(ConfigError::Optimizer); 3]);
	let beside = |optimizer| train_error(|t| (t.adapter, t.optimizer) = (Some(adapter(8, Projections::ALL)), optimizer));
	assert_eq!(beside(Optimizer::Muon { momentum: F32::new(0.95) }), Some(ConfigError::Optimizer));
	assert_eq!(beside(Optimizer::AdamW), None);
	let error = ConfigError::Optimizer.to_string();
	assert!(error.contains("Muon") && error.contains("adapter"), "{error}");
}

#[test]
fn the_optimizer_is_encoded_last_and_adamw_as_a_zero() {
	let (train, muon) = (tiny_train(), muon_train());
	let (encoded, with_muon) = (train.encode(), muon.encode());
	assert_eq!(encoded.last(), Some(&0));
	assert_eq!(with_muon, [&encoded[..encoded.len() - 1], &[1], &0.95f32.to_le_bytes()].concat());
}

#[test]
fn operations_of_muon_are_those_of_its_products_in_each_step() {
	// Of k and v, 32 x 64, a Newton-Schulz step takes 2 * 32 * 32 * (64 + 32 + 64) operations; of q and o 2 * 64 * 64 * 3 * 64; of the rest, with
	// sides of 64 and 96, 2 * 64 * 64 * (96 + 64 + 96). There are five of them, and two layers.
	let [k, q, gate] = [2 * 32 * 32 * 160, 2 * 64 * 64 * 192, 2 * 64 * 64 * 256u128];
	let per_step = 5 * 2 * (2 * k + 2 * q + 3 * gate);
	let (model, adamw, muon) = (tiny_model(), tiny_train(), muon_train());
	assert_eq!(muon.flops_per_round(&model), adamw.flops_per_round(&model) + 6 * per_step);
}

#[test]
fn layout_follows_hugging_face_and_counts_every_parameter() {
	let model = tiny_model();
	let layout = ParamLayout::new(&model).unwrap();
	let names: Vec<&str> = layout.tensors().iter().map(|t| t.name.as_str()).take(11).collect();
	let expected = [
		"model.embed_tokens.weight",
		"model.layers.0.input_layernorm.weight",
		"model.layers.0.self_attn.q_proj.weight",
		"model.layers.0.self_attn.k_proj.weight",
		"model.layers.0.self_attn.v_proj.weight",
		"model.layers.0.self_attn.o_proj.weight",
		"model.layers.0.post_attention_layernorm.weight",
		"model.layers.0.mlp.gate_proj.weight",
		"model.layers.0.mlp.up_proj.weight",
		"model.layers.0.mlp.down_proj.weight",
		"model.layers.1.input_layernorm.weight",
	];
	assert_eq!(names, expected);
	assert_eq!(layout.tensors().last().unwrap().name, "model.norm.weight");
	let k = layout.get("model.layers.1.self_attn.k_proj.weight").unwrap();
	assert_eq!((k.rows, k.cols), (32, 64));
	// Embedding 4096; per layer 2 * 64 + 2 * 4096 + 2 * 2048 + 3 * 6144; final norm 64.
	assert_eq!(layout.len(), 4096 + 2 * (128 + 8192 + 4096 + 18_432) + 64);
	assert_eq!(model.parameters(), layout.len() as u64);
	let mut next = 0;
	for tensor in layout.tensors() {
		assert_eq!(tensor.offset, next);
		next += tensor.len();
	}
	assert_eq!(next, layout.len());

	let untied = ModelConfig { tied: false, ..model };
	let layout = ParamLayout::new(&untied).unwrap();
	assert_eq!(layout.tensors().last().unwrap().name, "lm_head.weight");
	assert_eq!(untied.parameters(), layout.len() as u64);
	// 4 tiles of embedding and of head; norms 2; q, o 4; k, v 2; gate, up, down 6.
	assert_eq!(layout.tile_count(), 4 + 2 * (2 * 2 + 2 * 4 + 2 * 2 + 3 * 6) + 2 + 4);
}

#[test]
fn a_training_of_before_is_encoded_as_before_with_four_zeros_behind() {
	let train = tiny_train();
	// Mask, adapter, products, optimizer.
	let encoded = train.encode();
	assert_eq!(encoded[encoded.len() - 4..], [0; 4]);
	let int8 = TrainConfig { products: Products::Int8, ..train.clone() };
	assert_eq!(int8.encode(), [&encoded[..encoded.len() - 2], &[1, 0]].concat());
}

#[test]
fn an_adapter_has_as_many_parameters_as_its_layout_and_two_thirds_of_its_models_operations() {
	let train = tiny_train();
	for model in other_families() {
		for projections in Projection::ALL.map(|which| [which].into_iter().collect()).into_iter().chain([Projections::ALL]) {
			let adapter = adapter(40, projections);
			assert_eq!(adapter.parameters(&model), ParamLayout::of(&model, Some(adapter)).unwrap().len() as u64, "{projections:?}");
			let beside = TrainConfig { adapter: Some(adapter), ..train.clone() };
			let per_token = 4 * model.parameters() + 6 * adapter.parameters(&model) + 6 * 2 * u64::from(model.q_dim()) * 33;
			assert_eq!(beside.flops_per_round(&model), u128::from(384 * per_token));
		}
	}
}

#[test]
fn an_adapter_has_no_more_parameters_than_a_model_may_have() {
	let model = ModelConfig { vocab: 32, dim: 32, heads: 1, kv_heads: 1, ffn: 65_536, layers: 64, ..tiny_model() };
	let of = |rank| adapter(rank, [Projection::Gate, Projection::Up, Projection::Down].into_iter().collect());
	// 64 layers of three times 32 + 65,536 numbers for each rank: 2^31 are 170.6 ranks.
	assert_eq!(ParamLayout::of(&model, Some(of(170))).unwrap().len(), 64 * 3 * 65_568 * 170);
	assert_eq!(ParamLayout::of(&model, Some(of(171))), Err(ConfigError::TooLarge));
	let train = TrainConfig { adapter: Some(of(171)), ..tiny_train() };
	assert_eq!((model.validate(), train.validate(&model)), (Ok(()), Err(ConfigError::TooLarge)));
}

#[test]
fn derived_numbers_match_a_count_by_hand() {
	let (model, train) = (tiny_model(), tiny_train());
	assert_eq!(train.tokens_per_round(), 2 * 32 * 6);
	assert_eq!(model.flops_per_token(32), 6 * model.parameters() + 6 * 2 * 64 * 33);
	let [qwen2, _] = other_families();
	assert_eq!(qwen2.flops_per_token(32), 6 * qwen2.parameters() + 6 * 2 * 192 * 33);
	assert_eq!(train.flops_per_round(&model), u128::from(384 * model.flops_per_token(32)));
	assert_eq!(train.state_roots(), 3);
	let uneven = TrainConfig { inner_steps: 7, ..train };
	assert_eq!(uneven.state_roots(), 4);
	assert_eq!([2, 3, 4, 6].map(|steps| uneven.state_roots_after(steps)), [1, 2, 2, 3]);
	let committed: Vec<u32> = (0..=7).filter(|&step| uneven.commits_after(step)).collect();
	assert_eq!(committed, [2, 4, 6, 7]);
}

#[test]
fn rounds_of_a_weighted_mean_end_after_committed_states_from_the_least_steps_on() {
	let of = |least_steps| {
		let aggregator = Aggregator::Robust(Robust { clip: F32::new(0.0), rule: Rule::WeightedMean { least_steps } });
		TrainConfig { batch: 2, seq_len: 32, inner_steps: 11, commit_interval: 3, aggregator, ..TrainConfig::tiny() }
	};
	let model = ModelConfig::tiny();
	let ends = |train: &TrainConfig| (0..20).filter(|steps| train.may_end_after(*steps)).collect::<Vec<_>>();
	assert_eq!((ends(&of(1)), ends(&of(4)), ends(&of(11))), (vec![3, 6, 9, 11], vec![6, 9, 11], vec![11]));
	assert_eq!(ends(&TrainConfig { aggregator: Aggregator::Mean, ..of(1) }), [11], "others take all steps");
	assert_eq!(
		[0, 63, 64, 192, 193, 384, 704, 768].map(|tokens| of(4).steps_of(tokens)),
		[None, None, None, None, None, Some(6), Some(11), None]
	);
	assert_eq!((of(1).validate(&model), of(11).validate(&model)), (Ok(()), Ok(())));
	assert_eq!([0, 12].map(|least| of(least).validate(&model)), [Err(ConfigError::LeastSteps); 2]);
}
