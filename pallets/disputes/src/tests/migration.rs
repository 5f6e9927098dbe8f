//! Chains of before: whose runs did not say whether their rounds overlap; where draws of answers had no price, and auditors were listed in no order.

use super::answer_audits::{drawn, pay, said, view};
use super::*;
use crate::{
	migrations::{MigrateV1ToV2, MigrateV2ToV3},
	AnswerDrawPrice, DisputedAnswers, DrawnAnswers, UndrawnAnswers,
};
use case::Telling;
use codec::Encode;
use frame_support::{
	storage::{storage_prefix, unhashed},
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
	Blake2_128Concat, StorageHasher,
};
use neuroshard_types::NEURO;

#[test]
fn a_game_about_an_answer_goes_on_where_it_was() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let doubt = answer.doubt().expect("a false token");
		assert_ok!(Disputes::challenge_answer(signed(&ALICE), answer.receipt.clone(), answer.signature, doubt));
		let stored = DisputedAnswers::<Test>::get(&answer.claim).expect("a disputed answer");
		// The field is the last one of the configuration, which the receipt follows.
		let (new, receipt) = (stored.encode(), stored.receipt.encode());
		let at = new.len() - receipt.len() - 1;
		assert_eq!((new[at], &new[at + 1..]), (0, receipt.as_slice()));
		let old = [&new[..at], &receipt].concat();
		frame_support::storage::unhashed::put_raw(&DisputedAnswers::<Test>::hashed_key_for(&answer.claim), &old);
		StorageVersion::new(1).put::<Disputes>();
		MigrateV1ToV2::<Test>::on_runtime_upgrade();
		assert_eq!(DisputedAnswers::<Test>::get(&answer.claim), Some(stored));
		assert_eq!(Disputes::on_chain_storage_version(), 2);
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(Condemned::get(), vec![answer.claim]);
	});
}

#[test]
fn audits_and_claims_of_pay_go_on_where_draws_had_no_price() {
	build_and_execute(|| {
		let answers = said(&HONEST, 3);
		let auditors = drawn(&answers);
		pay(&LIAR, 8, [2, 9], H256::repeat_byte(1));
		let noted = UndrawnAnswers::<Test>::get(1).expect("a claim of pay");
		// What was paid stands behind the checkpoint, before epoch and block.
		let new = noted.encode();
		let at = new.len() - 16 - 8 - 4;
		unhashed::put_raw(&UndrawnAnswers::<Test>::hashed_key_for(1), &[&new[..at], &new[at + 16..]].concat());
		// By auditor and answer alone.
		let _ = DrawnAnswers::<Test>::clear(u32::MAX, None);
		for (auditor, answer) in auditors.iter().zip(&answers) {
			let keys = [Blake2_128Concat::hash(&auditor.encode()), Blake2_128Concat::hash(&answer_audits::id(answer).encode())];
			let prefix = storage_prefix(b"Disputes", b"DrawnAnswers");
			unhashed::put_raw(&[&prefix[..], &keys.concat()].concat(), &[]);
		}
		AnswerDrawPrice::<Test>::kill();
		StorageVersion::new(2).put::<Disputes>();
		MigrateV2ToV3::<Test>::on_runtime_upgrade();
		assert_eq!(Disputes::on_chain_storage_version(), Disputes::in_code_storage_version());
		assert_eq!(AnswerDrawPrice::<Test>::get(), NEURO);
		assert_eq!(Disputes::do_try_state(), Ok(()));
		for (auditor, answer) in auditors.iter().zip(&answers) {
			assert!(Disputes::answer_audits_of(auditor.clone(), None).contains(&view(answer).expect("an audit")));
		}
		// Four of these are drawn, as they would have been.
		answer_audits::draw();
		assert_eq!(crate::AnswerAudits::<Test>::iter_keys().filter(|answer| answer.session == 8).count(), 4);
	});
}
