//! Compute providers: registration, roles, bonds, unbonding, slashing.
//!
//! A provider registers with the roles it offers, its measured hardware, the secp256k1 key of its Proofs of Neural Work
//! and its libp2p identity, and bonds NEURO by a hold. The bond is what other pallets weigh votes by and slash:
//!
//! ```text
//!            register              prove_arithmetic           chill, unbond or slash below the minimum
//!  (unknown) --------> Unproven --------------------> Active ------------------------------------------> Chilled
//!                         |                             ^                   activate                       |  |
//!                         |                             +--------------------------------------------------+  |
//!  (unknown) <------------+-----------------------------------------------------------------------------------+
//!             withdraw_unbonded of everything, or deregister with nothing held
//! ```
//!
//! A machine whose processor, compiler or driver computes one bit differently would do work that is judged wrong. So the chain draws
//! a challenge at registration, and the provider is bonded but takes no part before it has answered it: every operator of
//! the kernels on inputs that follow from the challenge ([`neuroshard_kernels::kat::drawn`]), which the runtime computes as well. A
//! wrong answer costs its fee and nothing else. The challenge stays the same however often it is answered: 256 bits are not
//! guessed, the fee of the weight bounds the attempts, and a failed call, which changes nothing, is a clearer answer than a
//! successful one with bad news in an event. A provider that comes back after it had left is a new one, with a new challenge; one that was
//! only chilled is not. Whoever cannot answer leaves as everybody else does.
//!
//! Money leaves in two steps. `unbond` moves a part of the active bond into a chunk that unlocks after the cooldown;
//! `withdraw_unbonded` releases unlocked chunks, and only while no claim of the provider is open, and nothing that it claimed in an
//! adopted round can be disputed. Until it is withdrawn a chunk stays slashable: a slash takes the latest chunk first, then earlier
//! ones, then the active bond.
//!
//! Other pallets reach all of this through [`neuroshard_types::traits::Providers`], which [`Pallet`] implements.
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
pub use types::{Bond, BondError, Provider, RoleCounts};
pub use weights::WeightInfo;

/// Most unbonding chunks of one provider.
pub const MAX_UNBONDING_CHUNKS: u32 = 32;
/// Most providers that one call of the view function `peers` returns.
pub const MAX_PEERS_PER_PAGE: u32 = 128;
/// Reputation of a new provider.
pub const INITIAL_REPUTATION: u32 = 100;
/// Highest reputation.
pub const MAX_REPUTATION: u32 = 1_000;

#[frame_support::pallet]
pub mod pallet {
	use crate::{types::info_problem, Provider, RoleCounts, WeightInfo, MAX_PEERS_PER_PAGE};
	use alloc::vec::Vec;
	use frame_support::{
		pallet_prelude::*,
		traits::{fungible, tokens::Precision, Randomness},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		provider::{Addresses, PeerIdBytes, PonwKey, ProviderInfo, ProviderStatus, ProviderView},
		AccountId, Balance, BlockNumber, H256, NEURO,
	};

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// What the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
		/// NEURO: bonds are holds on it.
		type Currency: fungible::MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason> + fungible::Mutate<AccountId>;
		/// The runtime's hold reasons, [`HoldReason`] among them.
		type RuntimeHoldReason: From<HoldReason>;
		/// Longest time in blocks from a claim until the last dispute about it is decided: the challenge window and the longest dispute.
		/// The cooldown must be longer; it is asserted at genesis and checked by `do_try_state`. Where the values live in other
		/// pallets' genesis storage, those stand before this one in the runtime, so that they are known when the assertion runs.
		type DisputePeriod: Get<BlockNumber>;
		/// Randomness that the challenges of new providers are drawn with.
		type Randomness: Randomness<H256, BlockNumber>;
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
		/// Bond of a provider: its active part and everything unbonding.
		#[codec(index = 0)]
		Bond,
	}

	/// All registered providers.
	#[pallet::storage]
	pub type Providers<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Provider>;

	/// Who registered a PoNW key.
	#[pallet::storage]
	pub type PonwKeyOwner<T: Config> = StorageMap<_, Blake2_128Concat, PonwKey, AccountId>;

	/// Who registered a peer id.
	#[pallet::storage]
	pub type PeerIdOwner<T: Config> = StorageMap<_, Blake2_128Concat, PeerIdBytes, AccountId>;

	/// How many active providers offer each role.
	#[pallet::storage]
	pub type ActiveCounts<T: Config> = StorageValue<_, RoleCounts, ValueQuery>;

	/// Blocks from `unbond` until the chunk may be withdrawn. Fixed at genesis.
	#[pallet::storage]
	pub type Cooldown<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Smallest active bond of an active provider, in planck. Fixed at genesis.
	#[pallet::storage]
	pub type MinBond<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Durations and amounts of a preset.
	#[pallet::genesis_config]
	pub struct GenesisConfig<T: Config> {
		/// Blocks from `unbond` until the chunk may be withdrawn; longer than [`Config::DisputePeriod`].
		pub cooldown: BlockNumber,
		/// Smallest active bond of an active provider, in planck; at least the existential deposit.
		pub min_bond: Balance,
		#[doc(hidden)]
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	impl<T: Config> Default for GenesisConfig<T> {
		/// One week of 3-second blocks and 100 NEURO.
		fn default() -> Self {
			Self { cooldown: 201_600, min_bond: 100 * NEURO, _config: Default::default() }
		}
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			assert!(self.cooldown > T::DisputePeriod::get(), "staking: the cooldown must be longer than claims can be disputed");
			assert!(
				self.min_bond >= <T::Currency as fungible::Inspect<AccountId>>::minimum_balance(),
				"staking: the minimum bond must reach the existential deposit"
			);
			Cooldown::<T>::put(self.cooldown);
			MinBond::<T>::put(self.min_bond);
		}
	}

	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A new provider. It takes part once it has answered the challenge.
		Registered {
			/// The provider.
			who: AccountId,
			/// Its bond in planck.
			bond: Balance,
			/// Seed of the inputs that its machine is tested with.
			challenge: H256,
		},
		/// A new provider computes what the chain computes, and is active.
		ArithmeticProven {
			/// The provider.
			who: AccountId,
		},
		/// A provider changed what it registered.
		InfoUpdated {
			/// The provider.
			who: AccountId,
		},
		/// A provider added to its active bond.
		Bonded {
			/// The provider.
			who: AccountId,
			/// What was added, in planck.
			amount: Balance,
		},
		/// A part of the active bond is on its way out.
		Unbonded {
			/// The provider.
			who: AccountId,
			/// How much, in planck.
			amount: Balance,
			/// First block at which it may be withdrawn.
			unlocks_at: BlockNumber,
		},
		/// Unlocked chunks went back to the provider's free balance.
		Withdrawn {
			/// The provider.
			who: AccountId,
			/// How much, in planck.
			amount: Balance,
		},
		/// A provider takes no new work: it chilled, left, or its active bond fell below the minimum.
		Chilled {
			/// The provider.
			who: AccountId,
		},
		/// A chilled provider takes part again.
		Activated {
			/// The provider.
			who: AccountId,
		},
		/// A provider is gone; its PoNW key and peer id are free again.
		Deregistered {
			/// The former provider.
			who: AccountId,
		},
		/// Money of a provider was taken.
		Slashed {
			/// The provider.
			who: AccountId,
			/// How much, in planck.
			amount: Balance,
			/// Who received it; `None` if it was burned.
			to: Option<AccountId>,
		},
	}

	/// Why a call is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// The account is registered already. Use `update_info` or `bond_extra`.
		AlreadyRegistered,
		/// The account is not a provider. Call `register` first.
		NotRegistered,
		/// The role set is empty or has unknown bits. Offer at least one of driver 1, worker 2, verifier 4, predictor 8.
		InvalidRoles,
		/// Speed or memory is zero, so that no work would ever be plausible. Measure the machine and register what it does.
		InvalidHardware,
		/// Not a compressed secp256k1 key: its first byte is 2 or 3.
		InvalidPonwKey,
		/// Not a libp2p peer id: a SHA2-256 multihash, or an identity multihash of at most 42 bytes.
		InvalidPeerId,
		/// An address is empty. Leave it out of the list.
		InvalidAddress,
		/// Another provider registered this PoNW key. Create a new key.
		PonwKeyTaken,
		/// Another provider registered this peer id. Create a new libp2p key.
		PeerIdTaken,
		/// The active bond would be below the minimum that the view function `limits` shows. Bond more.
		BondTooSmall,
		/// The amount is zero. Name a positive amount.
		ZeroAmount,
		/// More than the active bond. The view function `provider` shows it.
		AmountExceedsBond,
		/// The list of unbonding chunks is full. Call `withdraw_unbonded` when one has unlocked.
		TooManyChunks,
		/// Claims of the provider are not settled yet. Wait until `open_claims` in the view function `provider` is zero.
		OpenClaims,
		/// What the provider claimed in adopted rounds can still be disputed. Wait until block `disputable_until` of the view function
		/// `provider`.
		Disputable,
		/// No chunk has unlocked yet. The view function `provider` shows when the next one does.
		NothingToWithdraw,
		/// The provider is chilled already.
		AlreadyChilled,
		/// The provider is active already.
		AlreadyActive,
		/// Everything is unbonding already. Call `withdraw_unbonded` when it has unlocked: that ends the registration.
		AlreadyLeaving,
		/// The provider takes no part before it has answered the challenge that it was registered with. Call `prove_arithmetic`: a
		/// worker does that when it registers, and when it runs.
		Unproven,
		/// The provider has answered its challenge already, and nothing is left to be proven.
		AlreadyProven,
		/// The machine that gave this answer computes differently from the chain: its processor, compiler or driver has a fault, and
		/// its work would be judged wrong. Nothing is lost but the fee. Undo overclocking or use another machine and answer again,
		/// or leave with `deregister`.
		WrongAnswer,
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
		/// Registers the caller as a provider and holds `bond` planck of its free balance. It is active once it has answered the
		/// challenge that the event and the view function `provider` show, with `prove_arithmetic`.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::register())]
		pub fn register(origin: OriginFor<T>, info: ProviderInfo, #[pallet::compact] bond: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			ensure!(!Providers::<T>::contains_key(&who), Error::<T>::AlreadyRegistered);
			Self::ensure_valid(&info)?;
			ensure!(bond >= MinBond::<T>::get(), Error::<T>::BondTooSmall);
			Self::ensure_identity_free(&who, &info)?;
			Self::hold(&who, bond)?;
			Self::claim_identity(&who, &info);
			let challenge = Self::draw_challenge(&who);
			Providers::<T>::insert(&who, Provider::new(info, bond, challenge));
			Self::deposit_event(Event::Registered { who, bond, challenge });
			Ok(())
		}

		/// Replaces what the caller registered: roles, hardware, PoNW key, peer id and addresses.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::update_info())]
		pub fn update_info(origin: OriginFor<T>, info: ProviderInfo) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::ensure_valid(&info)?;
			Self::try_mutate(&who, |provider| {
				Self::ensure_identity_free(&who, &info)?;
				Self::free_identity(&provider.info);
				Self::claim_identity(&who, &info);
				provider.info = info;
				Ok(())
			})?;
			Self::deposit_event(Event::InfoUpdated { who });
			Ok(())
		}

		/// Adds `amount` planck of the caller's free balance to its active bond. A chilled provider stays chilled.
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::bond_extra())]
		pub fn bond_extra(origin: OriginFor<T>, #[pallet::compact] amount: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			ensure!(amount > 0, Error::<T>::ZeroAmount);
			Self::try_mutate(&who, |provider| {
				Self::hold(&who, amount)?;
				provider.bond.active = provider.bond.active.saturating_add(amount);
				Ok(())
			})?;
			Self::deposit_event(Event::Bonded { who, amount });
			Ok(())
		}

		/// Starts to take `amount` planck out of the caller's active bond. Chills it if less than the minimum remains.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::unbond())]
		pub fn unbond(origin: OriginFor<T>, #[pallet::compact] amount: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			ensure!(amount > 0, Error::<T>::ZeroAmount);
			Self::try_mutate(&who, |provider| Self::start_unbonding(&who, provider, amount))
		}

		/// Releases the caller's unlocked chunks. Refused while a claim is open, or something that the caller claimed can be disputed. When
		/// nothing is left, the registration ends.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::withdraw_unbonded())]
		pub fn withdraw_unbonded(origin: OriginFor<T>) -> DispatchResult {
			let who = ensure_signed(origin)?;
			let mut provider = Self::registered(&who)?;
			Self::ensure_undisputed(&provider)?;
			let amount = provider.bond.take_unlocked(Self::now());
			ensure!(amount > 0, Error::<T>::NothingToWithdraw);
			Self::release(&who, amount, Precision::Exact)?;
			Self::deposit_event(Event::Withdrawn { who: who.clone(), amount });
			if provider.bond.total() == 0 {
				Self::remove(who, &provider);
			} else {
				Providers::<T>::insert(&who, provider);
			}
			Ok(())
		}

		/// Stops the caller from taking new work; its bond stays.
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::chill())]
		pub fn chill(origin: OriginFor<T>) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::try_mutate(&who, |provider| {
				match provider.status {
					ProviderStatus::Active => Self::set_chilled(&who, provider),
					ProviderStatus::Chilled => return Err(Error::<T>::AlreadyChilled.into()),
					ProviderStatus::Unproven { .. } => return Err(Error::<T>::Unproven.into()),
				}
				Ok(())
			})
		}

		/// Lets a chilled caller take part again. Its active bond must reach the minimum.
		#[pallet::call_index(6)]
		#[pallet::weight(T::WeightInfo::activate())]
		pub fn activate(origin: OriginFor<T>) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::try_mutate(&who, |provider| {
				match provider.status {
					ProviderStatus::Active => return Err(Error::<T>::AlreadyActive.into()),
					ProviderStatus::Chilled => {}
					ProviderStatus::Unproven { .. } => return Err(Error::<T>::Unproven.into()),
				}
				ensure!(provider.bond.active >= MinBond::<T>::get(), Error::<T>::BondTooSmall);
				provider.status = ProviderStatus::Active;
				Ok(())
			})?;
			Self::deposit_event(Event::Activated { who });
			Ok(())
		}

		/// Leaves: chills an active caller and starts to take out its whole active bond. The registration ends with the last
		/// `withdraw_unbonded`, or at once if nothing is held (all was slashed), no claim is open and nothing can be disputed.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::deregister())]
		pub fn deregister(origin: OriginFor<T>) -> DispatchResult {
			let who = ensure_signed(origin)?;
			let mut provider = Self::registered(&who)?;
			if provider.bond.total() == 0 {
				Self::ensure_undisputed(&provider)?;
				Self::remove(who, &provider);
				return Ok(());
			}
			ensure!(provider.bond.active > 0, Error::<T>::AlreadyLeaving);
			let amount = provider.bond.active;
			let before = provider.active_roles();
			Self::start_unbonding(&who, &mut provider, amount)?;
			Self::recount(before, provider.active_roles());
			Providers::<T>::insert(&who, provider);
			Ok(())
		}

		/// Answers the caller's challenge with the digest of what its machine computed, and makes it active. The runtime computes the
		/// same and compares. The active bond must reach the minimum.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::prove_arithmetic())]
		pub fn prove_arithmetic(origin: OriginFor<T>, digest: H256) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::try_mutate(&who, |provider| {
				let ProviderStatus::Unproven { challenge } = provider.status else {
					return Err(Error::<T>::AlreadyProven.into());
				};
				ensure!(provider.bond.active >= MinBond::<T>::get(), Error::<T>::BondTooSmall);
				ensure!(digest.0 == neuroshard_kernels::kat::drawn(challenge.0), Error::<T>::WrongAnswer);
				provider.status = ProviderStatus::Active;
				Ok(())
			})?;
			Self::deposit_event(Event::ArithmeticProven { who });
			Ok(())
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// The provider `who` with its status (and the challenge that it has not answered yet), bond, claims and reputation; `None` if
		/// it is not registered.
		pub fn provider(who: AccountId) -> Option<ProviderView> {
			Providers::<T>::get(who).map(Into::into)
		}

		/// A page of providers, whatever their status, with their peer ids and addresses, in storage order. Start with
		/// `after: None` and go on with the last account of the page before; a page shorter than `limit` is the last one.
		/// At most [`MAX_PEERS_PER_PAGE`] come at once, whatever `limit` says.
		pub fn peers(after: Option<AccountId>, limit: u32) -> Vec<(AccountId, PeerIdBytes, Addresses)> {
			let providers = match after {
				Some(account) => Providers::<T>::iter_from(Providers::<T>::hashed_key_for(account)),
				None => Providers::<T>::iter(),
			};
			let limit = usize::try_from(limit.min(MAX_PEERS_PER_PAGE)).unwrap_or(0);
			providers.take(limit).map(|(who, provider)| (who, provider.info.peer_id, provider.info.addresses)).collect()
		}

		/// Smallest active bond of an active provider in planck, and the cooldown of unbonding in blocks.
		pub fn limits() -> (Balance, BlockNumber) {
			(MinBond::<T>::get(), Cooldown::<T>::get())
		}
	}

	impl<T: Config> Pallet<T> {
		fn ensure_valid(info: &ProviderInfo) -> Result<(), Error<T>> {
			info_problem(info).map_or(Ok(()), |problem| Err(problem.into()))
		}
	}
}
