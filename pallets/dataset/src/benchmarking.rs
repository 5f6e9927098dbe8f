//! Benchmarks of every call in its most expensive case.

use crate::{
	AnswerTime, AttestationPeriod, Attestations, AttestedBy, Call, Challenges, Config, Datasets, Leaving, Pallet, MAX_ATTESTED,
	MAX_CHALLENGES,
};
use alloc::{vec, vec::Vec};
use frame_benchmarking::v2::*;
use frame_support::{
	traits::fungible::{Inspect, Mutate},
	BoundedVec,
};
use frame_system::RawOrigin;
use neuroshard_graph::{
	corpus::TokenWidth,
	merkle::{uniform_root, Hash},
	tiles::leaf_hash,
};
use neuroshard_types::{
	dataset::{
		ChunkOpening, ChunkPlace, DatasetShape, DatasetStatus, Manifest, ShardRange, TextTokens, Tokenizer, CHUNK_BYTES, MAX_SHARDS,
		MAX_TOKENIZER_BYTES, MAX_TOKENS_PER_SHARD, MAX_VOCAB,
	},
	AccountId, DatasetId, H256,
};

/// Setup that the benchmarks need from the runtime around this pallet.
pub trait BenchmarkHelper<Origin> {
	/// Makes `who`, with money, an active provider that has enough at stake for [`MAX_ATTESTED`] attestations.
	fn provider(who: &AccountId);
	/// Returns the origin that retires the datasets of others.
	fn retirer() -> Origin;
}

/// Chunks of the largest shard.
const CHUNKS: u32 = TokenWidth::Four.chunks(MAX_TOKENS_PER_SHARD);

/// Every chunk: its last token is beyond the vocabulary, so that all of them are looked at.
fn chunk() -> Vec<u8> {
	let mut chunk = vec![0; usize::try_from(CHUNK_BYTES).unwrap_or_default()];
	chunk.iter_mut().rev().take(4).for_each(|byte| *byte = 0xff);
	chunk
}

/// Root over a shard of such chunks.
fn shard_root() -> Hash {
	uniform_root(leaf_hash(&chunk()), CHUNKS)
}

/// Opens any chunk: all are equal, and their numbers powers of two.
fn opening() -> ChunkOpening {
	let proof = |leaf: Hash, count: u32| (0..count.ilog2()).map(|height| H256(uniform_root(leaf, 1 << height))).collect();
	ChunkOpening {
		data: BoundedVec::truncate_from(chunk()),
		in_shard: BoundedVec::truncate_from(proof(leaf_hash(&chunk()), CHUNKS)),
		in_dataset: BoundedVec::truncate_from(proof(shard_root(), MAX_SHARDS)),
	}
}

/// The largest manifest there is.
fn manifest() -> Manifest {
	Manifest {
		name: BoundedVec::truncate_from(vec![b'n'; 64]),
		licence: BoundedVec::truncate_from(vec![b'l'; 64]),
		source: BoundedVec::truncate_from(vec![b's'; 256]),
		tokenizer: Tokenizer { root: H256::repeat_byte(1), bytes: MAX_TOKENIZER_BYTES, tokens: TextTokens { usable: MAX_VOCAB, end: 0 } },
		vocab: MAX_VOCAB,
		masked: false,
		shape: DatasetShape { tokens_per_shard: MAX_TOKENS_PER_SHARD, shard_count: MAX_SHARDS, held_out: 1 },
		root: H256(uniform_root(shard_root(), MAX_SHARDS)),
		bytes: u64::MAX,
	}
}

/// An account that can pay the deposit twice. It is not the one that signs what others may sign: its entries are read for that alone.
fn funded<T: Config>() -> AccountId {
	let who = account("proposer", 0, 0);
	let deposit = Pallet::<T>::deposit_for(manifest());
	T::Currency::set_balance(&who, deposit.saturating_add(T::Currency::minimum_balance()).saturating_mul(2));
	who
}

/// All shards.
const ALL: ShardRange = ShardRange { first: 0, count: MAX_SHARDS };
/// The last chunk.
const PLACE: ChunkPlace = ChunkPlace { shard: MAX_SHARDS - 1, chunk: CHUNKS - 1 };

/// An active dataset whose manifest is the largest.
fn dataset<T: Config>() -> Result<DatasetId, BenchmarkError> {
	let (who, id) = (funded::<T>(), crate::NextId::<T>::get());
	Pallet::<T>::propose(RawOrigin::Signed(who.clone()).into(), manifest())?;
	Pallet::<T>::activate(RawOrigin::Signed(who).into(), id)?;
	Ok(id)
}

/// A provider that attests as many other datasets as it can.
fn holder<T: Config>() -> AccountId {
	let who = account("attester", 0, 0);
	T::BenchmarkHelper::provider(&who);
	AttestedBy::<T>::insert(&who, BoundedVec::truncate_from((1..MAX_ATTESTED).collect()));
	who
}

/// A provider that attests all of the dataset.
fn attester<T: Config>(id: DatasetId) -> Result<AccountId, BenchmarkError> {
	let who = holder::<T>();
	Pallet::<T>::attest(RawOrigin::Signed(who.clone()).into(), id, ALL)?;
	Ok(who)
}

/// Somebody with money who has challenged `who`.
fn challenger<T: Config>(id: DatasetId, who: &AccountId, index: u32) -> Result<AccountId, BenchmarkError> {
	let challenger: AccountId = account("challenger", index, 0);
	T::BenchmarkHelper::provider(&challenger);
	Pallet::<T>::challenge_shard(RawOrigin::Signed(challenger.clone()).into(), id, who.clone(), PLACE)?;
	Ok(challenger)
}

/// Lets so many blocks pass.
fn pass<T: Config>(blocks: u32) {
	let now = frame_system::Pallet::<T>::block_number();
	frame_system::Pallet::<T>::set_block_number(now + blocks.into());
}

#[benchmarks]
mod benchmarks {
	use super::*;

	#[benchmark]
	fn propose() {
		let who = funded::<T>();

		#[extrinsic_call]
		_(RawOrigin::Signed(who), manifest());

		assert_eq!(Datasets::<T>::count(), 1);
	}

	#[benchmark]
	fn activate() -> Result<(), BenchmarkError> {
		let who = funded::<T>();
		Pallet::<T>::propose(RawOrigin::Signed(who.clone()).into(), manifest())?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), 0);

		assert_eq!(Datasets::<T>::get(0).map(|dataset| dataset.status), Some(DatasetStatus::Active));
		Ok(())
	}

	#[benchmark]
	fn retire() -> Result<(), BenchmarkError> {
		let who = funded::<T>();
		Pallet::<T>::propose(RawOrigin::Signed(who.clone()).into(), manifest())?;
		Pallet::<T>::activate(RawOrigin::Signed(who.clone()).into(), 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who), 0);

		assert!(Leaving::<T>::contains_key(0));
		Ok(())
	}

	#[benchmark]
	fn force_retire() -> Result<(), BenchmarkError> {
		let id = dataset::<T>()?;
		let origin = T::BenchmarkHelper::retirer();

		#[extrinsic_call]
		_(origin as T::RuntimeOrigin, id, BoundedVec::truncate_from(vec![0; 256]));

		assert!(Leaving::<T>::contains_key(id));
		Ok(())
	}

	#[benchmark]
	fn remove() -> Result<(), BenchmarkError> {
		let id = dataset::<T>()?;
		Pallet::<T>::retire(RawOrigin::Signed(account("proposer", 0, 0)).into(), id)?;
		pass::<T>(AnswerTime::<T>::get().saturating_mul(2));

		#[extrinsic_call]
		_(RawOrigin::Signed(whitelisted_caller()), id);

		assert_eq!(Datasets::<T>::count(), 0);
		Ok(())
	}

	#[benchmark]
	fn attest() -> Result<(), BenchmarkError> {
		let (id, who) = (dataset::<T>()?, holder::<T>());

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), id, ALL);

		assert!(Attestations::<T>::contains_key(id, &who) && AttestedBy::<T>::get(who).is_full());
		Ok(())
	}

	#[benchmark]
	fn withdraw_attestation() -> Result<(), BenchmarkError> {
		let id = dataset::<T>()?;
		let who = attester::<T>(id)?;
		pass::<T>(AttestationPeriod::<T>::get());

		#[extrinsic_call]
		_(RawOrigin::Signed(whitelisted_caller()), id, who.clone());

		assert!(!Attestations::<T>::contains_key(id, who));
		Ok(())
	}

	#[benchmark]
	fn challenge_shard() -> Result<(), BenchmarkError> {
		let id = dataset::<T>()?;
		let (who, caller) = (attester::<T>(id)?, account("challenger", 0, 0));
		T::BenchmarkHelper::provider(&caller);

		#[extrinsic_call]
		_(RawOrigin::Signed(caller.clone()), id, who.clone(), PLACE);

		assert!(Challenges::<T>::contains_key((id, who), caller));
		Ok(())
	}

	#[benchmark]
	fn answer_challenge() -> Result<(), BenchmarkError> {
		let id = dataset::<T>()?;
		let who = attester::<T>(id)?;
		let challenger = challenger::<T>(id, &who, 0)?;

		#[extrinsic_call]
		_(RawOrigin::Signed(who.clone()), id, challenger.clone(), opening());

		assert!(!Challenges::<T>::contains_key((id, who), challenger));
		Ok(())
	}

	/// Work of the transaction extension for an answer, in the pool and in a block.
	#[benchmark]
	fn check_answer() -> Result<(), BenchmarkError> {
		let id = dataset::<T>()?;
		let who = attester::<T>(id)?;
		let (challenger, opening) = (challenger::<T>(id, &who, 0)?, opening());
		let admitted;

		#[block]
		{
			admitted = Pallet::<T>::admit(&who, id, &challenger, &opening);
		}

		assert_eq!(admitted.map(|challenge| challenge.place), Ok(PLACE));
		Ok(())
	}

	/// As many others as there can be are open.
	#[benchmark]
	fn conclude_challenge() -> Result<(), BenchmarkError> {
		let id = dataset::<T>()?;
		let who = attester::<T>(id)?;
		for index in 0..MAX_CHALLENGES {
			challenger::<T>(id, &who, index)?;
		}
		pass::<T>(AnswerTime::<T>::get().saturating_add(1));

		#[extrinsic_call]
		_(RawOrigin::Signed(whitelisted_caller()), id, who.clone(), account("challenger", 0, 0));

		assert!(!Attestations::<T>::contains_key(id, &who) && Challenges::<T>::iter_prefix((id, who)).next().is_none());
		Ok(())
	}

	#[benchmark]
	fn condemn() -> Result<(), BenchmarkError> {
		let (id, reporter) = (dataset::<T>()?, account("reporter", 0, 0));
		T::BenchmarkHelper::provider(&reporter);

		#[extrinsic_call]
		_(RawOrigin::Signed(reporter), id, PLACE, opening());

		assert!(Leaving::<T>::contains_key(id));
		Ok(())
	}

	impl_benchmark_test_suite!(Pallet, crate::mock::new_test_ext(), crate::mock::Test);
}
