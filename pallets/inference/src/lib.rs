//! Inference that is paid: drivers offer models, users put money aside, sign what they owe, and providers claim it.
//!
//! ```text
//! driver   offer ----> not ready ----> ready            join: every other member of the ring agrees
//!                         ^              |
//!                         +--------------+              leave, or another offer
//!
//! user     open_session ----> open ----> closing ----> (settled)
//!                          close_session       settle: what is left goes back
//! ```
//!
//! Answers and vouchers never touch the chain while a session goes on. After each answer the user signs a [`Voucher`] for all answers so far, and the
//! provider keeps the last one. `claim` brings it to the chain, which pays what it says beyond what was paid before, out of the escrow and no more
//! than that: see `payments`. A session that is closing can be claimed from as before, until it is settled; so a provider has the delay to bring its
//! last voucher.
//!
//! A session with one provider pays that one alone. So its escrow less the last voucher is what the provider can answer for without any risk. A session
//! without one is a prepaid balance: whoever has a voucher is paid first come, first served, so that providers claim often.
//!
//! # What the chain knows of answers
//! Their number, and the root of their receipts, as the user signed it. Until a session is settled, whoever has a receipt can dispute it in `disputes`,
//! which asks here whether it may ([`PaidAnswers`]). A provider one of whose answers was proven false claims nothing more of that session. Whoever was paid
//! keeps its bond as long as other work of that block can be disputed. Each claim tells `disputes` what was paid for ([`OnPaid`]), which has some of it audited.
//!
//! [`PaidAnswers`]: neuroshard_types::traits::PaidAnswers
//! [`OnPaid`]: neuroshard_types::answer_audit::OnPaid
//!
//! # Money
//! At any time, for each session and exactly:
//!
//! ```text
//! what was put on hold = what was paid + what is on hold, or was returned
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
// No float, and no cast that loses a sign or precision. Truncating ones cannot be denied: derives of the codec have some.
#![cfg_attr(
	not(any(test, feature = "runtime-benchmarks")),
	deny(clippy::cast_possible_wrap, clippy::cast_precision_loss, clippy::cast_sign_loss, clippy::float_arithmetic)
)]

extern crate alloc;

mod answers;
#[cfg(any(feature = "runtime-benchmarks", test))]
mod benchmarking;
mod errors;
mod events;
#[cfg(test)]
mod mock;
mod offers;
mod payments;
mod sessions;
#[cfg(test)]
mod tests;
mod try_state;
mod types;
pub mod weights;

#[cfg(any(feature = "runtime-benchmarks", test))]
pub use benchmarking::BenchmarkHelper;
use frame_support::pallet_macros::import_section;
pub use pallet::*;
pub use types::{Claim, Session, Standing};
pub use weights::WeightInfo;

/// Most offers that one call of the view function `offers` lists.
pub const PAGE: u32 = 100;

#[import_section(errors::errors)]
#[import_section(events::events)]
#[allow(clippy::expect_used, reason = "what the macros make has some")]
#[frame_support::pallet]
pub mod pallet {
	use crate::{Claim, Session, Standing, WeightInfo, PAGE};
	use frame_support::{
		pallet_prelude::*,
		traits::{fungible, ConstU32},
	};
	use frame_system::pallet_prelude::*;
	use neuroshard_types::{
		answer_audit::OnPaid,
		inference::{CheckpointId, ClaimView, InferenceTerms, Offer, OfferView, SessionId, SessionView, Voucher, MAX_SPANS},
		traits::{InferenceFees, ModelRevenue, Models, Providers},
		AccountId, Balance, BlockNumber, H256,
	};
	use sp_runtime::{MultiSignature, Perbill};

	const STORAGE_VERSION: StorageVersion = StorageVersion::new(1);

	/// Types that the runtime wires in.
	#[pallet::config]
	pub trait Config: frame_system::Config<AccountId = AccountId, Hash = H256, RuntimeEvent: From<Event<Self>>> {
		/// NEURO: escrows and deposits are holds on it.
		type Currency: fungible::MutateHold<AccountId, Balance = Balance, Reason = Self::RuntimeHoldReason> + fungible::Mutate<AccountId>;
		/// The runtime's hold reasons, [`HoldReason`] among them.
		type RuntimeHoldReason: From<HoldReason>;
		/// Providers, and the bonds that answer for what they offer.
		type Providers: Providers<AccountId, Balance>;
		/// Models and checkpoints that there are, and which may be used.
		type Models: Models;
		/// The owners of the models.
		type Revenue: ModelRevenue<AccountId, Balance>;
		/// Everybody else who is paid for answers.
		type Fees: InferenceFees<AccountId, Balance>;
		/// Told of answers that were paid for.
		type OnPaid: OnPaid;
		/// Part of every payment that is for the owners of the model.
		#[pallet::constant]
		type OwnersShare: Get<Perbill>;
		/// Least escrow of a new session, in planck.
		#[pallet::constant]
		type MinEscrow: Get<Balance>;
		/// Most sessions of a user that are not settled.
		#[pallet::constant]
		type MaxSessions: Get<u32>;
		/// Most providers that are paid by one prepaid session.
		#[pallet::constant]
		type MaxPayees: Get<u32>;
		/// Deposit for an offer of no bytes, in planck.
		#[pallet::constant]
		type DepositBase: Get<Balance>;
		/// Deposit for each encoded byte of an offer, and of the accounts of those who agree to it, in planck.
		#[pallet::constant]
		type DepositPerByte: Get<Balance>;
		/// Weights of the calls.
		type WeightInfo: WeightInfo;
		/// Makes providers and models for the benchmarks.
		#[cfg(any(feature = "runtime-benchmarks", test))]
		type BenchmarkHelper: crate::BenchmarkHelper;
	}

	/// See the crate's documentation.
	#[pallet::pallet]
	#[pallet::storage_version(STORAGE_VERSION)]
	pub struct Pallet<T>(_);

	/// Why this pallet holds money.
	#[pallet::composite_enum]
	pub enum HoldReason {
		/// Deposit for an offer.
		#[codec(index = 0)]
		Offer,
		/// Money that users have put aside for answers.
		#[codec(index = 1)]
		Escrow,
	}

	/// Offers of drivers, and the members that have agreed to them.
	#[pallet::storage]
	pub type Offers<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, Standing>;

	/// Identifier of the next session. Identifiers are never used again, so that no voucher is.
	#[pallet::storage]
	pub type NextSession<T: Config> = StorageValue<_, SessionId, ValueQuery>;

	/// Sessions that are not settled.
	#[pallet::storage]
	pub type Sessions<T: Config> = StorageMap<_, Twox64Concat, SessionId, Session>;

	/// Sessions of each user, in the order in which they were opened.
	#[pallet::storage]
	pub type SessionsOf<T: Config> = StorageMap<_, Blake2_128Concat, AccountId, BoundedVec<SessionId, T::MaxSessions>, ValueQuery>;

	/// Claims of providers on sessions.
	#[pallet::storage]
	pub type Claims<T: Config> = StorageDoubleMap<_, Twox64Concat, SessionId, Blake2_128Concat, AccountId, Claim>;

	/// Providers that gave a false answer in a session: they are paid nothing more of it.
	#[pallet::storage]
	pub type Condemned<T: Config> = StorageDoubleMap<_, Twox64Concat, SessionId, Blake2_128Concat, AccountId, ()>;

	/// Blocks from the end of a session until what is left may be returned: a day where genesis says nothing.
	#[pallet::storage]
	pub type CloseDelay<T: Config> = StorageValue<_, BlockNumber, ValueQuery, ConstU32<28_800>>;

	/// Durations of a preset.
	#[pallet::genesis_config]
	#[derive(frame_support::DefaultNoBound)]
	pub struct GenesisConfig<T: Config> {
		/// Blocks from the end of a session until what is left may be returned; the default of 28,800 (a day) if zero.
		pub close_delay: BlockNumber,
		/// Type marker.
		#[serde(skip)]
		pub _config: PhantomData<T>,
	}

	#[pallet::genesis_build]
	impl<T: Config> BuildGenesisConfig for GenesisConfig<T> {
		fn build(&self) {
			if self.close_delay != 0 {
				CloseDelay::<T>::put(self.close_delay);
			}
		}
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
		/// Offers to answer with a checkpoint of a run, in place of what the caller, an active driver, has offered before. Holds the deposit that the view
		/// function `deposit_for` shows, and keeps the caller's bond from being withdrawn until the offer is.
		///
		/// The offer is ready at once if the caller is the whole ring. Else every other member of the ring has to agree to it with `join`, also those who
		/// agreed to the offer before.
		///
		/// # Errors
		/// `NotDriver`, `NotServed`, `UnknownCheckpoint`, `BadEndpoint`, `BadSpan`, `SameAccountTwice`, `BadRedundancy`, `MemberNotActive`,
		/// `OfferUnchanged`, `OtherModel`; those of the currency, if the caller has less than the deposit.
		#[pallet::call_index(0)]
		#[pallet::weight(T::WeightInfo::offer(MAX_SPANS))]
		pub fn offer(origin: OriginFor<T>, offer: Offer) -> DispatchResultWithPostInfo {
			let driver = T::Providers::acts_for(ensure_signed(origin)?);
			let members = Self::do_offer(driver, offer)?;
			Ok(Some(T::WeightInfo::offer(members)).into())
		}

		/// Agrees to the offer of `driver` with this hash, in whose ring the caller is. Keeps the caller's bond from being withdrawn until it leaves, or the
		/// offer is withdrawn or replaced.
		///
		/// # Errors
		/// `NoOffer`, `OfferChanged`, `NotMember`, `MemberNotActive`, `AlreadyJoined`.
		#[pallet::call_index(1)]
		#[pallet::weight(T::WeightInfo::join())]
		pub fn join(origin: OriginFor<T>, driver: AccountId, offer_hash: H256) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_join(who, driver, offer_hash)
		}

		/// Agrees no more to the offer of `driver`: no session begins with it before the caller joins again, or the driver offers something else. Sessions
		/// under way are paid as before.
		///
		/// # Errors
		/// `NoOffer`, `NotJoined`.
		#[pallet::call_index(2)]
		#[pallet::weight(T::WeightInfo::leave())]
		pub fn leave(origin: OriginFor<T>, driver: AccountId) -> DispatchResult {
			let who = T::Providers::acts_for(ensure_signed(origin)?);
			Self::do_leave(who, driver)
		}

		/// Ends the caller's offer and returns its deposit. Vouchers of prepaid sessions have to be claimed before.
		///
		/// # Errors
		/// `NoOffer`, `SessionsOpen`.
		#[pallet::call_index(3)]
		#[pallet::weight(T::WeightInfo::withdraw_offer(MAX_SPANS))]
		pub fn withdraw_offer(origin: OriginFor<T>) -> DispatchResultWithPostInfo {
			let driver = T::Providers::acts_for(ensure_signed(origin)?);
			let members = Self::do_withdraw_offer(driver)?;
			Ok(Some(T::WeightInfo::withdraw_offer(members)).into())
		}

		/// Puts `escrow` planck of the caller aside for answers: of `provider`, whose offer has to be ready, or of everybody whom the caller gives vouchers if
		/// there is none. The session gets the next identifier.
		///
		/// # Errors
		/// `EscrowTooSmall`, `TooManySessions`; `NoOffer`, `NotReady`, `NotServed` and `ProviderNotActive`; those of the currency, if the caller has
		/// less, or would not keep the existential deposit.
		#[pallet::call_index(4)]
		#[pallet::weight(T::WeightInfo::open_session())]
		pub fn open_session(origin: OriginFor<T>, provider: Option<AccountId>, escrow: Balance) -> DispatchResult {
			let user = ensure_signed(origin)?;
			Self::do_open(user, provider, escrow)
		}

		/// Puts `amount` planck more aside for a session of the caller that is open.
		///
		/// # Errors
		/// `UnknownSession`, `NotUser`, `SessionClosing`, `ZeroAmount`; those of the currency, if the caller has less, or would not keep the existential
		/// deposit.
		#[pallet::call_index(5)]
		#[pallet::weight(T::WeightInfo::top_up())]
		pub fn top_up(origin: OriginFor<T>, session: SessionId, amount: Balance) -> DispatchResult {
			let user = ensure_signed(origin)?;
			Self::do_top_up(user, session, amount)
		}

		/// Pays what the voucher says beyond what the caller has claimed of the session before, or what the escrow has if that is less: to the owners of the
		/// model, the caller, its ring, validators and treasury. The signature is that of the session's user over the bytes of [`Voucher::message`], as they
		/// are or wrapped. An operator claims for its provider.
		///
		/// # Errors
		/// `UnknownSession`, `WrongSession`, `NotPayee`, `NoOffer`, `NotServed`, `StaleVoucher`, `BadSignature`, `EmptyEscrow`; `NotReady` and `TooManyPayees`
		/// at the first claim of a prepaid session.
		#[pallet::call_index(6)]
		#[pallet::weight(T::WeightInfo::claim(MAX_SPANS))]
		pub fn claim(origin: OriginFor<T>, session: SessionId, voucher: Voucher, signature: MultiSignature) -> DispatchResultWithPostInfo {
			let provider = T::Providers::acts_for(ensure_signed(origin)?);
			let spans = Self::do_claim(provider, session, voucher, &signature)?;
			Ok(Some(T::WeightInfo::claim(spans)).into())
		}

		/// Ends a session of the caller, or with the caller. Providers may claim as before until it is settled, which anybody may do after a delay.
		///
		/// # Errors
		/// `UnknownSession`, `NotParty`, `SessionClosing`.
		#[pallet::call_index(7)]
		#[pallet::weight(T::WeightInfo::close_session())]
		pub fn close_session(origin: OriginFor<T>, session: SessionId) -> DispatchResult {
			let who = ensure_signed(origin)?;
			Self::do_close(who, session)
		}

		/// Returns what is left of a session to its user, and forgets it, when the delay after its end is over. Anybody may.
		///
		/// # Errors
		/// `UnknownSession`, `SessionOpen`, `TooEarly`.
		#[pallet::call_index(8)]
		#[pallet::weight(T::WeightInfo::settle(T::MaxPayees::get()))]
		pub fn settle(origin: OriginFor<T>, session: SessionId) -> DispatchResultWithPostInfo {
			ensure_signed(origin)?;
			let payees = Self::do_settle(session)?;
			Ok(Some(T::WeightInfo::settle(payees)).into())
		}
	}

	#[pallet::view_functions]
	impl<T: Config> Pallet<T> {
		/// The number that the next session will have: those below it were given.
		pub fn next_session() -> SessionId {
			NextSession::<T>::get()
		}

		/// What `driver` offers; `None` if nothing.
		pub fn offer_of(driver: AccountId) -> Option<OfferView> {
			Some(Offers::<T>::get(&driver)?.shown(driver))
		}

		/// Offers, ready or not, in no order of meaning; at most [`PAGE`] of them. Pass the driver of the last one of a page to get the next page.
		pub fn offers(after: Option<AccountId>) -> BoundedVec<OfferView, ConstU32<PAGE>> {
			let entries = match after {
				None => Offers::<T>::iter(),
				Some(last) => Offers::<T>::iter_from(Offers::<T>::hashed_key_for(last)),
			};
			let limit = usize::try_from(PAGE).unwrap_or(usize::MAX);
			BoundedVec::truncate_from(entries.take(limit).map(|(driver, standing)| standing.shown(driver)).collect())
		}

		/// Session `id`; `None` if it was settled, or never opened.
		pub fn session(id: SessionId) -> Option<SessionView> {
			Sessions::<T>::get(id).map(SessionView::from)
		}

		/// Sessions of `user` that are not settled, in the order in which they were opened.
		pub fn sessions_of(user: AccountId) -> BoundedVec<SessionId, T::MaxSessions> {
			SessionsOf::<T>::get(user)
		}

		/// What `provider` has claimed of a session; all zeros if nothing.
		pub fn claimed(session: SessionId, provider: AccountId) -> ClaimView {
			Claims::<T>::get(session, provider).unwrap_or_default().into()
		}

		/// Deposit for `offer` of `driver`, in planck.
		pub fn deposit_for(driver: AccountId, offer: Offer) -> Balance {
			Self::deposit(&driver, &offer)
		}

		/// What sessions are bound by.
		pub fn terms() -> InferenceTerms {
			InferenceTerms {
				min_escrow: T::MinEscrow::get(),
				max_sessions: T::MaxSessions::get(),
				max_payees: T::MaxPayees::get(),
				close_delay: CloseDelay::<T>::get(),
				owners_share: T::OwnersShare::get(),
			}
		}
	}
}
