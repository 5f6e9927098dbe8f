//! Audits of answers wired together: from a claim of pay to the stake of a provider that withholds what it was paid for.

use super::{
	inference::{claim, offered, CHECKPOINT},
	*,
};
use neuroshard_runtime::Inference;
use neuroshard_types::{
	answer_audit::Delivery,
	dataset::TextTokens,
	inference::{chained, Class, Ending, Receipt, Sampling, Tokens, Voucher},
	proof::ProofSignature,
	traits::Providers as _,
};

/// Tokens of prompt and answer.
const TEXT: [&[u32]; 2] = [&[72, 105], &[33, 10]];

/// Returns the receipt that Eve has signed for an answer in this place of the first session.
fn signed_by_eve(place: u32) -> (Receipt, ProofSignature) {
	let [temperature, top_p, min_p, repetition, presence, frequency] = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0].map(F32::new);
	let receipt = Receipt {
		provider: Some(Eve.to_account_id()),
		paid: Some((0, place)),
		parameters: CHECKPOINT.root,
		checkpoint: Some((CHECKPOINT.run, CHECKPOINT.round)),
		class: Class::ExactF32,
		usable: TextTokens::BYTES.usable,
		prompt: Tokens::of(TEXT[0]),
		answer: Tokens::of(TEXT[1]),
		ending: Ending::Cut,
		sampling: Sampling { temperature, top_k: 0, top_p, min_p, repetition, presence, frequency, seed: 1 },
		price: 12_000,
	};
	let signature = provider::ponw_key(4).sign(&receipt.message(GENESIS_HASH)).0;
	(receipt, signature)
}

/// Eve delivers the answer in this place of two.
fn deliver(place: u32) -> sp_runtime::DispatchResult {
	let hashes = [0, 1].map(|place| signed_by_eve(place).0.hash(GENESIS_HASH));
	let (receipt, signature) = signed_by_eve(place);
	let (before, later) = if place == 0 { (H256::zero(), vec![hashes[1]]) } else { (chained(H256::zero(), hashes[0]), vec![]) };
	let [prompt, answer] = TEXT.map(|text| text.to_vec().try_into().unwrap());
	Disputes::deliver_answer(signed(&Eve.to_account_id()), 0, place, receipt, signature, before, later.try_into().unwrap(), prompt, answer)
}

#[test]
fn an_answer_is_drawn_and_demanded_also_when_its_session_is_settled_and_who_withholds_it_loses_its_stake() {
	let mut genesis = genesis_of(genesis::DEVELOPMENT);
	(genesis.disputes.answer_audit_share, genesis.disputes.answer_draw_price) = (Permill::one(), 0);
	chain_of(genesis).execute_with(|| {
		let dave = Dave.to_account_id();
		register_as(&dave, 3, Role::Verifier);
		assert_ok!(Disputes::enroll(signed(&dave)));
		pallet_babe::EpochIndex::<Runtime>::put(2);
		let [eve, _, _, ferdie] = offered();
		assert_ok!(Inference::open_session(signed(&ferdie), Some(eve.clone()), 2 * NEURO));
		let receipts = [0, 1].iter().fold(H256::zero(), |root, place| chained(root, signed_by_eve(*place).0.hash(GENESIS_HASH)));
		assert_ok!(claim(&eve, Voucher { session: 0, provider: eve.clone(), amount: 24_000, answers: 2, receipts }));

		assert_ok!(Inference::close_session(signed(&ferdie), 0));
		(0..Inference::terms().close_delay).for_each(|_| next_block());
		assert_ok!(Inference::settle(signed(&ferdie), 0));
		// Eve offers nothing any more, and has its whole bond unbonding.
		assert_ok!(Inference::withdraw_offer(signed(&eve)));
		assert_ok!(Staking::unbond(signed(&eve), BOND));
		assert_eq!(Disputes::answer_audits_of(dave.clone(), None), []);
		pallet_babe::EpochIndex::<Runtime>::put(4);
		next_block();
		let audits = Disputes::answer_audits_of(dave.clone(), None);
		assert_eq!(audits.iter().map(|view| (view.answer.place, view.checkpoint)).collect::<Vec<_>>(), [(0, CHECKPOINT), (1, CHECKPOINT)]);

		// What is delivered costs both half of the deposit, of what they can spend, and can be disputed by who was drawn.
		let (before, issuance) = (Balances::balance(&dave), Balances::total_issuance());
		let of_eve = Balances::balance(&eve);
		assert_ok!(Disputes::demand_answer(signed(&dave), 0, eve.clone(), 0));
		check_invariants();
		assert_ok!(deliver(0));
		assert_eq!(Disputes::answer_audits_of(dave.clone(), None)[0].delivery, Delivery::Delivered(System::block_number()));
		assert_eq!((Balances::balance(&dave), Balances::total_issuance()), (before - NEURO / 2, issuance - NEURO));
		assert_eq!((Balances::balance(&eve), Staking::slashable(&eve)), (of_eve - NEURO / 2, BOND));
		let (receipt, signature) = signed_by_eve(0);
		assert_ok!(Disputes::challenge_answer(signed(&dave), receipt, signature, 0));
		assert_eq!(Balances::balance(&dave), before - NEURO / 2 - 100 * NEURO);
		check_invariants();

		// What is not costs all that Eve has, before the game is over.
		assert_ok!(Disputes::demand_answer(signed(&dave), 0, eve.clone(), 1));
		let deadline = System::block_number() + Disputes::answer_audit_terms().deliver_time;
		while System::block_number() <= deadline {
			assert_eq!(Staking::slashable(&eve), BOND);
			next_block();
		}
		assert_eq!(Balances::balance(&dave), before - NEURO / 2 - 100 * NEURO + BOND / 2);
		assert_eq!(Staking::slashable(&eve), 0);
		assert!(deliver(1).is_err());
		let (receipt, signature) = signed_by_eve(1);
		let condemned: DispatchError = pallet_neuro_disputes::Error::<Runtime>::Condemned.into();
		assert_noop!(Disputes::challenge_answer(signed(&dave), receipt, signature, 0), condemned);
		assert_eq!(Ponw::window(), 10, "the bond is bound for longer than work can be challenged");
		(0..200).for_each(|_| next_block());
		assert_eq!((Disputes::answer_audits_of(dave.clone(), None), Disputes::games(None)), (vec![], vec![]));
		assert_eq!(Balances::balance(&dave), before - NEURO / 2 + BOND / 2);
	});
}
