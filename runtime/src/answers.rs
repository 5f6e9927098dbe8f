//! Calls that have to be made in time, and have a part of blocks that is kept for them: answers to challenges of datasets that of moves in
//! disputes, acts in rounds of training one of their own.

use crate::{AccountId, BlockNumber, Dataset, Runtime, RuntimeCall, Training};
use frame_support::weights::Weight;
use neuroshard_types::run::{Act, Phase};
use pallet_neuro_dataset::{Call, Config, Refusal, WeightInfo};
use pallet_neuro_disputes::{Answers, Rounds};

/// `Dataset::answer_challenge`.
pub struct ToChallenges;

impl Answers<RuntimeCall> for ToChallenges {
	/// Returns whether the call is an answer, or an attestation: who cannot answer, for having no key of its own and no operator, does not attest.
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

/// Commit, reveal, vote and attest.
pub struct ActsInRounds;

impl Rounds<RuntimeCall> for ActsInRounds {
	fn act(call: &RuntimeCall) -> Option<Act> {
		use pallet_neuro_training::Call as Training;
		let RuntimeCall::Training(call) = call else { return None };
		let (run, round, attempt, phase) = match call {
			Training::commit { run, round, attempt, .. } => (run, round, attempt, Phase::Training),
			Training::reveal { run, round, attempt, .. } => (run, round, attempt, Phase::Revealing),
			Training::vote_availability { run, round, attempt, .. } => (run, round, attempt, Phase::Availability),
			Training::attest { run, round, attempt, .. } => (run, round, attempt, Phase::Checkpointing),
			_ => return None,
		};
		Some(Act { run: *run, round: *round, attempt: *attempt, phase })
	}

	fn weight() -> Weight {
		<<Runtime as pallet_neuro_training::Config>::WeightInfo as pallet_neuro_training::WeightInfo>::check_act()
	}

	fn has_room(who: &AccountId, act: &Act) -> Option<BlockNumber> {
		Training::has_room(who, act)
	}

	fn note_refused(who: &AccountId, act: Act, deadline: BlockNumber) {
		Training::note_refused(who, act, deadline);
	}
}
