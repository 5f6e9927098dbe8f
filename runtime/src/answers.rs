//! Answers to challenges of datasets have the part of blocks that is kept for moves in disputes.

use crate::{AccountId, Dataset, Runtime, RuntimeCall};
use frame_support::weights::Weight;
use pallet_neuro_dataset::{Call, Config, Refusal, WeightInfo};
use pallet_neuro_disputes::Answers;

/// `Dataset::answer_challenge`.
pub struct ToChallenges;

impl Answers<RuntimeCall> for ToChallenges {
	/// Who cannot answer, for having no key of its own, does not attest.
	fn stands_alone(call: &RuntimeCall) -> bool {
		matches!(call, RuntimeCall::Dataset(Call::answer_challenge { .. } | Call::attest { .. }))
	}

	fn weight(call: &RuntimeCall) -> Option<Weight> {
		let answers = matches!(call, RuntimeCall::Dataset(Call::answer_challenge { .. }));
		answers.then(<Runtime as Config>::WeightInfo::check_answer)
	}

	fn admit(who: &AccountId, call: &RuntimeCall) -> Result<(), u8> {
		let RuntimeCall::Dataset(Call::answer_challenge { id, challenger, opening }) = call else { return Ok(()) };
		Dataset::admit(who, *id, challenger, opening).map(|_| ()).map_err(Refusal::code)
	}
}
