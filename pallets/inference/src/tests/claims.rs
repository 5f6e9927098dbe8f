//! Vouchers, and the money that they move.

use crate::{mock::*, Call, Error, Event};
use codec::Encode;
use frame_support::{assert_noop, assert_ok};
use neuroshard_types::{
	inference::{chained, ClaimView, Voucher},
	AccountId, Balance, H256,
};
use sp_core::{ecdsa, ed25519, Pair};
use sp_runtime::{traits::IdentifyAccount, DispatchResult, MultiSignature, MultiSigner, Perbill};

fn claims(who: &AccountId, voucher: Voucher, signature: MultiSignature) -> DispatchResult {
	send(who, Call::claim { session: voucher.session, voucher, signature })
}

/// Returns the amounts that owners and all others have been paid.
fn paid() -> (Balance, Balance) {
	(Balances::free_balance(OWNERS_POT) - ED, Balances::free_balance(FEES_POT) - ED)
}

fn wrapped(voucher: &Voucher) -> Vec<u8> {
	[&b"<Bytes>"[..], &voucher.message(System::block_hash(0)), &b"</Bytes>"[..]].concat()
}

#[test]
fn a_session_pays_owners_a_tenth_rounded_down_and_the_rest_as_a_fee() {
	build_and_execute(|| {
		let ring = vec![span(&DRIVER, 0, 2), span(&WORKER, 2, 9), span(&DRIVER, 11, 1)];
		assert_ok!(send(&DRIVER, Call::offer { offer: offer_with(ring) }));
		let offer_hash = Inference::offer_of(DRIVER).expect("an offer").hash;
		assert_ok!(send(&WORKER, Call::join { driver: DRIVER, offer_hash }));
		let session = open(1, Some(&DRIVER), 1_000);

		let first = voucher(session, &DRIVER, 339, 2);
		assert_ok!(claim(1, first.clone()));
		// A tenth of 339 is 33.9.
		assert_eq!((paid(), money(&user(1))), ((33, 306), (FUNDS - 1_000, 661)));
		let layers = vec![(DRIVER, 2), (WORKER, 9), (DRIVER, 1)];
		assert_eq!(Fees::get(), [(user(1), 306, DRIVER, layers.clone())]);
		let (answers, receipts) = (2, first.receipts);
		System::assert_last_event(
			Event::Claimed { session, provider: DRIVER, amount: 339, missing: 0, owners: 33, answers, receipts }.into(),
		);
		assert_eq!(Inference::claimed(session, DRIVER), ClaimView { paid: 339, owed: 339, answers, receipts });
		assert_eq!(Disputable::get(), [WORKER, DRIVER]);

		// The next one pays the difference.
		assert_ok!(claim(1, voucher(session, &DRIVER, 439, 3)));
		assert_eq!((paid(), money(&user(1))), ((43, 396), (FUNDS - 1_000, 561)));
		let session = Inference::session(session).expect("a session");
		assert_eq!((session.escrow, session.paid), (561, 439));
	});
}

#[test]
fn a_user_with_nothing_but_the_existential_deposit_pays_exactly() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), FUNDS - ED);
		assert_eq!(money(&user(1)), (ED, FUNDS - ED));
		for (amount, answers) in [(1, 1), (10, 2), (FUNDS - ED, 3)] {
			assert_ok!(claim(1, voucher(session, &DRIVER, amount, answers)));
			assert_eq!(money(&user(1)), (ED, FUNDS - ED - amount));
			let (owners, others) = paid();
			assert_eq!(owners + others, amount);
		}
		// A tenth of 1, of 9, and of the rest, each rounded down.
		assert_eq!(paid().0, (FUNDS - ED - 10) / 10);
	});
}

#[test]
fn amounts_without_a_whole_planck_for_the_owners_are_paid_without_them() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 100);
		for amount in 1..=9 {
			assert_ok!(claim(1, voucher(session, &DRIVER, amount.into(), amount)));
		}
		assert_eq!(paid(), (0, 9));
	});
}

#[test]
fn the_owners_part_goes_the_way_of_the_rest_if_no_share_earns() {
	build_and_execute(|| {
		SharesEarn::set(false);
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		assert_ok!(claim(1, voucher(session, &DRIVER, 500, 1)));
		assert_eq!(paid(), (0, 500));
		let receipts = H256::from_low_u64_be(1);
		System::assert_last_event(
			Event::Claimed { session, provider: DRIVER, amount: 500, missing: 0, owners: 0, answers: 1, receipts }.into(),
		);
		SharesEarn::set(true);
		assert_ok!(claim(1, voucher(session, &DRIVER, 1_000, 2)));
		assert_eq!(paid(), (50, 950));
	});
}

#[test]
fn a_share_of_nothing_and_of_everything_is_paid() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		OwnersShare::set(Perbill::zero());
		assert_ok!(claim(1, voucher(session, &DRIVER, 100, 1)));
		assert_eq!(paid(), (0, 100));
		OwnersShare::set(Perbill::one());
		assert_ok!(claim(1, voucher(session, &DRIVER, 300, 2)));
		assert_eq!((paid(), Fees::get().len()), ((200, 100), 1));
	});
}

#[test]
fn a_voucher_that_its_user_did_not_sign_for_this_chain_is_refused() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		let good = voucher(session, &DRIVER, 100, 1);
		let refused = |voucher: Voucher, signature: MultiSignature| {
			assert_noop!(claims(&DRIVER, voucher, signature), Error::<Test>::BadSignature);
		};
		refused(good.clone(), sign(2, &good));
		let elsewhere = pair(1).sign(&good.message(H256::repeat_byte(1)));
		refused(good.clone(), elsewhere.into());
		refused(good.clone(), MultiSignature::Sr25519(Default::default()));
		refused(good.clone(), MultiSignature::Ed25519(Default::default()));
		refused(good.clone(), MultiSignature::Ecdsa(Default::default()));
		// Everything in it is signed.
		let signature = sign(1, &good);
		refused(Voucher { amount: 101, ..good.clone() }, signature.clone());
		refused(Voucher { answers: 2, ..good.clone() }, signature.clone());
		refused(Voucher { receipts: H256::zero(), ..good.clone() }, signature.clone());
		// Neither bytes without the domain, nor half a wrapping.
		refused(good.clone(), pair(1).sign(&good.encode()).into());
		let open = [&b"<Bytes>"[..], &good.message(System::block_hash(0))].concat();
		refused(good.clone(), pair(1).sign(&open).into());
		assert_ok!(claims(&DRIVER, good, signature));
	});
}

#[test]
fn a_voucher_is_signed_plain_or_as_wallets_wrap_bytes() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		let voucher = voucher(session, &DRIVER, 100, 1);
		let signature = pair(1).sign(&wrapped(&voucher));
		assert_ok!(claims(&DRIVER, voucher, signature.into()));
		assert_eq!(paid(), (10, 90));
	});
}

#[test]
fn the_bytes_of_a_voucher_are_those_that_the_documents_name() {
	let voucher = Voucher { session: 5, provider: DRIVER, amount: 7, answers: 3, receipts: H256::repeat_byte(9) };
	let mut expected = b"neuroshard/voucher/1".to_vec();
	expected.extend([2; 32]);
	expected.extend(5u64.to_le_bytes());
	expected.extend([1; 32]);
	expected.extend(7u128.to_le_bytes());
	expected.extend(3u32.to_le_bytes());
	expected.extend([9; 32]);
	assert_eq!((voucher.message(H256::repeat_byte(2)), expected.len()), (expected.clone(), 144));
	// And a receipt is added to those before.
	let bytes = [&b"neuroshard/receipts/1"[..], &[1; 32], &[2; 32]].concat();
	assert_eq!(chained(H256::repeat_byte(1), H256::repeat_byte(2)).0, sp_io::hashing::blake2_256(&bytes));
}

#[test]
fn accounts_with_keys_of_other_kinds_sign_vouchers_too() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let (ed, ec) = (ed25519::Pair::from_seed(&[7; 32]), ecdsa::Pair::from_seed(&[7; 32]));
		let accounts = [AccountId::from(ed.public()), MultiSigner::Ecdsa(ec.public()).into_account()];
		for (index, who) in accounts.into_iter().enumerate() {
			assert_ok!(<Balances as frame_support::traits::fungible::Mutate<_>>::mint_into(&who, 1_000));
			let session = crate::NextSession::<Test>::get();
			assert_ok!(send(&who, Call::open_session { provider: Some(DRIVER), escrow: 500 }));
			for (answers, wrap) in [(1, false), (2, true)] {
				let voucher = voucher(session, &DRIVER, 50 * Balance::from(answers), answers);
				let message = if wrap { wrapped(&voucher) } else { voucher.message(System::block_hash(0)) };
				let signature: MultiSignature = if index == 0 { ed.sign(&message).into() } else { ec.sign(&message).into() };
				assert_ok!(claims(&DRIVER, voucher, signature));
			}
			assert_eq!(money(&who), (500, 400));
		}
	});
}

#[test]
fn a_voucher_pays_in_its_own_session_only() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let (session, other) = (open(1, Some(&DRIVER), 1_000), open(1, Some(&DRIVER), 1_000));
		let good = voucher(session, &DRIVER, 100, 1);
		let signature = sign(1, &good);
		let call = Call::claim { session: other, voucher: good.clone(), signature: signature.clone() };
		assert_noop!(send(&DRIVER, call), Error::<Test>::WrongSession);
		// Renamed, it is not signed.
		assert_noop!(claims(&DRIVER, Voucher { session: other, ..good.clone() }, signature), Error::<Test>::BadSignature);
		assert_noop!(claim(1, voucher(7, &DRIVER, 100, 1)), Error::<Test>::UnknownSession);
		assert_ok!(claim(1, good));
		assert_eq!(Inference::claimed(other, DRIVER), ClaimView::default());
	});
}

#[test]
fn nothing_is_paid_twice_and_vouchers_only_grow() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 1_000);
		for nothing in [voucher(session, &DRIVER, 0, 1), voucher(session, &DRIVER, 5, 0)] {
			assert_noop!(claim(1, nothing), Error::<Test>::StaleVoucher);
		}
		assert_ok!(claim(1, voucher(session, &DRIVER, 400, 4)));
		for (amount, answers) in [(400, 4), (400, 5), (399, 5), (401, 4), (500, 3)] {
			assert_noop!(claim(1, voucher(session, &DRIVER, amount, answers)), Error::<Test>::StaleVoucher);
		}
		assert_ok!(claim(1, voucher(session, &DRIVER, 401, 5)));
		assert_eq!(money(&user(1)), (FUNDS - 1_000, 599));
	});
}

#[test]
fn an_escrow_that_is_too_small_pays_what_it_has_and_the_rest_after_a_top_up() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let session = open(1, Some(&DRIVER), 100);
		let large = voucher(session, &DRIVER, 250, 4);
		assert_ok!(claim(1, large.clone()));
		let receipts = large.receipts;
		System::assert_last_event(
			Event::Claimed { session, provider: DRIVER, amount: 100, missing: 150, owners: 10, answers: 4, receipts }.into(),
		);
		assert_eq!(Inference::claimed(session, DRIVER), ClaimView { paid: 100, owed: 250, answers: 4, receipts });
		assert_noop!(claim(1, large.clone()), Error::<Test>::EmptyEscrow);
		assert_ok!(send(&user(1), Call::top_up { session, amount: 60 }));
		// Only the same one, or one with more answers.
		assert_noop!(claim(1, voucher(session, &DRIVER, 251, 4)), Error::<Test>::StaleVoucher);
		assert_ok!(claim(1, large.clone()));
		assert_eq!(Inference::claimed(session, DRIVER), ClaimView { paid: 160, owed: 250, answers: 4, receipts });
		assert_ok!(send(&user(1), Call::top_up { session, amount: 500 }));
		assert_ok!(claim(1, voucher(session, &DRIVER, 260, 5)));
		assert_noop!(claim(1, large), Error::<Test>::StaleVoucher);
		// 10 + 6 + 10 for the owners.
		assert_eq!((paid(), money(&user(1))), ((26, 234), (FUNDS - 660, 400)));
	});
}

#[test]
fn only_the_provider_that_a_voucher_and_its_session_name_claims_or_its_operator() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		offer_alone(&OTHER);
		let session = open(1, Some(&DRIVER), 1_000);
		let mine = voucher(session, &DRIVER, 100, 1);
		let signature = sign(1, &mine);
		for who in [OTHER, user(1), NOBODY] {
			assert_noop!(claims(&who, mine.clone(), signature.clone()), Error::<Test>::NotPayee);
		}
		// The user named another provider than that of the session.
		assert_noop!(claim(1, voucher(session, &OTHER, 100, 1)), Error::<Test>::NotPayee);
		assert_ok!(claims(&OPERATOR, mine, signature));
		assert_eq!(Inference::claimed(session, DRIVER).paid, 100);
	});
}

#[test]
fn a_prepaid_session_pays_several_providers_each_by_vouchers_of_its_own() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		offer_alone(&OTHER);
		let session = open(1, None, 1_000);
		assert_ok!(claim(1, voucher(session, &DRIVER, 300, 3)));
		assert_ok!(claim(1, voucher(session, &OTHER, 500, 1)));
		assert_ok!(claim(1, voucher(session, &DRIVER, 310, 4)));
		// First come, first served.
		assert_ok!(claim(1, voucher(session, &OTHER, 900, 2)));
		assert_noop!(claim(1, voucher(session, &DRIVER, 400, 5)), Error::<Test>::EmptyEscrow);
		assert_eq!((Inference::claimed(session, DRIVER).paid, Inference::claimed(session, OTHER).paid), (310, 690));
		assert_eq!(Inference::session(session).map(|session| (session.escrow, session.paid)), Some((0, 1_000)));
		// Of 300, 500, 10 and 190.
		assert_eq!(paid(), (100, 900));
	});
}

#[test]
fn a_prepaid_session_pays_so_many_providers_and_those_again() {
	build_and_execute(|| {
		let drivers: Vec<_> = (0..MAX_PAYEES + 1).map(|number| AccountId::new([100 + u8::try_from(number).expect("few"); 32])).collect();
		for driver in &drivers {
			<MockHelper as crate::BenchmarkHelper>::provider(driver);
			offer_alone(driver);
		}
		let session = open(1, None, 1_000);
		let (last, first) = drivers.split_last().expect("some");
		for driver in first {
			assert_ok!(claim(1, voucher(session, driver, 100, 1)));
		}
		assert_noop!(claim(1, voucher(session, last, 100, 1)), Error::<Test>::TooManyPayees);
		assert_ok!(claim(1, voucher(session, &first[0], 101, 2)));
	});
}

#[test]
fn a_prepaid_session_takes_on_only_providers_whose_offer_is_ready() {
	build_and_execute(|| {
		let session = open(1, None, 1_000);
		assert_noop!(claim(1, voucher(session, &DRIVER, 100, 1)), Error::<Test>::NoOffer);
		let ring = vec![span(&DRIVER, 0, 6), span(&WORKER, 6, 6)];
		assert_ok!(send(&DRIVER, Call::offer { offer: offer_with(ring) }));
		assert_noop!(claim(1, voucher(session, &DRIVER, 100, 1)), Error::<Test>::NotReady);
		let offer_hash = Inference::offer_of(DRIVER).expect("an offer").hash;
		assert_ok!(send(&WORKER, Call::join { driver: DRIVER, offer_hash }));
		assert_ok!(claim(1, voucher(session, &DRIVER, 100, 1)));
		// Whom it has taken on it pays also when a member has left.
		assert_ok!(send(&WORKER, Call::leave { driver: DRIVER }));
		assert_ok!(claim(1, voucher(session, &DRIVER, 200, 2)));
	});
}

#[test]
fn members_that_leave_keep_no_driver_from_being_paid_and_are_paid_by_their_place_in_the_ring() {
	build_and_execute(|| {
		let ring = vec![span(&DRIVER, 0, 6), span(&WORKER, 6, 6)];
		assert_ok!(send(&DRIVER, Call::offer { offer: offer_with(ring) }));
		let offer_hash = Inference::offer_of(DRIVER).expect("an offer").hash;
		assert_ok!(send(&WORKER, Call::join { driver: DRIVER, offer_hash }));
		let session = open(1, Some(&DRIVER), 1_000);
		assert_ok!(send(&WORKER, Call::leave { driver: DRIVER }));
		assert_ok!(claim(1, voucher(session, &DRIVER, 100, 1)));
		assert_eq!(Fees::get(), [(user(1), 90, DRIVER, vec![(DRIVER, 6), (WORKER, 6)])]);
		// But nothing of it binds who has not agreed, or does no more.
		assert_eq!(Disputable::get(), [DRIVER]);
		let ring = vec![span(&DRIVER, 0, 11), span(&PREDICTOR, 11, 1)];
		assert_ok!(send(&DRIVER, Call::offer { offer: offer_with(ring) }));
		assert_ok!(claim(1, voucher(session, &DRIVER, 200, 2)));
		assert_eq!(Disputable::get(), [DRIVER, DRIVER]);
	});
}

#[test]
fn a_model_that_is_halted_pays_nobody_until_the_halt_is_lifted() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let (session, prepaid) = (open(1, Some(&DRIVER), 1_000), open(1, None, 1_000));
		HaltedModels::set([RUN].into());
		for session in [session, prepaid] {
			assert_noop!(claim(1, voucher(session, &DRIVER, 100, 1)), Error::<Test>::NotServed);
		}
		// Users get their money back all the same.
		assert_ok!(send(&user(1), Call::close_session { session }));
		System::set_block_number(1 + DELAY);
		assert_ok!(send(&user(1), Call::settle { session }));
		HaltedModels::set([].into());
		assert_ok!(claim(1, voucher(prepaid, &DRIVER, 100, 1)));
	});
}

#[test]
fn the_largest_amounts_are_paid() {
	build_and_execute(|| {
		offer_alone(&DRIVER);
		let all: Balance = 1 << 120;
		assert_ok!(<Balances as frame_support::traits::fungible::Mutate<_>>::mint_into(&user(1), all));
		let session = open(1, Some(&DRIVER), all);
		assert_ok!(claim(1, voucher(session, &DRIVER, Balance::MAX, u32::MAX)));
		assert_eq!((paid(), money(&user(1))), ((all / 10, all - all / 10), (FUNDS, 0)));
		assert_ok!(send(&user(1), Call::top_up { session, amount: 10 }));
		assert_ok!(claim(1, voucher(session, &DRIVER, Balance::MAX, u32::MAX)));
		assert_eq!(Inference::claimed(session, DRIVER).paid, all + 10);
	});
}
