//! Block authors: candidates, nominators, election, rewards and slashing.
//!
//! Anybody with session keys and the minimum self-bond is a candidate. Anybody else can back a candidate with a nomination. For each
//! session the candidates with the most active stake, their own and their backing, are elected:
//!
//! ```text
//!              bond             chill, unbond, or an offence
//!  (nobody) ---------> Active -----------------------------> Chilled ---> (nobody)   withdraw_unbonded of everything
//!                        ^             activate                 |
//!                        +--------------------------------------+
//! ```
//!
//! Money stays in its owner's account, on hold. It leaves in two steps: `unbond` or `unnominate` moves a part into a chunk that unlocks after
//! the cooldown, and neither counts in elections nor earns; `withdraw_unbonded` or `withdraw_nomination` releases unlocked chunks.
//! Until then a chunk is slashed like the active part. When a candidate has nothing at stake any more it is forgotten, and its nominations are
//! released: nothing that it did in the set can be reported any more then.
//!
//! Every loop is bounded: a candidate has at most [`MAX_NOMINATORS`] nominations, an account makes at most [`MAX_NOMINATIONS`], a stake has at
//! most [`MAX_UNBONDING_CHUNKS`] chunks, and the candidates are bounded by the runtime. A full candidate takes a nomination that is larger than
//! all that its smallest one has at stake, and releases that one at once: the newcomer's stake stands in for it.
//!
//! What a block earns is minted into the pallet's pot and shared ([`Pool`]): the commission is the author's, the rest is everybody's by
//! active stake. At any time the pot holds what [`Owed`] and the pools of all candidates say, and an existential deposit.
//!
//! An offence costs a fraction of everything that is at stake for the offender, at once, and it is burned. All offences in one set,
//! however many sessions it stays, together cost the highest of their fractions, as far as the latest 32 sets
//! of an offender are remembered. The offender is chilled, and barred from candidacy for some time.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod candidates;
mod election;
mod errors;
mod events;
#[cfg(test)]
mod mock;
mod nominations;
mod offences;
mod pool;
mod rewards;
mod sessions;
mod sets;
#[cfg(test)]
mod tests;
mod try_state;
mod types;
mod views;
pub mod weights;

pub use pallet::*;
pub use pool::Pool;
pub use sessions::{EndedHere, Sessions};
pub use sets::SetOf;
pub use types::{Candidate, CandidateView, Exposure, Limits, Offender, Position, PositionView, Stake, Status};
pub use weights::WeightInfo;

use frame_support::pallet_macros::import_section;

/// Most nominations of one candidate.
pub const MAX_NOMINATORS: u32 = 64;
/// Most candidates that one account nominates.
pub const MAX_NOMINATIONS: u32 = 16;
/// Most unbonding chunks of one stake.
pub const MAX_UNBONDING_CHUNKS: u32 = 16;
/// Most sessions for which it is remembered what an offender was slashed.
pub const MAX_OFFENCE_SESSIONS: u32 = 32;
/// Most candidates that one call of the view function `candidates` returns.
pub const MAX_CANDIDATES_PER_PAGE: u32 = 128;

#[import_section(errors::errors)]
#[import_section(events::events)]
#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
pub mod pallet {
	use crate::{
		Candidate, CandidateView, Exposure, Limits, Offender, Position, PositionView, Sessions, SetOf, WeightInfo, MAX_NOMINATIONS,
		MAX_NOMINATORS,
	};
	use alloc::{collections::BTreeSet, vec::Vec};
	use frame_support::{pallet_prelude::*, traits::fungible, PalletId};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{traits::BlockRewards, AccountId, Balance, BlockNumber, NEURO};
	use pallet_session::ShouldEndSession;
	use sp_runtime::Perbill;
	use sp_staking::SessionIndex;

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(2);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, RuntimeEvent: From<Event<Self>>> {
		/// NEURO: stakes are holds on it.
		type Currency: fungible::MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason> + fungible::Mutate<AccountId>;
		/// The runtime's hold reasons, [`HoldReason`] among them.
		type RuntimeHoldReason: From<HoldReason>;
		/// Issuance for authored blocks.
		type BlockRewards: BlockRewards<AccountId, Balance>;
		/// The session pallet.
		type Sessions: Sessions;
		/// Rule by which the running session ends. The session pallet is told [`crate::EndedHere`] in its place.
		type SessionEnd: ShouldEndSession<BlockNumberFor<Self>>;
		/// Weight of what consensus does when a session ends, beyond a fixed number of accesses.
		type ConsensusWeight: Get<Weight>;
		/// Origin that sets the number of validators.
		type AdminOrigin: EnsureOrigin<Self::RuntimeOrigin>;
		/// Longest time in blocks from the moment a candidate is chilled, or leaves the set, until nothing that it does in the set can be reported any more: two
		/// sessions, and as long as a report is accepted. The cooldown must be longer; it is asserted at genesis. Where it follows from
		/// other pallets' genesis storage, those stand before this one in the runtime.
		type ReportPeriod: Get<BlockNumber>;
		/// Sessions before the running one that can be reported about.
		type SessionsKept: Get<SessionIndex>;
		/// The pot's account is derived from it.
		#[pallet::constant]
		type PotId: Get<PalletId>;
		/// Most validators.
		#[pallet::constant]
		type MaxValidators: Get<u32>;
		/// Most candidates.
		#[pallet::constant]
		type MaxCandidates: Get<u32>;
		/// Weights of calls and hooks.
		type WeightInfo: WeightInfo;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Why this pallet holds money.
	#[pallet::composite_enum]
	pub enum HoldReason {
		/// Self-bond of a candidate: its active part and everything unbonding.
		#[codec(index = 0)]
		SelfBond,
		/// All nominations of an account: their active parts and everything unbonding.
		#[codec(index = 1)]
		Nomination,
	}

	/// All candidates.
	#[pallet::storage]
	pub type Candidates<T: Config> = CountedStorageMap<_, Blake2_128Concat, AccountId, Candidate>;

	/// Nominations, by candidate and nominator.
	#[pallet::storage]
	pub type Nominations<T: Config> = StorageDoubleMap<_, Blake2_128Concat, AccountId, Blake2_128Concat, AccountId, Position>;

	/// Whom an account nominates.
	#[pallet::storage]
	pub type NominationsOf<T: Config> =
		StorageMap<_, Blake2_128Concat, AccountId, BoundedVec<AccountId, ConstU32<MAX_NOMINATIONS>>, ValueQuery>;

	/// Settled rewards that are not claimed yet, in planck.
	#[pallet::storage]
	pub type Owed<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Balance, ValueQuery>;

	/// Accounts that committed an offence.
	#[pallet::storage]
	pub type Offenders<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Offender>;

	/// The validator sets of the running session and of those that are planned, with what they were elected by when the set last changed.
	#[pallet::storage]
	pub type Exposures<T: Config> =
		StorageMap<_, Twox64Concat, SessionIndex, BoundedVec<(AccountId, Exposure), T::MaxValidators>, ValueQuery>;

	/// The first session with the same validators and keys, for each session that is planned, runs, or can be reported about.
	#[pallet::storage]
	pub type FirstSessions<T: Config> = StorageMap<_, Twox64Concat, SessionIndex, SessionIndex>;

	/// Sets with the keys that they sign with, by their first session.
	#[pallet::storage]
	pub type Sets<T: Config> = StorageMap<_, Twox64Concat, SessionIndex, SetOf<T>, ValueQuery>;

	/// The latest session that is planned.
	#[pallet::storage]
	pub type Planned<T: Config> = StorageValue<_, SessionIndex, ValueQuery>;

	/// Validators that are elected.
	#[pallet::storage]
	pub type ValidatorCount<T: Config> = StorageValue<_, u32, ValueQuery>;

	/// Smallest active self-bond, in planck. Fixed at genesis.
	#[pallet::storage]
	pub type MinSelfBond<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Smallest active nomination, in planck. Fixed at genesis.
	#[pallet::storage]
	pub type MinNomination<T: Config> = StorageValue<_, Balance, ValueQuery>;

	/// Blocks from `unbond` or `unnominate` until the part may be withdrawn, and until a higher commission applies. Fixed at genesis.
	#[pallet::storage]
	pub type Cooldown<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Blocks for which an offender is barred. Fixed at genesis.
	#[pallet::storage]
	pub type BarPeriod<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Values of the chain's first block.
	#[pallet::genesis_config]
	pub struct GenesisConfig<T: Config> {
		/// First candidates and their self-bonds in planck, without commission. Their session keys are registered by the session pallet, which
		/// stands after this one in the runtime.
		pub candidates: Vec<(AccountId, Balance)>,
		/// Validators that are elected.
		pub validator_count: u32,
		/// Smallest active self-bond, in planck; at least the existential deposit.
		pub min_self_bond: Balance,
		/// Smallest active nomination, in planck; at least the existential deposit.
		pub min_nomination: Balance,
		/// Blocks from `unbond` to withdrawal; longer than [`Config::ReportPeriod`].
		pub cooldown: BlockNumber,
		/// Blocks for which an offender is barred.
		pub bar_period: BlockNumber,
		/// Type marker.
		#[serde(skip)]
		pub _config: PhantomData<T>,
	}

	/// No candidates; 21 validators with at least 1,000 NEURO, nominations of at least 10, a cooldown of a week and a bar of four at 3 s a
	/// block.
	impl<T: Config> Default for GenesisConfig<T> {
		fn default() -> Self {
			Self {
				candidates: Vec::new(),
				validator_count: 21,
				min_self_bond: 1_000 * NEURO,
				min_nomination: 10 * NEURO,
				cooldown: 201_600,
				bar_period: 806_400,
				_config: PhantomData,
			}
		}
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			let minimum = <T::Currency as fungible::Inspect<AccountId>>::minimum_balance();
			let count = u32::try_from(self.candidates.len()).unwrap_or(u32::MAX);
			let accounts: BTreeSet<_> = self.candidates.iter().map(|(who, _)| who).collect();
			assert!(
				(1..=T::MaxValidators::get()).contains(&self.validator_count),
				"validators: a set has at least one, and at most MaxValidators"
			);
			assert!(self.min_self_bond >= minimum, "validators: the minimum self-bond must reach the existential deposit");
			assert!(self.min_nomination >= minimum, "validators: the minimum nomination must reach the existential deposit");
			assert!(self.cooldown > T::ReportPeriod::get(), "validators: the cooldown must be longer than offences can be reported");
			assert!(self.bar_period > 0, "validators: an offender is barred for at least one block");
			assert!(count <= T::MaxCandidates::get(), "validators: more candidates than MaxCandidates");
			assert!(accounts.len() == self.candidates.len(), "validators: an account is a candidate once");
			ValidatorCount::<T>::put(self.validator_count);
			MinSelfBond::<T>::put(self.min_self_bond);
			MinNomination::<T>::put(self.min_nomination);
			Cooldown::<T>::put(self.cooldown);
			BarPeriod::<T>::put(self.bar_period);
			// So that nothing the pot owes is lost when it is nearly empty.
			let endowed = <T::Currency as fungible::Mutate<AccountId>>::mint_into(&Pallet::<T>::pot(), minimum);
			assert!(endowed.is_ok(), "validators: the pot holds the existential deposit");
			for (who, bond) in &self.candidates {
				assert!(*bond >= self.min_self_bond, "validators: a self-bond at genesis is below the minimum");
				let added = Pallet::<T>::add_candidate(who, *bond, Perbill::zero());
				assert!(added.is_ok(), "validators: a candidate at genesis has its self-bond and the existential deposit");
			}
		}
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		fn on_initialize(now: BlockNumberFor<T>) -> Weight {
			Self::end_session_at(now)
		}

		#[cfg(feature = "try-runtime")]
		fn try_state(_now: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Makes the caller an active candidate and holds `amount` planck of its free balance as its self-bond. Its session keys must be
		/// registered. `commission` is the part of every reward that it keeps before the rest is shared by stake.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::bond())]
		pub fn bond(origin: OriginFor<T>, #[pallet::compact] amount: Balance, commission: Perbill) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_bond(who, amount, commission)
		}

		/// Adds `amount` planck of the caller's free balance to its self-bond. A chilled candidate stays chilled.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::bond_extra())]
		pub fn bond_extra(origin: OriginFor<T>, #[pallet::compact] amount: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_bond_extra(who, amount)
		}

		/// Starts to take `amount` planck out of the caller's self-bond: a part that leaves the minimum, or all of it, which chills the caller.
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::unbond())]
		pub fn unbond(origin: OriginFor<T>, #[pallet::compact] amount: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_unbond(who, amount)
		}

		/// Releases the unlocked parts of the caller's self-bond. When nothing is left, the candidacy ends and its nominations are released.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::withdraw_unbonded(MAX_NOMINATORS))]
		pub fn withdraw_unbonded(origin: OriginFor<T>) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let released = Self::do_withdraw_unbonded(who)?;
			Ok(Some(T::WeightInfo::withdraw_unbonded(released)).into())
		}

		/// Keeps the caller from being elected; its self-bond and nominations stay.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::chill())]
		pub fn chill(origin: OriginFor<T>) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_chill(who)
		}

		/// Lets a chilled caller be elected again. Its self-bond must reach the minimum, its session keys must be registered, and it must not
		/// be barred.
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::activate())]
		pub fn activate(origin: OriginFor<T>) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_activate(who)
		}

		/// Sets the caller's commission: a lower one at once, a higher one after the cooldown, so that nominators can leave before.
		#[pallet::call_index(6)]
		#[pallet::weight(T::WeightInfo::set_commission())]
		pub fn set_commission(origin: OriginFor<T>, commission: Perbill) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_set_commission(who, commission)
		}

		/// Backs an active candidate with `amount` planck of the caller's free balance, or adds as much to its backing. If the candidate has as
		/// many nominations as it can have, a new one takes the place of the smallest, which must be smaller with all its unbonding parts.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::nominate(MAX_NOMINATORS))]
		pub fn nominate(origin: OriginFor<T>, candidate: AccountId, #[pallet::compact] amount: Balance) -> DispatchResultWithPostInfo {
			let who = ensure_signed(origin)?;
			let read = Self::do_nominate(who, candidate, amount)?;
			Ok(Some(T::WeightInfo::nominate(read)).into())
		}

		/// Starts to take `amount` planck of the caller's backing back: a part that leaves the minimum, or all of it.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::unnominate())]
		pub fn unnominate(origin: OriginFor<T>, candidate: AccountId, #[pallet::compact] amount: Balance) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_unnominate(who, candidate, amount)
		}

		/// Releases the unlocked parts of the caller's nomination of `candidate`. What it earned stays owed.
		#[pallet::call_index(9)]
		#[pallet::weight(T::WeightInfo::withdraw_nomination())]
		pub fn withdraw_nomination(origin: OriginFor<T>, candidate: AccountId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_withdraw_nomination(who, candidate)
		}

		/// Pays what the caller earned with its stake for `candidate`, its own candidacy or a nomination, and all that is settled of what it
		/// earned otherwise, also with stakes that it has no more.
		#[pallet::call_index(10)]
		#[pallet::weight(T::WeightInfo::claim_rewards())]
		pub fn claim_rewards(origin: OriginFor<T>, candidate: AccountId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_claim_rewards(who, candidate)
		}

		/// Sets how many validators are elected, from the next election on.
		#[pallet::call_index(11)]
		#[pallet::weight(T::WeightInfo::set_validator_count())]
		pub fn set_validator_count(origin: OriginFor<T>, count: u32) -> DispatchResult {
			T::AdminOrigin::ensure_origin(origin)?;
			ensure!((1..=T::MaxValidators::get()).contains(&count), Error::<T>::InvalidValidatorCount);
			ValidatorCount::<T>::put(count);
			Self::deposit_event(Event::ValidatorCountSet { count });
			Ok(())
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// The candidate `who`; `None` if it is not one.
		pub fn candidate(who: AccountId) -> Option<CandidateView> {
			Self::candidate_of(who)
		}

		/// A page of candidates in storage order. Start with `after: None` and go on with the last account of the page before; a page shorter
		/// than `limit` is the last one. At most 128 come at once, whatever `limit` says.
		pub fn candidates(after: Option<AccountId>, limit: u32) -> Vec<(AccountId, CandidateView)> {
			Self::candidates_after(after, limit)
		}

		/// What `who` has at stake for candidates, and what each of these nominations earned since it was settled.
		pub fn positions(who: AccountId) -> Vec<PositionView> {
			Self::positions_of(who)
		}

		/// All that `who` can claim, in planck, if it calls `claim_rewards` for each of its nominations and, as a candidate, for itself.
		pub fn claimable(who: AccountId) -> Balance {
			Self::claimable_of(&who)
		}

		/// The smallest new nomination that `candidate` takes now, in planck; `None` if it takes none.
		pub fn lowest_nomination(candidate: AccountId) -> Option<Balance> {
			Self::lowest_nomination_of(&candidate)
		}

		/// First block in which `who` can be a candidate again after an offence; `None` if it can be one now.
		pub fn barred_until(who: AccountId) -> Option<BlockNumber> {
			Self::bar_of(&who)
		}

		/// Validators of the latest session that is planned, and what they were elected by when the set last changed.
		pub fn elected() -> Vec<(AccountId, Exposure)> {
			Exposures::<T>::get(Planned::<T>::get()).into_inner()
		}

		/// Numbers that calls are checked against.
		pub fn limits() -> Limits {
			Limits {
				min_self_bond: MinSelfBond::<T>::get(),
				min_nomination: MinNomination::<T>::get(),
				cooldown: Cooldown::<T>::get(),
				bar_period: BarPeriod::<T>::get(),
				validator_count: ValidatorCount::<T>::get(),
				candidates: Candidates::<T>::count(),
				max_candidates: T::MaxCandidates::get(),
				max_nominators: MAX_NOMINATORS,
				max_nominations: MAX_NOMINATIONS,
			}
		}
	}
}
