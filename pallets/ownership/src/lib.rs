//! Shares of models: minted by final work, paid pro rata to their holders.
//!
//! A model is what a training run makes, and has the run's number. Its shares are the asset of that number in `pallet-assets`, so that
//! wallets show and send them: one share for each unit of final work. A class of shares is made at the first of them, belongs to this
//! pallet's account, and nobody else mints, burns or freezes in it.
//!
//! ```text
//!                 enrol                      transfer: to another account, and they go on earning
//! final work --> earning shares <----------> free shares        release: wallets can send them, and they earn nothing
//! ```
//!
//! `pallet-assets` tells nobody about transfers, so shares that any wallet could send cannot earn exactly. Shares that earn are therefore
//! *frozen*: this pallet is the `Freezer` of `pallet-assets` (see [`Holdings`]), so that only its own calls move them, and
//! those settle both sides first. A wallet shows them in the balance, and cannot send them before they are released.
//!
//! Revenue goes into the pot, this pallet's account, and is spread over the shares that earn in that moment: by one number per model, what
//! a share has earned since the beginning, in units of 2^-96 planck. What does not divide is carried to the next revenue. At any time,
//! for each model, in units of 2^-96 planck and exactly:
//!
//! ```text
//! revenue = paid + sum over holders (owed + shares that earn x (per share - per share when last settled)) + remainder
//! ```
//!
//! The remainder is less than the shares that earned at the last revenue, and for every holder whose last share left since, a planck.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

mod accounts;
#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod impls;
#[cfg(test)]
mod mock;
mod places;
#[cfg(test)]
mod tests;
mod try_state;
pub mod weights;

pub use accounts::{Holding, Model, FRACTION_BITS};
pub use pallet::*;
pub use weights::WeightInfo;

/// Most models that one call of the view function `models_of` lists.
pub const PAGE: u32 = 100;

#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
pub mod pallet {
	use crate::{Holding, Model, WeightInfo, PAGE};
	use frame_support::{
		pallet_prelude::*,
		traits::{fungible, fungible::Inspect as _, fungible::Mutate as _, fungibles, fungibles::Inspect as _, ContainsPair},
		PalletId,
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		ownership::{ModelView, SharesView},
		traits::ModelRevenue,
		AccountId, Balance, RunId,
	};

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
		/// NEURO.
		type Currency: fungible::Mutate<AccountId, Balance = Balance>;
		/// `pallet-assets`, with [`Pallet`] as its `Freezer` and as a filter of its calls, and in which nobody but this pallet creates classes.
		type Shares: fungibles::Create<AccountId, AssetId = RunId, Balance = u128>
			+ fungibles::Mutate<AccountId>
			+ fungibles::metadata::Mutate<AccountId>
			+ ContainsPair<RunId, AccountId>;
		/// Names this pallet's account: the pot, and the owner of all classes of shares.
		#[pallet::constant]
		type PalletId: Get<PalletId>;
		/// Weights of the calls, and of minting.
		type WeightInfo: WeightInfo;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Models that have shares.
	#[pallet::storage]
	pub type Models<T: Config> = StorageMap<_, Twox64Concat, RunId, Model>;

	/// Holdings of accounts in models: shares that earn, which are frozen in `pallet-assets`, and what is owed for them. There is no entry
	/// for those who have no shares that earn, so that whoever has one has a place among the holders.
	#[pallet::storage]
	pub type Holdings<T: Config> = StorageDoubleMap<_, Blake2_128Concat, AccountId, Twox64Concat, RunId, Holding>;

	/// There is nothing to choose: the pot gets the existential deposit, so that all the rest of it can be paid.
	#[pallet::genesis_config]
	#[derive(frame_support::DefaultNoBound)]
	pub struct GenesisConfig<T: Config> {
		/// Type marker.
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			let pot = Pallet::<T>::pot();
			if T::Currency::balance(&pot) < T::Currency::minimum_balance() {
				assert!(T::Currency::mint_into(&pot, T::Currency::minimum_balance()).is_ok(), "the pot can hold the existential deposit");
			}
		}
	}

	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// Final work became shares, which earn.
		Minted {
			/// Provider.
			who: AccountId,
			/// Model.
			model: RunId,
			/// New shares.
			shares: u128,
		},
		/// Final work became no shares.
		NotMinted {
			/// Provider.
			who: AccountId,
			/// Model.
			model: RunId,
			/// Shares that it would have got.
			shares: u128,
			/// Why it did not.
			error: DispatchError,
		},
		/// Free shares earn from now on, and wallets cannot send them.
		Enrolled {
			/// Holder.
			who: AccountId,
			/// Model.
			model: RunId,
			/// How many.
			shares: u128,
		},
		/// Shares earn no more, and wallets can send them.
		Released {
			/// Holder.
			who: AccountId,
			/// Model.
			model: RunId,
			/// How many.
			shares: u128,
		},
		/// Shares changed hands and go on earning, for the new holder.
		Transferred {
			/// Former holder.
			from: AccountId,
			/// New holder.
			to: AccountId,
			/// Model.
			model: RunId,
			/// How many.
			shares: u128,
		},
		/// A model earned.
		RevenueDeposited {
			/// Who paid.
			from: AccountId,
			/// Model.
			model: RunId,
			/// Planck.
			amount: Balance,
		},
		/// A holder was paid what its shares had earned: at a claim, or when the last of them ceased to earn for it.
		Claimed {
			/// Holder.
			who: AccountId,
			/// Model.
			model: RunId,
			/// Planck.
			amount: Balance,
		},
	}

	/// Why a call is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// Nobody has shares of this model. Its number is that of its training run, and shares are minted when work for it becomes final.
		UnknownModel,
		/// No share of the model earns, so that nobody could be paid. Wait until a holder enrols shares, or work for it becomes final.
		NobodyEarns,
		/// Nothing would happen. Pass an amount of at least 1.
		ZeroAmount,
		/// The account has fewer free shares of the model. The view function `shares` says how many; those that earn already need no
		/// enrolment.
		NotEnoughFree,
		/// The account has fewer shares of the model that earn. The view function `shares` says how many; free ones are sent with
		/// `assets.transfer`, or earn after `enrol`.
		NotEnoughEarning,
		/// Not even a planck is owed to the account for this model. The view function `shares` shows what can be claimed.
		NothingToClaim,
		/// The receiver has no place among the holders of the model. It makes one with `assets.touch`, or somebody for it with
		/// `assets.touch_other`; who does so pays a deposit, and gets it back with `refund` or `refund_other` once the place is empty.
		NoPlace,
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		#[cfg(feature = "try-runtime")]
		fn try_state(_: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Pays `amount` planck of the caller to those whose shares of `model` earn now, pro rata. They claim it when they like.
		///
		/// # Errors
		/// `ZeroAmount`, `UnknownModel`, `NobodyEarns`; those of the currency, if the caller has less, or would not keep the existential
		/// deposit.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::deposit_revenue())]
		pub fn deposit_revenue(origin: OriginFor<T>, model: RunId, amount: Balance) -> DispatchResult {
			let from = ensure_signed(origin)?;
			<Self as ModelRevenue<_, _>>::deposit(&from, model, amount)
		}

		/// Pays what the caller's shares of `model` have earned to its free balance, in whole planck.
		///
		/// # Errors
		/// `UnknownModel`, `NothingToClaim`; those of the currency, if the amount alone is too small for an account to exist.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::claim())]
		pub fn claim(origin: OriginFor<T>, model: RunId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_claim(who, model)
		}

		/// Pays what the shares of `who` of `model` have earned to the free balance of `who`. Anybody may trigger it and pays the fee.
		///
		/// # Errors
		/// As for [`Pallet::claim`].
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::claim_for())]
		pub fn claim_for(origin: OriginFor<T>, who: AccountId, model: RunId) -> DispatchResult {
			ensure_signed(origin)?;
			Self::do_claim(who, model)
		}

		/// Makes `shares` free shares of the caller earn from now on. Wallets cannot send them before they are released.
		///
		/// # Errors
		/// `ZeroAmount`, `UnknownModel`, `NotEnoughFree`.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::enrol())]
		pub fn enrol(origin: OriginFor<T>, model: RunId, shares: u128) -> DispatchResult {
			let who = ensure_signed(origin)?;
			ensure!(shares > 0, Error::<T>::ZeroAmount);
			ensure!(Models::<T>::contains_key(model), Error::<T>::UnknownModel);
			ensure!(shares <= Self::shares(who.clone(), model).free, Error::<T>::NotEnoughFree);
			Self::earn_more(&who, model, shares)?;
			Self::deposit_event(Event::Enrolled { who, model, shares });
			Ok(())
		}

		/// Makes `shares` shares of the caller free: they earn no more from now on, and any wallet can send them. What they have earned
		/// stays claimable, and is paid at once if none of the caller's earns any more.
		///
		/// # Errors
		/// `ZeroAmount`, `UnknownModel`, `NotEnoughEarning`; those of the currency, if what is paid is too small for an account to exist.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::release())]
		pub fn release(origin: OriginFor<T>, model: RunId, shares: u128) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::earn_less(&who, model, shares)?;
			Self::deposit_event(Event::Released { who, model, shares });
			Ok(())
		}

		/// Gives `shares` shares of the caller that earn to `to`, for whom they go on earning. What they have earned so far stays the
		/// caller's, and is paid at once if none of the caller's earns any more.
		///
		/// # Errors
		/// As for [`Pallet::release`], `NoPlace`, and those of `pallet-assets`.
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::transfer())]
		pub fn transfer(origin: OriginFor<T>, model: RunId, to: AccountId, shares: u128) -> DispatchResult {
			let from = ensure_signed(origin)?;
			Self::do_transfer(from, to, model, shares)
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// What `who` has of `model`.
		pub fn shares(who: AccountId, model: RunId) -> SharesView {
			let holding = Holdings::<T>::get(&who, model).unwrap_or_default();
			Self::shown(&who, model, holding)
		}

		/// Shares and revenue of `model`; `None` if nobody has shares of it.
		pub fn model(model: RunId) -> Option<ModelView> {
			let Model { earning, revenue, paid, .. } = Models::<T>::get(model)?;
			Some(ModelView { shares: T::Shares::total_issuance(model), earning, revenue, paid })
		}

		/// Models of which `who` has shares that earn, in no order of meaning; at most [`PAGE`] of them. Pass the last one of a page to get
		/// the next page. Models of which it has free shares only are not among them.
		pub fn models_of(who: AccountId, after: Option<RunId>) -> BoundedVec<(RunId, SharesView), ConstU32<PAGE>> {
			let entries = match after {
				None => Holdings::<T>::iter_prefix(&who),
				Some(last) => Holdings::<T>::iter_prefix_from(&who, Holdings::<T>::hashed_key_for(&who, last)),
			};
			let limit = usize::try_from(PAGE).unwrap_or(usize::MAX);
			let shown = entries.take(limit).map(|(model, holding)| (model, Self::shown(&who, model, holding)));
			BoundedVec::truncate_from(shown.collect())
		}
	}
}
