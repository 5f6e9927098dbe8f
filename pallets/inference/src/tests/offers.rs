//! Offers, and those who agree to them.

use crate::{mock::*, Call, Error, Event, HoldReason, Offers};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	inference::{CheckpointId, Offer, RingProblem, Span},
	provider::{Role, Roles},
	AccountId, Balance, H256,
};
use proptest::prelude::*;

fn deposit(who: &AccountId) -> Balance {
	Inference::held(HoldReason::Offer, who)
}

/// A ring in which the driver has the first two layers, the worker eight, and the predictor the last two.
fn ring() -> Vec<Span> {
	vec![span(&DRIVER, 0, 2), span(&WORKER, 2, 8), span(&PREDICTOR, 10, 2)]
}

fn offers(who: &AccountId, offer: Offer) -> sp_runtime::DispatchResult {
	send(who, Call::offer { offer })
}

fn joins(who: &AccountId, hash: H256) -> sp_runtime::DispatchResult {
	send(who, Call::join { driver: DRIVER, offer_hash: hash })
}

fn hash() -> H256 {
	Inference::offer_of(DRIVER).expect("an offer").hash
}

/// Has the whole of [`ring`] agree.
fn ready() {
	assert_ok!(offers(&DRIVER, offer_with(ring())));
	assert_ok!(joins(&WORKER, hash()));
	assert_ok!(joins(&PREDICTOR, hash()));
}

#[test]
fn an_offer_of_the_driver_alone_is_ready_at_once_and_its_deposit_comes_back() {
	build_and_execute(|| {
		let offer = offer_with(vec![span(&DRIVER, 0, LAYERS)]);
		assert_ok!(offers(&DRIVER, offer.clone()));
		// Checkpoint 40 bytes, class 1, prices 32, redundancy 1, endpoint 1 + 21, ring 1 + 36; nobody has to agree.
		let held = DEPOSIT_BASE + 133 * DEPOSIT_PER_BYTE;
		let hash = offer.hash(&DRIVER);
		System::assert_last_event(Event::Offered { driver: DRIVER, checkpoint: offer.checkpoint, hash, deposit: held }.into());
		assert_eq!((deposit(&DRIVER), Inference::deposit_for(DRIVER, offer.clone())), (held, held));
		let view = Inference::offer_of(DRIVER).expect("an offer");
		assert_eq!((view.driver, view.offer, view.hash, view.deposit), (DRIVER, offer, hash, held));
		assert!(view.ready && view.consents.is_empty() && view.sessions == 0);
		assert_eq!(OpenClaims::get()[&DRIVER], 1);

		assert_ok!(send(&DRIVER, Call::withdraw_offer {}));
		System::assert_last_event(Event::OfferWithdrawn { driver: DRIVER }.into());
		assert_eq!((deposit(&DRIVER), Balances::free_balance(DRIVER), OpenClaims::get()[&DRIVER]), (0, FUNDS, 0));
		assert_eq!(Inference::offer_of(DRIVER), None);
		assert_noop!(send(&DRIVER, Call::withdraw_offer {}), Error::<Test>::NoOffer);
	});
}

#[test]
fn an_offer_is_ready_when_every_member_of_its_ring_has_agreed_to_its_hash() {
	build_and_execute(|| {
		assert_ok!(offers(&DRIVER, offer_with(ring())));
		// Two spans more than alone, and room for two accounts.
		assert_eq!(deposit(&DRIVER), DEPOSIT_BASE + (133 + 72 + 64) * DEPOSIT_PER_BYTE);
		assert_noop!(joins(&WORKER, H256::repeat_byte(1)), Error::<Test>::OfferChanged);
		assert_noop!(joins(&OTHER, hash()), Error::<Test>::NotMember);
		assert_noop!(joins(&DRIVER, hash()), Error::<Test>::NotMember);
		assert_noop!(send(&WORKER, Call::join { driver: OTHER, offer_hash: hash() }), Error::<Test>::NoOffer);
		assert_ok!(joins(&WORKER, hash()));
		System::assert_last_event(Event::Joined { driver: DRIVER, who: WORKER, ready: false }.into());
		assert_noop!(joins(&WORKER, hash()), Error::<Test>::AlreadyJoined);
		assert!(!Inference::offer_of(DRIVER).expect("an offer").ready);
		assert_ok!(joins(&PREDICTOR, hash()));
		System::assert_last_event(Event::Joined { driver: DRIVER, who: PREDICTOR, ready: true }.into());
		let view = Inference::offer_of(DRIVER).expect("an offer");
		assert!(view.ready);
		assert_eq!(view.consents.into_inner(), [WORKER, PREDICTOR]);
		assert_eq!([DRIVER, WORKER, PREDICTOR].map(|who| OpenClaims::get()[&who]), [1, 1, 1]);
	});
}

#[test]
fn a_member_leaves_at_any_time_and_is_bound_no_more() {
	build_and_execute(|| {
		ready();
		assert_ok!(send(&WORKER, Call::leave { driver: DRIVER }));
		System::assert_last_event(Event::Left { driver: DRIVER, who: WORKER }.into());
		assert!(!Inference::offer_of(DRIVER).expect("an offer").ready);
		assert_eq!([WORKER, PREDICTOR].map(|who| OpenClaims::get()[&who]), [0, 1]);
		assert_noop!(send(&WORKER, Call::leave { driver: DRIVER }), Error::<Test>::NotJoined);
		assert_noop!(send(&DRIVER, Call::leave { driver: DRIVER }), Error::<Test>::NotJoined);
		assert_noop!(send(&WORKER, Call::leave { driver: OTHER }), Error::<Test>::NoOffer);
		assert_ok!(joins(&WORKER, hash()));
		assert!(Inference::offer_of(DRIVER).expect("an offer").ready);
	});
}

#[test]
fn another_offer_in_place_of_one_needs_everybodys_consent_anew() {
	build_and_execute(|| {
		ready();
		let before = hash();
		assert_noop!(offers(&DRIVER, offer_with(ring())), Error::<Test>::OfferUnchanged);
		let mut next = offer_with(ring());
		next.checkpoint = CheckpointId { run: RUN, round: 2, root: root_of(2) };
		next.endpoint = b"a".to_vec().try_into().expect("short");
		assert_ok!(offers(&DRIVER, next.clone()));
		// 20 bytes less.
		assert_eq!(deposit(&DRIVER), DEPOSIT_BASE + (133 + 72 + 64 - 20) * DEPOSIT_PER_BYTE);
		let view = Inference::offer_of(DRIVER).expect("an offer");
		assert!(!view.ready && view.consents.is_empty());
		assert_eq!([DRIVER, WORKER, PREDICTOR].map(|who| OpenClaims::get()[&who]), [1, 0, 0]);
		assert_noop!(joins(&WORKER, before), Error::<Test>::OfferChanged);
		assert_ok!(joins(&WORKER, next.hash(&DRIVER)));
		// A larger one holds more.
		assert_ok!(offers(&DRIVER, offer_with(ring())));
		assert_eq!(deposit(&DRIVER), DEPOSIT_BASE + (133 + 72 + 64) * DEPOSIT_PER_BYTE);
		assert_eq!(OpenClaims::get()[&WORKER], 0);
	});
}

#[test]
fn the_end_of_an_offer_frees_all_who_agreed() {
	build_and_execute(|| {
		ready();
		assert_ok!(send(&DRIVER, Call::withdraw_offer {}));
		assert_eq!([DRIVER, WORKER, PREDICTOR].map(|who| OpenClaims::get()[&who]), [0, 0, 0]);
		assert_eq!(Offers::<Test>::iter().count(), 0);
	});
}

#[test]
fn the_hash_of_an_offer_is_of_its_driver_and_of_all_its_terms() {
	let offer = offer_with(ring());
	let mut others = vec![offer.clone(); 6];
	others[0].checkpoint.round = 2;
	others[1].prices.generated += 1;
	others[2].redundancy += 1;
	others[3].endpoint.try_push(b'/').expect("short");
	others[4].ring[1].layers -= 1;
	others[5].ring[1].who = OTHER;
	assert!(others.iter().all(|other| other.hash(&DRIVER) != offer.hash(&DRIVER)));
	assert_ne!(offer.hash(&OTHER), offer.hash(&DRIVER));
}

#[test]
fn who_is_no_active_driver_offers_nothing() {
	build_and_execute(|| {
		for who in [WORKER, PREDICTOR, VERIFIER, user(1)] {
			assert_noop!(offers(&who, offer_with(vec![span(&who, 0, LAYERS)])), Error::<Test>::NotDriver);
		}
		Active::mutate(|active| active.remove(&DRIVER));
		assert_noop!(offers(&DRIVER, offer_with(vec![span(&DRIVER, 0, LAYERS)])), Error::<Test>::NotDriver);
	});
}

#[test]
fn an_operator_offers_and_withdraws_for_its_driver() {
	build_and_execute(|| {
		let offer = offer_with(vec![span(&DRIVER, 0, LAYERS)]);
		assert_ok!(offers(&OPERATOR, offer));
		assert!(deposit(&DRIVER) > 0 && Inference::offer_of(OPERATOR).is_none());
		assert_ok!(send(&OPERATOR, Call::withdraw_offer {}));
		assert_eq!(Balances::free_balance(DRIVER), FUNDS);
	});
}

#[test]
fn only_checkpoints_of_the_chain_that_may_be_used_are_offered() {
	build_and_execute(|| {
		let offer = |checkpoint| Offer { checkpoint, ..offer_with(vec![span(&DRIVER, 0, LAYERS)]) };
		let known = CheckpointId { run: RUN, round: 1, root: root_of(1) };
		assert_noop!(offers(&DRIVER, offer(CheckpointId { run: 1, ..known })), Error::<Test>::NotServed);
		assert_noop!(offers(&DRIVER, offer(CheckpointId { round: 2, ..known })), Error::<Test>::UnknownCheckpoint);
		assert_noop!(offers(&DRIVER, offer(CheckpointId { root: H256::zero(), ..known })), Error::<Test>::UnknownCheckpoint);
		HaltedModels::set([RUN].into());
		assert_noop!(offers(&DRIVER, offer(known)), Error::<Test>::NotServed);
		HaltedModels::set([].into());
		assert_ok!(offers(&DRIVER, offer(known)));
	});
}

#[test]
fn endpoints_and_rings_that_are_nonsense_are_refused() {
	build_and_execute(|| {
		let ringed = |ring| offers(&DRIVER, offer_with(ring));
		let twice = |ring| offers(&DRIVER, Offer { redundancy: 2, ..offer_with(ring) });
		let at = |endpoint: &[u8]| {
			let endpoint = endpoint.to_vec().try_into().expect("short");
			offers(&DRIVER, Offer { endpoint, ..offer_with(vec![span(&DRIVER, 0, LAYERS)]) })
		};
		assert_noop!(at(b""), Error::<Test>::BadEndpoint);
		assert_noop!(at(b"http://\xff"), Error::<Test>::BadEndpoint);
		assert_noop!(ringed(vec![span(&DRIVER, 0, 12), span(&WORKER, 3, 0)]), Error::<Test>::BadSpan);
		assert_noop!(ringed(vec![span(&DRIVER, 0, 13)]), Error::<Test>::BadSpan);
		assert_noop!(ringed(vec![span(&DRIVER, 65_535, 65_535)]), Error::<Test>::BadSpan);
		assert_noop!(ringed(vec![]), Error::<Test>::BadRedundancy);
		assert_noop!(ringed(vec![span(&DRIVER, 1, 11)]), Error::<Test>::BadRedundancy);
		assert_noop!(ringed(vec![span(&DRIVER, 0, 11)]), Error::<Test>::BadRedundancy);
		assert_noop!(ringed(vec![span(&DRIVER, 0, 5), span(&WORKER, 6, 6)]), Error::<Test>::BadRedundancy);
		assert_noop!(ringed(vec![span(&DRIVER, 0, 7), span(&WORKER, 6, 6)]), Error::<Test>::BadRedundancy);
		assert_noop!(ringed(vec![span(&DRIVER, 0, 7), span(&DRIVER, 6, 6)]), Error::<Test>::SameAccountTwice);
		assert_noop!(twice(vec![span(&DRIVER, 0, 12)]), Error::<Test>::BadRedundancy);
		assert_noop!(twice(vec![span(&DRIVER, 0, 12), span(&DRIVER, 0, 12)]), Error::<Test>::SameAccountTwice);
		let none = Offer { redundancy: 0, ..offer_with(vec![span(&DRIVER, 0, 12)]) };
		assert_noop!(offers(&DRIVER, none), Error::<Test>::BadRedundancy);
		for who in [VERIFIER, NOBODY] {
			assert_noop!(ringed(vec![span(&DRIVER, 0, 6), span(&who, 6, 6)]), Error::<Test>::MemberNotActive);
		}
		assert_ok!(twice(vec![span(&DRIVER, 0, 12), span(&WORKER, 0, 4), span(&PREDICTOR, 4, 8)]));
		// In any order, and an account in several places.
		assert_ok!(ringed(vec![span(&WORKER, 11, 1), span(&DRIVER, 1, 10), span(&WORKER, 0, 1)]));
	});
}

#[test]
fn a_member_that_ceased_to_be_active_joins_no_more() {
	build_and_execute(|| {
		assert_ok!(offers(&DRIVER, offer_with(ring())));
		Active::mutate(|active| active.insert(WORKER, Roles::only(Role::Verifier)));
		assert_noop!(joins(&WORKER, hash()), Error::<Test>::MemberNotActive);
	});
}

#[test]
fn an_offer_stays_while_sessions_with_its_driver_are_not_settled_and_of_the_same_model() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 500);
		assert_noop!(send(&DRIVER, Call::withdraw_offer {}), Error::<Test>::SessionsOpen);
		let mut other = offer_with(vec![span(&DRIVER, 0, 32)]);
		other.checkpoint = CheckpointId { run: OTHER_RUN, round: 1, root: root_of(1) };
		assert_noop!(offers(&DRIVER, other.clone()), Error::<Test>::OtherModel);
		let mut newer = offer_with(vec![span(&DRIVER, 0, LAYERS)]);
		newer.checkpoint = CheckpointId { run: RUN, round: 2, root: root_of(2) };
		assert_ok!(offers(&DRIVER, newer));
		assert_eq!(Inference::offer_of(DRIVER).map(|view| view.sessions), Some(1));

		assert_ok!(send(&DRIVER, Call::close_session { session }));
		assert_noop!(send(&DRIVER, Call::withdraw_offer {}), Error::<Test>::SessionsOpen);
		System::set_block_number(1 + DELAY);
		assert_ok!(send(&DRIVER, Call::settle { session }));
		assert_ok!(offers(&DRIVER, other));
		assert_ok!(send(&DRIVER, Call::withdraw_offer {}));
	});
}

#[test]
fn who_has_too_little_for_the_deposit_offers_nothing() {
	build_and_execute(|| {
		let poor = |free| {
			assert_ok!(<Balances as frame_support::traits::fungible::Unbalanced<_>>::write_balance(&DRIVER, free));
			offers(&DRIVER, offer_with(vec![span(&DRIVER, 0, LAYERS)]))
		};
		let needed = DEPOSIT_BASE + 133 * DEPOSIT_PER_BYTE;
		assert!(poor(needed + ED - 1).is_err());
		assert_ok!(poor(needed + ED));
	});
}

/// Returns the problem of a ring, layer by layer.
fn problem(offer: &Offer, layers: u32) -> Option<RingProblem> {
	let covers = |span: &Span, layer: u32| (u32::from(span.first)..u32::from(span.first) + u32::from(span.layers)).contains(&layer);
	if offer.ring.iter().any(|span| span.layers == 0 || covers(span, layers) || u32::from(span.first) >= layers) {
		return Some(RingProblem::Span);
	}
	let mut problems = Vec::new();
	for layer in 0..layers {
		let mut who: Vec<_> = offer.ring.iter().filter(|span| covers(span, layer)).map(|span| span.who.clone()).collect();
		let count = who.len();
		who.sort();
		who.dedup();
		if who.len() < count {
			problems.push(RingProblem::Twice);
		} else if count != usize::from(offer.redundancy) {
			problems.push(RingProblem::Redundancy);
		}
	}
	if offer.redundancy == 0 {
		problems.push(RingProblem::Redundancy);
	}
	problems.first().copied()
}

fn spans() -> impl Strategy<Value = Vec<Span>> {
	let cuts = prop::collection::vec(0u16..8, 0..4);
	// Mostly rounds of all layers, cut at random, and sometimes a span that does not fit.
	let full = (cuts, prop::collection::vec(0u8..6, 6)).prop_map(|(mut cuts, who)| {
		cuts.extend([0, 8]);
		cuts.sort_unstable();
		cuts.dedup();
		cuts.windows(2).zip(who).map(|(pair, who)| span(&AccountId::new([who; 32]), pair[0], pair[1] - pair[0])).collect::<Vec<_>>()
	});
	let odd = prop::collection::vec((0u8..6, 0u16..9, 0u16..9), 0..2)
		.prop_map(|all| all.into_iter().map(|(who, first, layers)| span(&AccountId::new([who; 32]), first, layers)).collect::<Vec<_>>());
	(prop::collection::vec(full, 0..4), prop_oneof![3 => Just(Vec::new()), 1 => odd])
		.prop_map(|(rounds, odd)| rounds.into_iter().flatten().chain(odd).collect())
}

proptest! {
	#![proptest_config(ProptestConfig::with_cases(4_000))]

	#[test]
	fn a_ring_is_good_exactly_if_every_layer_is_computed_by_so_many_accounts(ring in spans(), redundancy in 0u8..4) {
		let offer = Offer { redundancy, ..offer_with(ring) };
		let (found, expected) = (offer.ring_problem(8), problem(&offer, 8));
		prop_assert_eq!(found.is_some(), expected.is_some(), "{:?} and not {:?}", found, expected);
		prop_assert_eq!(found == Some(RingProblem::Span), expected == Some(RingProblem::Span));
	}
}
