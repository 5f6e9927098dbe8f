//! A chain of before, whose manifests had a hash of the tokenizer only.

use super::*;
use crate::{
	migrations::{DatasetV2, ManifestV2, MigrateV2ToV3, BYTES_HASH},
	mock::{build_and_execute, ALICE, BOB},
	Datasets,
};
use codec::Encode;
use frame_support::{
	storage::unhashed,
	traits::{GetStorageVersion, OnRuntimeUpgrade, StorageVersion},
};
use neuroshard_types::{dataset::Tokenizer, H256};

#[test]
fn the_byte_level_tokenizer_is_known_and_no_other() {
	build_and_execute(|| {
		propose(ALICE);
		propose(BOB);
		for (id, hash) in [(0, BYTES_HASH), (1, [9; 32])] {
			let crate::Dataset { proposer, deposit, manifest, status, users } = Datasets::<Test>::get(id).expect("a dataset");
			let neuroshard_types::dataset::Manifest { name, licence, source, vocab, shape, root, bytes, .. } = manifest;
			let manifest = ManifestV2 { name, licence, source, tokenizer_hash: H256(hash), vocab, shape, root, bytes };
			let old = DatasetV2 { proposer, deposit, manifest, status, users };
			unhashed::put_raw(&Datasets::<Test>::hashed_key_for(id), &old.encode());
		}
		StorageVersion::new(2).put::<Dataset>();
		MigrateV2ToV3::<Test>::on_runtime_upgrade();
		assert_eq!(Dataset::on_chain_storage_version(), Dataset::in_code_storage_version());
		let tokenizer = |id| Datasets::<Test>::get(id).expect("a dataset").manifest.tokenizer;
		assert_eq!(tokenizer(0), Tokenizer::BYTES);
		assert_eq!((tokenizer(1).root, tokenizer(1).bytes), (H256([9; 32]), 1));
		let kept = Datasets::<Test>::get(0).expect("a dataset").manifest;
		assert_eq!((kept.shape, kept.masked), (manifest().shape, false));
	});
}
