//! Durations that a network has in place of those of the preset `local`: audits need a longer window, and where somebody cheats everybody
//! checks everything on one machine, and a dispute with a silent cheater lasts as long as its clock.

use crate::{spec::Spec, Error};
use neuroshard_types::BlockNumber;

/// Blocks of an epoch of a local network.
const EPOCH: BlockNumber = 10;
/// Turns of each side in the longest game, with each of which it gains time.
const TURNS: BlockNumber = 7;
/// Durations in blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
	/// In which claims can be disputed.
	pub window: BlockNumber,
	/// That each side of a dispute has for all its moves.
	pub clock: BlockNumber,
	/// That a side gains with every turn.
	pub extension: BlockNumber,
	/// Audits; none if nothing is audited.
	pub audits: Option<AuditRules>,
	/// Audits of answers; none if no answer is audited.
	pub answers: Option<AnswerRules>,
	/// Whether phases of a round wait long enough for a machine that checks all work beside doing it.
	pub patient: bool,
}

/// How much is audited, and how long that may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuditRules {
	/// Share of a round's claims, in millionths.
	pub share: u32,
	/// Blocks for sealing a report.
	pub seal_time: BlockNumber,
	/// Blocks for opening it.
	pub report_time: BlockNumber,
}

/// How many answers are audited, and how long that may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerRules {
	/// Probability for each answer, in millionths.
	pub share: u32,
	/// Blocks for delivering the text of one.
	pub deliver_time: BlockNumber,
}

impl AuditRules {
	/// The shortest window that has room for audits: for three epochs, for sealing twice, and for reporting.
	pub(crate) fn window(self) -> BlockNumber {
		EPOCH.saturating_mul(3).saturating_add(self.seal_time.saturating_mul(2)).saturating_add(self.report_time)
	}
}

impl Rules {
	/// Writes them into a chain spec.
	///
	/// # Errors
	/// [`Error::Setup`] for one without a place for them.
	pub(crate) fn apply(self, spec: &mut Spec) -> Result<(), Error> {
		let Self { window, clock, extension, audits, answers, .. } = self;
		let answers = answers.unwrap_or(AnswerRules { share: 0, deliver_time: 1 });
		let audits = audits.unwrap_or(AuditRules { share: 0, seal_time: 1, report_time: 1 });
		// A defender of many games gains a whole clock.
		let gained = extension.saturating_add(clock.max(extension)).saturating_mul(TURNS);
		// Its own clock has each side, and a member of a quorum that defends.
		let longest = clock.saturating_mul(3).saturating_add(gained);
		let cooldown = window.saturating_add(longest).saturating_add(EPOCH.saturating_mul(2));
		let changes = [
			("ponw/challengeWindow", window),
			("disputes/clock", clock),
			("disputes/extension", extension),
			("disputes/auditShare", audits.share),
			("disputes/sealTime", audits.seal_time),
			("disputes/reportTime", audits.report_time),
			("disputes/answerAuditShare", answers.share),
			// What is answered in tests costs next to nothing.
			("disputes/answerDrawPrice", 0),
			("disputes/deliverTime", answers.deliver_time),
			("staking/cooldown", cooldown),
		];
		for (place, number) in changes {
			*spec.genesis(place)? = number.into();
		}
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use serde_json::json;

	#[test]
	fn rules_replace_those_of_the_spec_and_leave_time_to_unbond() {
		let spec = json!({ "id": "x", "genesis": { "runtimeGenesis": { "patch": {
			"ponw": { "challengeWindow": 1 }, "disputes": { "clock": 1, "extension": 1, "auditShare": 7, "sealTime": 1, "reportTime": 1, "answerAuditShare": 3, "answerDrawPrice": 7, "deliverTime": 9 }, "staking": { "cooldown": 1, "minBond": 5 },
		} } } });
		let mut spec = Spec::parse(&spec.to_string()).unwrap();
		let rules = Rules { window: 40, clock: 20, extension: 10, audits: None, answers: None, patient: true };
		rules.apply(&mut spec).unwrap();
		assert_eq!(*spec.genesis("ponw").unwrap(), json!({ "challengeWindow": 40 }));
		let disputes = json!({ "clock": 20, "extension": 10, "auditShare": 0, "sealTime": 1, "reportTime": 1, "answerAuditShare": 0, "answerDrawPrice": 0, "deliverTime": 1 });
		assert_eq!(*spec.genesis("disputes").unwrap(), disputes);
		// 40 for the window, 270 for the longest game, two epochs.
		assert_eq!(*spec.genesis("staking").unwrap(), json!({ "cooldown": 330, "minBond": 5 }));
		let audits = Some(AuditRules { share: 500_000, seal_time: 20, report_time: 10 });
		assert_eq!(audits.map(AuditRules::window), Some(80));
		let answers = Some(AnswerRules { share: 200_000, deliver_time: 8 });
		Rules { audits, answers, ..rules }.apply(&mut spec).unwrap();
		let disputes = json!({
			"clock": 20, "extension": 10, "auditShare": 500_000, "sealTime": 20, "reportTime": 10, "answerAuditShare": 200_000, "answerDrawPrice": 0, "deliverTime": 8
		});
		assert_eq!(*spec.genesis("disputes").unwrap(), disputes);
		let error = rules.apply(&mut Spec::parse("{}").unwrap()).unwrap_err().to_string();
		assert!(error.contains("challengeWindow"), "{error}");
	}
}
