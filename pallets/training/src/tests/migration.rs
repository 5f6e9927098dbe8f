//! A chain of before, whose runs did not say which tokenizer they have, whose models were of one family, and which all started from a seed.

use super::*;
use crate::{migrations::MigrateV3ToV4, Run, Runs};
use codec::Encode;
use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
};
use neuroshard_test_support::config_of_before;
use neuroshard_types::dataset::Tokenizer;

#[test]
fn runs_of_before_speak_bytes_train_llamas_from_a_seed_and_go_on() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let stored = Runs::<Test>::get(run).expect("a run");
		let before = (&stored.sponsor, stored.deposit).encode();
		let behind = stored.encode().split_off(before.len() + stored.config.encoded_size());
		let old = [before, config_of_before(&stored.config), behind].concat();
		unhashed::put_raw(&Runs::<Test>::hashed_key_for(run), &old);
		StorageVersion::new(3).put::<Training>();
		MigrateV3ToV4::<Test>::on_runtime_upgrade();
		let config = RunConfig { tokenizer: Tokenizer::BYTES, epochs: false, ..stored.config.clone() };
		assert_ne!(config.tokenizer, stored.config.tokenizer);
		assert_eq!(Runs::<Test>::get(run), Some(Run { config, ..stored }));
		assert_eq!(Training::on_chain_storage_version(), Training::in_code_storage_version());
		full_round(run, &workers, 1);
	});
}
