//! Sessions: money that a user puts aside for answers, until it is paid or returned.

use crate::{Claims, CloseDelay, Condemned, Config, Error, Event, HoldReason, NextSession, Offers, Pallet, Session, Sessions, SessionsOf};
use frame_support::{
	ensure,
	traits::{
		fungible::{InspectHold, MutateHold},
		tokens::Precision,
		Get,
	},
};
use neuroshard_types::{inference::SessionId, provider::Role, traits::Providers, AccountId, Balance, BlockNumber};
use sp_runtime::{ArithmeticError, DispatchError, DispatchResult, SaturatedConversion};

impl<T: Config> Pallet<T> {
	pub(crate) fn now() -> BlockNumber {
		frame_system::Pallet::<T>::block_number().saturated_into()
	}

	/// A length that is bounded by far less.
	pub(crate) fn count(length: usize) -> u32 {
		u32::try_from(length).unwrap_or(u32::MAX)
	}

	pub(crate) fn hold(reason: HoldReason, who: &AccountId, amount: Balance) -> DispatchResult {
		T::Currency::hold(&reason.into(), who, amount)
	}

	/// Gives `amount` of what is on hold back, which may be nothing.
	pub(crate) fn release(reason: HoldReason, who: &AccountId, amount: Balance) -> DispatchResult {
		if amount == 0 {
			return Ok(());
		}
		T::Currency::release(&reason.into(), who, amount, Precision::Exact).map(|_| ())
	}

	pub(crate) fn held(reason: HoldReason, who: &AccountId) -> Balance {
		T::Currency::balance_on_hold(&reason.into(), who)
	}

	pub(crate) fn known(id: SessionId) -> Result<Session, Error<T>> {
		Sessions::<T>::get(id).ok_or(Error::<T>::UnknownSession)
	}

	/// See [`crate::Call::open_session`].
	pub(crate) fn do_open(user: AccountId, provider: Option<AccountId>, escrow: Balance) -> DispatchResult {
		ensure!(escrow >= T::MinEscrow::get(), Error::<T>::EscrowTooSmall);
		if let Some(driver) = &provider {
			let mut standing = Self::ready(driver)?;
			// Who is chilled takes on nobody.
			ensure!(T::Providers::is_active(driver, Role::Driver), Error::<T>::ProviderNotActive);
			standing.sessions = standing.sessions.checked_add(1).ok_or(ArithmeticError::Overflow)?;
			Offers::<T>::insert(driver, standing);
		}
		let session = NextSession::<T>::get();
		NextSession::<T>::put(session.checked_add(1).ok_or(ArithmeticError::Overflow)?);
		SessionsOf::<T>::try_mutate(&user, |sessions| sessions.try_push(session)).map_err(|_| Error::<T>::TooManySessions)?;
		Self::hold(HoldReason::Escrow, &user, escrow)?;
		let opened = Session { user: user.clone(), provider: provider.clone(), escrow, paid: 0, payees: 0, closes_at: None };
		Sessions::<T>::insert(session, opened);
		Self::deposit_event(Event::SessionOpened { session, user, provider, escrow });
		Ok(())
	}

	/// See [`crate::Call::top_up`].
	pub(crate) fn do_top_up(user: AccountId, id: SessionId, amount: Balance) -> DispatchResult {
		let mut session = Self::known(id)?;
		ensure!(session.user == user, Error::<T>::NotUser);
		ensure!(session.closes_at.is_none(), Error::<T>::SessionClosing);
		ensure!(amount > 0, Error::<T>::ZeroAmount);
		Self::hold(HoldReason::Escrow, &user, amount)?;
		session.escrow = session.escrow.checked_add(amount).ok_or(ArithmeticError::Overflow)?;
		let escrow = session.escrow;
		Sessions::<T>::insert(id, session);
		Self::deposit_event(Event::ToppedUp { session: id, amount, escrow });
		Ok(())
	}

	/// See [`crate::Call::close_session`].
	pub(crate) fn do_close(who: AccountId, id: SessionId) -> DispatchResult {
		let mut session = Self::known(id)?;
		let is_user = session.user == who;
		// An operator closes what its owner provides, and not what its owner pays for.
		ensure!(is_user || session.provider == Some(T::Providers::acts_for(who)), Error::<T>::NotParty);
		ensure!(session.closes_at.is_none(), Error::<T>::SessionClosing);
		let closes_at = Self::now().saturating_add(CloseDelay::<T>::get());
		session.closes_at = Some(closes_at);
		Sessions::<T>::insert(id, session);
		Self::deposit_event(Event::SessionClosed { session: id, closes_at });
		Ok(())
	}

	/// See [`crate::Call::settle`]. Returns how many providers had claimed.
	pub(crate) fn do_settle(id: SessionId) -> Result<u32, DispatchError> {
		let Session { user, provider, escrow, paid, payees, closes_at } = Self::known(id)?;
		ensure!(closes_at.ok_or(Error::<T>::SessionOpen)? <= Self::now(), Error::<T>::TooEarly);
		Self::release(HoldReason::Escrow, &user, escrow)?;
		if let Some(driver) = &provider {
			Offers::<T>::mutate_extant(driver, |standing| standing.sessions = standing.sessions.saturating_sub(1));
		}
		SessionsOf::<T>::mutate_exists(&user, |entry| {
			if let Some(sessions) = entry {
				sessions.retain(|session| *session != id);
				if sessions.is_empty() {
					*entry = None;
				}
			}
		});
		// No more than the limit of payees.
		let _ = Claims::<T>::clear_prefix(id, payees, None);
		// They were paid, or the session is with one.
		let _ = Condemned::<T>::clear_prefix(id, payees.max(1), None);
		Sessions::<T>::remove(id);
		Self::deposit_event(Event::SessionSettled { session: id, user, returned: escrow, paid });
		Ok(payees)
	}
}
