//! Auditors, and challenges of what was claimed.

use super::{
	claims,
	providers::{genesis, ponw_key},
	signed, Act, Deed,
};
use codec::Encode;
use neuroshard_graph::{game::Doubt, merkle::blake2_256, sampler::Sampling};
use neuroshard_runtime::{AccountId, Disputes, Runtime, System};
use neuroshard_types::{
	audit::{seal_report, AuditPhase, AuditView, Report},
	dataset::TextTokens,
	inference::{Class, Ending, Receipt, Tokens},
	RoundIndex, RunId, H256,
};
use pallet_neuro_disputes::{Audits, Call, Drawn};
use pallet_neuro_inference::{Claims, Offers};
use pallet_neuro_training::{Record, Records};
use sp_core::Pair;

/// Salt of every report.
const SALT: [u8; 32] = [8; 32];

pub fn deed(act: &Act) -> Deed {
	match act.what % 16 {
		0 | 1 => act.mine(Call::enroll {}),
		2 if act.is_one_in(2) => act.mine(Call::resign {}),
		3..=10 => report(act),
		11 => {
			let open = Audits::<Runtime>::iter().flat_map(|(claim, audit)| audit.parts.map(|part| (claim.clone(), part)));
			let reported = open.filter(|(_, part)| part.sample().is_some());
			let (claim, part) = act.one_of(reported)?;
			act.mine(Call::challenge_audit { run: claim.run, round: claim.round, who: part.auditor })
		}
		12 | 13 => {
			let (run, round, record) = act.one_of(disputable())?;
			let who = act.one_of(record.places.into_iter().filter(|place| place.attested.is_some()))?.account;
			act.mine(Call::challenge_attestation { run, round, who })
		}
		14 => answer(act),
		_ => {
			let (run, round, record) = act.one_of(disputable())?;
			let who = act.one_of(record.places.into_iter().filter(|place| place.revealed.is_some()))?.account;
			let work = claims::work(&who, run, round, record.start);
			let doubt = match act.small % 4 {
				0 => Doubt::Interval(0),
				1 => Doubt::Interval(1),
				_ => Doubt::Delta,
			};
			act.mine(Call::challenge_work { run, round, who, work, doubt })
		}
	}
}

/// A challenge of an answer that was paid.
fn answer(act: &Act) -> Deed {
	let (session, provider) = act.one_of(Claims::<Runtime>::iter_keys())?;
	let checkpoint = Offers::<Runtime>::get(&provider)?.offer.checkpoint;
	let receipt = Receipt {
		provider: Some(provider.clone()),
		paid: Some((session, u32::from(act.small % 4))),
		parameters: checkpoint.root,
		checkpoint: Some((checkpoint.run, checkpoint.round)),
		class: Class::ExactF32,
		usable: TextTokens::BYTES.usable,
		prompt: Tokens::of(&[1]),
		answer: Tokens::of(&[2, 3]),
		ending: Ending::Cut,
		sampling: Sampling::default().into(),
		price: 0,
	};
	let signature = ponw_key(&provider)?.sign(&receipt.message(genesis())).0;
	let doubt = u32::from(act.whom % 2);
	act.mine(Call::challenge_answer { receipt, signature, doubt })
}

/// Rounds whose claims can be disputed.
fn disputable() -> impl Iterator<Item = (RunId, RoundIndex, Record)> {
	let since = System::block_number().saturating_sub(Disputes::terms().window);
	Records::<Runtime>::iter().filter(move |(.., record)| record.adopted_at > since)
}

/// Returns the next action of one of those who were drawn.
fn report(act: &Act) -> Deed {
	let waits = |(auditor, (run, round), _): (AccountId, (RunId, RoundIndex), AccountId)| {
		let view = Disputes::audit(run, round, auditor.clone())?;
		let waits = match view.phase {
			AuditPhase::Sealing => view.sealed.is_none(),
			AuditPhase::Reporting => view.sealed.is_some() && view.report.is_none(),
			AuditPhase::Waiting => false,
		};
		waits.then_some((auditor, view))
	};
	let (auditor, view) = act.one_of(Drawn::<Runtime>::iter().filter_map(waits))?;
	let (run, round) = (view.run, view.round);
	let report = found(&auditor, &view);
	match view.phase {
		AuditPhase::Sealing => {
			let sealed = seal_report(genesis(), run, round, &auditor, &SALT, &report);
			signed(auditor, Call::seal_audit { run, round, sealed })
		}
		_ => signed(auditor, Call::report_audit { run, round, salt: SALT, report }),
	}
}

/// Returns the report of an auditor: mostly what others find too.
fn found(auditor: &AccountId, view: &AuditView) -> Report {
	let start = Records::<Runtime>::get(view.run, view.round).map_or(0.0, |record| claims::start(record.start, view.round));
	match blake2_256(&(auditor, view.run, view.round).encode())[0] % 5 {
		0 => Report::Unavailable,
		1 => Report::TooSlow,
		2 => Report::Sample(H256(claims::state(2.0, view.step + 1))),
		_ => Report::Sample(H256(claims::state(start, view.step + 1))),
	}
}
