//! Migrations of stored state from earlier versions to this one.

use crate::{Config, Dataset, Datasets, Pallet};
#[cfg(feature = "try-runtime")]
use alloc::vec::Vec;
use codec::{Decode, Encode};
use core::marker::PhantomData;
use frame_support::{
	migrations::VersionedMigration,
	traits::{ConstU32, Get, UncheckedOnRuntimeUpgrade},
	weights::Weight,
	BoundedVec,
};
use neuroshard_types::{
	dataset::{DatasetShape, DatasetStatus, Manifest, TextTokens, Tokenizer},
	AccountId, Balance, H256,
};

/// From version 2 to 3: manifests say where to fetch the tokenizer, which of its tokens texts are made of, and whether they are masked. None of before is.
pub type MigrateV2ToV3<T> = VersionedMigration<2, 3, V2ToV3<T>, Pallet<T>, <T as frame_system::Config>::DbWeight>;

/// Migration of [`MigrateV2ToV3`] for a state of version 2, whatever its version is said to be.
pub struct V2ToV3<T>(PhantomData<T>);

/// Blake2-256 of the byte-level tokenizer's file.
pub(crate) const BYTES_HASH: [u8; 32] = [
	0x07, 0x73, 0x0e, 0x70, 0x9e, 0xc9, 0xde, 0x71, 0x19, 0x3e, 0xf9, 0x05, 0xc3, 0x89, 0xdd, 0xf1, 0x60, 0x0b, 0x46, 0x65, 0x13, 0xee,
	0x4a, 0xf7, 0x3e, 0x57, 0x53, 0xc3, 0xe8, 0x34, 0xd6, 0xdc,
];

/// A [`Manifest`] of version 2.
#[derive(Encode, Decode)]
pub(crate) struct ManifestV2 {
	pub name: BoundedVec<u8, ConstU32<64>>,
	pub licence: BoundedVec<u8, ConstU32<64>>,
	pub source: BoundedVec<u8, ConstU32<256>>,
	pub tokenizer_hash: H256,
	pub vocab: u32,
	pub shape: DatasetShape,
	pub root: H256,
	pub bytes: u64,
}

/// A [`Dataset`] of version 2.
#[derive(Encode, Decode)]
pub(crate) struct DatasetV2 {
	pub proposer: AccountId,
	pub deposit: Balance,
	pub manifest: ManifestV2,
	pub status: DatasetStatus,
	pub users: u32,
}

impl From<ManifestV2> for Manifest {
	fn from(old: ManifestV2) -> Self {
		let ManifestV2 { name, licence, source, tokenizer_hash, vocab, shape, root, bytes } = old;
		let tokenizer = match tokenizer_hash.0 == BYTES_HASH {
			true => Tokenizer::BYTES,
			// No run could use it: there was no other tokenizer. Nobody has a file with this root, so that none will.
			false => Tokenizer { root: tokenizer_hash, bytes: 1, tokens: TextTokens { usable: vocab, end: vocab.saturating_sub(1) } },
		};
		Self { name, licence, source, tokenizer, vocab, masked: false, shape, root, bytes }
	}
}

impl<T: Config> UncheckedOnRuntimeUpgrade for V2ToV3<T> {
	/// Costs a read and a write for each dataset that is kept, which each has paid a deposit for.
	fn on_runtime_upgrade() -> Weight {
		let mut datasets = 0u64;
		Datasets::<T>::translate_values(|DatasetV2 { proposer, deposit, manifest, status, users }| {
			datasets = datasets.saturating_add(1);
			Some(Dataset { proposer, deposit, manifest: manifest.into(), status, users })
		});
		T::DbWeight::get().reads_writes(datasets.saturating_add(1), datasets)
	}

	#[cfg(feature = "try-runtime")]
	fn pre_upgrade() -> Result<Vec<u8>, sp_runtime::TryRuntimeError> {
		Ok(u64::try_from(Datasets::<T>::iter_keys().count()).unwrap_or(u64::MAX).encode())
	}

	#[cfg(feature = "try-runtime")]
	fn post_upgrade(before: Vec<u8>) -> Result<(), sp_runtime::TryRuntimeError> {
		// A value that cannot be decoded would be skipped.
		let decoded = Datasets::<T>::iter_values().count();
		let before = u64::decode(&mut before.as_slice()).map_err(|_| "the number of datasets is lost")?;
		frame_support::ensure!(u64::try_from(decoded) == Ok(before), "a dataset of before cannot be read");
		Pallet::<T>::do_try_state()
	}
}
