//! View functions, and what the invariants catch.

use crate::{mock::*, Call, Claim, Claims, HoldReason, NextSession, Offers, Session, Sessions, SessionsOf, Standing, PAGE};
use frame_support::{assert_ok, traits::fungible::MutateHold};
use neuroshard_types::{inference::ClaimView, AccountId, H256};
use std::collections::BTreeSet;

#[test]
fn what_is_not_there_has_nothing_to_show() {
	build_and_execute(|| {
		assert_eq!((Inference::offer_of(DRIVER), Inference::session(0)), (None, None));
		assert!(Inference::offers(None).is_empty() && Inference::sessions_of(user(1)).is_empty());
		assert_eq!(Inference::claimed(0, DRIVER), ClaimView::default());
	});
}

#[test]
fn offers_are_listed_page_by_page_each_once() {
	build_and_execute(|| {
		let count = PAGE + 7;
		let driver = |number: u32| AccountId::new([&number.to_le_bytes()[..], &[7; 28]].concat().try_into().expect("32 bytes"));
		for number in 0..count {
			<MockHelper as crate::BenchmarkHelper>::provider(&driver(number));
			offer_alone(&driver(number));
		}
		let (mut listed, mut after, mut pages) = (Vec::new(), None, 0);
		loop {
			let page = Inference::offers(after);
			let Some(last) = page.last() else { break };
			(after, pages) = (Some(last.driver.clone()), pages + 1);
			listed.extend(page.into_iter().map(|view| view.driver));
		}
		assert_eq!((pages, listed.len()), (2, 107));
		assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), (0..count).map(driver).collect());
	});
}

/// The state of a ring that has agreed, and of a session of which two providers have claimed, after `break_it`.
fn broken(break_it: impl FnOnce()) -> Option<&'static str> {
	new_test_ext().execute_with(|| {
		let ring = vec![span(&DRIVER, 0, 6), span(&WORKER, 6, 6)];
		assert_ok!(send(&DRIVER, Call::offer { offer: offer_with(ring) }));
		let offer_hash = Inference::offer_of(DRIVER).expect("an offer").hash;
		assert_ok!(send(&WORKER, Call::join { driver: DRIVER, offer_hash }));
		offer_alone(&OTHER);
		open(1, None, 1_000);
		open(2, Some(&DRIVER), 500);
		assert_ok!(claim(1, voucher(0, &DRIVER, 100, 1)));
		assert_ok!(claim(1, voucher(0, &OTHER, 200, 1)));
		assert_ok!(claim(2, voucher(1, &DRIVER, 300, 1)));
		check_invariants();
		break_it();
		Inference::do_try_state().err().map(|error| error.into())
	})
}

#[test]
fn invariants_name_what_is_broken() {
	let offer = |change: fn(&mut Standing)| Offers::<Test>::mutate(DRIVER, |slot| change(slot.as_mut().expect("there")));
	let session = |id: u64, change: fn(&mut Session)| Sessions::<Test>::mutate(id, |slot| change(slot.as_mut().expect("there")));
	let claim = |change: fn(&mut Claim)| Claims::<Test>::mutate(0, DRIVER, |slot| change(slot.as_mut().expect("there")));
	let held = |reason: HoldReason, who: &AccountId| {
		let release = |amount| Balances::release(&reason.into(), who, amount, frame_support::traits::tokens::Precision::Exact);
		assert_ok!(release(1));
	};
	assert_eq!(broken(|| NextSession::<Test>::put(1)), Some("a session has a number that was not given yet"));
	assert_eq!(broken(|| session(0, |session| session.escrow += 1)), Some("what is on hold of a user is not what its sessions have"));
	assert_eq!(broken(|| held(HoldReason::Escrow, &user(1))), Some("what is on hold of a user is not what its sessions have"));
	assert_eq!(broken(|| session(0, |session| session.paid += 1)), Some("what a session has paid is not what was claimed of it"));
	assert_eq!(broken(|| session(0, |session| session.payees += 1)), Some("providers of a session are miscounted"));
	assert_eq!(broken(|| session(1, |session| session.provider = Some(OTHER))), Some("a session has paid somebody else than its provider"));
	assert_eq!(broken(|| session(1, |session| session.provider = None)), Some("sessions with a driver are miscounted"));
	assert_eq!(broken(|| claim(|claim| claim.owed -= 1)), Some("a claim is of more than was owed, or of nothing"));
	assert_eq!(broken(|| claim(|claim| claim.answers = 0)), Some("a claim is of more than was owed, or of nothing"));
	let lost = || Claims::<Test>::insert(9, DRIVER, Claim::default());
	assert_eq!(broken(lost), Some("a claim of an unknown session"));
	assert_eq!(broken(|| SessionsOf::<Test>::remove(user(1))), Some("a session is not listed for its user"));
	let doubled = || SessionsOf::<Test>::mutate(user(1), |sessions| sessions.try_push(0).expect("room"));
	assert_eq!(broken(doubled), Some("the list of a user's sessions is wrong"));
	assert_eq!(
		broken(|| SessionsOf::<Test>::insert(OTHER, frame_support::BoundedVec::default())),
		Some("an empty list of sessions is stored")
	);
	assert_eq!(broken(|| Offers::<Test>::remove(DRIVER)), Some("a session with a driver that offers nothing"));
	assert_eq!(broken(|| offer(|offer| offer.sessions = 0)), Some("sessions with a driver are miscounted"));
	assert_eq!(broken(|| offer(|offer| offer.hash = H256::zero())), Some("an offer has another hash"));
	assert_eq!(broken(|| offer(|offer| offer.deposit += 1)), Some("the deposit of an offer is not what is on hold"));
	assert_eq!(broken(|| held(HoldReason::Offer, &DRIVER)), Some("the deposit of an offer is not what is on hold"));
	let stranger = || offer(|offer| assert!(offer.consents.try_insert(PREDICTOR).expect("room")));
	assert_eq!(broken(stranger), Some("somebody has agreed who is not in the ring"));
}
