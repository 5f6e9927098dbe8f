//! Audits of a network: who was drawn, what was reported, and who was paid.

use crate::{CheaterSummary, Error};
use neuroshard_chain_client::{Audited, ChainClient};
use neuroshard_types::{audit::Report, AccountId, BlockNumber, RoundIndex, RunId};
use serde::Serialize;

/// Report of an auditor who could not fetch what the round is run from.
const UNAVAILABLE: &str = "unavailable";

/// Report of an auditor whose machine could not run the round again in time.
const TOO_SLOW: &str = "too slow";

/// What an auditor did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditorSummary {
	/// Its address.
	pub who: String,
	/// What it reported: the root of the sampled state, `unavailable`, `too slow`, or nothing.
	pub report: Option<String>,
	/// `open` until the audit is closed; then `paid`, `missed` for one that did not do what it was drawn for, or `unpaid`.
	pub outcome: String,
}

/// An audit that was drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditSummary {
	/// Audited round.
	pub round: RoundIndex,
	/// Address of whose work it is.
	pub subject: String,
	/// The sample is the state root after this inner step, from 0.
	pub step: u32,
	/// The two auditors.
	pub auditors: Vec<AuditorSummary>,
}

impl AuditSummary {
	/// What is not as it must be, where these accounts cheat: honest auditors do what they are drawn for, unless they were `killed` meanwhile.
	pub(crate) fn broken<'a>(&'a self, cheaters: &'a [CheaterSummary], killed: bool) -> impl Iterator<Item = String> + 'a {
		let Self { round, subject, auditors, .. } = self;
		let honest = auditors.iter().filter(|auditor| cheaters.iter().all(|cheater| cheater.who != auditor.who));
		let missed = honest.clone().filter(move |auditor| !killed && auditor.outcome == "missed");
		let missed =
			missed.map(move |auditor| format!("the honest auditor {} missed the audit of {subject} in round {round}", auditor.who));
		let mut samples = honest.filter_map(AuditorSummary::sample);
		let differ = samples.next().zip(samples.next()).filter(|(one, other)| one != other);
		missed.chain(differ.map(move |(one, other)| format!("honest auditors of {subject} in round {round} report {one} and {other}")))
	}

	/// Whether one of its auditors has run the round again.
	pub fn has_samples(&self) -> bool {
		self.auditors.iter().any(|auditor| auditor.sample().is_some())
	}

	/// How many of its auditors missed it.
	pub fn missed(&self) -> usize {
		self.auditors.iter().filter(|auditor| auditor.outcome == "missed").count()
	}

	/// How many of its auditors have reported.
	pub fn reports(&self) -> usize {
		self.auditors.iter().filter(|auditor| auditor.report.is_some()).count()
	}
}

impl AuditorSummary {
	/// The sample that it reported, if it did.
	pub fn sample(&self) -> Option<&str> {
		self.report.as_deref().filter(|report| ![UNAVAILABLE, TOO_SLOW].contains(report))
	}
}

/// Reads the audits of `run` that were drawn up to block `last`, in the order of the draws.
///
/// # Errors
/// [`Error::Chain`].
pub async fn read(client: &ChainClient, run: RunId, last: BlockNumber) -> Result<Vec<AuditSummary>, Error> {
	let mut audits = Vec::new();
	for number in 1..=last {
		let at = client.at(client.block_at(number).await?).await?;
		for happened in at.audited().await? {
			note(&mut audits, run, happened);
		}
	}
	Ok(audits)
}

fn note(audits: &mut Vec<AuditSummary>, run: RunId, happened: Audited) {
	match happened {
		Audited::Drawn { run: of, round, subject, auditors, step } if of == run => {
			let auditor = |who: &AccountId| AuditorSummary { who: who.to_string(), report: None, outcome: "open".into() };
			audits.push(AuditSummary { round, subject: subject.to_string(), step, auditors: auditors.iter().map(auditor).collect() });
		}
		Audited::Reported { run: of, round, auditor, report } if of == run => {
			let who = auditor.to_string();
			let of_round = audits.iter_mut().filter(|audit| audit.round == round).flat_map(|audit| &mut audit.auditors);
			for auditor in of_round.filter(|auditor| auditor.who == who) {
				auditor.report = Some(match report {
					Report::Sample(root) => format!("{root:?}"),
					Report::Unavailable => UNAVAILABLE.into(),
					Report::TooSlow => TOO_SLOW.into(),
				});
			}
		}
		Audited::Closed { run: of, round, subject, paid, missed } if of == run => {
			let (subject, is_in) = (subject.to_string(), |list: &[AccountId], who: &str| list.iter().any(|one| one.to_string() == who));
			let closed = audits.iter_mut().filter(|audit| audit.round == round && audit.subject == subject);
			for auditor in closed.flat_map(|audit| &mut audit.auditors) {
				let words = match (is_in(&paid, &auditor.who), is_in(&missed, &auditor.who)) {
					(true, _) => "paid",
					(false, true) => "missed",
					(false, false) => "unpaid",
				};
				auditor.outcome = words.into();
			}
		}
		_ => {}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use neuroshard_types::H256;

	#[test]
	fn an_audit_is_told_from_its_draw_to_its_close() {
		let [subject, honest, lazy, other] = [1, 2, 3, 4].map(|byte| AccountId::new([byte; 32]));
		let mut audits = Vec::new();
		let auditors = [honest.clone(), lazy.clone()];
		note(&mut audits, 0, Audited::Drawn { run: 0, round: 3, subject: subject.clone(), auditors: auditors.clone(), step: 5 });
		note(&mut audits, 0, Audited::Drawn { run: 1, round: 3, subject: subject.clone(), auditors, step: 5 });
		let (report, sample) = (Report::Sample(H256([9; 32])), format!("0x{}", "09".repeat(32)));
		let sample = Some(sample.as_str());
		note(&mut audits, 0, Audited::Reported { run: 0, round: 3, auditor: honest.clone(), report });
		note(&mut audits, 0, Audited::Reported { run: 0, round: 2, auditor: lazy.clone(), report });
		let auditor = |who: &AccountId, report: Option<&str>, outcome: &str| AuditorSummary {
			who: who.to_string(),
			report: report.map(Into::into),
			outcome: outcome.into(),
		};
		let expected = |auditors: Vec<AuditorSummary>| vec![AuditSummary { round: 3, subject: subject.to_string(), step: 5, auditors }];
		assert_eq!(audits, expected(vec![auditor(&honest, sample, "open"), auditor(&lazy, None, "open")]));
		let closed = |subject: &AccountId, missed: &AccountId| {
			let (paid, missed) = (vec![honest.clone()], vec![missed.clone()]);
			Audited::Closed { run: 0, round: 3, subject: subject.clone(), paid, missed }
		};
		note(&mut audits, 0, closed(&other, &honest));
		assert_eq!(audits, expected(vec![auditor(&honest, sample, "open"), auditor(&lazy, None, "open")]));
		note(&mut audits, 0, closed(&subject, &lazy));
		assert_eq!(audits, expected(vec![auditor(&honest, sample, "paid"), auditor(&lazy, None, "missed")]));
		note(&mut audits, 0, closed(&subject, &other));
		assert_eq!(audits[0].auditors[1].outcome, "unpaid");
		assert_eq!((audits[0].reports(), audits[0].has_samples()), (1, true));
		for report in [Report::Unavailable, Report::TooSlow] {
			note(&mut audits, 0, Audited::Reported { run: 0, round: 3, auditor: honest.clone(), report });
			assert_eq!((audits[0].reports(), audits[0].has_samples()), (1, false));
		}
	}
}
