//! A trial: what must be true of every network with cheaters.

use crate::room::Load;
use neuroshard_e2e::{kept_unless_passed, Cheat, CheaterSummary, Decided, Flooded, Summary, Terms, Trial};
use neuroshard_types::{dispute::Decision, RoundIndex};

/// Holds a trial, and checks that every cheater loses all it has by the verdict that belongs to its cheat, and nobody else anything; if that is
/// flooded, that ordinary extrinsics had no room while it went on.
pub async fn all_are_caught(cheats: &[(Cheat, RoundIndex)], terms: Terms) -> Summary {
	let _room = Load::Heavy.room().await;
	let mut folder = kept_unless_passed("cheats").unwrap();
	let mut trial = Trial::hold(folder.path(), cheats, terms).await.unwrap();
	assert_eq!(trial.flooded.is_some(), terms == Terms::Flooded);
	check(&trial, cheats);
	trial.summary.verify(None).unwrap();
	trial.network.stop().await;
	folder.disable_cleanup(false);
	trial.summary
}

/// Checks the same of a trial that was held.
pub fn check(trial: &Trial, cheats: &[(Cheat, RoundIndex)]) {
	let Trial { network, verdicts, summary, flooded: left, .. } = trial;
	let cheaters = &network.cheaters;
	assert_eq!(cheaters.len(), cheats.len());
	for cheater in cheaters {
		let decided = &verdicts.list()[cheater.caught(verdicts).unwrap()];
		assert_eq!(decided.verdict.decision, cheater.cheat.verdict(), "{cheater:?}");
		assert!(decided.verdict.extrinsics <= 11 && decided.verdict.witness_bytes <= 256 * 1024, "{decided:?}");
		let witnessed = decided.verdict.witness_bytes > 0 && decided.verdict.ref_time.is_some();
		assert_eq!(witnessed, decided.verdict.decision == Decision::Fraud, "{decided:?}");
	}
	if let Some(left) = left {
		had_no_room(cheaters.iter().filter_map(|cheater| Some(&verdicts.list()[cheater.caught(verdicts)?])), left);
	}
	summary.verify_unpaid().unwrap();
	let lost_everything = |cheater: &CheaterSummary| cheater.bond_after == "0";
	assert!(summary.cheaters.len() == cheats.len() && summary.cheaters.iter().all(lost_everything), "{:?}", summary.cheaters);
	assert_ne!(summary.burned_total, "0");
}

/// In nine of ten blocks of disputes, ordinary extrinsics had no room for another one of the flood's.
fn had_no_room<'a>(disputes: impl Iterator<Item = &'a Decided>, left: &Flooded) {
	let (mut all, mut full) = (0, 0);
	for decided in disputes {
		let (blocks, without_room) = left.full(decided.blocks());
		println!("{without_room} of the {blocks} blocks of the dispute that block {} decided were full", decided.block.number);
		(all, full) = (all + blocks, full + without_room);
	}
	assert!(all > 0 && 10 * full >= 9 * all, "{full} of {all} blocks were full: {left:?}");
}
