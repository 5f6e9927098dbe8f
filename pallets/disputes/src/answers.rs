//! Answers as claims: a provider's signed receipt says that the model of a run gives these tokens.
//!
//! The chain knows nothing of an answer before it is disputed: whoever has the receipt brings it. It is kept while games about it are open, with the
//! run's configuration, so that no run that is removed ends a game. What tokens mean is not for the receipt to say.
//!
//! An answer can be disputed until its session is settled: so its user decides how long, and its provider can end a session, but not before the delay
//! in which everybody is paid. One that was drawn for an audit can be disputed as long as that is open, also when its session is settled. One false answer is
//! enough: after it, the provider is paid nothing more of that session, and no other answer in it is disputed anew.

use crate::{
	settlement::Loss, AnswerAudit, AnswerAudits, AuditorOfAnswer, Config, DisputedAnswers, Dockets, Error, Event, Fallen, Games, Pallet,
};
use frame_support::ensure;
use frame_system::pallet_prelude::BlockNumberFor;
use neuroshard_graph::game::open_answer;
use neuroshard_types::{
	answer_audit::AnswerId,
	dispute::{AnswerClaim, ClaimId, ClaimKind, Claims, Decision},
	grounds::Grounds,
	inference::{Receipt, SessionId},
	proof::ProofSignature,
	traits::{PaidAnswers, Providers},
	AccountId,
};
use sp_runtime::{traits::Zero, DispatchError};

impl<T: Config> Pallet<T> {
	/// See [`crate::Call::challenge_answer`]. Returns whether the answer has fallen at once.
	pub(crate) fn do_challenge_answer(
		payer: AccountId,
		receipt: Receipt,
		signature: &ProofSignature,
		doubt: u32,
	) -> Result<bool, DispatchError> {
		let challenger = T::Providers::acts_for(payer.clone());
		let genesis = frame_system::Pallet::<T>::block_hash(BlockNumberFor::<T>::zero());
		// What the answer is judged by is all in what was signed: nobody else says which model it is of.
		let claim = receipt.claim(genesis).ok_or(Error::<T>::NotSigned)?;
		let (session, place) = receipt.paid.ok_or(Error::<T>::NoSuchAnswer)?;
		ensure!(claim.who != challenger, Error::<T>::OwnClaim);
		ensure!(!Self::is_session_condemned(session, &claim.who), Error::<T>::Condemned);
		// Whatever was signed for the place that was drawn is the provider's word, whether it was paid for it or for something else.
		let audit = Self::open_answer_audit(&AnswerId { session, provider: claim.who.clone(), place });
		ensure!(audit.is_some() || T::PaidAnswers::can_dispute(session, &claim.who), Error::<T>::NoSuchAnswer);
		ensure!(!Games::<T>::contains_key(&claim, &challenger), Error::<T>::AlreadyOpen);
		let key = T::Providers::ponw_key(&claim.who).ok_or(Error::<T>::NotSigned)?;
		ensure!(receipt.is_signed(genesis, key, signature), Error::<T>::NotSigned);
		if receipt.sampling.validate().is_err() {
			Self::fall(claim, challenger, session);
			return Ok(true);
		}
		let config = T::Claims::config(claim.run).ok_or(Error::<T>::NoSuchAnswer)?;
		let answer = AnswerClaim { config, receipt };
		DisputedAnswers::<T>::insert(&claim, &answer);
		if let Some(audit) = audit.filter(|audit| audit.auditor == challenger) {
			Self::note_disputed(AnswerId { session, provider: claim.who.clone(), place }, audit, &claim);
		}
		let grounds = Grounds::Answer { round: claim.round, claim: answer };
		let position = grounds.judge(|setting| open_answer(setting, doubt)).map_err(Error::<T>::from)?;
		Self::open(claim, challenger, payer, None, position, &grounds)?;
		Ok(false)
	}

	/// An answer is false by what was signed alone: `challenger` has nothing to prove, and nothing to lose.
	fn fall(claim: ClaimId, challenger: AccountId, session: SessionId) {
		let Loss { rewarded, receiver, burned } = Self::slash(&claim.who, &challenger);
		Self::condemn_session(session, &claim.who);
		Self::condemn(&claim, &claim.who);
		if Dockets::<T>::contains_key(&claim) {
			Fallen::<T>::insert(&claim, ());
		}
		let defender = claim.who.clone();
		Self::deposit_event(Event::Decided {
			claim,
			challenger,
			defender,
			decision: Decision::Fraud,
			slashed: rewarded.saturating_add(burned),
			rewarded,
			receiver,
			burned,
			extrinsics: 1,
			witness_bytes: 0,
			blocks: 0,
		});
	}

	/// Notes that who was drawn for a place disputes this answer in it. Of several receipts that a provider has signed for one place, that counts for one: else an
	/// accomplice of a liar could fill the room of all its auditors, drawn once.
	fn note_disputed(answer: AnswerId, mut audit: AnswerAudit, claim: &ClaimId) {
		let ClaimKind::Answer(receipt) = claim.kind else { return };
		if *audit.disputed.get_or_insert(receipt) == receipt {
			AuditorOfAnswer::<T>::insert(claim, &audit.auditor);
			AnswerAudits::<T>::insert(answer, audit);
		}
	}

	/// Returns the account that was drawn to audit a disputed answer.
	pub(crate) fn auditor_of_answer(claim: &ClaimId) -> Option<AccountId> {
		AuditorOfAnswer::<T>::get(claim)
	}

	fn session_of(claim: &ClaimId) -> Option<SessionId> {
		DisputedAnswers::<T>::get(claim)?.receipt.paid.map(|(session, _)| session)
	}

	/// Returns whether an answer of the provider was proven false in the session of the disputed answer `claim`.
	pub(crate) fn is_answer_condemned(claim: &ClaimId) -> bool {
		Self::session_of(claim).is_some_and(|session| Self::is_session_condemned(session, &claim.who))
	}

	/// An answer was proven false, or not defended. Does nothing for another claim.
	pub(crate) fn condemn_answer(claim: &ClaimId) {
		if let Some(session) = Self::session_of(claim) {
			Self::condemn_session(session, &claim.who);
		}
	}

	/// Forgets a receipt about which no game is open.
	pub(crate) fn forget_answer(claim: &ClaimId) {
		if matches!(claim.kind, ClaimKind::Answer(_)) && !Dockets::<T>::contains_key(claim) {
			DisputedAnswers::<T>::remove(claim);
			AuditorOfAnswer::<T>::remove(claim);
		}
	}
}
