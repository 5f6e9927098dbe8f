//! Hand-derived weights.

use crate::{
	mock::Test,
	weights::{SubstrateWeight, WeightInfo},
	MAX_NOMINATORS,
};

/// Weights in microseconds, for a database that reads in 25 and writes in 100.
#[test]
fn weights_price_every_database_access() {
	type Derived = SubstrateWeight<Test>;
	let microseconds = [
		Derived::bond(),
		Derived::bond_extra(),
		Derived::unbond(),
		Derived::withdraw_unbonded(0),
		Derived::withdraw_unbonded(MAX_NOMINATORS),
		Derived::chill(),
		Derived::activate(),
		Derived::set_commission(),
		Derived::nominate(0),
		Derived::nominate(MAX_NOMINATORS),
		Derived::unnominate(),
		Derived::withdraw_nomination(),
		Derived::claim_rewards(),
		Derived::set_validator_count(),
		Derived::note_author(),
		Derived::punish(0),
		Derived::punish(MAX_NOMINATORS),
		Derived::rotate_session(0, 0),
		Derived::rotate_session(1_000, 100),
	]
	.map(|weight| weight.ref_time() / 1_000_000);
	let each = 20 + 5 * 25 + 5 * 100;
	assert_eq!(
		microseconds,
		[
			625,
			600,
			350,
			775,
			775 + 64 * each,
			175,
			250,
			200,
			825,
			825 + 64 * (20 + 25) + 20 + 4 * 25 + 5 * 100,
			475,
			800,
			675,
			150,
			950,
			950,
			950 + 64 * each,
			3_550,
			3_550 + 1_000 * (20 + 3 * 25) + 100 * (20 + 2 * 25 + 100),
		]
	);
}

#[test]
fn test_weights_price_computation_alone() {
	assert_eq!(<()>::bond().ref_time(), 50_000_000);
}
