//! Hand-derived weights.

use crate::{
	mock::Test,
	weights::{SubstrateWeight, WeightInfo},
};

/// Weights in microseconds, for a database that reads in 25 and writes in 100.
#[test]
fn weights_price_every_database_access() {
	type Derived = SubstrateWeight<Test>;
	let microseconds = [Derived::propose(), Derived::activate(), Derived::retire()].map(|weight| weight.ref_time() / 1_000_000);
	assert_eq!(microseconds, [675, 175, 550]);
}

#[test]
fn test_weights_price_computation_alone() {
	assert_eq!(<()>::propose().ref_time(), 50_000_000);
}
