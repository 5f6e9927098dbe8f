//! The known answers of an executor: see [`neuroshard_kernels::kat`], whose cases and expected values they share.

#[cfg(test)]
mod tests;

use crate::native::Exec;
use neuroshard_kernels::{
	kat::{digest_of, digests, functions, Answer, Inputs, DRAWN_VECTORS, KNOWN, VECTORS},
	kat_int8_suite, kat_muon_suite, kat_suite,
};

/// The answers of an executor: the same cases, in the same order. All its threads take part, however small a case is.
pub fn exec_digests(exec: &Exec) -> Vec<Answer> {
	let mut answers = functions(&mut Inputs::new(1), VECTORS);
	let mut inputs = Inputs::new(2);
	exec.with_all_threads(|| kat_suite!(inputs, answers, exec.));
	let mut inputs = Inputs::new(3);
	exec.with_all_threads(|| kat_int8_suite!(inputs, answers, exec.));
	let mut inputs = Inputs::new(4);
	exec.with_all_threads(|| kat_muon_suite!(inputs, answers, exec.));
	answers
}

/// As [`neuroshard_kernels::kat::drawn`], by an executor, all of whose threads take part, however small a case is.
pub fn exec_drawn(exec: &Exec, seed: [u8; 32]) -> [u8; 32] {
	let mut inputs = Inputs::drawn(seed);
	let mut answers = functions(&mut inputs, DRAWN_VECTORS);
	exec.with_all_threads(|| kat_suite!(inputs, answers, exec.));
	digest_of(&answers)
}

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

fn compare(by: &str, answers: &[Answer]) -> Result<(), Mismatch> {
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
