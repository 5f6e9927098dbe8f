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
		in_microseconds(&[Derived::propose(), Derived::activate(), Derived::retire(), Derived::force_retire(), Derived::remove()]),
		[675, 175, 425, 425, 700]
	);
	assert_eq!(in_microseconds(&[Derived::attest(), Derived::challenge_shard(), Derived::condemn()]), [875, 625, 900]);
	// An end: 50 + 5 * 25 + 6 * 100. What is moot: 20 + 3 * 125 for each of 16 challenges, 6,320.
	let ends = [Derived::withdraw_attestation(), Derived::answer_challenge(), Derived::check_answer(), Derived::conclude_challenge()];
	assert_eq!(in_microseconds(&ends), [850, 825, 225, 7_995]);
}

#[test]
fn test_weights_price_computation_alone() {
	assert_eq!(<()>::propose().ref_time(), 50_000_000);
}
