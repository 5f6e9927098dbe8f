//! Genesis values, and what they must satisfy.

use super::*;
use crate::{
	mock::{genesis, storage, ReportPeriod, ED, FUNDS, MIN_BOND},
	GenesisConfig, Status,
};

fn build(change: impl FnOnce(&mut GenesisConfig<Test>)) -> sp_io::TestExternalities {
	let mut config = genesis();
	change(&mut config);
	sp_io::TestExternalities::new(storage(config))
}

#[test]
fn candidates_of_genesis_have_their_self_bond_on_hold() {
	build(|_| ()).execute_with(|| {
		assert_eq!((candidate(1).status, candidate(1).own.stake.active), (Status::Active, MIN_BOND));
		assert_eq!((held(1), Balances::free_balance(account(1))), (MIN_BOND, FUNDS - MIN_BOND));
		assert_eq!(Balances::free_balance(Validators::pot()), ED, "the pot exists from the beginning");
		Validators::do_try_state().expect("invariants hold at genesis");
	});
}

#[test]
#[should_panic(expected = "a self-bond at genesis is below the minimum")]
fn a_candidate_below_the_minimum_is_refused() {
	build(|config| config.candidates[0].1 = MIN_BOND - 1);
}

#[test]
#[should_panic(expected = "a candidate at genesis has its self-bond and the existential deposit")]
fn a_candidate_that_cannot_pay_its_bond_is_refused() {
	build(|config| config.candidates[0].1 = FUNDS);
}

#[test]
#[should_panic(expected = "an account is a candidate once")]
fn a_candidate_twice_is_refused() {
	// Its keys are refused as well, but this comes first.
	build(|config| config.candidates[1].0 = account(1));
}

#[test]
#[should_panic(expected = "the cooldown must be longer than offences can be reported")]
fn a_cooldown_within_the_time_of_reports_is_refused() {
	build(|config| config.cooldown = ReportPeriod::get());
}

#[test]
#[should_panic(expected = "a set has at least one, and at most MaxValidators")]
fn a_set_of_nobody_is_refused() {
	build(|config| config.validator_count = 0);
}

#[test]
#[should_panic(expected = "a set has at least one, and at most MaxValidators")]
fn a_set_of_too_many_is_refused() {
	build(|config| config.validator_count = 33);
}

#[test]
#[should_panic(expected = "the minimum self-bond must reach the existential deposit")]
fn a_minimum_self_bond_below_the_existential_deposit_is_refused() {
	build(|config| config.min_self_bond = ED - 1);
}

#[test]
#[should_panic(expected = "the minimum nomination must reach the existential deposit")]
fn a_minimum_nomination_below_the_existential_deposit_is_refused() {
	build(|config| config.min_nomination = ED - 1);
}

#[test]
#[should_panic(expected = "an offender is barred for at least one block")]
fn a_bar_of_no_time_is_refused() {
	build(|config| config.bar_period = 0);
}
