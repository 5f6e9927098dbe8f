//! Genesis datasets: manifests that anybody can check, and who uses them.
//!
//! A dataset is text cut into shards of equally many tokens. The chain stores its manifest only: the Merkle root over the
//! shard roots, and the numbers from which every window, chunk and proof length follows
//! (see [`neuroshard_types::dataset`]). The last `held_out` shards are never assigned for training.
//!
//! ```text
//!           propose             activate            retire
//! (unknown) -------> Proposed ----------> Active ----------> Retired --> (removed, deposit returned)
//!                       |      retire                           ^    once no run uses it
//!                       +---------------------------------------+
//! ```
//!
//! The proposer's deposit pays for the space of the manifest: a base and a price per encoded byte. It comes back when the
//! manifest leaves the storage, which is when the dataset is retired and the last run that uses it has ended.
//!
//! Other pallets use datasets through [`neuroshard_types::traits::Datasets`], which [`Pallet`] implements.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod impls;
#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;
mod try_state;
mod types;
pub mod weights;

pub use pallet::*;
pub use types::Dataset;
pub use weights::WeightInfo;

/// Most datasets, retired ones that are still used included. It bounds the list that the view function `datasets` returns. Deposits
/// come back, so it is generous: to keep others out by taking every place ties up as many deposits.
pub const MAX_DATASETS: u32 = 16_384;
/// Largest vocabulary: a token is a u16.
pub const MAX_VOCAB: u32 = 65_536;

#[frame_support::pallet]
pub mod pallet {
	use crate::{
		types::{chunks_per_shard, manifest_problem},
		Dataset, WeightInfo, MAX_DATASETS,
	};
	use alloc::vec::Vec;
	use frame_support::{pallet_prelude::*, traits::fungible};
	use frame_system::pallet_prelude::*;
	use neuroshard_graph::{merkle, tiles};
	use neuroshard_types::{
		assignment::training_windows,
		dataset::{DatasetStatus, DatasetView, Manifest, CHUNK_BYTES},
		AccountId, Balance, DatasetId, H256,
	};
	use sp_runtime::ArithmeticError;

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// What the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
		/// NEURO: deposits are holds on it.
		type Currency: fungible::MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason> + fungible::Mutate<AccountId>;
		/// The runtime's hold reasons, [`HoldReason`] among them.
		type RuntimeHoldReason: From<HoldReason>;
		/// Deposit for a manifest of no bytes, in planck.
		#[pallet::constant]
		type DepositBase: Get<Balance>;
		/// Deposit for each encoded byte of a manifest, in planck.
		#[pallet::constant]
		type DepositPerByte: Get<Balance>;
		/// Weights of the calls.
		type WeightInfo: WeightInfo;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Why this pallet holds money.
	#[pallet::composite_enum]
	pub enum HoldReason {
		/// Deposit for a manifest.
		#[codec(index = 0)]
		Manifest,
	}

	/// All datasets that are proposed, active, or retired and still used.
	#[pallet::storage]
	pub type Datasets<T: Config> = CountedStorageMap<_, Twox64Concat, DatasetId, Dataset>;

	/// Identifier of the next dataset. Identifiers are never used again.
	#[pallet::storage]
	pub type NextId<T: Config> = StorageValue<_, DatasetId, ValueQuery>;

	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A new dataset, not yet usable.
		Proposed {
			/// The dataset.
			id: DatasetId,
			/// Who proposed it.
			proposer: AccountId,
			/// Deposit held, in planck.
			deposit: Balance,
		},
		/// Runs may use the dataset.
		Activated {
			/// The dataset.
			id: DatasetId,
		},
		/// No new run may use the dataset.
		Retired {
			/// The dataset.
			id: DatasetId,
		},
		/// A retired dataset that no run uses left the storage; its deposit is back with the proposer.
		Removed {
			/// The dataset.
			id: DatasetId,
			/// Deposit returned, in planck.
			deposit: Balance,
		},
	}

	/// Why a call is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// Name, licence or source is empty or not UTF-8. Fill in all three.
		InvalidText,
		/// The vocabulary is zero, above 65,536 or not a multiple of 32. Round it up to a multiple of 32.
		InvalidVocab,
		/// A shard has fewer than 2 or more than 2^26 tokens. Cut the text into other shards.
		InvalidShardSize,
		/// There are no shards or more than 65,536. Use larger shards.
		InvalidShardCount,
		/// Every shard is held out. Leave at least one for training.
		NothingToTrainOn,
		/// The manifest says that the source text has no bytes. State its size.
		NoBytes,
		/// The chain stores no more datasets. Wait until one is removed.
		TooManyDatasets,
		/// There is no such dataset, or it was removed. The view function `datasets` lists all there are.
		UnknownDataset,
		/// Only the account that proposed the dataset may do this. The view function `dataset` shows who that is.
		NotProposer,
		/// The dataset is active or retired already. There is nothing to activate; a retired one must be proposed anew.
		NotProposed,
		/// The dataset is retired already. The deposit comes back when the last run that uses it ends.
		AlreadyRetired,
		/// The dataset is not active. Its proposer activates it; a retired one takes no new runs.
		NotActive,
		/// The dataset has fewer training windows than a round needs. Use a larger dataset, shorter sequences, fewer
		/// participants, a smaller batch or fewer inner steps.
		TooFewWindows,
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		#[cfg(feature = "try-runtime")]
		fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Proposes a dataset and holds the deposit that the view function `deposit_for` shows. It gets the next identifier.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::propose())]
		pub fn propose(origin: OriginFor<T>, manifest: Manifest) -> DispatchResult {
			let proposer = ensure_signed(origin)?;
			if let Some(problem) = manifest_problem(&manifest) {
				return Err(Error::<T>::from(problem).into());
			}
			ensure!(Datasets::<T>::count() < MAX_DATASETS, Error::<T>::TooManyDatasets);
			let id = NextId::<T>::get();
			let next = id.checked_add(1).ok_or(ArithmeticError::Overflow)?;
			let deposit = Self::deposit_for(manifest.clone());
			Self::hold(&proposer, deposit)?;
			NextId::<T>::put(next);
			Datasets::<T>::insert(id, Dataset { proposer: proposer.clone(), deposit, manifest, status: DatasetStatus::Proposed, users: 0 });
			Self::deposit_event(Event::Proposed { id, proposer, deposit });
			Ok(())
		}

		/// Makes a proposed dataset usable by runs. Only its proposer may, once its shards can be fetched.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::activate())]
		pub fn activate(origin: OriginFor<T>, id: DatasetId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			let mut dataset = Self::proposed_by(&who, id)?;
			ensure!(dataset.status == DatasetStatus::Proposed, Error::<T>::NotProposed);
			dataset.status = DatasetStatus::Active;
			Datasets::<T>::insert(id, dataset);
			Self::deposit_event(Event::Activated { id });
			Ok(())
		}

		/// Ends a dataset: no new run may use it. Only its proposer may. If no run uses it, it is removed and the deposit
		/// returned at once, otherwise when the last of them ends.
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::retire())]
		pub fn retire(origin: OriginFor<T>, id: DatasetId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			let mut dataset = Self::proposed_by(&who, id)?;
			ensure!(dataset.status != DatasetStatus::Retired, Error::<T>::AlreadyRetired);
			dataset.status = DatasetStatus::Retired;
			Self::deposit_event(Event::Retired { id });
			Self::store_or_remove(id, dataset)
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// The dataset with its manifest, status and number of users; `None` if it is unknown or removed.
		pub fn dataset(id: DatasetId) -> Option<DatasetView> {
			Datasets::<T>::get(id).map(Into::into)
		}

		/// Identifiers of all datasets, ascending; at most [`MAX_DATASETS`].
		pub fn datasets() -> Vec<DatasetId> {
			let mut ids: Vec<_> = Datasets::<T>::iter_keys().collect();
			ids.sort_unstable();
			ids
		}

		/// Windows of `seq_len` tokens that the shards for training hold: what the rounds of a run draw from without
		/// replacement. `None` if there is no such dataset.
		pub fn windows(id: DatasetId, seq_len: u32) -> Option<u64> {
			Datasets::<T>::get(id).map(|dataset| training_windows(&dataset.manifest.shape, seq_len))
		}

		/// Deposit in planck that proposing `manifest` holds.
		pub fn deposit_for(manifest: Manifest) -> Balance {
			// The size of a manifest is bounded far below `u64::MAX`.
			let bytes = Balance::from(u64::try_from(manifest.encoded_size()).unwrap_or(u64::MAX));
			T::DepositBase::get().saturating_add(T::DepositPerByte::get().saturating_mul(bytes))
		}

		/// Whether `data`, 4 KiB, is chunk `chunk` of shard `shard` of the dataset: `shard_proof` leads from `shard_root` to
		/// the manifest's root and `chunk_proof` from the chunk's leaf hash to `shard_root`, siblings from the leaf upward.
		/// Counts and proof lengths come from the manifest's shape, never from the proofs. `false` for an unknown dataset.
		pub fn verify_chunk(
			id: DatasetId,
			shard: u32,
			shard_root: H256,
			shard_proof: Vec<H256>,
			chunk: u32,
			data: Vec<u8>,
			chunk_proof: Vec<H256>,
		) -> bool {
			let Some(dataset) = Datasets::<T>::get(id) else { return false };
			let Manifest { shape, root, .. } = dataset.manifest;
			if u32::try_from(data.len()) != Ok(CHUNK_BYTES) {
				return false;
			}
			let [shard_proof, chunk_proof] = [shard_proof, chunk_proof].map(|proof| proof.into_iter().map(Into::into).collect::<Vec<_>>());
			merkle::verify(&root.0, &shard_proof, shape.shard_count, shard, shard_root.0)
				&& merkle::verify(&shard_root.0, &chunk_proof, chunks_per_shard(&shape), chunk, tiles::leaf_hash(&data))
		}
	}
}
