//! Compute providers, as tests register them.

use neuroshard_types::provider::{HardwareProfile, ProviderInfo, Roles};
use sp_core::{ecdsa, Pair};

/// The key of one provider's Proofs of Neural Work.
pub fn ponw_key(seed: u8) -> ecdsa::Pair {
	// Zero is no key.
	ecdsa::Pair::from_seed(&[seed + 1; 32])
}

/// Returns the registration of that provider.
pub fn info(roles: Roles, seed: u8) -> ProviderInfo {
	ProviderInfo {
		roles,
		hardware: HardwareProfile { gflops: 1_000, memory_mib: 1_024, bandwidth_kib_s: 1_024 },
		ponw_key: ponw_key(seed).public().0,
		// An identity multihash of 36 bytes, as an ed25519 key has.
		peer_id: [&[0, 36], &[seed; 36][..]].concat().try_into().expect("a short peer id"),
		addresses: Default::default(),
	}
}
