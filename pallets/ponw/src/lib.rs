//! Proof of Neural Work: signature, freshness, replay, rate and plausibility of what providers say they did.
//!
//! ```text
//!            submit               confirm                   challenge window over
//!  (absent) --------> pending ------------> confirmed, due ---------------------> (absent), paid
//!     ^                  |                        |
//!     |       void       |         void           |
//!     +------------------+------------------------+      the claim is closed, nothing is paid
//! ```
//!
//! While something that an account claims is disputed, none of its proofs becomes final. Those whose window ends meanwhile are
//! *overdue*: they end in the blocks after the last dispute. An account that is proven to have cheated is *condemned*: all its proofs
//! that are pending then, overdue ones among them, are void. That is noted once, for the account; each of these proofs ends, and
//! closes its claim, when its time comes anyway.
//!
//! Training proofs come from the training pallet alone, through [`neuroshard_types::traits::WorkProofs`]; the trait's
//! documentation says when a key is used up. Uptime proofs are the only call: at most one per account and hour, for
//! reputation and nothing else. What a proof pays comes from `confirm`, never from the proof.
//!
//! What is stored is bounded by time: at most 120 proofs are accepted per account and hour, and each is stored until it ends, which is
//! when its challenge window is over, or the last of the games whose bonds pay for its waiting; what guards against replays is one number per (run, account), forgotten when the run is finished; an account's rate is
//! forgotten when it has been silent for longer than any of its proofs could be used again.
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

#[cfg(any(feature = "runtime-benchmarks", test))]
pub mod benchmarking;
mod checks;
mod cleaning;
mod holds;
#[cfg(test)]
mod mock;
mod proofs;
mod rate;
mod standing;
#[cfg(test)]
mod tests;
mod try_state;
pub mod weights;

#[cfg(any(feature = "runtime-benchmarks", test))]
pub use benchmarking::BenchmarkHelper;
pub use pallet::*;
pub use proofs::Due;
pub use rate::Activity;
pub use standing::{Entry, Standing};
pub use weights::WeightInfo;

/// Most pending proofs that the view function `pending` lists.
pub const MAX_LISTED: u32 = 1_000;
/// Factor by which a provider may claim to be faster than its registered hardware: measurements are rough and boosts happen.
pub const DEFAULT_SLACK: u32 = 4;

#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
pub mod pallet {
	use crate::{Activity, Due, Entry, Standing, WeightInfo, MAX_LISTED};
	use frame_support::pallet_prelude::*;
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		proof::{PendingProof, Proof, ProofKey, ProofSignature, RateView, MAX_PROOFS_PER_HOUR},
		span::Span,
		traits::{Clock, FinalWork, Providers, WorkCredits},
		AccountId, Balance, BlockNumber, Moment, RoundIndex, RunId, H256,
	};
	use sp_runtime::SaturatedConversion;

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, Hash = H256, RuntimeEvent: From<Event<Self>>> {
		/// Registered providers: their keys, hardware, open claims and reputation.
		type Providers: Providers<AccountId, Balance>;
		/// Credits for final work.
		type Credits: WorkCredits<AccountId>;
		/// Receiver of final training, whether it is paid or not: it makes an owner of the model.
		type OnFinal: FinalWork<AccountId>;
		/// Chain time.
		type Clock: Clock;
		/// Claimed floating-point operations may exceed what the registered hardware does in the elapsed time by this
		/// factor; [`crate::DEFAULT_SLACK`] unless there is a reason.
		#[pallet::constant]
		type Slack: Get<u32>;
		/// Most proofs that become final in one block; the rest follows in the next blocks.
		#[pallet::constant]
		type MaxFinalPerBlock: Get<u32>;
		/// Weights of the call and of the hooks.
		type WeightInfo: WeightInfo;
		/// Makes a provider for the benchmarks.
		#[cfg(any(feature = "runtime-benchmarks", test))]
		type BenchmarkHelper: crate::BenchmarkHelper;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Blocks from the inclusion of work until its proof is final, if its account is not held: those in which disputes can be opened.
	/// Fixed at genesis.
	#[pallet::storage]
	pub type ChallengeWindow<T: Config> = StorageValue<_, BlockNumber, ValueQuery>;

	/// Proofs on their way to payment.
	#[pallet::storage]
	pub type Pending<T: Config> = StorageDoubleMap<_, Blake2_128Concat, AccountId, Twox64Concat, ProofKey, Entry>;

	/// Standings of accounts, which tell which of their pending proofs are void. An entry for every account with pending proofs.
	#[pallet::storage]
	pub type Standings<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Standing>;

	/// Confirmed proofs in the order of confirmation, which is the order in which they become final, since the window is fixed.
	#[pallet::storage]
	pub type Queue<T: Config> = StorageMap<_, Twox64Concat, u64, Due>;

	/// Numbers of [`Queue`] that are in use.
	#[pallet::storage]
	pub type QueueBounds<T: Config> = StorageValue<_, Span, ValueQuery>;

	/// Accounts something of which is disputed: none of their proofs becomes final.
	#[pallet::storage]
	pub type Held<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, ()>;

	/// Proofs that left [`Queue`] because their window ended while their account was held.
	#[pallet::storage]
	pub type Overdue<T: Config> = StorageDoubleMap<_, Blake2_128Concat, AccountId, Twox64Concat, ProofKey, ()>;

	/// Accounts that are held no more, whose [`Overdue`] proofs are still being ended.
	#[pallet::storage]
	pub type Released<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, ()>;

	/// Highest round of a run that was confirmed for an account: no round up to it is accepted again.
	#[pallet::storage]
	pub type LastProven<T: Config> = StorageDoubleMap<_, Twox64Concat, RunId, Blake2_128Concat, AccountId, RoundIndex>;

	/// Finished runs whose [`LastProven`] is still being removed.
	#[pallet::storage]
	pub type FinishedRuns<T: Config> = StorageMap<_, Twox64Concat, RunId, ()>;

	/// Recent proofs of each account.
	#[pallet::storage]
	pub type Activities<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Activity>;

	/// Account at which the search for stale [`Activities`] goes on; from the beginning if none.
	#[pallet::storage]
	pub type SweptTo<T: Config> = StorageValue<_, AccountId>;

	/// Values of the chain's first block.
	#[pallet::genesis_config]
	pub struct GenesisConfig<T: Config> {
		/// Blocks from the inclusion of work until its proof is final; at least one, or nothing could ever be disputed.
		pub challenge_window: BlockNumber,
		/// Type marker.
		#[serde(skip)]
		pub _config: core::marker::PhantomData<T>,
	}

	/// A window of a day at 3 s a block.
	impl<T: Config> Default for GenesisConfig<T> {
		fn default() -> Self {
			Self { challenge_window: 28_800, _config: PhantomData }
		}
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			assert!(self.challenge_window > 0, "ponw: work must be open to disputes for at least one block");
			ChallengeWindow::<T>::put(self.challenge_window);
		}
	}

	/// [`ChallengeWindow`] for those who ask for a `Get`.
	pub struct GetChallengeWindow<T>(PhantomData<T>);

	impl<T: Config> Get<BlockNumber> for GetChallengeWindow<T> {
		fn get() -> BlockNumber {
			ChallengeWindow::<T>::get()
		}
	}

	/// What happened.
	#[pallet::event]
	#[pallet::generate_deposit(pub(crate) fn deposit_event)]
	pub enum Event<T: Config> {
		/// A proof passed all checks and waits for its work to be included.
		Submitted {
			/// Provider.
			who: AccountId,
			/// What it proved.
			key: ProofKey,
		},
		/// The work of a proof was included.
		Confirmed {
			/// Provider.
			who: AccountId,
			/// What it proved.
			key: ProofKey,
			/// Work units that it will be paid by.
			units: u128,
			/// Block at which it becomes final.
			final_at: BlockNumber,
		},
		/// A proof ended without payment.
		Voided {
			/// Provider.
			who: AccountId,
			/// What it proved.
			key: ProofKey,
		},
		/// A proof passed its challenge window and was credited.
		Finalized {
			/// Provider.
			who: AccountId,
			/// What it proved.
			key: ProofKey,
			/// Work units credited.
			units: u128,
		},
		/// A provider proved to be up.
		Up {
			/// Provider.
			who: AccountId,
			/// Chain time in whole hours.
			hour: u32,
		},
	}

	/// Why a proof is refused.
	#[pallet::error]
	pub enum Error<T> {
		/// The account has no registered PoNW key and hardware. Register it as a provider first.
		NotRegistered,
		/// The provider is chilled. Activate it before proving uptime.
		NotActive,
		/// A proof of this kind does not belong here. Uptime goes to `submit_uptime`, training is proven by revealing a round.
		WrongKind,
		/// The proof was signed more than five minutes of chain time ago. Sign a new one.
		TooOld,
		/// The proof is stamped more than five minutes ahead of chain time. Set the clock, or stamp with the chain's time.
		FromTheFuture,
		/// This work, or a later round of its run, was proven and included before. There is nothing left to prove.
		AlreadyProven,
		/// A proof of this work is waiting already. Wait until it is confirmed or void.
		AlreadyPending,
		/// The run is finished and takes no proofs any more. Join another one.
		RunFinished,
		/// The account proved 120 times within the last hour. The view function `rate` says when the next proof is accepted.
		RateExceeded,
		/// The registered hardware cannot have done this work in that time. Measure again and update the profile.
		Implausible,
		/// The signature is not one of the registered key over this proof, account and chain. Sign with that key, or register the one that
		/// signs.
		BadSignature,
		/// The uptime proof names another hour than it is stamped with. Its run is the hour of its timestamp (milliseconds / 3,600,000),
		/// its round 0.
		WrongHour,
		/// The uptime proof names work. Its work hash must be zero.
		WorkInUptime,
	}

	#[pallet::hooks]
	impl<T: Config> Hooks<BlockNumberFor<T>> for Pallet<T> {
		fn on_initialize(_: BlockNumberFor<T>) -> Weight {
			T::WeightInfo::settle(Self::settle(T::MaxFinalPerBlock::get()))
		}

		fn on_idle(_: BlockNumberFor<T>, remaining: Weight) -> Weight {
			if T::WeightInfo::clean().any_gt(remaining) {
				return Weight::zero();
			}
			Self::clean();
			T::WeightInfo::clean()
		}

		fn integrity_test() {
			assert!(T::Slack::get() > 0, "a slack of 0 refuses every proof");
			assert!(T::MaxFinalPerBlock::get() > 0, "no proof would ever become final");
		}

		#[cfg(feature = "try-runtime")]
		fn try_state(_: BlockNumberFor<T>) -> Result<(), sp_runtime::TryRuntimeError> {
			Self::do_try_state()
		}
	}

	#[pallet::call]
	impl<T: Config> Pallet<T> {
		/// Proves that the caller was up in the hour of the proof's timestamp. Raises its reputation by one, up to that of a new provider,
		/// and pays nothing.
		///
		/// # Errors
		/// Every [`Error`] but `AlreadyPending`, `RunFinished` and `Implausible`.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::submit_uptime())]
		pub fn submit_uptime(origin: OriginFor<T>, proof: Proof, signature: ProofSignature) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_submit_uptime(who, &proof, &signature)
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// Proofs of `who` that may still become final, by key ascending; at most [`MAX_LISTED`] of them. Those whose account was
		/// condemned are not among them.
		pub fn pending(who: AccountId) -> BoundedVec<(ProofKey, PendingProof), ConstU32<MAX_LISTED>> {
			let limit = usize::try_from(MAX_LISTED).unwrap_or(usize::MAX);
			let void_before = Standings::<T>::get(&who).map_or(0, |standing| standing.void_before);
			let entries = Pending::<T>::iter_prefix(&who).take(limit).filter(|(_, entry)| entry.serial >= void_before);
			let mut listed: alloc::vec::Vec<_> = entries.map(|(key, entry)| (key, entry.into())).collect();
			listed.sort_by_key(|(key, _)| *key);
			BoundedVec::truncate_from(listed)
		}

		/// How much of its rate `who` has used, and when one more proof is accepted.
		pub fn rate(who: AccountId) -> RateView {
			let now = T::Clock::now();
			let activity = Activities::<T>::get(&who).unwrap_or_default();
			RateView { used: activity.used(now), limit: MAX_PROOFS_PER_HOUR, next_allowed_at: activity.next_allowed_at(now) }
		}

		/// Blocks from the inclusion of work until its proof is final.
		pub fn window() -> BlockNumber {
			ChallengeWindow::<T>::get()
		}
	}

	impl<T: Config> Pallet<T> {
		/// Height of the current block.
		pub(crate) fn now() -> BlockNumber {
			frame_system::Pallet::<T>::block_number().saturated_into()
		}

		/// Hour of a chain time, as uptime proofs carry it.
		pub(crate) fn hour_of(time: Moment) -> Option<RunId> {
			RunId::try_from(time.checked_div(crate::rate::HOUR_MS)?).ok()
		}
	}
}
