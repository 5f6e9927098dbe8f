//! Genesis datasets: manifests that anybody can check, and who uses them.
//!
//! A dataset is text cut into shards of equally many tokens. The chain stores its manifest only: the Merkle root over the
//! shard roots, and the numbers from which every window, chunk and proof length follows
//! (see [`neuroshard_types::dataset`]). The last `held_out` shards are never assigned for training.
//!
//! ```text
//!           propose             activate            retire, condemn                      remove
//! (unknown) -------> Proposed ----------> Active -------------------> Retired, Condemned -------> (removed)
//!                       |     retire, condemn                             ^     a while after no run uses it any more
//!                       +-------------------------------------------------+
//! ```
//!
//! The proposer's deposit pays for the space of the manifest: a base and a price per encoded byte. It comes back when the
//! manifest leaves the storage; who is condemned loses it. That is twice the time for an answer after the dataset was retired and the last
//! run that used it had ended: what is on its way to a block then, a condemnation or a challenge, still has its effect.
//!
//! # Governance of datasets
//! - *Attestations*: an active provider says that it holds a range of shards, for a deposit, until it expires or is withdrawn. Its stake answers
//!   for it: see `attestations`.
//! - *Challenges*: anybody asks an attester for a chunk, with a bond. The attester opens it in time, or loses a part of its stake: see `challenges`.
//! - *Condemnation*: anybody who opens a chunk that contradicts the manifest takes half of the proposer's deposit. No new run uses
//!   the dataset then: see `falsity`.
//! - *Retirement*: by the proposer, or by governance.
//!
//! Nothing here ends by itself, so no block has work to do for it: whoever gains by a step makes it.
//!
//! Other pallets use datasets through [`neuroshard_types::traits::Datasets`], which [`Pallet`] implements.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

mod attestations;
#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod challenges;
mod errors;
mod events;
mod falsity;
mod impls;
pub mod migrations;
#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;
mod try_state;
mod types;
mod views;
pub mod weights;

#[cfg(any(feature = "runtime-benchmarks", test))]
pub use benchmarking::BenchmarkHelper;
pub use challenges::Refusal;
use frame_support::pallet_macros::import_section;
pub use pallet::*;
pub use types::{Attestation, Challenge, Dataset, Reason};
pub use weights::WeightInfo;

/// Most datasets, retired ones that are still used included. It bounds the list that the view function `datasets` returns. Deposits
/// come back, so it is generous: to keep others out by taking every place ties up as many deposits.
pub const MAX_DATASETS: u32 = 16_384;
/// Most attestations of one dataset: the view functions read all of them.
pub const MAX_ATTESTATIONS: u32 = 256;
/// Most open challenges of one attestation: so many bonds go back when it ends.
pub const MAX_CHALLENGES: u32 = 16;
/// Most datasets that one account attests: the view function `attestations_of` reads all of them, with their challenges.
pub const MAX_ATTESTED: u32 = 64;

#[import_section(errors::errors)]
#[import_section(events::events)]
#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
pub mod pallet {
	use crate::{types::manifest_problem, Attestation, Challenge, Dataset, Reason, WeightInfo, MAX_ATTESTED, MAX_DATASETS};
	use alloc::vec::Vec;
	use frame_support::{
		pallet_prelude::*,
		traits::{fungible, ConstU32},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_graph::{merkle, tiles};
	use neuroshard_types::{
		assignment::training_windows,
		dataset::{
			AttestationTerms, AttestationView, ChallengeView, ChunkOpening, ChunkPlace, Coverage, DatasetStatus, DatasetView, HoldingView,
			Manifest, ShardRange, CHUNK_BYTES,
		},
		traits::Providers,
		AccountId, Balance, BlockNumber, DatasetId, H256,
	};
	use sp_runtime::ArithmeticError;

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(3);

	/// Types that the runtime wires in.
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
		/// Providers and their stakes, which answer for what they attest.
		type Providers: Providers<AccountId, Balance>;
		/// Origin that retires the datasets of others.
		type RetireOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Deposit for an attestation, in planck.
		#[pallet::constant]
		type AttestationDeposit: Get<Balance>;
		/// Bond that a challenge holds of the challenger, in planck: half of it pays the attester for its answer, so it is more than twice the fee of that.
		#[pallet::constant]
		type ChallengeBond: Get<Balance>;
		/// Penalty of an attester that does not open a chunk in time, in planck. Its stake reaches to lose so much for each of its attestations.
		#[pallet::constant]
		type FailurePenalty: Get<Balance>;
		/// Weights of the calls.
		type WeightInfo: WeightInfo;
		/// Makes providers for the benchmarks.
		#[cfg(any(feature = "runtime-benchmarks", test))]
		type BenchmarkHelper: crate::BenchmarkHelper<Self::RuntimeOrigin>;
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
		/// Deposit for an attestation.
		#[codec(index = 1)]
		Attestation,
		/// Bond of a challenge.
		#[codec(index = 2)]
		Challenge,
	}

	/// All datasets that are proposed, active, or retired or condemned and still used.
	#[pallet::storage]
	pub type Datasets<T: Config> = CountedStorageMap<_, Twox64Concat, DatasetId, Dataset>;

	/// Identifier of the next dataset. Identifiers are never used again.
	#[pallet::storage]
	pub type NextId<T: Config> = StorageValue<_, DatasetId, ValueQuery>;

	/// Datasets that take no new runs and are not used any more, and since when: [`Pallet::removable_at`] says how long they stay.
	#[pallet::storage]
	pub type Leaving<T: Config> = StorageMap<_, Twox64Concat, DatasetId, BlockNumber>;

	/// Attestations of providers, by dataset. Those of a dataset that is gone stay until somebody withdraws them.
	#[pallet::storage]
	pub type Attestations<T: Config> = StorageDoubleMap<_, Twox64Concat, DatasetId, Blake2_128Concat, AccountId, Attestation>;

	/// Number of attestations of each dataset.
	#[pallet::storage]
	pub type Attesters<T: Config> = StorageMap<_, Twox64Concat, DatasetId, u32, ValueQuery>;

	/// Datasets that each account attests, in the order in which it began to.
	#[pallet::storage]
	pub type AttestedBy<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, BoundedVec<DatasetId, ConstU32<MAX_ATTESTED>>, ValueQuery>;

	/// Open challenges, by attestation and challenger.
	#[pallet::storage]
	pub type Challenges<T: Config> = StorageDoubleMap<_, Blake2_128Concat, (DatasetId, AccountId), Blake2_128Concat, AccountId, Challenge>;

	/// Blocks for which an attestation holds, unless it is renewed: a week where genesis says nothing.
	#[pallet::storage]
	pub type AttestationPeriod<T: Config> = StorageValue<_, BlockNumber, ValueQuery, ConstU32<201_600>>;

	/// Blocks that an attester has for its answer: four hours where genesis says nothing.
	#[pallet::storage]
	pub type AnswerTime<T: Config> = StorageValue<_, BlockNumber, ValueQuery, ConstU32<4_800>>;

	/// Durations of a preset.
	#[pallet::genesis_config]
	#[derive(frame_support::DefaultNoBound)]
	pub struct GenesisConfig<T: Config> {
		/// Blocks for which an attestation holds; the default of 201,600 (a week) if zero.
		pub attestation_period: BlockNumber,
		/// Blocks that an attester has for its answer; the default of 4,800 (four hours) if zero.
		pub answer_time: BlockNumber,
		/// Type marker.
		#[serde(skip)]
		pub _config: PhantomData<T>,
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			if self.attestation_period != 0 {
				AttestationPeriod::<T>::put(self.attestation_period);
			}
			if self.answer_time != 0 {
				AnswerTime::<T>::put(self.answer_time);
			}
		}
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
			Self::hold(HoldReason::Manifest, &proposer, deposit)?;
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

		/// Ends a dataset: no new run may use it. Only its proposer may. Once no run uses it, and a while has passed, anybody may have it removed
		/// and its deposit returned.
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::retire())]
		pub fn retire(origin: OriginFor<T>, id: DatasetId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			let dataset = Self::proposed_by(&who, id)?;
			Self::do_retire(id, dataset)
		}

		/// Says that the caller, an active provider, holds these shards of a dataset and opens any chunk of them to whoever asks by a challenge.
		/// Holds a deposit, and keeps all of the caller's stake from being withdrawn, until the attestation is. Called again it renews the
		/// attestation, and may widen its range. The stake must reach to lose [`Config::FailurePenalty`] for each attestation of the caller.
		/// An operator attests for the provider that it acts for, and the deposit is held of that.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::attest())]
		pub fn attest(origin: OriginFor<T>, id: DatasetId, shards: ShardRange) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_attest(who, id, shards)
		}

		/// Has the attestation of `who`, the caller, expire after the time for an answer. Until then it can be challenged as before. When it has
		/// expired, or its dataset is gone, anybody may call this once more: the attestation ends and its deposit goes back to `who`, unless a
		/// challenge is open.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::withdraw_attestation())]
		pub fn withdraw_attestation(origin: OriginFor<T>, id: DatasetId, who: AccountId) -> DispatchResult {
			let caller = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_withdraw(&caller, id, who)
		}

		/// Asks `who`, who attests it, for a chunk, and holds a bond of the caller.
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::challenge_shard())]
		pub fn challenge_shard(origin: OriginFor<T>, id: DatasetId, who: AccountId, place: ChunkPlace) -> DispatchResult {
			let challenger = ensure_signed(origin)?;
			Self::do_challenge(challenger, id, who, place)
		}

		/// Opens the chunk that `challenger` has asked the caller for, and ends the challenge: half of its bond goes to the caller, the other half
		/// is burned. What is not that chunk is refused and changes nothing, and gets into no block. It is operational, and an extrinsic of its own: no
		/// other call carries it.
		#[pallet::call_index(6)]
		#[pallet::weight((T::WeightInfo::answer_challenge(), DispatchClass::Operational))]
		pub fn answer_challenge(origin: OriginFor<T>, id: DatasetId, challenger: AccountId, opening: ChunkOpening) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_answer(&who, id, &challenger, &opening)
		}

		/// Ends a challenge that was not answered in time. Anybody may. The attester loses [`Config::FailurePenalty`], half of it to the challenger,
		/// is suspended, and its attestation ends; all bonds go back.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::conclude_challenge())]
		pub fn conclude_challenge(origin: OriginFor<T>, id: DatasetId, who: AccountId, challenger: AccountId) -> DispatchResult {
			ensure_signed(origin)?;
			Self::do_conclude(id, &who, &challenger)
		}

		/// Shows a chunk that contradicts the manifest: a token beyond the vocabulary, or something behind the shard's last token. No new run may use the
		/// dataset then. Half of the proposer's deposit goes to the caller, the other half is burned.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::condemn())]
		pub fn condemn(origin: OriginFor<T>, id: DatasetId, place: ChunkPlace, opening: ChunkOpening) -> DispatchResult {
			let reporter = ensure_signed(origin)?;
			Self::do_condemn(&reporter, id, place, &opening)
		}

		/// Retires the dataset of somebody else, as [`Self::retire`] does. The reason is for people.
		#[pallet::call_index(9)]
		#[pallet::weight(T::WeightInfo::force_retire())]
		pub fn force_retire(origin: OriginFor<T>, id: DatasetId, reason: Reason) -> DispatchResult {
			T::RetireOrigin::ensure_origin(origin)?;
			let dataset = Datasets::<T>::get(id).ok_or(Error::<T>::UnknownDataset)?;
			Self::do_retire(id, dataset)?;
			Self::deposit_event(Event::ForceRetired { id, reason });
			Ok(())
		}

		/// Removes a dataset that takes no new runs and has not been used for a while, from the block on that the view function `removable_at` shows.
		/// Its deposit goes back to the proposer. Anybody may.
		#[pallet::call_index(10)]
		#[pallet::weight(T::WeightInfo::remove())]
		pub fn remove(origin: OriginFor<T>, id: DatasetId) -> DispatchResult {
			ensure_signed(origin)?;
			Self::do_remove(id)
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// The dataset with its manifest, status and number of users; `None` if it is unknown or removed.
		pub fn dataset(id: DatasetId) -> Option<DatasetView> {
			Datasets::<T>::get(id).map(Into::into)
		}

		/// First block in which `remove` removes the dataset; `None` if it takes new runs, or a run uses it.
		pub fn removable_at(id: DatasetId) -> Option<BlockNumber> {
			Leaving::<T>::get(id).map(|since| since.saturating_add(AnswerTime::<T>::get().saturating_mul(2)))
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
			let chunks = dataset.manifest.chunks_per_shard();
			let Manifest { shape, root, .. } = dataset.manifest;
			if u32::try_from(data.len()) != Ok(CHUNK_BYTES) {
				return false;
			}
			let [shard_proof, chunk_proof] = [shard_proof, chunk_proof].map(|proof| proof.into_iter().map(Into::into).collect::<Vec<_>>());
			merkle::verify(&root.0, &shard_proof, shape.shard_count, shard, shard_root.0)
				&& merkle::verify(&shard_root.0, &chunk_proof, chunks, chunk, tiles::leaf_hash(&data))
		}

		/// What `who` attests of a dataset, expired or not; `None` if it does not.
		pub fn attestation(id: DatasetId, who: AccountId) -> Option<AttestationView> {
			Attestations::<T>::get(id, who).map(Into::into)
		}

		/// All that `who` attests, expired or not, with what it is asked for: at most [`MAX_ATTESTED`] attestations, and
		/// [`MAX_CHALLENGES`](crate::MAX_CHALLENGES) of each.
		pub fn attestations_of(who: AccountId) -> Vec<HoldingView> {
			Self::do_attestations_of(who)
		}

		/// Active providers that attest a shard now, at most [`MAX_ATTESTATIONS`](crate::MAX_ATTESTATIONS).
		pub fn holders(id: DatasetId, shard: u32) -> Vec<AccountId> {
			Self::do_holders(id, shard)
		}

		/// How many active providers attest the shards of a dataset now: ranges of equally many, which together are all shards. Empty for an unknown
		/// dataset.
		pub fn coverage(id: DatasetId) -> Vec<Coverage> {
			Self::do_coverage(id)
		}

		/// Open challenges of what `who` attests of a dataset, at most [`MAX_CHALLENGES`](crate::MAX_CHALLENGES).
		pub fn challenges_of(id: DatasetId, who: AccountId) -> Vec<ChallengeView> {
			Self::do_challenges_of(id, who)
		}

		/// Amounts and durations of attestations and challenges.
		pub fn attestation_terms() -> AttestationTerms {
			AttestationTerms {
				deposit: T::AttestationDeposit::get(),
				period: AttestationPeriod::<T>::get(),
				bond: T::ChallengeBond::get(),
				answer_time: AnswerTime::<T>::get(),
				penalty: T::FailurePenalty::get(),
			}
		}
	}
}
