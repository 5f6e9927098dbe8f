//! A chain whose runs did not say whether their rounds overlap.

use super::*;
use crate::{migrations::MigrateV1ToV2, DisputedAnswers};
use case::Telling;
use codec::Encode;
use frame_support::traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion};

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
		assert_eq!(Disputes::on_chain_storage_version(), Disputes::in_code_storage_version());
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(Condemned::get(), vec![answer.claim]);
	});
}
