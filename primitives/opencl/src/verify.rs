//! Whether a device computes the bits of the CPU: what everybody must know before it computes anything that others check.

use crate::{OpenCl, OpenClError};
use neuroshard_compute::exec::{Arena, Backend, SetupError, StepError, StepMemory, Trainer};
use neuroshard_graph::{
	config::{Family, ModelConfig, TrainConfig},
	corpus::MASK,
	init::theta_0,
	merkle::Hash,
};
use neuroshard_kernels::num::canon_bits;
use std::sync::Arc;

/// Steps that are compared.
const STEPS: u32 = 2;

impl OpenCl {
	/// Takes steps of a small model of each family, on this device and on the CPU, and compares loss, gradient, parameters and moments bit for bit. All
	/// kernels take part.
	///
	/// # Errors
	/// [`OpenClError::Wrong`] for other bits; [`OpenClError`].
	pub fn verify(self: &Arc<Self>) -> Result<(), OpenClError> {
		let train = TrainConfig { batch: 2, masked: true, ..TrainConfig::tiny() };
		let models = [
			ModelConfig::tiny(),
			ModelConfig { tied: false, family: Family::Qwen2, ..ModelConfig::tiny() },
			ModelConfig { family: Family::Qwen3, head_dim: Some(32), ..ModelConfig::tiny() },
		];
		let failed = |what, reason: String| OpenClError::Driver { name: self.name().to_owned(), what, reason };
		for model in models {
			// One pass over the batch on the CPU, several on the device.
			let memory = StepMemory { micro_batch: Some(1), recompute: true };
			let len = memory.arena_len(&model, &train).map_err(|error| failed("plan a step", error.to_string()))?;
			let mut arena = self.arena(usize::try_from(len).unwrap_or(usize::MAX))?;
			let found =
				steps(self.clone(), memory, &model, &train, &mut arena).map_err(|error| failed("take a step", error.to_string()))?;
			let whole = StepMemory::default();
			let len = whole.arena_len(&model, &train).map_err(|error| failed("plan a step", error.to_string()))?;
			let mut arena = Arena::new(usize::try_from(len).unwrap_or(usize::MAX));
			let expected = steps(self.host().clone(), whole, &model, &train, &mut arena[..]);
			let expected = expected.map_err(|error| failed("take a step", error.to_string()))?;
			if found != expected {
				return Err(OpenClError::Wrong { name: self.name().to_owned(), family: format!("{:?}", model.family) });
			}
		}
		Ok(())
	}
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
enum Failed {
	#[error(transparent)]
	Setup(#[from] SetupError),
	#[error(transparent)]
	Step(#[from] StepError),
}

/// Bits of losses, norms, gradients, parameters and moments.
fn steps<B: Backend>(
	backend: Arc<B>,
	memory: StepMemory,
	model: &ModelConfig,
	train: &TrainConfig,
	arena: &mut B::Arena,
) -> Result<Vec<u32>, Failed> {
	let mut trainer = Trainer::with_memory(backend, model, train, memory)?;
	let mut bits = Vec::new();
	trainer.begin(arena, &theta_0(model, trainer.layout(), &train.seed));
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
		let text = OpenCl::text();
		let changed = change.map_or(text.clone(), |(words, others)| {
			assert!(text.contains(words), "{words}");
			text.replace(words, others)
		});
		let found = devices().unwrap().remove(0);
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
			("float y = 1.0f + fma(r * r, q, r);", "float y = exp(r);"),
			("arena[p + i] = fma(-lr, u, arena[p + i] * decay);", "arena[p + i] = arena[p + i] * decay - lr * u;"),
		] {
			assert!(matches!(device(Some(change)).verify(), Err(OpenClError::Wrong { .. })), "{change:?}");
		}
	}
}
