//! The chain's test of a new provider's arithmetic, answered by this machine.

use neuroshard_compute::{exec::Exec, kat::exec_drawn};
use neuroshard_kernels::kat;
use neuroshard_types::{
	provider::{ProviderStatus, ProviderView},
	H256,
};

/// Number of times that the answer is computed: a fault that comes and goes, as overclocking or heat brings it about, shows in one of some.
const REPEATS: usize = 50;

/// Why this machine has no answer that is worth a fee.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
	/// The same computation gave different results.
	#[error("this machine computed the chain's test of arithmetic several times and got different results: processor or memory are unstable; undo overclocking, look after cooling, or use another machine")]
	Unstable,
	/// Vector units or threads compute something else than the reference on the same machine.
	#[error("this machine computes the chain's test of arithmetic differently on vector units and threads than in the reference: undo overclocking or use another machine, and please report processor and version")]
	Differs,
}

/// The challenge that `provider` has not answered yet.
pub fn open_challenge(provider: &ProviderView) -> Option<H256> {
	match provider.status {
		ProviderStatus::Unproven { challenge } => Some(challenge),
		ProviderStatus::Active | ProviderStatus::Chilled => None,
	}
}

/// Returns the answer of this machine to `challenge`, with the executor that it trains with. Takes some tenths of a second.
///
/// # Errors
/// [`Fault`] if the chain would refuse the answer.
pub fn answer(exec: &Exec, challenge: H256) -> Result<H256, Fault> {
	settle((0..REPEATS).map(|_| exec_drawn(exec, challenge.0)), kat::drawn(challenge.0))
}

/// The answer that all of `answers` and the `reference` agree on.
fn settle(mut answers: impl Iterator<Item = [u8; 32]>, reference: [u8; 32]) -> Result<H256, Fault> {
	let first = answers.next().unwrap_or(reference);
	if !answers.all(|answer| answer == first) {
		return Err(Fault::Unstable);
	}
	if first != reference {
		return Err(Fault::Differs);
	}
	Ok(H256(first))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn the_answer_is_what_the_runtime_expects() {
		let challenge = H256::repeat_byte(7);
		let exec = Exec::new(2).unwrap();
		assert_eq!(answer(&exec, challenge), Ok(H256(kat::drawn(challenge.0))));
	}

	#[test]
	fn a_machine_that_is_unstable_or_wrong_sends_nothing() {
		let of = |answers: &[u8]| settle(answers.iter().map(|byte| [*byte; 32]).collect::<Vec<_>>().into_iter(), [1; 32]);
		assert_eq!(of(&[1, 1, 1]), Ok(H256::repeat_byte(1)));
		assert_eq!(of(&[1, 1, 2]), Err(Fault::Unstable));
		assert_eq!(of(&[2, 2, 2]), Err(Fault::Differs));
	}
}
