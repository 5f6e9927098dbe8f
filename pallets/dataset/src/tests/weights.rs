//! Hand-derived weights.

use crate::{
	mock::Test,
	weights::{SubstrateWeight, WeightInfo},
};
use frame_support::weights::Weight;

/// Weights in microseconds, for a database that reads in 25 and writes in 100.
#[test]
fn weights_price_every_database_access() {
	type Derived = SubstrateWeight<Test>;
	let in_microseconds = |weights: &[Weight]| weights.iter().map(|weight| weight.ref_time() / 1_000_000).collect::<Vec<_>>();
	assert_eq!(
		in_microseconds(&[Derived::propose(), Derived::activate(), Derived::retire(), Derived::force_retire()]),
		[675, 175, 550, 550]
	);
	assert_eq!(in_microseconds(&[Derived::attest(), Derived::challenge_shard(), Derived::condemn()]), [725, 600, 775]);
	// 50 + 4 * 25 + 5 * 100, and 20 + 3 * 125 for each of 16 challenges: 6,970.
	let ends = [Derived::withdraw_attestation(), Derived::answer_challenge(), Derived::conclude_challenge()];
	assert_eq!(in_microseconds(&ends), [7_020, 800, 7_895]);
}

#[test]
fn test_weights_price_computation_alone() {
	assert_eq!(<()>::propose().ref_time(), 50_000_000);
}
