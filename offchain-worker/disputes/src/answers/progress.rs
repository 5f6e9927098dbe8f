//! Progress of disputes about answers.

use neuroshard_chain_client::{Neuro, Verdict};
use neuroshard_types::{
	dispute::{ClaimId, Decision},
	inference::SessionId,
	AccountId, BlockNumber,
};
use std::fmt;

/// State of a dispute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
	/// It goes on.
	Open {
		/// True if this account has to move.
		ours: bool,
		/// Last block for the move.
		deadline: BlockNumber,
	},
	/// It has ended; how, if that was seen.
	Ended(Option<Box<Verdict>>),
}

/// A dispute about an answer, in which this account is one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dispute {
	/// The claim.
	pub claim: ClaimId,
	/// Account that disputes it.
	pub challenger: AccountId,
	/// Session of the answer, and its place there, if that is known.
	pub paid: Option<(SessionId, u32)>,
	/// State of the dispute.
	pub state: State,
}

impl Dispute {
	/// Returns whether this account has lost it; `None` if it goes on, or ended without a decision that was seen.
	pub fn is_lost(&self, me: &AccountId) -> Option<bool> {
		match &self.state {
			State::Ended(Some(verdict)) => Some(verdict.loser() == me),
			State::Ended(None) | State::Open { .. } => None,
		}
	}
}

impl fmt::Display for State {
	fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			Self::Open { ours: true, deadline } => write!(formatter, "open: this account moves until block {deadline}"),
			Self::Open { ours: false, deadline } => write!(formatter, "open: the other side moves until block {deadline}"),
			Self::Ended(verdict) => write!(formatter, "ended: {}", outcome(verdict.as_deref())),
		}
	}
}

/// Describes how a dispute ended, and who was paid what.
pub(super) fn outcome(verdict: Option<&Verdict>) -> String {
	let Some(verdict) = verdict else { return "how was not seen; the bond is back, if no decision took it".into() };
	let Verdict { decision, slashed, rewarded, receiver, burned, .. } = verdict;
	let how = match decision {
		Decision::Fraud => "the answer is false",
		Decision::Unfounded => "what was disputed of the answer is right",
		Decision::DefenderLate => "the provider did not defend the answer in time",
		Decision::ChallengerLate => "the challenger did not move in time",
	};
	let receiver = receiver.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
	format!(
		"{how}. {} lost {}; {receiver} received {}, and {} were burned",
		verdict.loser(),
		Neuro(*slashed),
		Neuro(*rewarded),
		Neuro(*burned)
	)
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::{dispute::ClaimKind, H256, NEURO};

	#[test]
	fn who_has_lost_and_who_was_paid_what_is_said_at_the_end() {
		let (provider, challenger) = (AccountId::new([1; 32]), AccountId::new([2; 32]));
		let claim = ClaimId { run: 0, round: 0, kind: ClaimKind::Answer(H256::zero()), who: provider.clone() };
		let ended = |decision| {
			let verdict = Verdict {
				claim: claim.clone(),
				challenger: challenger.clone(),
				defender: provider.clone(),
				decision,
				slashed: 10 * NEURO,
				rewarded: 5 * NEURO,
				receiver: Some(challenger.clone()),
				burned: 4 * NEURO,
				extrinsics: 3,
				witness_bytes: 9,
				blocks: 4,
				ref_time: None,
			};
			let state = State::Ended(Some(Box::new(verdict)));
			Dispute { claim: claim.clone(), challenger: challenger.clone(), paid: None, state }
		};
		for (decision, provider_loses) in
			[(Decision::Fraud, true), (Decision::DefenderLate, true), (Decision::Unfounded, false), (Decision::ChallengerLate, false)]
		{
			let dispute = ended(decision);
			assert_eq!((dispute.is_lost(&provider), dispute.is_lost(&challenger)), (Some(provider_loses), Some(!provider_loses)));
		}
		let words = ended(Decision::Fraud).state.to_string();
		let expected = format!("the answer is false. {provider} lost 10 NEURO; {challenger} received 5 NEURO, and 4 NEURO were burned");
		assert!(words.contains(&expected), "{words}");
		let unseen = Dispute { state: State::Ended(None), ..ended(Decision::Fraud) };
		assert_eq!(unseen.is_lost(&provider), None);
	}
}
