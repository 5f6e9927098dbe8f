//! Life of a session.

use crate::{mock::*, Call, Claims, Error, Event, Sessions, SessionsOf};
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{inference::SessionView, AccountId, Balance};
use sp_runtime::{DispatchResult, TokenError};

fn opens(seed: u8, provider: Option<AccountId>, escrow: Balance) -> DispatchResult {
	send(&user(seed), Call::open_session { provider, escrow })
}

fn closes(who: &AccountId, session: u64) -> DispatchResult {
	send(who, Call::close_session { session })
}

fn settles(who: &AccountId, session: u64) -> DispatchResult {
	send(who, Call::settle { session })
}

#[test]
fn an_escrow_is_on_hold_until_the_session_is_settled_and_comes_back_whole() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		assert_ok!(opens(1, Some(DRIVER), 5_000));
		System::assert_last_event(Event::SessionOpened { session: 0, user: user(1), provider: Some(DRIVER), escrow: 5_000 }.into());
		assert_eq!(money(&user(1)), (FUNDS - 5_000, 5_000));
		let view = |closes_at| SessionView { user: user(1), provider: Some(DRIVER), escrow: 5_000, paid: 0, closes_at };
		assert_eq!(Inference::session(0), Some(view(None)));
		assert_eq!(Inference::sessions_of(user(1)).into_inner(), [0]);

		System::set_block_number(5);
		assert_noop!(settles(&NOBODY, 0), Error::<Test>::SessionOpen);
		assert_ok!(closes(&user(1), 0));
		System::assert_last_event(Event::SessionClosed { session: 0, closes_at: 5 + DELAY }.into());
		assert_eq!(Inference::session(0), Some(view(Some(5 + DELAY))));
		assert_noop!(closes(&user(1), 0), Error::<Test>::SessionClosing);
		assert_noop!(closes(&DRIVER, 0), Error::<Test>::SessionClosing);
		System::set_block_number(5 + DELAY - 1);
		assert_noop!(settles(&NOBODY, 0), Error::<Test>::TooEarly);
		System::set_block_number(5 + DELAY);
		assert_ok!(settles(&NOBODY, 0));
		System::assert_last_event(Event::SessionSettled { session: 0, user: user(1), returned: 5_000, paid: 0 }.into());
		assert_eq!(money(&user(1)), (FUNDS, 0));
		assert_eq!((Inference::session(0), SessionsOf::<Test>::contains_key(user(1))), (None, false));
		for call in [Call::settle { session: 0 }, Call::close_session { session: 0 }, Call::top_up { session: 0, amount: 1 }] {
			assert_noop!(send(&user(1), call), Error::<Test>::UnknownSession);
		}
	});
}

#[test]
fn numbers_of_sessions_are_never_used_again() {
	build_and_execute(|| {
		assert_eq!((open(1, None, 100), open(2, None, 100)), (0, 1));
		assert_ok!(closes(&user(2), 1));
		System::set_block_number(1 + DELAY);
		assert_ok!(settles(&user(2), 1));
		assert_eq!(open(2, None, 100), 2);
		assert_eq!((Inference::sessions_of(user(1)).into_inner(), Inference::sessions_of(user(2)).into_inner()), (vec![0], vec![2]));
	});
}

#[test]
fn an_escrow_has_a_least_and_leaves_the_existential_deposit() {
	build_and_execute(|| {
		assert_noop!(opens(1, None, MIN_ESCROW - 1), Error::<Test>::EscrowTooSmall);
		assert_noop!(opens(1, None, FUNDS - ED + 1), TokenError::FundsUnavailable);
		assert_ok!(opens(1, None, FUNDS - ED));
		assert_eq!(money(&user(1)), (ED, FUNDS - ED));
		assert_ok!(opens(2, None, MIN_ESCROW));
		assert!(opens(9, None, MIN_ESCROW).is_err());
	});
}

#[test]
fn a_user_has_so_many_sessions_at_a_time() {
	build_and_execute(|| {
		let sessions: Vec<_> = (0..MAX_SESSIONS).map(|_| open(1, None, 100)).collect();
		assert_eq!(sessions, [0, 1, 2, 3]);
		assert_noop!(opens(1, None, 100), Error::<Test>::TooManySessions);
		assert_ok!(closes(&user(1), 2));
		// One that is closing counts.
		assert_noop!(opens(1, None, 100), Error::<Test>::TooManySessions);
		System::set_block_number(1 + DELAY);
		assert_ok!(settles(&user(1), 2));
		assert_ok!(opens(1, None, 100));
		assert_eq!(Inference::sessions_of(user(1)).into_inner(), [0, 1, 3, 4]);
	});
}

#[test]
fn a_provider_is_paid_by_sessions_only_with_a_ready_offer_of_a_model_that_may_be_used() {
	build_and_execute(|| {
		assert_noop!(opens(1, Some(DRIVER), 100), Error::<Test>::NoOffer);
		let ring = vec![span(&DRIVER, 0, 6), span(&WORKER, 6, 6)];
		assert_ok!(send(&DRIVER, Call::offer { offer: offer_with(ring) }));
		assert_noop!(opens(1, Some(DRIVER), 100), Error::<Test>::NotReady);
		let offer_hash = Inference::offer_of(DRIVER).expect("an offer").hash;
		assert_ok!(send(&WORKER, Call::join { driver: DRIVER, offer_hash }));
		HaltedModels::set([RUN].into());
		assert_noop!(opens(1, Some(DRIVER), 100), Error::<Test>::NotServed);
		HaltedModels::set([].into());
		assert_ok!(opens(1, Some(DRIVER), 100));
		// Who is chilled takes on nobody, and serves whom it has.
		Active::mutate(|active| active.remove(&DRIVER));
		assert_noop!(opens(1, Some(DRIVER), 100), Error::<Test>::ProviderNotActive);
		assert_ok!(claim(1, voucher(0, &DRIVER, 50, 1)));
	});
}

#[test]
fn only_the_user_adds_to_an_escrow_while_the_session_is_open() {
	build_and_execute(|| {
		let session = open(1, None, 100);
		let top_up = |who: &AccountId, amount| send(who, Call::top_up { session, amount });
		assert_noop!(top_up(&user(2), 1), Error::<Test>::NotUser);
		assert_noop!(top_up(&user(1), 0), Error::<Test>::ZeroAmount);
		assert_noop!(top_up(&user(1), FUNDS), TokenError::FundsUnavailable);
		assert_ok!(top_up(&user(1), 11));
		System::assert_last_event(Event::ToppedUp { session, amount: 11, escrow: 111 }.into());
		assert_eq!(money(&user(1)), (FUNDS - 111, 111));
		assert_ok!(closes(&user(1), session));
		assert_noop!(top_up(&user(1), 1), Error::<Test>::SessionClosing);
	});
}

#[test]
fn user_and_provider_end_a_session_and_nobody_else() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		offer_alone(&OTHER);
		for (who, ends) in [(user(1), true), (DRIVER, true), (OPERATOR, true), (OTHER, false), (user(2), false)] {
			let session = open(1, Some(&DRIVER), 100);
			let done = closes(&who, session);
			assert_eq!(done, if ends { Ok(()) } else { Err(Error::<Test>::NotParty.into()) }, "{who}");
			let _ = closes(&user(1), session);
			System::set_block_number(System::block_number() + DELAY);
			assert_ok!(settles(&user(2), session));
		}
		// Nobody but its user ends a prepaid one, whoever was paid.
		let prepaid = open(1, None, 100);
		assert_ok!(claim(1, voucher(prepaid, &DRIVER, 50, 1)));
		assert_noop!(closes(&DRIVER, prepaid), Error::<Test>::NotParty);
		assert_ok!(closes(&user(1), prepaid));
	});
}

#[test]
fn an_operator_does_not_end_what_its_owner_pays_for() {
	build_and_execute(|| {
		assert_ok!(send(&DRIVER, Call::open_session { provider: None, escrow: 100 }));
		assert_noop!(closes(&OPERATOR, 0), Error::<Test>::NotParty);
		assert_ok!(closes(&DRIVER, 0));
	});
}

#[test]
fn settling_returns_what_was_not_claimed_and_forgets_the_claims() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		offer_alone(&OTHER);
		let session = open(1, None, 1_000);
		assert_ok!(claim(1, voucher(session, &DRIVER, 300, 2)));
		assert_ok!(claim(1, voucher(session, &OTHER, 200, 1)));
		assert_ok!(closes(&user(1), session));
		// Claims go on while it is closing.
		assert_ok!(claim(1, voucher(session, &DRIVER, 350, 3)));
		System::set_block_number(1 + DELAY);
		assert_ok!(claim(1, voucher(session, &OTHER, 201, 2)));
		assert_ok!(settles(&user(2), session));
		System::assert_last_event(Event::SessionSettled { session, user: user(1), returned: 449, paid: 551 }.into());
		assert_eq!(money(&user(1)), (FUNDS - 551, 0));
		assert_eq!((Claims::<Test>::iter().count(), Sessions::<Test>::iter().count()), (0, 0));
		assert_noop!(claim(1, voucher(session, &DRIVER, 400, 4)), Error::<Test>::UnknownSession);
	});
}

#[test]
fn a_session_that_has_paid_everything_is_settled_too() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 100);
		assert_ok!(claim(1, voucher(session, &DRIVER, 100, 1)));
		assert_eq!(money(&user(1)), (FUNDS - 100, 0));
		assert_ok!(closes(&user(1), session));
		System::set_block_number(1 + DELAY);
		assert_ok!(settles(&user(1), session));
		System::assert_last_event(Event::SessionSettled { session, user: user(1), returned: 0, paid: 100 }.into());
	});
}

#[test]
fn the_delay_of_a_chain_that_says_nothing_is_a_day() {
	new_test_ext().execute_with(|| {
		crate::CloseDelay::<Test>::kill();
		let terms = Inference::terms();
		assert_eq!((terms.close_delay, terms.min_escrow, terms.max_sessions, terms.max_payees), (28_800, 100, 4, 3));
		assert_eq!(terms.owners_share, sp_runtime::Perbill::from_percent(10));
		let session = open(1, None, 100);
		System::set_block_number(u32::MAX - 1);
		assert_ok!(closes(&user(1), session));
		assert_eq!(Inference::session(session).and_then(|session| session.closes_at), Some(u32::MAX));
	});
}
