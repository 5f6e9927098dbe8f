//! Paid inference wired together: what a user puts aside is paid to the planck, and comes back.

use super::*;
use neuroshard_graph::sampler::Sampling;
use neuroshard_runtime::Inference;
use neuroshard_types::{
	dataset::TextTokens,
	inference::{chained, CheckpointId, Class, Ending, Offer, Prices, Receipt, Span, Tokens, Voucher},
	proof::ProofSignature,
	traits::FinalWork,
};
use sp_runtime::MultiSignature;

/// The checkpoint that the run of these tests begins with.
pub(super) const CHECKPOINT: CheckpointId = CheckpointId { run: 0, round: 0, root: H256([5; 32]) };

/// A run, and Eve who offers its model, with Bob and Charlie who compute it once more each. Ferdie pays.
pub(super) fn offered() -> [AccountId; 4] {
	let [eve, bob, charlie, ferdie] = [Eve, Bob, Charlie, Ferdie].map(|key| key.to_account_id());
	create_dataset();
	create_run(10);
	register_as(&eve, 4, Role::Driver);
	register_as(&bob, 1, Role::Worker);
	register_as(&charlie, 2, Role::Predictor);
	assert_ok!(Inference::offer(signed(&eve), offer([&eve, &bob, &charlie])));
	let hash = Inference::offer_of(eve.clone()).expect("an offer").hash;
	for who in [&bob, &charlie] {
		assert_ok!(Inference::join(signed(who), eve.clone(), hash));
	}
	check_invariants();
	[eve, bob, charlie, ferdie]
}

fn offer(ring: [&AccountId; 3]) -> Offer {
	Offer {
		checkpoint: CHECKPOINT,
		class: Class::ExactF32,
		prices: Prices { prompt: 1_000, generated: 5_000 },
		redundancy: 3,
		endpoint: b"http://127.0.0.1:8000".to_vec().try_into().unwrap(),
		ring: ring.map(|who| Span { who: who.clone(), first: 0, layers: 1 }).to_vec().try_into().unwrap(),
	}
}

pub(super) fn claim(provider: &AccountId, voucher: Voucher) -> sp_runtime::DispatchResult {
	let signature: MultiSignature = Ferdie.sign(&voucher.message(GENESIS_HASH)).into();
	Inference::claim(signed(provider), voucher.session, voucher, signature).map(|_| ()).map_err(|error| error.error)
}

#[test]
fn a_session_pays_owners_driver_ring_validators_and_treasury_to_the_planck_and_returns_the_rest() {
	chain().execute_with(|| {
		let digest = sp_consensus_babe::digests::PreDigest::SecondaryPlain(sp_consensus_babe::digests::SecondaryPlainPreDigest {
			authority_index: 0,
			slot: 1.into(),
		});
		System::deposit_log(sp_runtime::DigestItem::PreRuntime(sp_consensus_babe::BABE_ENGINE_ID, digest.encode()));
		let [eve, bob, charlie, ferdie] = offered();
		// Dave owns three quarters of the model, and Alice one.
		Ownership::final_work(&Dave.to_account_id(), 0, 3);
		Ownership::final_work(&Alice.to_account_id(), 0, 1);
		let treasury: AccountId = frame_support::PalletId(*b"py/trsry").into_account_truncating();
		let accounts = [ferdie.clone(), eve.clone(), bob.clone(), charlie, Ownership::pot(), Validators::pot(), treasury];
		let balances = || accounts.each_ref().map(Balances::balance);
		assert_ok!(Inference::open_session(signed(&ferdie), Some(eve.clone()), 2 * NEURO));
		let (before, issued) = (balances(), Balances::total_issuance());

		let receipts = chained(H256::zero(), H256([6; 32]));
		let amount = 1_000_000_000_009;
		assert_ok!(claim(&eve, Voucher { session: 0, provider: eve.clone(), amount, answers: 1, receipts }));

		// A tenth is for the owners, rounded down: 100,000,000,000. Of the rest, 900,000,000,009, a fifth is the driver's (180,000,000,001), two fifths are the
		// ring's (360,000,000,003, a third for each), a quarter is for validators (225,000,000,002), and a twentieth for the treasury (45,000,000,000). What
		// is left is burned.
		let third = 120_000_000_001;
		let paid = [0, 180_000_000_001 + third, third, third, 100_000_000_000, 225_000_000_002, 45_000_000_000];
		let after = balances();
		assert_eq!(std::array::from_fn::<u128, 7, _>(|index| after[index] - before[index]), paid);
		let burned = amount - paid.iter().sum::<u128>();
		assert_eq!((burned, Balances::total_issuance()), (90_000_000_003, issued - burned));
		assert_eq!(Ownership::shares(Dave.to_account_id(), 0).claimable, 75_000_000_000);
		for who in [&eve, &bob] {
			let provider = Staking::provider(who.clone()).unwrap();
			assert!(provider.open_claims == 1 && provider.disputable_until > System::block_number());
		}
		check_invariants();

		assert_ok!(Inference::close_session(signed(&ferdie), 0));
		(0..Inference::terms().close_delay).for_each(|_| next_block());
		assert_ok!(Inference::settle(signed(&bob), 0));
		assert_eq!(Balances::balance(&ferdie), before[0] + 2 * NEURO - amount);
		assert_eq!(Balances::total_balance_on_hold(&ferdie), 0);
		check_invariants();
	});
}

#[test]
fn a_user_with_an_existential_deposit_pays_providers_that_own_nothing_and_a_model_without_owners() {
	chain().execute_with(|| {
		let [eve, _, _, ferdie] = offered();
		let all = Balances::balance(&ferdie) - EXISTENTIAL_DEPOSIT;
		assert_ok!(Inference::open_session(signed(&ferdie), Some(eve.clone()), all));
		assert_eq!(Balances::balance(&ferdie), EXISTENTIAL_DEPOSIT);
		for (amount, answers) in [(1, 1), (9, 2), (10_000, 3), (all, 4)] {
			let before = Balances::balance(&eve);
			let had = Inference::claimed(0, eve.clone()).paid;
			assert_ok!(claim(&eve, Voucher { session: 0, provider: eve.clone(), amount, answers, receipts: H256::zero() }));
			// Nobody owns the model. A fifth, and a third of two fifths, rounded down.
			let rest = amount - had;
			let third = (rest * 2 / 5) / 3;
			assert_eq!(Balances::balance(&eve) - before, rest / 5 + third, "{amount}");
			assert_eq!(Balances::balance(&ferdie), EXISTENTIAL_DEPOSIT);
			check_invariants();
		}
		assert_eq!(Balances::total_balance_on_hold(&ferdie), 0);
	});
}

#[test]
fn bonds_of_those_who_offer_and_compute_are_bound_until_the_offer_is_withdrawn() {
	chain().execute_with(|| {
		let [eve, bob, charlie, _] = offered();
		for who in [&eve, &bob, &charlie] {
			assert_ok!(Staking::unbond(signed(who), NEURO));
		}
		(0..Staking::limits().1).for_each(|_| next_block());
		let bound: DispatchError = pallet_neuro_staking::Error::<Runtime>::OpenClaims.into();
		for who in [&eve, &bob, &charlie] {
			assert_noop!(Staking::withdraw_unbonded(signed(who)), bound);
		}
		assert_ok!(Inference::leave(signed(&bob), eve.clone()));
		assert_ok!(Staking::withdraw_unbonded(signed(&bob)));
		let held = Balances::total_balance_on_hold(&eve);
		let deposit = Inference::offer_of(eve.clone()).expect("an offer").deposit;
		// 1.01 + 0.1 NEURO, and 0.01 for each of 133 + 72 + 64 bytes.
		assert_eq!(deposit, 111 * NEURO / 100 + 269 * NEURO / 100);
		assert_ok!(Inference::withdraw_offer(signed(&eve)));
		assert_eq!(Balances::total_balance_on_hold(&eve), held - deposit);
		for who in [&eve, &charlie] {
			assert_ok!(Staking::withdraw_unbonded(signed(who)));
		}
		check_invariants();
	});
}

#[test]
fn a_halted_model_is_neither_offered_nor_paid_for() {
	chain().execute_with(|| {
		let [eve, bob, charlie, ferdie] = offered();
		assert_ok!(Inference::open_session(signed(&ferdie), Some(eve.clone()), NEURO));
		assert_ok!(Training::halt_model(RuntimeOrigin::root(), 0, Default::default()));
		let refused: DispatchError = pallet_neuro_inference::Error::<Runtime>::NotServed.into();
		let voucher = Voucher { session: 0, provider: eve.clone(), amount: 1_000, answers: 1, receipts: H256::zero() };
		assert_noop!(claim(&eve, voucher.clone()), refused);
		assert_noop!(Inference::open_session(signed(&ferdie), Some(eve.clone()), NEURO), refused);
		let mut other = offer([&eve, &bob, &charlie]);
		other.prices.prompt += 1;
		assert_noop!(Inference::offer(signed(&eve), other).map_err(|error| error.error), refused);
		assert_ok!(Training::lift_halt(RuntimeOrigin::root(), 0, Default::default()));
		assert_ok!(claim(&eve, voucher));
	});
}

/// A receipt of `provider` for the first answer of session 0, and its signature by the key with this seed.
fn receipt(provider: &AccountId, seed: u8) -> (Receipt, ProofSignature) {
	let receipt = Receipt {
		provider: Some(provider.clone()),
		paid: Some((0, 0)),
		parameters: CHECKPOINT.root,
		checkpoint: Some((CHECKPOINT.run, CHECKPOINT.round)),
		class: Class::ExactF32,
		usable: TextTokens::BYTES.usable,
		prompt: Tokens::of(&[1, 2, 3]),
		answer: Tokens::of(&[4, 5]),
		ending: Ending::Cut,
		sampling: Sampling::default().into(),
		price: 1_000,
	};
	let signature = provider::ponw_key(seed).sign(&receipt.message(GENESIS_HASH)).0;
	(receipt, signature)
}

#[test]
fn a_provider_that_does_not_defend_its_answer_loses_its_stake_its_role_and_the_rest_of_the_session() {
	chain().execute_with(|| {
		let [eve, bob, _, ferdie] = offered();
		assert_ok!(Inference::open_session(signed(&ferdie), Some(eve.clone()), 2 * NEURO));
		let first = Voucher { session: 0, provider: eve.clone(), amount: NEURO, answers: 1, receipts: H256::zero() };
		assert_ok!(claim(&eve, first.clone()));
		let (receipt, signature) = receipt(&eve, 4);
		let answer = ClaimId { run: 0, round: 0, kind: ClaimKind::Answer(receipt.hash(GENESIS_HASH)), who: eve.clone() };
		// A sixteenth of 10,000 NEURO.
		let bond = 625 * NEURO;
		assert_eq!(Disputes::bond_against(answer.clone(), ferdie.clone()), Some(bond));
		let before = Balances::balance(&ferdie);
		assert_ok!(Disputes::challenge_answer(signed(&ferdie), receipt.clone(), signature, 1));
		assert_eq!(Balances::balance(&ferdie), before - bond);
		assert_eq!(Staking::provider(eve.clone()).unwrap().open_claims, 2);
		let key = provider::info(Roles::only(Role::Driver), 9);
		assert_noop!(Staking::update_info(signed(&eve), key), pallet_neuro_staking::Error::<Runtime>::OpenClaims);
		check_invariants();

		let deadline = Disputes::game(answer.clone(), ferdie.clone()).expect("a game").deadline;
		while System::block_number() <= deadline {
			next_block();
		}
		assert_eq!(Disputes::games(None), []);
		let decided = System::events().into_iter().find_map(|record| match record.event {
			RuntimeEvent::Disputes(pallet_neuro_disputes::Event::Decided { rewarded, receiver, burned, .. }) => {
				Some((rewarded, receiver, burned))
			}
			_ => None,
		});
		assert_eq!(decided, Some((BOND / 2, Some(ferdie.clone()), BOND / 2)));
		let provider = Staking::provider(eve.clone()).unwrap();
		assert!(provider.bonded == 0 && provider.status != ProviderStatus::Active);

		// The voucher for the next answer is worth nothing, and the user has back what was not paid.
		let refused: DispatchError = pallet_neuro_inference::Error::<Runtime>::AnswerCondemned.into();
		let next = Voucher { amount: 2 * NEURO, answers: 2, ..first };
		assert_noop!(claim(&eve, next), refused);
		let again = Disputes::challenge_answer(signed(&bob), receipt.clone(), signature, 0);
		assert_eq!(again.map_err(|error| error.error), Err(pallet_neuro_disputes::Error::<Runtime>::Condemned.into()));
		let not_active: DispatchError = pallet_neuro_inference::Error::<Runtime>::ProviderNotActive.into();
		assert_noop!(Inference::open_session(signed(&ferdie), Some(eve.clone()), NEURO), not_active);
		assert_ok!(Inference::close_session(signed(&ferdie), 0));
		(0..Inference::terms().close_delay).for_each(|_| next_block());
		let before = Balances::balance(&ferdie);
		assert_ok!(Inference::settle(signed(&bob), 0));
		assert_eq!(Balances::balance(&ferdie), before + NEURO);
		// After that, nobody disputes what was answered in it.
		let late = Disputes::challenge_answer(signed(&bob), receipt, signature, 0);
		assert_eq!(late.map_err(|error| error.error), Err(pallet_neuro_disputes::Error::<Runtime>::NoSuchAnswer.into()));
		check_invariants();
	});
}
