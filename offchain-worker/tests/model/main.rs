//! The engine and the export against an independent f64 implementation of the model.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod gguf;
mod reference;

use neuroshard_compute::exec::{Exec, Inference, Pages, Piece, Sequence, Wanted};
use neuroshard_data::tokenizer::{bytes, Tokenizer};
use neuroshard_graph::{sampler::Sampling, Class, Family, ModelConfig, ParamKind, ParamLayout, RopeScaling, TrainConfig, F32};
use neuroshard_inference::{
	generate::{generate, GenerateError},
	Model, ModelError,
};
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::Engine,
	export::{export, ExportError},
	presets,
};
use reference::Llama;
use std::{fs, sync::Arc};

/// theta_0 with larger weights, uneven norms and biases, as after some training.
fn parameters(model: &ModelConfig, train: &TrainConfig) -> Vec<f32> {
	let mut params = Checkpoint::genesis(0, model, train, 1).unwrap().params;
	params.iter_mut().enumerate().for_each(|(index, value)| *value *= 3.0 + (index % 11) as f32 * 0.1);
	for tensor in ParamLayout::new(model).unwrap().tensors().iter().filter(|tensor| tensor.kind == ParamKind::Bias) {
		params[tensor.range()].iter_mut().enumerate().for_each(|(index, value)| *value = (index % 5) as f32 * 0.1 - 0.2);
	}
	params
}

fn untied() -> (ModelConfig, TrainConfig) {
	let (model, train) = presets::tiny();
	(ModelConfig { dim: 96, heads: 3, kv_heads: 1, ffn: 192, layers: 3, tied: false, rope_theta: 500_000, ..model }, train)
}

/// A model with biases, and one with norms of heads, with heads of a width of their own and scaled positions.
fn others() -> [(ModelConfig, TrainConfig); 2] {
	let (model, train) = presets::tiny();
	let llama3 = RopeScaling::Llama3 { factor: F32::new(8.0), low: F32::new(1.0), high: F32::new(4.0), original: 64 };
	let linear = RopeScaling::Linear { factor: F32::new(2.5) };
	let qwen2 = ModelConfig { family: Family::Qwen2, head_dim: Some(48), rope_scaling: linear, ..model.clone() };
	let qwen3 = ModelConfig { family: Family::Qwen3, head_dim: Some(32), rope_scaling: llama3, tied: false, ..model };
	[(qwen2, train.clone()), (qwen3, train)]
}

fn inference(model: &ModelConfig, params: &[f32]) -> Inference {
	Inference::new(Arc::new(Exec::new(1).unwrap()), model, params).unwrap()
}

fn model(config: &ModelConfig, params: &[f32]) -> Result<Model, ModelError> {
	Model::of_run("model".into(), config, &Tokenizer::bytes(), params, [0; 32], Class::ExactF32, 1)
}

#[test]
fn exported_logits_are_those_of_an_independent_implementation() {
	for (model, train) in [presets::tiny(), untied()].into_iter().chain(others()) {
		let folder = tempfile::tempdir().unwrap();
		let params = parameters(&model, &train);
		export(folder.path(), &model, &Tokenizer::bytes(), &params).unwrap();
		let reference = Llama::read(folder.path());
		let tokens: Vec<u32> = bytes::encode(b"pub fn main() { println!(\"seventy tokens are enough to see RoPE\"); }").collect();
		let (mut inference, mut sequence) = (inference(&model, &params), Sequence::default());
		let piece = Piece { sequence: &mut sequence, tokens: &tokens, wanted: Wanted::All };
		let ours = inference.logits(&Pages::new(4), &mut [piece]).unwrap().to_vec();
		let expected: Vec<f64> = reference.logits(&tokens).concat();
		assert_eq!(ours.len(), expected.len());
		let spread = expected.iter().fold(0.0, |most: f64, logit| most.max(logit.abs()));
		assert!(spread > 0.5, "the logits say nothing: {spread}");
		let difference = ours.iter().zip(&expected).fold(0.0, |most: f64, (a, b)| most.max((f64::from(*a) - b).abs()));
		assert!(difference < 1e-4 * spread.max(1.0), "{difference} at a spread of {spread}");
	}
}

#[test]
fn gradients_agree_with_finite_differences_in_f64() {
	let (model, train) = presets::tiny();
	let model = ModelConfig { dim: 64, heads: 4, kv_heads: 2, layers: 1, ffn: 32, tied: false, ..model };
	let train = TrainConfig { batch: 1, seq_len: 32, ..train };
	let params = parameters(&model, &train);
	let tokens: Vec<u32> = bytes::encode(b"let mut state = loader.read(window)?;").take(33).collect();
	let mut engine = Engine::new(&model, &train, 1).unwrap();
	engine.load(&params).unwrap();
	let (outcome, gradient) = engine.gradients(&tokens).unwrap();

	let folder = tempfile::tempdir().unwrap();
	export(folder.path(), &model, &Tokenizer::bytes(), &params).unwrap();
	let mut reference = Llama::read(folder.path());
	let loss = reference.loss(&tokens);
	assert!((f64::from(outcome.loss) - loss).abs() < 1e-5, "{} {loss}", outcome.loss);
	let tensors = engine.layout().tensors().to_vec();
	for tensor in tensors {
		// The 48 elements with the largest gradient: smaller ones drown in the rounding of f32.
		let ours = &gradient[tensor.range()];
		let mut order: Vec<usize> = (0..ours.len()).collect();
		order.sort_by(|a, b| ours[*b].abs().total_cmp(&ours[*a].abs()));
		let (mut difference, mut size) = (0.0, 0.0);
		for index in order.into_iter().take(48) {
			let mut slope = 0.0;
			for sign in [1.0, -1.0] {
				let step = sign * 1e-4;
				reference.tensors.get_mut(&tensor.name).unwrap()[index] += step;
				slope += sign * reference.loss(&tokens) / 2e-4;
				reference.tensors.get_mut(&tensor.name).unwrap()[index] -= step;
			}
			difference += (f64::from(ours[index]) - slope).powi(2);
			size += slope.powi(2);
		}
		assert!(size > 0.0 && (difference / size).sqrt() < 1e-3, "{}: {}", tensor.name, (difference / size).sqrt());
	}
}

#[test]
fn an_export_has_the_files_that_loaders_look_for() {
	let (model, train) = presets::tiny();
	let folder = tempfile::tempdir().unwrap();
	export(folder.path(), &model, &Tokenizer::bytes(), &parameters(&model, &train)).unwrap();
	let read = |name: &str| -> serde_json::Value { serde_json::from_slice(&fs::read(folder.path().join(name)).unwrap()).unwrap() };
	let config = read("config.json");
	assert_eq!((&config["architectures"][0], &config["model_type"]), (&"LlamaForCausalLM".into(), &"llama".into()));
	let types = others().map(|(model, train)| {
		export(folder.path(), &model, &Tokenizer::bytes(), &parameters(&model, &train)).unwrap();
		let config = read("config.json");
		(config["architectures"][0].as_str().unwrap().to_owned(), config["model_type"].as_str().unwrap().to_owned())
	});
	assert_eq!(types, [("Qwen2ForCausalLM", "qwen2"), ("Qwen3ForCausalLM", "qwen3")].map(|(a, b)| (a.to_owned(), b.to_owned())));
	assert_eq!((config["head_dim"].as_u64(), config["tie_word_embeddings"].as_bool()), (Some(16), Some(true)));
	assert_eq!(read("tokenizer_config.json")["eos_token"], bytes::END_OF_TEXT_TEXT);
	assert_eq!(read("generation_config.json")["eos_token_id"], 256);
	assert_eq!(fs::read_to_string(folder.path().join("tokenizer.json")).unwrap(), bytes::exported_tokenizer_json());
}

#[test]
fn parameters_and_vocabularies_of_other_models_are_refused() {
	let (model, train) = presets::tiny();
	let folder = tempfile::tempdir().unwrap();
	let params = parameters(&model, &train);
	assert!(matches!(export(folder.path(), &model, &Tokenizer::bytes(), &params[1..]), Err(ExportError::Parameters { .. })));
	let other = ModelConfig { vocab: 256, ..model };
	let error = export(folder.path(), &other, &Tokenizer::bytes(), &params).unwrap_err();
	assert_eq!(error.to_string(), "the model's vocabulary has 256 tokens, and the tokenizer needs 288");
	assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn generation_repeats_with_its_seed_and_ends_with_the_context() {
	let (model, train) = presets::tiny();
	let params = parameters(&model, &train);
	let mut model = self::model(&model, &params).unwrap();
	let mut sample = |seed, most, prompt: &str| generate(&mut model, None, prompt, most, &Sampling { seed, ..Sampling::default() });
	assert_eq!(sample(1, 20, "fn ").unwrap(), sample(1, 20, "fn ").unwrap());
	assert_ne!(sample(1, 20, "fn ").unwrap(), sample(2, 20, "fn ").unwrap());
	assert_eq!(sample(1, 0, "fn ").unwrap(), "");
	// A prompt of 117 bytes and the leading token leave room for 10 of the 128 positions; the last needs no room.
	assert!(sample(3, 1000, &"x".repeat(117)).unwrap().chars().count() <= 11);
	let error = sample(1, 10, &"x".repeat(200)).unwrap_err();
	assert_eq!(error.to_string(), "201 tokens where the model's longest sequence has 128");
}

#[test]
fn impossible_sampling_is_refused() {
	let (model, train) = presets::tiny();
	let params = parameters(&model, &train);
	for temperature in [-1.0, f32::NAN, f32::INFINITY] {
		let sampling = Sampling { temperature, ..Sampling::default() };
		let refused = generate(&mut self::model(&model, &params).unwrap(), None, "", 1, &sampling);
		assert!(matches!(refused, Err(GenerateError::Sampling(_))));
	}
	let other = ModelConfig { vocab: 256, ..model };
	assert!(matches!(self::model(&other, &params), Err(ModelError::Vocabulary { model: 256, needed: 288 })));
}
