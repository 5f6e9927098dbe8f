//! A chain of before, whose runs did not say which tokenizer they have, and whose models were of one family.

use super::*;
use crate::{
	migrations::{GameV4, MigrateV3ToV4, MigrateV4ToV5},
	DisputedAnswers, Games, Members,
};
use case::Telling;
use codec::Encode;
use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
};
use neuroshard_test_support::config_of_before;
use neuroshard_types::{dispute::AnswerClaim, run::RunConfig};

#[test]
fn a_game_about_an_answer_goes_on_where_it_was() {
	build_and_execute(|| {
		let answer = case::answer(&LIAR, Telling::WrongToken);
		let doubt = answer.doubt().expect("a false token");
		assert_ok!(Disputes::challenge_answer(signed(&ALICE), answer.receipt.clone(), answer.signature, doubt));
		let stored = DisputedAnswers::<Test>::get(&answer.claim).expect("a disputed answer");
		let old = [config_of_before(&stored.config), stored.receipt.encode()].concat();
		unhashed::put_raw(&DisputedAnswers::<Test>::hashed_key_for(&answer.claim), &old);
		StorageVersion::new(3).put::<Disputes>();
		MigrateV3ToV4::<Test>::on_runtime_upgrade();
		// Of the games, which a later version says more about, nothing has changed here.
		StorageVersion::new(5).put::<Disputes>();
		let config = RunConfig { epochs: false, ..stored.config.clone() };
		assert_eq!(DisputedAnswers::<Test>::get(&answer.claim), Some(AnswerClaim { config, ..stored }));
		assert_eq!(Disputes::on_chain_storage_version(), Disputes::in_code_storage_version());
		Match::new(&answer.claim, &ALICE, answer.provider(), answer.checker()).finish();
		assert_eq!(Condemned::get(), vec![answer.claim]);
	});
}

#[test]
fn a_game_of_before_there_were_quorums_goes_on_where_it_was() {
	build_and_execute(|| {
		let (claim, work, doubt) = false_work();
		assert_ok!(challenge(&ALICE, &claim, &work, doubt));
		let stored = Games::<Test>::get(&claim, ALICE).expect("an open game");
		let moves = stored.moves.to_vec().try_into().expect("one move");
		let crate::Game { position, deadline, reserve, bond, first_round, earlier, later, .. } = stored.clone();
		let old = GameV4 { position, deadline, reserve, moves, bond, first_round, earlier, later };
		unhashed::put(&Games::<Test>::hashed_key_for(&claim, ALICE), &old);
		StorageVersion::new(4).put::<Disputes>();
		MigrateV4ToV5::<Test>::on_runtime_upgrade();
		assert_eq!(Games::<Test>::get(&claim, ALICE), Some(stored));
		assert_eq!(Games::<Test>::get(&claim, ALICE).map(|game| game.members), Some(Members::default()));
		assert_eq!(Disputes::on_chain_storage_version(), Disputes::in_code_storage_version());
		Match::new(&claim, &ALICE, case::claimant(Some(case::MISTAKE)), case::checker()).finish();
		assert_eq!(Condemned::get(), vec![claim]);
	});
}
