//! Answers that can be disputed, and what a false one costs here.

use crate::{Claims, Condemned, Config, Event, Pallet, Session, Sessions};
use neuroshard_types::{inference::SessionId, traits::PaidAnswers, AccountId};

impl<T: Config> Pallet<T> {
	/// Returns whether `provider` answers in this session, as far as the chain knows: it is the one that the session is with, or was paid out of it.
	pub(crate) fn answers_in(id: SessionId, session: &Session, provider: &AccountId) -> bool {
		session.provider.as_ref() == Some(provider) || Claims::<T>::contains_key(id, provider)
	}
}

impl<T: Config> PaidAnswers<AccountId> for Pallet<T> {
	fn can_dispute(id: SessionId, provider: &AccountId) -> bool {
		Sessions::<T>::get(id).is_some_and(|session| Self::answers_in(id, &session, provider))
	}

	fn is_condemned(id: SessionId, provider: &AccountId) -> bool {
		Condemned::<T>::contains_key(id, provider)
	}

	fn condemn(id: SessionId, provider: &AccountId) {
		if !Self::can_dispute(id, provider) || Condemned::<T>::contains_key(id, provider) {
			return;
		}
		Condemned::<T>::insert(id, provider, ());
		Self::deposit_event(Event::AnswerCondemned { session: id, provider: provider.clone() });
	}
}
