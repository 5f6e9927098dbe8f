//! A chain of before, whose runs did not say which tokenizer they have, and whose models were of one family.

use super::*;
use crate::{migrations::MigrateV3ToV4, DisputedAnswers};
use case::Telling;
use codec::Encode;
use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
};

#[test]
fn a_game_about_an_answer_goes_on_where_it_was() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let doubt = answer.doubt().expect("a false token");
		assert_ok!(Disputes::challenge_answer(signed(&ALICE), answer.receipt.clone(), answer.signature, doubt));
		let stored = DisputedAnswers::<Test>::get(&answer.claim).expect("a disputed answer");
		// The field stands behind the name and the number of the dataset.
		let (new, at) = (stored.encode(), stored.config.name.encode().len() + 4);
		let tokenizer = stored.config.tokenizer.encode();
		assert_eq!(new[at..at + tokenizer.len()], tokenizer);
		// The model, which follows it, ends with what says of which family it is.
		let model = at + tokenizer.len();
		let end = model + stored.config.model.encode().len();
		assert_eq!(new[end - 3..end], [0; 3]);
		// Whether it is masked and of an adapter stands at the end of the training configuration, where it starts behind the root of what it starts from.
		let train = end + stored.config.train.encode().len();
		let start = train + stored.config.genesis_root.encode().len();
		assert_eq!([new[train - 2], new[train - 1], new[start]], [0, 0, 0]);
		let old = [&new[..at], &new[model..end - 3], &new[end..train - 2], &new[train..start], &new[start + 1..]].concat();
		unhashed::put_raw(&DisputedAnswers::<Test>::hashed_key_for(&answer.claim), &old);
		StorageVersion::new(3).put::<Disputes>();
		MigrateV3ToV4::<Test>::on_runtime_upgrade();
		assert_eq!(DisputedAnswers::<Test>::get(&answer.claim), Some(stored));
		assert_eq!(Disputes::on_chain_storage_version(), Disputes::in_code_storage_version());
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(Condemned::get(), vec![answer.claim]);
	});
}
