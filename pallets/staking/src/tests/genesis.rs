//! Genesis values, and what they must satisfy.

use super::*;
use crate::{
	mock::{build_and_execute, storage, DisputePeriod, ED},
	Cooldown,
};
use frame_support::{assert_err, traits::BuildGenesisConfig};
use neuroshard_types::provider::VerifierBonds;

#[test]
#[should_panic(expected = "the cooldown must be longer than claims can be disputed")]
fn a_cooldown_within_the_time_of_disputes_is_refused() {
	storage(20, ED);
}

#[test]
#[should_panic(expected = "the minimum bond must reach the existential deposit")]
fn a_minimum_bond_below_the_existential_deposit_is_refused() {
	storage(21, ED - 1);
}

#[test]
#[should_panic(expected = "more verifiers must not need a smaller bond")]
fn bonds_of_verifiers_that_fall_with_their_number_are_refused() {
	let verifier_bonds = VerifierBonds { above: 0, ..Default::default() };
	let genesis: crate::GenesisConfig<Test> = crate::GenesisConfig { verifier_bonds, cooldown: 21, ..Default::default() };
	sp_io::TestExternalities::default().execute_with(|| genesis.build());
}

#[test]
fn the_smallest_allowed_values_are_accepted() {
	let mut ext = sp_io::TestExternalities::new(storage(21, ED));
	ext.execute_with(|| assert_eq!(Pallet::<Test>::limits(), (ED, 21)));
}

#[test]
fn disputes_that_outgrow_the_cooldown_are_noticed() {
	build_and_execute(|| {
		let period = DisputePeriod::get();
		DisputePeriod::set(Cooldown::<Test>::get());
		assert_err!(Staking::do_try_state(), "the cooldown is not longer than claims can be disputed");
		DisputePeriod::set(period);
	});
}
