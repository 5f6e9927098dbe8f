//! View functions, and what the invariants catch.

use crate::{mock::*, Call, Holdings, Models, PAGE};
use frame_support::assert_ok;
use neuroshard_types::{traits::FinalWork, RunId};
use std::collections::BTreeSet;

#[test]
fn unknown_models_have_nothing_to_show() {
	build_and_execute(|| {
		assert_eq!(Ownership::model(MODEL), None);
		assert_eq!(has(&ALICE), (0, 0, 0));
		assert!(Ownership::models_of(ALICE, None).is_empty());
	});
}

#[test]
fn models_of_an_account_are_listed_page_by_page_each_once() {
	build_and_execute(|| {
		let count = 2 * PAGE + 7;
		(0..count).for_each(|model| Ownership::final_work(&ALICE, model, u128::from(model) + 1));
		Ownership::final_work(&BOB, count, 1);
		let (mut listed, mut after, mut pages) = (Vec::new(), None, 0);
		loop {
			let page = Ownership::models_of(ALICE, after);
			let Some((last, _)) = page.last() else { break };
			(after, pages) = (Some(*last), pages + 1);
			listed.extend(page.into_iter().map(|(model, shares)| (model, shares.earning)));
		}
		assert_eq!(pages, 3);
		assert_eq!(listed.len(), usize::try_from(count).expect("few"));
		let expected: BTreeSet<(RunId, u128)> = (0..count).map(|model| (model, u128::from(model) + 1)).collect();
		assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), expected);
	});
}

#[test]
fn a_model_is_listed_while_shares_of_it_earn() {
	build_and_execute(|| {
		Ownership::final_work(&ALICE, MODEL, 10);
		Ownership::final_work(&BOB, MODEL, 10);
		assert_ok!(earn(20));
		assert_ok!(send(&ALICE, Call::release { model: MODEL, shares: 9 }));
		assert_eq!(Ownership::models_of(ALICE, None).into_inner(), [(MODEL, Ownership::shares(ALICE, MODEL))]);
		assert_eq!(has(&ALICE), (1, 9, 10));
		assert_ok!(send(&ALICE, Call::release { model: MODEL, shares: 1 }));
		assert!(Ownership::models_of(ALICE, None).is_empty());
		assert_eq!(has(&ALICE), (0, 10, 0));
	});
}

/// The state of two holders with something to claim, after `break_it`.
fn broken(break_it: impl FnOnce()) -> Option<&'static str> {
	new_test_ext().execute_with(|| {
		Ownership::final_work(&ALICE, MODEL, 300);
		Ownership::final_work(&BOB, MODEL, 100);
		earn(401).expect("somebody earns");
		Ownership::do_try_state().expect("nothing is broken yet");
		break_it();
		Ownership::do_try_state().err().map(|error| error.into())
	})
}

#[test]
fn invariants_name_what_is_broken() {
	let model = |change: fn(&mut crate::Model)| Models::<Test>::mutate(MODEL, |model| change(model.as_mut().expect("there")));
	let holding = |change: fn(&mut crate::Holding)| Holdings::<Test>::mutate(ALICE, MODEL, |slot| change(slot.as_mut().expect("there")));
	assert_eq!(broken(|| model(|model| model.earning += 1)), Some("shares that earn do not sum to their total"));
	assert_eq!(broken(|| model(|model| model.revenue += 1)), Some("revenue is neither paid, nor owed, nor the remainder"));
	assert_eq!(broken(|| model(|model| model.paid = 402)), Some("more was paid than earned"));
	assert_eq!(broken(|| model(|model| model.remainder += 1.into())), Some("revenue is neither paid, nor owed, nor the remainder"));
	assert_eq!(broken(|| model(|model| model.per_share += 1.into())), Some("revenue is neither paid, nor owed, nor the remainder"));
	assert_eq!(broken(|| holding(|holding| holding.earning += 1)), Some("shares earn that are not in the account"));
	assert_eq!(broken(|| holding(|holding| holding.owed += 1.into())), Some("revenue is neither paid, nor owed, nor the remainder"));
	assert_eq!(broken(|| holding(|holding| holding.settled_at = u128::MAX.into())), Some("a holding was settled ahead of time"));
	assert_eq!(broken(|| Holdings::<Test>::insert(CAROL, MODEL, crate::Holding::default())), Some("a holding is stored that is over"));
	assert_eq!(broken(|| holding(|holding| holding.earning = 0)), Some("a holding is stored that is over"));
	assert_eq!(broken(|| Models::<Test>::remove(MODEL)), Some("shares of an unknown model"));
	let empty = || {
		let drain = pallet_balances::Call::<Test>::force_set_balance { who: Ownership::pot(), new_free: ED + 400 };
		assert_ok!(sp_runtime::traits::Dispatchable::dispatch(RuntimeCall::Balances(drain), RuntimeOrigin::root()));
	};
	assert_eq!(broken(empty), Some("the pot has less than it owes"));
}
