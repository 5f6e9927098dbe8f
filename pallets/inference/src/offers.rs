//! Offers: what a driver answers with, and the ring that agrees to compute it.
//!
//! Who has an offer, and who has agreed to one, has a claim open at its bond: nothing of the bond is withdrawn before the offer is, or the member
//! leaves. A driver cannot bind others: those that it names in its ring do nothing, and lose nothing, before they join; and who joins names the
//! hash, so that the offer cannot be another one when the call gets into a block.

use crate::{Config, Error, Event, HoldReason, Offers, Pallet, Standing};
use codec::Encode;
use frame_support::{ensure, traits::Get};
use neuroshard_types::{
	inference::{Offer, RingProblem},
	provider::Role,
	traits::{Models, Providers},
	AccountId, Balance, H256,
};
use sp_runtime::{DispatchError, DispatchResult};

/// Bytes of an account.
const ACCOUNT: usize = 32;

impl<T> From<RingProblem> for Error<T> {
	fn from(problem: RingProblem) -> Self {
		match problem {
			RingProblem::Span => Self::BadSpan,
			RingProblem::Twice => Self::SameAccountTwice,
			RingProblem::Redundancy => Self::BadRedundancy,
		}
	}
}

impl<T: Config> Pallet<T> {
	/// Deposit for an offer of `driver`, in planck: for its bytes, and the room for the consents of its members.
	pub(crate) fn deposit(driver: &AccountId, offer: &Offer) -> Balance {
		let consents = offer.members(driver).len().saturating_mul(ACCOUNT);
		let bytes = Balance::try_from(offer.encoded_size().saturating_add(consents)).unwrap_or(Balance::MAX);
		T::DepositBase::get().saturating_add(T::DepositPerByte::get().saturating_mul(bytes))
	}

	/// Returns whether `who` is an active provider that computes layers.
	fn computes(who: &AccountId) -> bool {
		T::Providers::is_active(who, Role::Worker) || T::Providers::is_active(who, Role::Predictor)
	}

	fn ensure_fit(driver: &AccountId, offer: &Offer) -> DispatchResult {
		let checkpoint = offer.checkpoint;
		ensure!(T::Models::may_serve(checkpoint.run), Error::<T>::NotServed);
		ensure!(T::Models::is_checkpoint(checkpoint.run, checkpoint.round, checkpoint.root), Error::<T>::UnknownCheckpoint);
		ensure!(!offer.endpoint.is_empty() && core::str::from_utf8(&offer.endpoint).is_ok(), Error::<T>::BadEndpoint);
		let layers = T::Models::layers(checkpoint.run).ok_or(Error::<T>::NotServed)?;
		if let Some(problem) = offer.ring_problem(layers) {
			return Err(Error::<T>::from(problem).into());
		}
		ensure!(offer.members(driver).iter().all(Self::computes), Error::<T>::MemberNotActive);
		Ok(())
	}

	/// See [`crate::Call::offer`]. Returns how many members were looked at, of this offer or of the one before.
	pub(crate) fn do_offer(driver: AccountId, offer: Offer) -> Result<u32, DispatchError> {
		ensure!(T::Providers::is_active(&driver, Role::Driver), Error::<T>::NotDriver);
		Self::ensure_fit(&driver, &offer)?;
		let (hash, deposit, checkpoint) = (offer.hash(&driver), Self::deposit(&driver, &offer), offer.checkpoint);
		let mut members = offer.members(&driver).len();
		let mut sessions = 0;
		match Offers::<T>::get(&driver) {
			None => {
				Self::hold(HoldReason::Offer, &driver, deposit)?;
				T::Providers::open_claim(&driver)?;
			}
			Some(before) => {
				ensure!(before.hash != hash, Error::<T>::OfferUnchanged);
				// What a session pays goes to the owners of the model that is offered: it stays the one that users saw.
				ensure!(before.sessions == 0 || before.offer.checkpoint.run == checkpoint.run, Error::<T>::OtherModel);
				if deposit > before.deposit {
					Self::hold(HoldReason::Offer, &driver, deposit.saturating_sub(before.deposit))?;
				} else {
					Self::release(HoldReason::Offer, &driver, before.deposit.saturating_sub(deposit))?;
				}
				before.consents.iter().for_each(T::Providers::close_claim);
				(members, sessions) = (members.max(before.consents.len()), before.sessions);
			}
		}
		Offers::<T>::insert(&driver, Standing { offer, hash, consents: Default::default(), sessions, deposit });
		Self::deposit_event(Event::Offered { driver, checkpoint, hash, deposit });
		Ok(Self::count(members))
	}

	/// See [`crate::Call::join`].
	pub(crate) fn do_join(who: AccountId, driver: AccountId, hash: H256) -> DispatchResult {
		let mut standing = Offers::<T>::get(&driver).ok_or(Error::<T>::NoOffer)?;
		ensure!(standing.hash == hash, Error::<T>::OfferChanged);
		ensure!(standing.offer.members(&driver).contains(&who), Error::<T>::NotMember);
		ensure!(Self::computes(&who), Error::<T>::MemberNotActive);
		// There is room for all members.
		ensure!(standing.consents.try_insert(who.clone()).map_err(|_| Error::<T>::NotMember)?, Error::<T>::AlreadyJoined);
		T::Providers::open_claim(&who)?;
		let ready = standing.is_ready(&driver);
		Offers::<T>::insert(&driver, standing);
		Self::deposit_event(Event::Joined { driver, who, ready });
		Ok(())
	}

	/// See [`crate::Call::leave`].
	pub(crate) fn do_leave(who: AccountId, driver: AccountId) -> DispatchResult {
		let mut standing = Offers::<T>::get(&driver).ok_or(Error::<T>::NoOffer)?;
		ensure!(standing.consents.remove(&who), Error::<T>::NotJoined);
		T::Providers::close_claim(&who);
		Offers::<T>::insert(&driver, standing);
		Self::deposit_event(Event::Left { driver, who });
		Ok(())
	}

	/// See [`crate::Call::withdraw_offer`]. Returns how many members had agreed.
	pub(crate) fn do_withdraw_offer(driver: AccountId) -> Result<u32, DispatchError> {
		let standing = Offers::<T>::take(&driver).ok_or(Error::<T>::NoOffer)?;
		ensure!(standing.sessions == 0, Error::<T>::SessionsOpen);
		Self::release(HoldReason::Offer, &driver, standing.deposit)?;
		standing.consents.iter().for_each(T::Providers::close_claim);
		T::Providers::close_claim(&driver);
		Self::deposit_event(Event::OfferWithdrawn { driver });
		Ok(Self::count(standing.consents.len()))
	}

	/// The offer of `driver`, if it may take on somebody who pays: all members of its ring have agreed, and the model may be used.
	pub(crate) fn ready(driver: &AccountId) -> Result<Standing, DispatchError> {
		let standing = Offers::<T>::get(driver).ok_or(Error::<T>::NoOffer)?;
		ensure!(standing.is_ready(driver), Error::<T>::NotReady);
		ensure!(T::Models::may_serve(standing.offer.checkpoint.run), Error::<T>::NotServed);
		Ok(standing)
	}
}
