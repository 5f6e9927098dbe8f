//! A chain of before, whose runs did not say which tokenizer they have, whose models were of one family, and which all started from a seed.

use super::*;
use crate::{migrations::MigrateV3ToV4, Run, Runs};
use codec::Encode;
use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
};
use neuroshard_types::dataset::Tokenizer;

#[test]
fn runs_of_before_speak_bytes_train_llamas_from_a_seed_and_go_on() {
	build_and_execute(|| {
		let (run, workers) = training(2);
		let stored = Runs::<Test>::get(run).expect("a run");
		// The tokenizer stands behind sponsor, deposit, name and dataset, the model behind it, and what says of which family it is at its end.
		let new = stored.encode();
		let at = (&stored.sponsor, stored.deposit, &stored.config.name, stored.config.dataset).encode().len();
		let model = at + stored.config.tokenizer.encode().len();
		let end = model + stored.config.model.encode().len();
		assert_eq!(new[end - 3..end], [0; 3]);
		// Whether it is masked and of an adapter stands at the end of the training configuration, where it starts behind the root of what it starts from.
		let train = end + stored.config.train.encode().len();
		let start = train + stored.config.genesis_root.encode().len();
		assert_eq!([new[train - 2], new[train - 1], new[start]], [0, 0, 0]);
		let old = [&new[..at], &new[model..end - 3], &new[end..train - 2], &new[train..start], &new[start + 1..]].concat();
		unhashed::put_raw(&Runs::<Test>::hashed_key_for(run), &old);
		StorageVersion::new(3).put::<Training>();
		MigrateV3ToV4::<Test>::on_runtime_upgrade();
		let config = RunConfig { tokenizer: Tokenizer::BYTES, ..stored.config.clone() };
		assert_ne!(config.tokenizer, stored.config.tokenizer);
		assert_eq!(Runs::<Test>::get(run), Some(Run { config, ..stored }));
		assert_eq!(Training::on_chain_storage_version(), Training::in_code_storage_version());
		full_round(run, &workers, 1);
	});
}
