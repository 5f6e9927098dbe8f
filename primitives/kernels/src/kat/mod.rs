//! Known answers: digests of every operator's output on fixed inputs, among them subnormals, both zeros, infinities and NaNs.
//!
//! They are computed by the scalar reference anywhere ([`digests`], also inside the chain's runtime), and by an executor on the
//! machine that it is meant for (`neuroshard-compute`). The expected values stand in `known-answers.txt` beside this crate's manifest.
//!
//! The same cases on inputs that nobody knows beforehand are the chain's test of a new provider: [`drawn`] is what the runtime expects,
//! and what the provider's machine answers.

mod inputs;
mod suite;
#[cfg(test)]
mod tests;

use crate::{
	kat_int8_suite, kat_muon_suite, kat_suite, math, num, scalar,
	schedule::{self, RopeScaling},
};
use alloc::{vec, vec::Vec};
#[doc(hidden)]
pub use inputs::{Digest, Inputs};

/// A case's name and the Blake2b-256 digest of the canonical little-endian bytes of its outputs.
pub type Answer = (&'static str, [u8; 32]);

/// Vectors for each of the functions on single numbers, in the known answers and in what is drawn.
#[doc(hidden)]
pub const VECTORS: usize = 1000;
#[doc(hidden)]
pub const DRAWN_VECTORS: usize = 250;

/// The answers that every implementation must give, one `name digest` a line.
pub const KNOWN: &str = include_str!("../../known-answers.txt");

/// The answers of the scalar reference.
pub fn digests() -> Vec<Answer> {
	let mut answers = functions(&mut Inputs::new(1), VECTORS);
	let mut inputs = Inputs::new(2);
	kat_suite!(inputs, answers, scalar::);
	let mut inputs = Inputs::new(3);
	kat_int8_suite!(inputs, answers, scalar::);
	let mut inputs = Inputs::new(4);
	kat_muon_suite!(inputs, answers, scalar::);
	answers
}

/// Blake2b-256 of the digests of all cases but those of exact int8 and of Muon, in order, with inputs that are drawn from `seed`, by the scalar reference.
///
/// Every operator of training with AdamW takes part, with sizes that do not depend on the seed: neither does the time it takes, but for a few percent.
pub fn drawn(seed: [u8; 32]) -> [u8; 32] {
	let mut inputs = Inputs::drawn(seed);
	let mut answers = functions(&mut inputs, DRAWN_VECTORS);
	kat_suite!(inputs, answers, scalar::);
	digest_of(&answers)
}

#[doc(hidden)]
pub fn digest_of(answers: &[Answer]) -> [u8; 32] {
	let mut digest = Digest::new();
	for (_, answer) in answers {
		digest.add_bytes(answer);
	}
	digest.finish()
}

type Function = fn(f32) -> f32;

/// Cases of functions on single numbers, which executors share with the reference.
#[doc(hidden)]
pub fn functions(inputs: &mut Inputs, vectors: usize) -> Vec<Answer> {
	let mut answers = Vec::new();

	// The vector on which double rounding fails, then vectors whose results are near the subnormal range, then any.
	let mut digest = Digest::new();
	let known = [0x2000_0001, 0x13ff_fffe, 0x0040_0001].map(f32::from_bits);
	let mut triples = vec![known];
	for _ in 0..vectors {
		let [x, y, z] = [0; 3].map(|_| inputs.word() & 0x80ff_ffff);
		triples.push([0x2000_0000 | x, 0x1300_0000 | y, z].map(f32::from_bits));
		triples.push([0; 3].map(|_| inputs.any()));
	}
	for [x, y, z] in triples {
		digest.add(&[num::fma(x, y, z), num::fma_emulated(x, y, z)]);
	}
	answers.push(("fma", digest.finish()));

	let mut digest = Digest::new();
	for _ in 0..vectors {
		let (x, y) = (inputs.any(), inputs.any());
		digest.add(&[num::max(x, y), num::from_order_key(num::order_key(x)), num::sqrt(x), x / y, x * y, x + y, x - y]);
	}
	answers.push(("arithmetic", digest.finish()));

	let cases: [(&str, Function); 4] = [("exp", math::exp), ("ln", math::ln), ("tanh", math::tanh), ("sigmoid", math::sigmoid)];
	for (name, function) in cases {
		let mut digest = Digest::new();
		for i in 0..vectors {
			let x = if i % 2 == 0 { inputs.any() } else { inputs.plain() * 50.0 };
			digest.add(&[function(x)]);
		}
		answers.push((name, digest.finish()));
	}

	let mut digest = Digest::new();
	for _ in 0..vectors / 2 {
		let (a, b) = math::normal_pair(inputs.word(), inputs.word());
		digest.add(&[a, b]);
	}
	answers.push(("normal", digest.finish()));

	let mut digest = Digest::new();
	let rate = schedule::LearningRate { peak: 1.5e-3, min: 1e-4, warmup_steps: 20, total_steps: 1000 };
	let unlimited = schedule::LearningRate { total_steps: 0, ..rate };
	for step in (0..1100).step_by(7) {
		digest.add(&[
			rate.at(step),
			unlimited.at(step),
			schedule::bias_correction(0.9, step + 1),
			schedule::bias_correction(0.999, step + 1),
		]);
		digest.add(&[schedule::reciprocal(step + 1), schedule::decay_factor(rate.at(step), 0.1), schedule::complement(rate.at(step))]);
	}
	digest.add(&[64, 48, 2].map(schedule::attention_scale));
	let (mut cos, mut sin) = (vec![0.0; 16 * 24], vec![0.0; 16 * 24]);
	for (theta, first) in [(10_000, 0), (500_000, 100_000)] {
		schedule::rope_tables(theta, RopeScaling::None, 48, first, &mut cos, &mut sin);
		digest.add(&cos);
		digest.add(&sin);
	}
	// A few positions show what scaling does.
	let llama3 = RopeScaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original: 8_192 };
	for (theta, scaling, first) in [(1_000_000, RopeScaling::Linear { factor: 3.0 }, 7), (500_000, llama3, 100_000)] {
		let (cos, sin) = (&mut cos[..2 * 24], &mut sin[..2 * 24]);
		schedule::rope_tables(theta, scaling, 48, first, cos, sin);
		digest.add(cos);
		digest.add(sin);
	}
	answers.push(("schedule", digest.finish()));
	answers
}
