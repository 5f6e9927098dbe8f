//! Outcomes that move money without a call that says so.

use neuroshard_runtime::RuntimeEvent;
use neuroshard_types::dispute::Decision;
use pallet_neuro_dataset::Event as Dataset;
use pallet_neuro_disputes::Event as Disputes;
use pallet_neuro_inference::Event as Inference;
use pallet_neuro_ponw::Event as Ponw;
use pallet_neuro_rewards::Event as Rewards;
use pallet_neuro_staking::Event as Staking;
use pallet_neuro_training::Event as Training;
use pallet_neuro_validators::Event as Validators;

/// All outcomes.
pub const OUTCOMES: [&str; 19] = [
	"a round is adopted",
	"work is final",
	"work is void",
	"a claim is false",
	"a challenge is unfounded",
	"a defender is late",
	"a challenger is late",
	"a game is moot",
	"a checkpoint is redone",
	"an auditor is paid",
	"an answer is withheld",
	"a chunk is not opened",
	"a fee of inference is paid",
	"an escrow is too small",
	"a session is over",
	"an era expires",
	"a provider is slashed",
	"a validator is slashed",
	"bonds are withdrawn",
];

/// Returns the one of [`OUTCOMES`] that an event tells of.
pub fn outcome(event: &RuntimeEvent) -> Option<&'static str> {
	Some(match event {
		RuntimeEvent::Training(Training::RoundAdopted { .. }) => "a round is adopted",
		RuntimeEvent::Ponw(Ponw::Finalized { .. }) => "work is final",
		RuntimeEvent::Ponw(Ponw::Voided { .. }) => "work is void",
		RuntimeEvent::Disputes(Disputes::Decided { decision, .. }) => match decision {
			Decision::Fraud => "a claim is false",
			Decision::Unfounded => "a challenge is unfounded",
			Decision::DefenderLate => "a defender is late",
			Decision::ChallengerLate => "a challenger is late",
		},
		RuntimeEvent::Disputes(Disputes::Moot { .. }) => "a game is moot",
		RuntimeEvent::Training(Training::ClaimCondemned { replay: Some(_), .. }) => "a checkpoint is redone",
		RuntimeEvent::Disputes(Disputes::AuditClosed { paid, .. }) if !paid.is_empty() => "an auditor is paid",
		RuntimeEvent::Disputes(Disputes::AnswerWithheld { rewarded: 1.., .. }) => "an answer is withheld",
		RuntimeEvent::Dataset(Dataset::Failed { .. }) => "a chunk is not opened",
		RuntimeEvent::Rewards(Rewards::FeePaid { .. }) => "a fee of inference is paid",
		RuntimeEvent::Inference(Inference::Claimed { missing: 1.., .. }) => "an escrow is too small",
		RuntimeEvent::Inference(Inference::SessionSettled { .. }) => "a session is over",
		RuntimeEvent::Rewards(Rewards::EraExpired { .. }) => "an era expires",
		RuntimeEvent::Staking(Staking::Slashed { .. }) => "a provider is slashed",
		RuntimeEvent::Validators(Validators::Slashed { .. }) => "a validator is slashed",
		RuntimeEvent::Staking(Staking::Withdrawn { .. }) => "bonds are withdrawn",
		_ => return None,
	})
}
