//! The engine against candle's autograd: gradients of every parameter tensor, and a curve of 200 steps.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use candle_core::Tensor;
use neuroshard_data::tokenizer::bytes;
use neuroshard_graph::{corpus::MASK, Family, ModelConfig, RopeScaling, TrainConfig, F32};
use neuroshard_training::{
	checkpoint::Checkpoint,
	engine::{autograd::AutogradModel, Engine},
	presets,
};

/// Text with something to learn, `count` sequences of `length` tokens.
fn text(count: usize, length: usize, seed: usize) -> Vec<u32> {
	let words = ["let ", "value", " = ", "shard", "(index)", ";\n", "return ", "round", " + ", "tile"];
	let mut state = seed as u32 + 1;
	let mut tokens = Vec::new();
	while tokens.len() < count * length {
		state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
		tokens.extend(bytes::encode(words[(state >> 16) as usize % words.len()].as_bytes()));
	}
	tokens.truncate(count * length);
	tokens
}

/// The tiny preset with a smaller batch: candle is slow.
fn tied() -> (ModelConfig, TrainConfig) {
	let (model, train) = presets::tiny();
	(model, TrainConfig { batch: 4, ..train })
}

/// Grouped queries, a head of its own, and an ffn that is no multiple of a SIMD width's square.
fn untied() -> (ModelConfig, TrainConfig) {
	let (mut model, mut train) = presets::tiny();
	(model.dim, model.heads, model.kv_heads, model.ffn, model.layers, model.tied) = (96, 6, 2, 224, 3, false);
	(train.batch, train.seq_len) = (2, 32);
	(model, train)
}

/// Biases, and heads of a width of their own.
fn biased() -> (ModelConfig, TrainConfig) {
	let (model, train) = untied();
	(ModelConfig { family: Family::Qwen2, head_dim: Some(32), ..model }, train)
}

/// Norms of heads, and scaled angles.
fn normed() -> (ModelConfig, TrainConfig) {
	let (model, train) = untied();
	let rope_scaling = RopeScaling::Linear { factor: F32::new(2.5) };
	(ModelConfig { family: Family::Qwen3, head_dim: Some(32), rope_scaling, ..model }, train)
}

/// Where only some tokens are targets.
fn masked() -> (ModelConfig, TrainConfig) {
	let (model, train) = tied();
	(model, TrainConfig { masked: true, ..train })
}

#[test]
fn every_parameter_tensor_has_candles_gradient() {
	for (model, train) in [tied(), untied(), biased(), normed(), masked()] {
		let (batch, seq) = (train.batch as usize, train.seq_len as usize);
		let mut theta = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
		// Away from the start, where many gradients are nearly zero: larger weights, uneven norms.
		for (index, value) in theta.iter_mut().enumerate() {
			*value = *value * 3.0 + (index % 7) as f32 * 1e-3;
		}
		let mut tokens = text(batch, seq + 1, 5);
		if train.masked {
			tokens.iter_mut().enumerate().filter(|(place, _)| place % 7 < 4).for_each(|(_, token)| *token |= MASK);
		}
		let mut engine = Engine::new(&model, &train, 2).unwrap();
		engine.load(&theta).unwrap();
		let (outcome, gradient) = engine.gradients(&tokens).unwrap();

		let peer = AutogradModel::new(&model, engine.layout(), &theta).unwrap();
		let loss = peer.loss(&tokens, batch, seq).unwrap();
		let expected = f64::from(loss.to_scalar::<f32>().unwrap());
		assert!((f64::from(outcome.loss) - expected).abs() < 1e-5 * expected, "{} {expected}", outcome.loss);
		let gradients = peer.gradients(&loss).unwrap();
		assert_eq!(gradients.len(), engine.layout().tensors().len());
		let mut square_norm = 0.0;
		for (tensor, expected) in engine.layout().tensors().iter().zip(&gradients) {
			let expected: Vec<f32> = expected.flatten_all().unwrap().to_vec1().unwrap();
			let ours = &gradient[tensor.range()];
			assert_eq!(ours.len(), expected.len(), "{}", tensor.name);
			let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
			let size = norm(&mut expected.iter().map(|value| f64::from(*value)));
			let difference = norm(&mut ours.iter().zip(&expected).map(|(a, b)| f64::from(*a) - f64::from(*b)));
			assert!(size > 0.0 && difference / size < 1e-4, "{}: {}", tensor.name, difference / size);
			square_norm += size * size;
		}
		assert!((f64::from(outcome.grad_norm) - square_norm.sqrt()).abs() < 1e-4 * square_norm.sqrt());
	}
}

/// AdamW with warm-up and clipping, written out in candle.
struct PlainAdamW {
	moments: Vec<(Tensor, Tensor)>,
}

impl PlainAdamW {
	fn step(&mut self, model: &AutogradModel, gradients: &[Tensor], train: &TrainConfig, step: u32) -> candle_core::Result<()> {
		let get = |value: F32| f64::from(value.get());
		let (beta1, beta2, clip) = (get(train.beta1), get(train.beta2), get(train.clip));
		let warmup = f64::from(step + 1) / f64::from(train.warmup_steps);
		let lr = get(train.lr) * warmup.min(1.0);
		let mut square_norm = 0.0;
		for gradient in gradients {
			square_norm += f64::from(gradient.sqr()?.sum_all()?.to_scalar::<f32>()?);
		}
		let scale = if square_norm.sqrt() > clip { clip / square_norm.sqrt() } else { 1.0 };
		let t = step as i32 + 1;
		for ((var, gradient), (m, v)) in model.vars().iter().zip(gradients).zip(&mut self.moments) {
			let gradient = (gradient * scale)?;
			*m = ((&*m * beta1)? + (&gradient * (1.0 - beta1))?)?;
			*v = ((&*v * beta2)? + (gradient.sqr()? * (1.0 - beta2))?)?;
			let denominator = ((&*v / (1.0 - beta2.powi(t)))?.sqrt()? + get(train.eps))?;
			let update = ((&*m / (1.0 - beta1.powi(t)))? / denominator)?;
			var.set(&((var.as_tensor() * (1.0 - lr * get(train.weight_decay)))? - (update * lr)?)?)?;
		}
		Ok(())
	}
}

#[test]
fn two_hundred_steps_follow_a_plain_candle_loop() {
	let (model, train) = presets::tiny();
	let train = TrainConfig { batch: 4, seq_len: 32, lr: F32::new(2e-3), warmup_steps: 20, total_steps: 0, ..train };
	let theta = Checkpoint::genesis(0, &model, &train, 1).unwrap().params;
	let mut engine = Engine::new(&model, &train, 1).unwrap();
	engine.load(&theta).unwrap();
	let peer = AutogradModel::new(&model, engine.layout(), &theta).unwrap();
	let zero = |var: &candle_core::Var| var.zeros_like().unwrap();
	let mut optimizer = PlainAdamW { moments: peer.vars().iter().map(|var| (zero(var), zero(var))).collect() };
	let (mut first, mut last) = (0.0, 0.0);
	for step in 0..200 {
		let tokens = text(4, 33, step as usize);
		let ours = engine.train_step(&tokens, u64::from(step), u64::from(step) + 1).unwrap().loss;
		let loss = peer.loss(&tokens, 4, 32).unwrap();
		let expected: f32 = loss.to_scalar().unwrap();
		assert!((ours - expected).abs() < 0.01 * expected, "step {step}: {ours} against {expected}");
		let gradients = peer.gradients(&loss).unwrap();
		optimizer.step(&peer, &gradients, &train, step).unwrap();
		if step == 0 {
			first = ours;
		}
		last = ours;
	}
	assert!(last < 0.5 * first, "nothing was learnt: {first} to {last}");
}
