//! The kernels inside the runtime, made visible.

use alloc::vec::Vec;

sp_api::decl_runtime_apis! {
	/// Known answers of the kernels as computed inside this runtime, for anybody to compare with their own.
	pub trait KernelsApi {
		/// Name and Blake2-256 digest of every known-answer case.
		fn known_answers() -> Vec<(Vec<u8>, [u8; 32])>;
		/// Answer to the test of arithmetic with this seed, which `Staking::prove_arithmetic` compares a provider's with.
		fn drawn_answer(seed: [u8; 32]) -> [u8; 32];
	}
}
