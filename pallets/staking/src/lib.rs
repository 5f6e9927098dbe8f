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
//! only chilled is not. Whoever cannot answer leaves as everybody else does. The speed that is registered when the test is passed is the most that counts: a higher
//! one in `update_info` is that of another machine, which is tested as well, while nothing is open that is judged by the speed.
//!
//! Money leaves in two steps. `unbond` moves a part of the active bond into a chunk that unlocks after the cooldown;
//! `withdraw_unbonded` releases unlocked chunks, and only while no claim of the provider is open, and nothing that it claimed in an
//! adopted round can be disputed. Until it is withdrawn a chunk stays slashable: a slash takes the latest chunk first, then earlier
//! ones, then the active bond.
//!
//! The account that owns the stake can stay cold: it names an *operator*, whose key signs the work in its name. See [`operators`].
//!
//! Other pallets reach all of this through [`neuroshard_types::traits::Providers`], which [`Pallet`] implements.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod bond;
mod errors;
mod events;
mod impls;
mod info;
#[cfg(test)]
mod mock;
mod operators;
mod penalties;
mod providers;
#[cfg(test)]
mod tests;
mod try_state;
mod types;
mod verifiers;
pub mod weights;

pub use bond::{Bond, BondError};
use frame_support::pallet_macros::import_section;
pub use pallet::*;
pub use types::{Missed, Provider, RoleCounts};
pub use weights::WeightInfo;

/// Most unbonding chunks of one provider.
pub const MAX_UNBONDING_CHUNKS: u32 = 32;
/// Most providers that one call of the view functions `peers`, `active_peers` and `peers_of` looks at.
pub const MAX_PEERS_PER_PAGE: u32 = 128;
/// Reputation of a new provider.
pub const INITIAL_REPUTATION: u32 = 100;
/// Highest reputation.
pub const MAX_REPUTATION: u32 = 1_000;
/// Longest lock of a stake, in days.
pub const MAX_LOCK_DAYS: u16 = 365;
/// Missed audits in a row that are punished.
pub const MISSES: u32 = 3;
/// Providers that are looked at in a block with room, when some may have too small a bond for a verifier.
pub const SWEPT: usize = 8;

#[import_section(errors::errors)]
#[import_section(events::events)]
#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
pub mod pallet {
	use crate::{info::info_problem, Provider, RoleCounts, WeightInfo, MAX_LOCK_DAYS, MAX_PEERS_PER_PAGE};
	use alloc::vec::Vec;
	use frame_support::{
		pallet_prelude::*,
		traits::{fungible, tokens::Precision, Randomness},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		offence::{Offence, Penalties, Penalty},
		provider::{Addresses, PeerIdBytes, PonwKey, ProviderInfo, ProviderStatus, ProviderView, Role, VerifierBonds, VerifierTerms},
		traits::Providers as _,
		AccountId, Balance, BlockNumber, H256, NEURO,
	};

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(3);

	/// Types that the runtime wires in.
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
		/// Blocks of a day, in which locks are counted.
		#[pallet::constant]
		type BlocksPerDay: Get<BlockNumber>;
		/// Origin that decides that an account is one of many that pretend to be independent of each other.
		type SlashOrigin: EnsureOrigin<Self::RuntimeOrigin>;
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

	/// Provider that registered a PoNW key.
	#[pallet::storage]
	pub type PonwKeyOwner<T: Config> = StorageMap<_, Blake2_128Concat, PonwKey, AccountId>;

	/// Provider that registered a peer id.
	#[pallet::storage]
	pub type PeerIdOwner<T: Config> = StorageMap<_, Blake2_128Concat, PeerIdBytes, AccountId>;

	/// Whom each provider has named as its operator, whether that account serves it or not. At most one each, and it goes with the
	/// registration: the bond pays for it, as for key and peer id.
	#[pallet::storage]
	pub type Operators<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, AccountId>;

	/// Provider that each operator acts for: it has named the operator, and the operator has agreed. No operator is a provider.
	#[pallet::storage]
	pub type OwnerOf<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, AccountId>;

	/// Speeds with which providers have passed the test of arithmetic, in GFLOP/s, where they have registered another one since: none is taken to be faster
	/// than it was tested.
	#[pallet::storage]
	pub type TestedSpeeds<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, u32>;

	/// Number of active providers that offer each role.
	#[pallet::storage]
	pub type ActiveCounts<T: Config> = StorageValue<_, RoleCounts, ValueQuery>;

	/// Blocks from `unbond` until the chunk may be withdrawn. Fixed at genesis.
	#[pallet::storage]
	pub type Cooldown<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Smallest active bond of an active provider, in planck. Fixed at genesis.
	#[pallet::storage]
	pub type MinBond<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// [`MinBond`], for those who ask for a `Get`.
	pub struct GetMinBond<T>(PhantomData<T>);

	impl<T: Config> Get<Balance> for GetMinBond<T> {
		fn get() -> Balance {
			MinBond::<T>::get()
		}
	}

	/// Least active bonds of verifiers by their number. Fixed at genesis.
	#[pallet::storage]
	pub type VerifierMinimums<T: Config> = StorageValue<_, VerifierBonds, ValueQuery>;

	/// Penalties of offences. Fixed at genesis.
	#[pallet::storage]
	pub type OffencePenalties<T: Config> = StorageValue<_, Penalties, ValueQuery>;

	/// The provider that was looked at last for too small a bond of a verifier; `None` to begin anew.
	#[pallet::storage]
	pub type SweepCursor<T: Config> = StorageValue<_, AccountId>;

	/// Durations and amounts of a preset.
	#[pallet::genesis_config]
	pub struct GenesisConfig<T: Config> {
		/// Blocks from `unbond` until the chunk may be withdrawn; longer than [`Config::DisputePeriod`].
		pub cooldown: BlockNumber,
		/// Smallest active bond of an active provider, in planck; at least the existential deposit.
		pub min_bond: Balance,
		/// Least active bonds of verifiers by their number; more of them never need less.
		pub verifier_bonds: VerifierBonds,
		/// Penalties of offences.
		pub penalties: Penalties,
		#[doc(hidden)]
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	impl<T: Config> Default for GenesisConfig<T> {
		/// One week of 3-second blocks and 100 NEURO; bonds of verifiers and penalties as their types say.
		fn default() -> Self {
			let (verifier_bonds, penalties) = Default::default();
			Self { cooldown: 201_600, min_bond: 100 * NEURO, verifier_bonds, penalties, _config: Default::default() }
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
			assert!(self.verifier_bonds.ascends(), "staking: more verifiers must not need a smaller bond");
			VerifierMinimums::<T>::put(self.verifier_bonds);
			OffencePenalties::<T>::put(self.penalties);
			Cooldown::<T>::put(self.cooldown);
			MinBond::<T>::put(self.min_bond);
		}
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		/// Looks at some providers, if some may have too small a bond for a verifier.
		fn on_idle(_: BlockNumberFor<T>, remaining: Weight) -> Weight {
			match T::WeightInfo::sweep().any_gt(remaining) {
				true => Weight::zero(),
				false => Self::sweep(),
			}
		}

		#[cfg(feature = "try-runtime")]
		fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Registers the caller as a provider and holds `bond` planck of its free balance. It is active once it has answered the
		/// challenge that the event and the view function `provider` show, with `prove_arithmetic`. The role of a verifier needs the
		/// `next_bond` of the view function `verifier_terms`, here and whenever it becomes active with it.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::register())]
		pub fn register(origin: OriginFor<T>, info: ProviderInfo, #[pallet::compact] bond: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			ensure!(!Providers::<T>::contains_key(&who), Error::<T>::AlreadyRegistered);
			ensure!(!OwnerOf::<T>::contains_key(&who), Error::<T>::IsOperator);
			Self::ensure_valid(&info)?;
			ensure!(bond >= MinBond::<T>::get(), Error::<T>::BondTooSmall);
			Self::ensure_verifier_bond(info.roles, bond)?;
			Self::ensure_identity_free(&who, &info)?;
			Self::hold(&who, bond)?;
			Self::claim_identity(&who, &info);
			let challenge = Self::draw_challenge(&who);
			Providers::<T>::insert(&who, Provider::new(info, bond, challenge));
			Self::deposit_event(Event::Registered { who, bond, challenge });
			Ok(())
		}

		/// Replaces what the caller registered: roles, hardware, PoNW key, peer id and addresses. Who takes the role of a verifier needs
		/// the bond for it. The PoNW key stays while a claim is open or can be disputed, and so does the speed from being raised above the one that was tested.
		/// A provider that raises it is another machine: it gets a new challenge, and takes part again when it has answered that. For the operator as well.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::update_info())]
		pub fn update_info(origin: OriginFor<T>, info: ProviderInfo) -> DispatchResult {
			let who = Self::acts_for(ensure_signed(origin)?);
			Self::ensure_valid(&info)?;
			Self::try_mutate(&who, |provider| {
				Self::ensure_not_banned(provider)?;
				if !provider.info.roles.contains(Role::Verifier) {
					Self::ensure_verifier_bond(info.roles, provider.bond.active)?;
				}
				Self::ensure_identity_free(&who, &info)?;
				if info.ponw_key != provider.info.ponw_key {
					// What is signed with it can be disputed by it.
					Self::ensure_undisputed(provider)?;
				}
				Self::change_speed(&who, provider, info.hardware.gflops)?;
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
				Self::ensure_not_banned(provider)?;
				Self::hold(&who, amount)?;
				provider.bond.active = provider.bond.active.saturating_add(amount);
				Ok(())
			})?;
			Self::deposit_event(Event::Bonded { who, amount });
			Ok(())
		}

		/// Starts to take `amount` planck out of the caller's active bond, which must not be locked. Chills it if less than the minimum
		/// remains, and takes the role of a verifier off if less remains than that needs.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::unbond())]
		pub fn unbond(origin: OriginFor<T>, #[pallet::compact] amount: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			ensure!(amount > 0, Error::<T>::ZeroAmount);
			Self::try_mutate(&who, |provider| Self::start_unbonding(&who, provider, amount))
		}

		/// Releases the caller's unlocked chunks. Refused while a claim is open, or something that the caller claimed can be disputed. When
		/// nothing is left, the registration ends; that of a suspended provider ends with `deregister`, later.
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
			if provider.bond.total() == 0 && Self::ensure_not_suspended(&provider).is_ok() {
				Self::remove(who, &provider);
			} else {
				Providers::<T>::insert(&who, provider);
			}
			Ok(())
		}

		/// Stops the caller from taking new work; its bond stays. For the operator as well.
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::chill())]
		pub fn chill(origin: OriginFor<T>) -> DispatchResult {
			let who = Self::acts_for(ensure_signed(origin)?);
			Self::try_mutate(&who, |provider| {
				match provider.status {
					ProviderStatus::Active => Self::set_chilled(&who, provider),
					ProviderStatus::Chilled => return Err(Error::<T>::AlreadyChilled.into()),
					ProviderStatus::Unproven { .. } => return Err(Error::<T>::Unproven.into()),
				}
				Ok(())
			})
		}

		/// Lets a chilled caller take part again. Its active bond must reach the minimum, that of a verifier if it is one, and it must not be
		/// suspended. For the operator as well.
		#[pallet::call_index(6)]
		#[pallet::weight(T::WeightInfo::activate())]
		pub fn activate(origin: OriginFor<T>) -> DispatchResult {
			let who = Self::acts_for(ensure_signed(origin)?);
			Self::try_mutate(&who, |provider| {
				match provider.status {
					ProviderStatus::Active => return Err(Error::<T>::AlreadyActive.into()),
					ProviderStatus::Chilled => {}
					ProviderStatus::Unproven { .. } => return Err(Error::<T>::Unproven.into()),
				}
				Self::ensure_may_start(provider)?;
				provider.status = ProviderStatus::Active;
				Ok(())
			})?;
			Self::deposit_event(Event::Activated { who });
			Ok(())
		}

		/// Leaves: chills an active caller and starts to take out its whole active bond, which must not be locked. The registration ends
		/// with the last `withdraw_unbonded`, or at once if nothing is held (all was slashed), no claim is open, nothing can be disputed, and
		/// the caller is not suspended.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::deregister())]
		pub fn deregister(origin: OriginFor<T>) -> DispatchResult {
			let who = ensure_signed(origin)?;
			let mut provider = Self::registered(&who)?;
			if provider.bond.total() == 0 {
				Self::ensure_undisputed(&provider)?;
				Self::ensure_not_suspended(&provider)?;
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
		/// same and compares. The active bond must reach the minimum. For the operator as well.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::prove_arithmetic())]
		pub fn prove_arithmetic(origin: OriginFor<T>, digest: H256) -> DispatchResult {
			let who = Self::acts_for(ensure_signed(origin)?);
			Self::try_mutate(&who, |provider| {
				let ProviderStatus::Unproven { challenge } = provider.status else {
					return Err(Error::<T>::AlreadyProven.into());
				};
				Self::ensure_may_start(provider)?;
				ensure!(digest.0 == neuroshard_kernels::kat::drawn(challenge.0), Error::<T>::WrongAnswer);
				provider.status = ProviderStatus::Active;
				TestedSpeeds::<T>::remove(&who);
				Ok(())
			})?;
			Self::deposit_event(Event::ArithmeticProven { who });
			Ok(())
		}

		/// Locks the caller's stake for so many days from now, 1 to 365: unbonding cannot start before. It is slashed as any other. A lock
		/// is only ever lengthened.
		#[pallet::call_index(9)]
		#[pallet::weight(T::WeightInfo::lock())]
		pub fn lock(origin: OriginFor<T>, days: u16) -> DispatchResult {
			let who = ensure_signed(origin)?;
			ensure!((1..=MAX_LOCK_DAYS).contains(&days), Error::<T>::InvalidLock);
			let until = Self::now().saturating_add(T::BlocksPerDay::get().saturating_mul(days.into()));
			Self::try_mutate(&who, |provider| {
				ensure!(provider.bond.active >= MinBond::<T>::get(), Error::<T>::BondTooSmall);
				ensure!(until > provider.locked_until, Error::<T>::LockNotLonger);
				provider.locked_until = until;
				Ok(())
			})?;
			Self::deposit_event(Event::Locked { who, until });
			Ok(())
		}

		/// Burns all that the provider `who` has at stake and bans it for good, with the PoNW key and the peer id that it has registered:
		/// it is one of many accounts that pretend to be independent of each other.
		#[pallet::call_index(10)]
		#[pallet::weight(T::WeightInfo::report_sybil())]
		pub fn report_sybil(origin: OriginFor<T>, who: AccountId) -> DispatchResult {
			T::SlashOrigin::ensure_origin(origin)?;
			Self::ensure_not_banned(&Self::registered(&who)?)?;
			Self::do_punish(&who, Offence::Sybil);
			Ok(())
		}

		/// Names the account that signs the caller's work, or none. The one before acts for the caller no more, from this call on; the new one
		/// does once it has agreed with `serve`. For the provider itself only.
		#[pallet::call_index(11)]
		#[pallet::weight(T::WeightInfo::set_operator())]
		pub fn set_operator(origin: OriginFor<T>, operator: Option<AccountId>) -> DispatchResult {
			let owner = ensure_signed(origin)?;
			Self::do_set_operator(owner, operator)
		}

		/// Makes the caller the operator of `owner`, which has named it; or, without an owner, ends that. All work that the caller signs is the
		/// owner's from then on.
		#[pallet::call_index(12)]
		#[pallet::weight(T::WeightInfo::serve())]
		pub fn serve(origin: OriginFor<T>, owner: Option<AccountId>) -> DispatchResult {
			let operator = ensure_signed(origin)?;
			match owner {
				Some(owner) => Self::do_serve(operator, owner),
				None => Self::do_end_service(operator),
			}
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
			Self::page(after, limit).map(Self::peer).collect()
		}

		/// The active ones on a page of providers, with their peer ids and addresses, in storage order, and the account to go on after; `None`
		/// if that was the last page. At most [`MAX_PEERS_PER_PAGE`] providers are looked at, whatever `limit` says: a page whose providers
		/// are chilled is empty although others follow.
		pub fn active_peers(after: Option<AccountId>, limit: u32) -> (Vec<(AccountId, PeerIdBytes, Addresses)>, Option<AccountId>) {
			let page: Vec<_> = Self::page(after, limit).collect();
			let full = u32::try_from(page.len()) == Ok(limit.min(MAX_PEERS_PER_PAGE));
			let next = page.last().filter(|_| full).map(|(who, _)| who.clone());
			(page.into_iter().filter(|(_, provider)| provider.status == ProviderStatus::Active).map(Self::peer).collect(), next)
		}

		/// Peer ids and addresses of the providers among `accounts`, whatever their status, in the order of `accounts`. Whoever is not
		/// registered is left out. At most [`MAX_PEERS_PER_PAGE`] accounts are looked at: ask for the others with another call.
		pub fn peers_of(accounts: Vec<AccountId>) -> Vec<(AccountId, PeerIdBytes, Addresses)> {
			let limit = usize::try_from(MAX_PEERS_PER_PAGE).unwrap_or(0);
			let known = |who| Providers::<T>::get(&who).map(|provider| Self::peer((who, provider)));
			accounts.into_iter().take(limit).filter_map(known).collect()
		}

		/// Whom `owner` has named as its operator. It acts for `owner` if `owner_of` says so.
		pub fn operator_of(owner: AccountId) -> Option<AccountId> {
			Operators::<T>::get(owner)
		}

		/// The provider that `operator` acts for.
		pub fn owner_of(operator: AccountId) -> Option<AccountId> {
			OwnerOf::<T>::get(operator)
		}

		/// How many verifiers are active, which active bond each of them needs, and which one the next.
		pub fn verifier_terms() -> VerifierTerms {
			Self::terms_of_verifiers()
		}

		/// What an offence costs.
		pub fn penalty(offence: Offence) -> Penalty {
			OffencePenalties::<T>::get().of(offence)
		}

		/// How many providers are active in each role: driver, worker, verifier, predictor.
		pub fn active_counts() -> [u32; 4] {
			let counts = ActiveCounts::<T>::get();
			Role::ALL.map(|role| counts.of(role))
		}

		/// Smallest active bond of an active provider in planck, and the cooldown of unbonding in blocks.
		pub fn limits() -> (Balance, BlockNumber) {
			(MinBond::<T>::get(), Cooldown::<T>::get())
		}
	}

	impl<T: Config> Pallet<T> {
		/// At most `limit` providers, and at most [`MAX_PEERS_PER_PAGE`], in storage order.
		fn page(after: Option<AccountId>, limit: u32) -> impl Iterator<Item = (AccountId, Provider)> {
			let providers = match after {
				Some(account) => Providers::<T>::iter_from(Providers::<T>::hashed_key_for(account)),
				None => Providers::<T>::iter(),
			};
			providers.take(usize::try_from(limit.min(MAX_PEERS_PER_PAGE)).unwrap_or(0))
		}

		fn peer((who, provider): (AccountId, Provider)) -> (AccountId, PeerIdBytes, Addresses) {
			(who, provider.info.peer_id, provider.info.addresses)
		}

		fn ensure_valid(info: &ProviderInfo) -> Result<(), Error<T>> {
			info_problem(info).map_or(Ok(()), |problem| Err(problem.into()))
		}
	}
}
