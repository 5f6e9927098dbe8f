//! Invariants of the storage.

use crate::{Claims, Condemned, Config, HoldReason, NextSession, Offers, Pallet, Session, Sessions, SessionsOf};
use alloc::{
	collections::{BTreeMap, BTreeSet},
	vec::Vec,
};
use frame_support::{ensure, traits::Get};
use neuroshard_types::{inference::SessionId, AccountId, Balance};
use sp_runtime::TryRuntimeError;

impl<T: Config> Pallet<T> {
	/// Checks every invariant of this pallet's storage and names the first that is broken.
	///
	/// - Only answers of providers whom a session pays are condemned in it.
	/// - Sessions are older than the next identifier, and are listed for their user, each once.
	/// - What is on hold of a user is what its sessions have.
	/// - What a session has paid is what its providers have claimed, who are no more than allowed, and only its provider if it has one.
	/// - An offer has its hash and its deposit, members of its ring have agreed to it, and it counts the sessions with its driver. Every session
	///   with a provider is with one that has an offer.
	pub fn do_try_state() -> Result<(), TryRuntimeError> {
		let mut escrows = BTreeMap::<AccountId, Balance>::new();
		let mut listed = BTreeMap::<AccountId, BTreeSet<SessionId>>::new();
		let mut with = BTreeMap::<AccountId, u32>::new();
		let next = NextSession::<T>::get();
		for (id, session) in Sessions::<T>::iter() {
			ensure!(id < next, "a session has a number that was not given yet");
			Self::try_claims(id, &session)?;
			let sum = escrows.entry(session.user.clone()).or_default();
			*sum = sum.checked_add(session.escrow).ok_or("escrows exceed what there can be")?;
			listed.entry(session.user).or_default().insert(id);
			if let Some(driver) = session.provider {
				let count = with.entry(driver).or_default();
				*count = count.saturating_add(1);
			}
		}
		for (id, provider) in Condemned::<T>::iter_keys() {
			let session = Sessions::<T>::get(id).ok_or("an answer in an unknown session is condemned")?;
			ensure!(Self::answers_in(id, &session, &provider), "an answer of somebody is condemned whom the session does not pay");
		}
		ensure!(Claims::<T>::iter_keys().all(|(id, _)| Sessions::<T>::contains_key(id)), "a claim of an unknown session");
		for (who, sum) in &escrows {
			ensure!(Self::held(HoldReason::Escrow, who) == *sum, "what is on hold of a user is not what its sessions have");
		}
		for (who, sessions) in SessionsOf::<T>::iter() {
			let known = listed.remove(&who).unwrap_or_default();
			ensure!(
				sessions.len() == known.len() && sessions.iter().all(|id| known.contains(id)),
				"the list of a user's sessions is wrong"
			);
			ensure!(!sessions.is_empty(), "an empty list of sessions is stored");
		}
		ensure!(listed.is_empty(), "a session is not listed for its user");
		Self::try_offers(&mut with)?;
		ensure!(with.is_empty(), "a session with a driver that offers nothing");
		Ok(())
	}

	fn try_claims(id: SessionId, session: &Session) -> Result<(), TryRuntimeError> {
		let claims: Vec<_> = Claims::<T>::iter_prefix(id).collect();
		ensure!(
			Self::count(claims.len()) == session.payees && session.payees <= T::MaxPayees::get(),
			"providers of a session are miscounted"
		);
		let sum = claims.iter().try_fold(0, |sum: Balance, (_, claim)| sum.checked_add(claim.paid));
		ensure!(sum == Some(session.paid), "what a session has paid is not what was claimed of it");
		for (who, claim) in &claims {
			ensure!(session.provider.as_ref().is_none_or(|one| one == who), "a session has paid somebody else than its provider");
			ensure!(0 < claim.paid && claim.paid <= claim.owed && claim.answers > 0, "a claim is of more than was owed, or of nothing");
		}
		Ok(())
	}

	/// Takes the drivers out that have offers.
	fn try_offers(with: &mut BTreeMap<AccountId, u32>) -> Result<(), TryRuntimeError> {
		for (driver, standing) in Offers::<T>::iter() {
			ensure!(standing.hash == standing.offer.hash(&driver), "an offer has another hash");
			ensure!(standing.deposit == Self::held(HoldReason::Offer, &driver), "the deposit of an offer is not what is on hold");
			ensure!(standing.deposit == Self::deposit(&driver, &standing.offer), "the deposit of an offer is not what it needs");
			let members = standing.offer.members(&driver);
			ensure!(standing.consents.iter().all(|who| members.contains(who)), "somebody has agreed who is not in the ring");
			ensure!(standing.sessions == with.remove(&driver).unwrap_or_default(), "sessions with a driver are miscounted");
		}
		Ok(())
	}
}
