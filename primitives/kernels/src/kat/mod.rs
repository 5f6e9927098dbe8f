//! Known answers: digests of every operator's output on fixed inputs, among them subnormals, both zeros, infinities and NaNs.
//!
//! They are computed by the scalar reference anywhere ([`digests`], also inside the chain's runtime), and by an executor on the
//! machine that it is meant for ([`verify`]). The expected values stand in `known-answers.txt` beside this crate's manifest.
//!
//! The same cases on inputs that nobody knows beforehand are the chain's test of a new provider: [`drawn`] is what the runtime expects,
//! [`exec_drawn`] what the provider's machine answers.

mod inputs;
mod suite;
#[cfg(test)]
mod tests;

use crate::{math, num, scalar, schedule};
use alloc::{vec, vec::Vec};
use inputs::{Digest, Inputs};
use suite::{int8_suite, suite};

/// A case's name and the Blake2b-256 digest of the canonical little-endian bytes of its outputs.
pub type Answer = (&'static str, [u8; 32]);

/// Vectors for each of the functions on single numbers, in the known answers and in what is drawn.
const VECTORS: usize = 1000;
const DRAWN_VECTORS: usize = 250;

/// The answers of the scalar reference.
pub fn digests() -> Vec<Answer> {
	let mut answers = functions(&mut Inputs::new(1), VECTORS);
	let mut inputs = Inputs::new(2);
	suite!(inputs, answers, scalar::);
	let mut inputs = Inputs::new(3);
	int8_suite!(inputs, answers, scalar::);
	answers
}

/// The answers of an executor: the same cases, in the same order. All its threads take part, however small a case is.
#[cfg(feature = "std")]
pub fn exec_digests(exec: &crate::exec::Exec) -> Vec<Answer> {
	let mut answers = functions(&mut Inputs::new(1), VECTORS);
	let mut inputs = Inputs::new(2);
	exec.with_all_threads(|| suite!(inputs, answers, exec.));
	let mut inputs = Inputs::new(3);
	exec.with_all_threads(|| int8_suite!(inputs, answers, exec.));
	answers
}

/// Blake2b-256 of the digests of all cases but those of exact int8, in order, with inputs that are drawn from `seed`, by the scalar reference.
///
/// Every operator of training takes part, with sizes that do not depend on the seed: neither does the time it takes, but for a few percent.
pub fn drawn(seed: [u8; 32]) -> [u8; 32] {
	let mut inputs = Inputs::drawn(seed);
	let mut answers = functions(&mut inputs, DRAWN_VECTORS);
	suite!(inputs, answers, scalar::);
	digest_of(&answers)
}

/// As [`drawn`], by an executor, all of whose threads take part, however small a case is.
#[cfg(feature = "std")]
pub fn exec_drawn(exec: &crate::exec::Exec, seed: [u8; 32]) -> [u8; 32] {
	let mut inputs = Inputs::drawn(seed);
	let mut answers = functions(&mut inputs, DRAWN_VECTORS);
	exec.with_all_threads(|| suite!(inputs, answers, exec.));
	digest_of(&answers)
}

fn digest_of(answers: &[Answer]) -> [u8; 32] {
	let mut digest = Digest::new();
	for (_, answer) in answers {
		digest.add_bytes(answer);
	}
	digest.finish()
}

type Function = fn(f32) -> f32;

/// Cases of functions on single numbers, which executors share with the reference.
fn functions(inputs: &mut Inputs, vectors: usize) -> Vec<Answer> {
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
		schedule::rope_tables(theta, 48, first, &mut cos, &mut sin);
		digest.add(&cos);
		digest.add(&sin);
	}
	answers.push(("schedule", digest.finish()));
	answers
}

#[cfg(feature = "std")]
mod verify {
	use super::{digests, exec_digests, Answer};
	use crate::exec::Exec;

	/// The answers that every implementation must give, one `name digest` a line.
	const KNOWN: &str = include_str!("../../known-answers.txt");

	/// A case in which this machine differs from the specification.
	#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
	#[error("{by} computes \"{name}\" differently from the specification: digest {got}, expected {expected}")]
	pub struct Mismatch {
		/// The scalar reference, or the executor's instruction set.
		pub by: String,
		/// Name of the case.
		pub name: String,
		/// Digest that was computed, in hex.
		pub got: String,
		/// Digest that was expected, in hex; empty if the case is unknown.
		pub expected: String,
	}

	/// Checks that the scalar reference and `exec` give the known answers on this machine.
	pub fn verify(exec: &Exec) -> Result<(), Mismatch> {
		compare("the scalar reference", &digests())?;
		compare(&format!("{:?} with {} threads", exec.level(), exec.threads()), &exec_digests(exec))
	}

	fn hex(bytes: &[u8]) -> String {
		bytes.iter().map(|b| format!("{b:02x}")).collect()
	}

	pub(super) fn compare(by: &str, answers: &[Answer]) -> Result<(), Mismatch> {
		let mut known = KNOWN.lines();
		for (name, digest) in answers {
			let (got, line) = (hex(digest), known.next().unwrap_or_default());
			if line != format!("{name} {got}") {
				let expected = line.strip_prefix(&format!("{name} ")).unwrap_or_default().into();
				return Err(Mismatch { by: by.into(), name: (*name).into(), got, expected });
			}
		}
		match known.next() {
			None => Ok(()),
			Some(line) => Err(Mismatch { by: by.into(), name: line.into(), got: String::new(), expected: line.into() }),
		}
	}
}

#[cfg(feature = "std")]
pub use verify::{verify, Mismatch};
