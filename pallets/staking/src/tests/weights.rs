//! Hand-derived weights.

use crate::{
	mock::Test,
	weights::{SubstrateWeight, WeightInfo},
};

/// Weights in microseconds, for a database that reads in 25 and writes in 100.
#[test]
fn weights_price_every_database_access() {
	type Derived = SubstrateWeight<Test>;
	let microseconds = [
		Derived::register(),
		Derived::update_info(),
		Derived::bond_extra(),
		Derived::unbond(),
		Derived::withdraw_unbonded(),
		Derived::chill(),
		Derived::activate(),
		Derived::deregister(),
		Derived::prove_arithmetic(),
		Derived::lock(),
		Derived::report_sybil(),
		Derived::set_operator(),
		Derived::serve(),
		Derived::sweep_idle(),
		Derived::sweep(),
	]
	.map(|weight| weight.ref_time() / 1_000_000);
	assert_eq!(microseconds, [850, 950, 425, 375, 975, 325, 375, 925, 15_475, 200, 725, 475, 325, 125, 1_700]);
}

#[test]
fn test_weights_price_computation_alone() {
	assert_eq!(<()>::register().ref_time(), 50_000_000);
}
