//! Payments: a voucher becomes money.
//!
//! A voucher is cumulative: it says what a user owes a provider for all answers of a session so far. So the chain pays the difference to what it
//! has paid before, the last voucher is the only one that has to be claimed, and none is paid twice. If the escrow has less, that is paid, and no
//! more than that counts as paid: once the user has topped up the escrow, the same voucher pays the rest.
//!
//! # Where the money goes
//! A part for the owners of the model, rounded down, which goes the way of the rest if no share of the model earns; and the rest to the driver,
//! to those who compute layers, to validators and treasury, as a fee of inference (see [`InferenceFees`]). The money leaves the hold first. Both
//! ways leave the existential deposit to the user, which is there: while something is on hold, the account cannot be without it.

use crate::{Claim, Claims, Condemned, Config, Error, Event, HoldReason, Offers, Pallet, Sessions, Standing};
use alloc::vec::Vec;
use frame_support::{ensure, storage::with_storage_layer, traits::Get};
use frame_system::pallet_prelude::BlockNumberFor;
use neuroshard_types::{
	answer_audit::{OnPaid, PaidAnswersOf},
	inference::{SessionId, Voucher},
	traits::{InferenceFees, ModelRevenue, Models, Providers},
	AccountId, Balance,
};
use sp_runtime::{traits::Zero, ArithmeticError, DispatchError, MultiSignature};

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::claim`]. Returns how many spans the ring has.
	pub(crate) fn do_claim(provider: AccountId, id: SessionId, voucher: Voucher, signature: &MultiSignature) -> Result<u32, DispatchError> {
		let mut session = Self::known(id)?;
		ensure!(voucher.session == id, Error::<T>::WrongSession);
		let is_payee = voucher.provider == provider && session.provider.as_ref().is_none_or(|one| *one == provider);
		ensure!(is_payee, Error::<T>::NotPayee);
		ensure!(!Condemned::<T>::contains_key(id, &provider), Error::<T>::AnswerCondemned);
		let standing = Offers::<T>::get(&provider).ok_or(Error::<T>::NoOffer)?;
		ensure!(T::Models::may_serve(standing.offer.checkpoint.run), Error::<T>::NotServed);
		let claim = match Claims::<T>::get(id, &provider) {
			Some(claim) => claim,
			None => {
				// Later, members that leave keep nobody from being paid. With one provider, the offer was ready when the session began.
				ensure!(session.provider.is_some() || standing.is_ready(&provider), Error::<T>::NotReady);
				ensure!(session.payees < T::MaxPayees::get(), Error::<T>::TooManyPayees);
				session.payees = session.payees.saturating_add(1);
				Claim::default()
			}
		};
		ensure!(claim.is_followed_by(&voucher), Error::<T>::StaleVoucher);
		let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
		ensure!(voucher.is_signed(genesis, &session.user, signature), Error::<T>::BadSignature);

		let due = voucher.amount.checked_sub(claim.paid).ok_or(Error::<T>::StaleVoucher)?;
		let amount = due.min(session.escrow);
		ensure!(amount > 0, Error::<T>::EmptyEscrow);
		let owners = Self::pay(&session.user, &provider, &standing, amount)?;
		session.escrow = session.escrow.checked_sub(amount).ok_or(ArithmeticError::Underflow)?;
		session.paid = session.paid.checked_add(amount).ok_or(ArithmeticError::Overflow)?;
		let Voucher { amount: owed, answers, receipts, .. } = voucher;
		let paid = claim.paid.checked_add(amount).ok_or(ArithmeticError::Overflow)?;
		Claims::<T>::insert(id, &provider, Claim { paid, owed, answers, receipts });
		Sessions::<T>::insert(id, session);

		// Those who have not agreed are not bound by a driver that names them.
		standing.consents.iter().chain([&provider]).for_each(T::Providers::note_disputable);
		let (before, checkpoint) = (claim.answers, standing.offer.checkpoint);
		let told = PaidAnswersOf { session: id, provider: provider.clone(), before, answers, receipts, checkpoint, paid: amount };
		T::OnPaid::paid(told);
		let missing = due.saturating_sub(amount);
		Self::deposit_event(Event::Claimed { session: id, provider, amount, missing, owners, answers, receipts });
		Ok(Self::count(standing.offer.ring.len()))
	}

	/// Pays `amount` of the escrow of `user`. Returns what of it is for the owners of the model.
	fn pay(user: &AccountId, driver: &AccountId, standing: &Standing, amount: Balance) -> Result<Balance, DispatchError> {
		Self::release(HoldReason::Escrow, user, amount)?;
		let share = T::OwnersShare::get().mul_floor(amount);
		let deposited = share > 0 && with_storage_layer(|| T::Revenue::deposit(user, standing.offer.checkpoint.run, share)).is_ok();
		let owners = if deposited { share } else { 0 };
		let rest = amount.saturating_sub(owners);
		if rest > 0 {
			let workers: Vec<(AccountId, u32)> = standing.offer.ring.iter().map(|span| (span.who.clone(), span.layers.into())).collect();
			T::Fees::pay_fee(user, rest, driver, &workers)?;
		}
		Ok(owners)
	}
}
