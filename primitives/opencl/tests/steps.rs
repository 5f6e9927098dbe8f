//! Whole training steps and validations: the device's losses, gradients and states have the bits of the CPU's, in every way to spend memory.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{bits, device};
use core::convert::Infallible;
use neuroshard_compute::exec::{Arena, Backend, Exec, StepMemory, StepOutcome, Trainer, Validator};
use neuroshard_graph::{
	config::{Adapter, Family, ModelConfig, Optimizer, Products, Projections, TrainConfig, F32},
	corpus::MASK,
	init::theta_0,
	layout::ParamLayout,
	merkle::Hash,
};
use neuroshard_opencl::OpenCl;
use std::sync::Arc;

/// Bits of a step: loss, norm and gradient, and the state after it with its roots.
type Step = ([u32; 2], Vec<u32>, [Vec<u32>; 3], [Hash; 3]);

/// Tokens of a step. Where there is a mask, the first third and every fifth count nothing.
fn batch(model: &ModelConfig, train: &TrainConfig, step: u32) -> Vec<u32> {
	let all = train.batch * (train.seq_len + 1);
	let masked = |place: u32| train.masked && (3 * place < all || place.is_multiple_of(5));
	(0..all).map(|place| if masked(place) { MASK } else { 0 } | ((place + 77 * step) * 7_919 % 1_009 % model.vocab)).collect()
}

/// Where training starts: of an adapter B is not 0, so that A has a gradient.
fn start(model: &ModelConfig, train: &TrainConfig) -> Vec<f32> {
	let mut theta = theta_0(model, &ParamLayout::trained(model, train).unwrap(), &train.seed);
	let zeros = theta.iter_mut().enumerate().filter(|(_, value)| **value == 0.0 && train.adapter.is_some());
	zeros.for_each(|(at, value)| *value = (at % 13) as f32 * 0.01 - 0.06);
	theta
}

/// Two steps in an arena of NaNs, so that whatever is read was written.
fn steps<B: Backend>(backend: Arc<B>, memory: StepMemory, (model, train): (&ModelConfig, &TrainConfig), arena: &mut B::Arena) -> [Step; 2] {
	let mut trainer = Trainer::with_memory(backend.clone(), model, train, memory).unwrap();
	backend.fill(arena, 0..trainer.arena_len(), f32::NAN);
	trainer.begin(arena, &start(model, train));
	if train.adapter.is_some() {
		trainer.set_model(arena, &theta_0(model, &ParamLayout::new(model).unwrap(), &[7; 32]));
	}
	[0, 1].map(|step| {
		let StepOutcome { loss, grad_norm } =
			trainer.train_step(arena, &batch(model, train, step), step.into(), u64::from(step) + 1).unwrap();
		(
			[loss.to_bits(), grad_norm.to_bits()],
			bits(&trainer.gradient_of(arena)),
			trainer.state(arena).map(|vector| bits(&vector)),
			trainer.state_roots(arena),
		)
	})
}

fn loss<B: Backend>(backend: Arc<B>, (model, train): (&ModelConfig, &TrainConfig), arena: &mut B::Arena) -> u32 {
	let mut validator = Validator::new(backend.clone(), model, train).unwrap();
	backend.write(arena, 0, &start(model, train));
	let loss = validator.loss(arena, |sequence, tokens: &mut [u32]| {
		(0..).zip(tokens).for_each(|(place, token): (u32, _)| *token = (sequence * 131 + place * 17) % model.vocab);
		Ok::<_, Infallible>(())
	});
	loss.unwrap().to_bits()
}

/// Steps and a validation of one configuration, with memory spent in these ways.
fn agree(device: &Arc<OpenCl>, model: &ModelConfig, train: &TrainConfig, ways: &[StepMemory]) {
	let exec = Arc::new(Exec::new(2).unwrap());
	let room = |memory: StepMemory| {
		let validator = Validator::new(exec.clone(), model, train).unwrap().arena_len();
		usize::try_from(memory.arena_len(model, train).unwrap()).unwrap().max(validator)
	};
	let whole = StepMemory::default();
	let mut arena = Arena::new(room(whole));
	let expected = steps(exec.clone(), whole, (model, train), &mut arena[..]);
	for &memory in ways {
		let mut arena = device.arena(room(memory)).unwrap();
		assert!(steps(device.clone(), memory, (model, train), &mut arena) == expected, "{:?}, {memory:?}", model.family);
	}
	if train.adapter.is_none() {
		let expected = loss(exec.clone(), (model, train), &mut arena[..]);
		assert_eq!(loss(device.clone(), (model, train), &mut device.arena(room(whole)).unwrap()), expected, "{:?}", model.family);
	}
}

#[test]
fn steps_of_every_family_have_the_bits_of_the_cpu_in_every_way_to_spend_memory() {
	let device = Arc::new(device());
	let train = TrainConfig { batch: 6, ..TrainConfig::tiny() };
	let models = [
		ModelConfig { layers: 3, ..ModelConfig::tiny() },
		ModelConfig { tied: false, family: Family::Qwen2, ..ModelConfig::tiny() },
		ModelConfig { family: Family::Qwen3, head_dim: Some(32), ..ModelConfig::tiny() },
	];
	let ways: Vec<_> = StepMemory::ways(&train).collect();
	for model in models {
		agree(&device, &model, &train, &ways);
		agree(&device, &model, &TrainConfig { masked: true, ..train.clone() }, &ways[..2]);
	}
}

#[test]
fn steps_of_an_adapter_have_the_bits_of_the_cpu() {
	let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
	let train = TrainConfig { batch: 6, adapter: Some(adapter), ..TrainConfig::tiny() };
	let ways: Vec<_> = StepMemory::ways(&train).collect();
	agree(&Arc::new(device()), &ModelConfig { layers: 2, ..ModelConfig::tiny() }, &train, &ways);
}

#[test]
fn steps_of_muon_have_the_bits_of_the_cpu() {
	let train = TrainConfig { batch: 6, optimizer: Optimizer::Muon { momentum: F32::new(0.95) }, ..TrainConfig::tiny() };
	let ways: Vec<_> = StepMemory::ways(&train).collect();
	let model = ModelConfig { layers: 2, dim: 96, kv_heads: 1, ffn: 64, ..ModelConfig::tiny() };
	agree(&Arc::new(device()), &ModelConfig { head_dim: Some(32), ..model }, &train, &ways);
}

#[test]
fn steps_of_more_than_4096_tokens_have_the_bits_of_the_cpu() {
	let device = Arc::new(device());
	for products in [Products::F32, Products::Int8] {
		let train = TrainConfig { batch: 132, products, ..TrainConfig::tiny() };
		agree(&device, &ModelConfig { tied: false, vocab: 320, ..ModelConfig::tiny() }, &train, &[StepMemory::default()]);
	}
}

#[test]
fn steps_in_exact_int8_have_the_bits_of_the_cpu() {
	let device = Arc::new(device());
	let train = TrainConfig { batch: 6, products: Products::Int8, ..TrainConfig::tiny() };
	let ways: Vec<_> = StepMemory::ways(&train).collect();
	for family in [Family::Llama, Family::Qwen2, Family::Qwen3] {
		agree(&device, &ModelConfig { family, head_dim: Some(32), ..ModelConfig::tiny() }, &train, &ways);
	}
	let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
	agree(&device, &ModelConfig::tiny(), &TrainConfig { adapter: Some(adapter), ..train }, &ways[..1]);
}
