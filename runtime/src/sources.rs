//! Sources of chain time and randomness for pallets.

use crate::{BlockNumber, Hash, Runtime, Staking, Timestamp};
use alloc::{vec, vec::Vec};
use frame_support::traits::{Get, Randomness};
use neuroshard_types::{traits::Clock, Moment};

/// Chain time, from the timestamp inherent of the block.
pub struct ChainTime;

impl Clock for ChainTime {
	fn now() -> Moment {
		Timestamp::get()
	}
}

/// The VRF output of the parent block, or the randomness of the epoch before last where a block carries none.
///
/// Nobody but the parent block's author knows it before that block is produced. The author can only refuse it: by producing no
/// block, or by leaving out the extrinsics after which the next block would draw.
pub struct VrfRandomness;

impl Randomness<Hash, BlockNumber> for VrfRandomness {
	fn random(subject: &[u8]) -> (Hash, BlockNumber) {
		match pallet_babe::ParentBlockRandomness::<Runtime>::random(subject) {
			(Some(hash), known_since) => (hash, known_since),
			(None, _) => pallet_babe::RandomnessFromOneEpochAgo::<Runtime>::random(subject),
		}
	}
}

/// Durations that must be longer than claims can be disputed: stakes and records stay until then.
pub struct Outlasting;

impl Get<Vec<(&'static str, BlockNumber)>> for Outlasting {
	fn get() -> Vec<(&'static str, BlockNumber)> {
		let (_, cooldown) = Staking::limits();
		vec![("the cooldown", cooldown), ("the history period", <Runtime as pallet_neuro_training::Config>::HistoryPeriod::get())]
	}
}

/// Number of the current epoch.
pub struct Epochs;

impl Get<u64> for Epochs {
	fn get() -> u64 {
		pallet_babe::EpochIndex::<Runtime>::get()
	}
}
