//! Whether a device computes the bits of the CPU: what everybody must know before it computes anything that others check.

use crate::{OpenCl, OpenClError};
use neuroshard_compute::{
	exec::{
		decode_delta, take_outer_step, Arena, Backend, CodeError, Decoding, Deltas, Inference, InferenceError, Piece, Sequence, SetupError,
		Stage, StepError, StepMemory, Trainer, Wanted,
	},
	round::Sent,
};
use neuroshard_graph::{
	config::{
		Adapter, Aggregator, Code, Compressed, Family, ModelConfig, Optimizer, Products, Projections, Robust, Rule, TopK, TrainConfig, F32,
	},
	corpus::MASK,
	init::theta_0,
	layout::ParamLayout,
	merkle::Hash,
	outer::AggregateError,
	Class,
};
use neuroshard_kernels::num::canon_bits;
use std::sync::Arc;

/// Steps that are compared.
const STEPS: u32 = 2;
/// Tokens that two texts begin with, and how many follow one by one. Of both, some lie in a second page.
const TEXTS: [usize; 2] = [62, 3];
const FOLLOWING: usize = 5;

impl OpenCl {
	/// Takes steps of small models on this device and on the CPU, and compares losses, gradients, parameters, moments and their roots bit for bit: of each
	/// family, of Muon, of an adapter, and of a batch whose chains over tokens have two segments, with masks, grouped queries and sizes that fill no group, in f32 and in
	/// int8. After them what is sent of a delta, in every code, and what outer steps make of it. All kernels take part. Then texts are read by these models in both
	/// classes, and their logits compared.
	///
	/// # Errors
	/// [`OpenClError::Wrong`] for other bits; [`OpenClError`].
	pub fn verify(self: &Arc<Self>) -> Result<(), OpenClError> {
		let (tiny, small) = (ModelConfig::tiny(), TrainConfig { batch: 2, masked: true, ..TrainConfig::tiny() });
		let parts = StepMemory { micro_batch: Some(1), recompute: true };
		let adapter = Adapter { base: [0; 32], rank: 8, alpha: F32::new(16.0), projections: Projections::ALL };
		let long = TrainConfig { batch: 26, seq_len: 160, ..small.clone() };
		let deep = ModelConfig { vocab: 96, dim: 96, layers: 2, heads: 6, kv_heads: 2, ffn: 160, max_seq: 160, ..tiny.clone() };
		let biased = ModelConfig { tied: false, family: Family::Qwen2, ..tiny.clone() };
		let normed = ModelConfig { family: Family::Qwen3, head_dim: Some(32), ..tiny.clone() };
		self.compare(&deep, &long, StepMemory::default())?;
		self.compare(
			&ModelConfig { layers: 1, ..deep.clone() },
			&TrainConfig { products: Products::Int8, ..long.clone() },
			StepMemory::default(),
		)?;
		let muon = Optimizer::Muon { momentum: F32::new(0.95) };
		self.compare(&deep, &TrainConfig { optimizer: muon, batch: 1, ..long }, StepMemory::default())?;
		self.compare(&biased, &small, parts)?;
		self.compare(&normed, &small, parts)?;
		self.compare(&tiny, &TrainConfig { adapter: Some(adapter), ..small.clone() }, StepMemory::default())?;
		self.compare_ends(&deep, &small)?;
		for (model, class) in [(&deep, Class::ExactF32), (&deep, Class::ExactInt8), (&biased, Class::ExactInt8), (&normed, Class::ExactF32)]
		{
			self.compare_answers(&ModelConfig { max_seq: 160, ..model.clone() }, class)?;
		}
		Ok(())
	}

	/// Compares what comes of texts that are read together, at once and token by token.
	fn compare_answers(self: &Arc<Self>, model: &ModelConfig, class: Class) -> Result<(), OpenClError> {
		let failed =
			|error: InferenceError| OpenClError::Driver { name: self.name().to_owned(), what: "read a text", reason: error.to_string() };
		match answers(self.clone(), model, class).map_err(failed)? == answers(self.host().clone(), model, class).map_err(failed)? {
			true => Ok(()),
			false => Err(OpenClError::Wrong { name: self.name().to_owned(), what: "an answer", family: format!("{:?}", model.family) }),
		}
	}

	/// Compares what is sent after steps, and outer steps with it.
	fn compare_ends(self: &Arc<Self>, model: &ModelConfig, train: &TrainConfig) -> Result<(), OpenClError> {
		let failed = |what, reason: String| OpenClError::Driver { name: self.name().to_owned(), what, reason };
		let robust = |rule| Robust { clip: F32::new(0.9), rule };
		let top = |cosine| Code::TopK(TopK { numbers: 8, decay: F32::new(0.9), cosine });
		let aggregators = [
			Aggregator::Mean,
			Aggregator::Robust(robust(Rule::TrimmedMean { trim: 1 })),
			Aggregator::Compressed(Compressed { code: Code::Int8, robust: robust(Rule::MultiKrum { liars: 0 }) }),
			Aggregator::Compressed(Compressed { code: top(false), robust: robust(Rule::Mean) }),
			Aggregator::Compressed(Compressed { code: top(true), robust: robust(Rule::Mean) }),
		];
		let len = StepMemory::default().arena_len(model, train).map_err(|error| failed("plan a step", error.to_string()))?;
		let len = usize::try_from(len).unwrap_or(usize::MAX);
		let (mut there, mut here) = (self.arena(len)?, Arena::new(len));
		for aggregator in aggregators {
			let train = TrainConfig { aggregator, outer_lr: F32::new(0.7), outer_beta: F32::new(0.9), ..train.clone() };
			let found = ends(self.clone(), model, &train, &mut there);
			let expected = ends(self.host().clone(), model, &train, &mut here[..]);
			let [found, expected] = [found, expected].map(|bits| bits.map_err(|error| failed("end a round", error.to_string())));
			if found? != expected? {
				let family = format!("{:?}", model.family);
				return Err(OpenClError::Wrong { name: self.name().to_owned(), what: "the end of a round", family });
			}
		}
		Ok(())
	}

	/// Compares steps whose memory the device spends in a way.
	fn compare(self: &Arc<Self>, model: &ModelConfig, train: &TrainConfig, memory: StepMemory) -> Result<(), OpenClError> {
		let failed = |what, reason: String| OpenClError::Driver { name: self.name().to_owned(), what, reason };
		let len = |memory: StepMemory| {
			let len = memory.arena_len(model, train).map_err(|error| failed("plan a step", error.to_string()))?;
			Ok(usize::try_from(len).unwrap_or(usize::MAX))
		};
		let (mut there, mut here) = (self.arena(len(memory)?)?, Arena::new(len(StepMemory::default())?));
		let found = steps(self.clone(), memory, model, train, &mut there);
		let expected = steps(self.host().clone(), StepMemory::default(), model, train, &mut here[..]);
		let [found, expected] = [found, expected].map(|bits| bits.map_err(|error| failed("take a step", error.to_string())));
		match found? == expected? {
			true => Ok(()),
			false => Err(OpenClError::Wrong { name: self.name().to_owned(), what: "a step", family: format!("{:?}", model.family) }),
		}
	}
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
enum Failed {
	#[error(transparent)]
	Setup(#[from] SetupError),
	#[error(transparent)]
	Step(#[from] StepError),
	#[error(transparent)]
	Code(#[from] CodeError),
	#[error(transparent)]
	Aggregate(#[from] AggregateError),
}

/// Bits of a delta as it is sent and said, with its residual and their roots, and of parameters and momentum after an outer step with three like it.
fn ends<B: Backend + Deltas>(backend: Arc<B>, model: &ModelConfig, train: &TrainConfig, arena: &mut B::Arena) -> Result<Vec<u32>, Failed> {
	let trainer = Trainer::new(backend.clone(), model, train)?;
	let layout = trainer.layout();
	// Neither the same everywhere nor with whole tiles of zeros.
	let numbers = |seed: u32| -> Vec<f32> {
		let number = |place: usize| (place as u32).wrapping_add(seed).wrapping_mul(2_654_435_761) >> 8;
		(0..layout.len()).map(|place| (number(place) as f32 / 8_388_608.0 - 1.0) * 0.001).collect()
	};
	let (base, residual) = (theta_0(model, layout, &train.seed), numbers(7));
	trainer.begin(arena, &base.iter().zip(numbers(1)).map(|(base, step)| base + step).collect::<Vec<_>>());
	let leaves_residual = train.code().and_then(Code::decay).is_some();
	let Sent { delta, delta_root, residual } = trainer.sent(arena, &base, leaves_residual.then_some(&residual[..]))?;
	backend.settled().map_err(StepError::from)?;
	let roots = residual.iter().flat_map(|residual| residual.roots).chain([delta_root]).flatten().map(u32::from).collect();
	let after = residual.map(|residual| residual.after).unwrap_or_default();
	let said = decode_delta(train, &*backend, layout, delta.clone())?;
	let deltas = [1.0, -0.5, 3.0].map(|factor| said.iter().zip(numbers(3)).map(|(said, other)| factor * said + other).collect::<Vec<_>>());
	let (mut theta, mut momentum) = (base, numbers(5));
	take_outer_step(&*backend, layout, train, &mut theta, &mut momentum, &deltas, &[])?;
	backend.settled().map_err(StepError::from)?;
	let bits = |vector: Vec<f32>| vector.into_iter().map(canon_bits).collect::<Vec<_>>();
	Ok([roots, bits(delta), bits(after), bits(said), bits(theta), bits(momentum)].concat())
}

/// Bits of losses, norms, gradients, parameters and moments.
fn steps<B: Backend>(
	backend: Arc<B>,
	memory: StepMemory,
	model: &ModelConfig,
	train: &TrainConfig,
	arena: &mut B::Arena,
) -> Result<Vec<u32>, Failed> {
	let mut trainer = Trainer::with_memory(backend.clone(), model, train, memory)?;
	let mut bits = Vec::new();
	let mut theta = theta_0(model, trainer.layout(), &train.seed);
	if train.adapter.is_some() {
		// B is not 0, so that A has a gradient.
		theta.iter_mut().filter(|value| **value == 0.0).for_each(|value| *value = 0.01);
		let base = ParamLayout::new(model).map_err(SetupError::from)?;
		trainer.set_model(arena, &theta_0(model, &base, &train.seed));
	}
	trainer.begin(arena, &theta);
	for step in 0..STEPS {
		let places = 0..train.batch * (train.seq_len + 1);
		let token = |place: u32| ((place + 77 * step) * 7_919 % 1_009 % model.vocab) | if place.is_multiple_of(5) { MASK } else { 0 };
		let tokens: Vec<u32> = places.map(token).collect();
		let outcome = trainer.train_step(arena, &tokens, step.into(), u64::from(step) + 1)?;
		bits.extend([outcome.loss, outcome.grad_norm].map(canon_bits));
		bits.extend(trainer.gradient_of(arena).iter().copied().map(canon_bits));
		let words = |hash: Hash| hash.into_iter().map(u32::from);
		bits.extend(trainer.state_roots(arena).into_iter().flat_map(words));
		bits.extend(trainer.state(arena).iter().flat_map(|vector| vector.iter()).copied().map(canon_bits));
		backend.settled().map_err(StepError::from)?;
	}
	Ok(bits)
}

/// Bits of the logits behind tokens of two texts.
fn answers<B: Decoding>(backend: Arc<B>, model: &ModelConfig, class: Class) -> Result<Vec<u32>, InferenceError> {
	let theta = theta_0(model, &ParamLayout::new(model).map_err(SetupError::from)?, &[3; 32]);
	let whole = Stage::whole(usize::try_from(model.layers).map_err(|_| SetupError::Memory)?);
	let mut inference = Inference::in_class(backend, model, &theta, &whole, class)?;
	let (pages, mut bits) = (inference.pages(4), Vec::new());
	let mut texts = [Sequence::default(), Sequence::default()];
	let token = |place: usize| (place * 7_919 % 1_009) as u32 % model.vocab;
	for pass in 0..=FOLLOWING {
		let counts = if pass == 0 { TEXTS } else { [1, 1] };
		let tokens = [0, 1].map(|text: usize| (0..counts[text]).map(|place| token(50 * pass + 13 * text + place)).collect::<Vec<_>>());
		let [first, second] = &mut texts;
		let mut pieces = [
			Piece { sequence: first, tokens: &tokens[0], wanted: Wanted::Last },
			Piece { sequence: second, tokens: &tokens[1], wanted: Wanted::All },
		];
		bits.extend(inference.logits(&pages, &mut pieces)?.iter().copied().map(canon_bits));
	}
	Ok(bits)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::{devices, OpenCl};
	use neuroshard_compute::exec::Exec;

	/// The first device, with these words of the kernels replaced.
	fn device(change: Option<(&str, &str)>) -> Arc<OpenCl> {
		let found = devices().unwrap().remove(0);
		let text = OpenCl::text(!found.is_cpu);
		let changed = change.map_or(text.clone(), |(words, others)| {
			assert!(text.contains(words), "{words}");
			text.replace(words, others)
		});
		Arc::new(OpenCl::of_text(&found, Arc::new(Exec::new(1).unwrap()), &changed).unwrap())
	}

	#[test]
	fn a_device_that_computes_the_bits_of_the_cpu_is_verified() {
		device(None).verify().unwrap();
	}

	#[test]
	fn a_device_that_rounds_otherwise_in_one_operator_is_caught() {
		for change in [
			// A root that is not rounded correctly, a product and a sum in place of both at once, a sum in another order, an approximation of e^x.
			("1.0f / sqrt(finish(lanes) / (float)dim + eps)", "native_rsqrt(finish(lanes) / (float)dim + eps) * 1.0000001f"),
			("sums[i][j] = fma(l[i], r[j], sums[i][j]);", "sums[i][j] = l[i] * r[j] + sums[i][j];"),
			("a[i] = l[i] + l[i + 8];", "a[i] = l[2 * i] + l[2 * i + 1];"),
			("h[i] ^= v[i] ^ v[i + 8];", "h[i] ^= v[i];"),
			// What only long chains, grouped queries and an adapter show.
			("all[i][j] + sums[i][j];", "sums[i][j];"),
			("head / (heads / kv_heads) * dim", "head % kv_heads * dim"),
			("arena[i] = arena[i] * factor;", "arena[i] = arena[i] * factor * 1.0000001f;"),
			("? sum + MUON_STEP_0 : sum", "? sum + MUON_STEP_0 * 1.0000001f : sum"),
			("fma(-rate, arena[x + i], arena[p + i] * decay)", "arena[p + i] * decay - rate * arena[x + i]"),
			("float y = 1.0f + fma(r * r, q, r);", "float y = exp(r);"),
			// A scale that is too small for a few blocks, and another rounding.
			("(here + 0x0001ffffu) >> 23", "here >> 23"),
			("number * inverse + ROUND", "number * inverse + 0.5f + ROUND"),
			("arena[p + i] = fma(-lr, u, arena[p + i] * decay);", "arena[p + i] = arena[p + i] * decay - lr * u;"),
		] {
			assert!(matches!(device(Some(change)).verify(), Err(OpenClError::Wrong { .. })), "{change:?}");
		}
		for change in [
			// A delta and a momentum in two roundings, a code that rounds down, a level and a transform that are others, values that are not sorted, and
			// a distance that is no sum.
			("fma(decay, arena[x + i], difference)", "decay * arena[x + i] + difference"),
			("fma(beta, momentum, g)", "beta * momentum + g"),
			("fabs(value) / scale + 0.5f", "fabs(value) / scale"),
			("fabs(value) > mean ? 1u << 10", "fabs(value) >= sum ? 1u << 10"),
			("columns[k * 32 + n] * as_float(COSINES[item * 32 + n])", "columns[k * 32 + n] * as_float(COSINES[n * 32 + item])"),
			("keys[(at - 1) * (size_t)len] > key", "false"),
			("fma(difference, difference, sum)", "difference * difference"),
		] {
			let (small, model) = (TrainConfig { batch: 2, ..TrainConfig::tiny() }, ModelConfig::tiny());
			let found = device(Some(change)).compare_ends(&model, &small);
			assert!(matches!(found, Err(OpenClError::Wrong { what: "the end of a round", .. })), "{change:?}");
		}
		// What steps do not show.
		for change in [
			("as_float(most) / 127.0f", "as_float(most) / 128.0f"),
			("(float)dots[i][j], sums[i][j])", "(float)dots[i][j] * 1.0000001f, sums[i][j])"),
			("table[j / PAGE] * page_len + j % PAGE * dim;", "table[0] * page_len + j % PAGE * dim;"),
		] {
			let found = device(Some(change)).compare_answers(&ModelConfig { max_seq: 160, ..ModelConfig::tiny() }, Class::ExactInt8);
			assert!(matches!(found, Err(OpenClError::Wrong { what: "an answer", .. })), "{change:?}");
		}
	}
}
