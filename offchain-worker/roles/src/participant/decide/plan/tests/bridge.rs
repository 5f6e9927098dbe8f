//! A bridge: this worker starts from the checkpoint of another cohort.

use super::*;
use crate::participant::decide::view::Sibling;
use neuroshard_types::{run::Bridge, Adapter, Projection, F32};

const SIBLING: H256 = H256::repeat_byte(0xcb);

/// [`training`] of a cohort in which `who` is the bridge to run 9. A slow line takes 10 blocks for its checkpoint; a quarter of the time for training is 15.
fn bridged(who: u8) -> (ChainView, LocalState) {
	let (mut chain, local) = training();
	round(&mut chain).bridge = Some(Bridge { who: account(who), run: 9, round: 3, checkpoint: SIBLING, taken: false });
	(chain, local)
}

/// Training that starts from the other cohort's checkpoint, with a delta from the own one.
fn across() -> Task {
	Task::Train { drawn: Drawn { round: 1, attempt: 0, seed: SEED, start: SIBLING, base: Some(CHECKPOINT), position: 1 } }
}

#[test]
fn a_bridge_gets_the_other_checkpoint_and_starts_from_there() {
	let (mut chain, mut local) = bridged(ME);
	chain.best = 45;
	assert_eq!(plan(&chain, &local), Some(Task::FetchSibling { run: 9, round: 3, root: SIBLING }));
	local.sibling = Some(Sibling::Here(SIBLING));
	assert_eq!(plan(&chain, &local), Some(across()));
	let Some(Task::Train { drawn }) = plan(&chain, &local) else { panic!("it trains") };
	assert_eq!(drawn.bridged(), Some(SIBLING));
	local.sibling = Some(Sibling::Here(EARLIER));
	assert_eq!(plan(&chain, &local), Some(Task::FetchSibling { run: 9, round: 3, root: SIBLING }), "that is one of another round");
}

#[test]
fn a_bridge_that_cannot_get_the_other_checkpoint_in_time_starts_from_its_own() {
	let (mut chain, mut local) = bridged(ME);
	for (best, waits) in [(40, true), (49, true), (50, false), (99, false)] {
		chain.best = best;
		let expected = if waits { Task::FetchSibling { run: 9, round: 3, root: SIBLING } } else { train(&chain, 1) };
		assert_eq!(plan(&chain, &local), Some(expected), "block {best}");
	}
	local.sibling = Some(Sibling::Here(SIBLING));
	assert_eq!(plan(&chain, &local), Some(across()), "what came in time before a restart is used");
	// A larger model takes longer, but no more than a quarter of the time.
	local.sibling = None;
	let model = &mut run(&mut chain).view.config.model;
	(model.dim, model.vocab) = (1_024, 32_768);
	for (best, waits) in [(54, true), (55, false)] {
		chain.best = best;
		assert_eq!(matches!(plan(&chain, &local), Some(Task::FetchSibling { .. })), waits, "block {best}");
	}
	// An adapter beside it comes with the answer.
	let queries = [Projection::Q].into_iter().collect();
	run(&mut chain).view.config.train.adapter = Some(Adapter { base: [0; 32], rank: 4, alpha: F32::new(8.0), projections: queries });
	for (best, waits) in [(49, true), (50, false)] {
		chain.best = best;
		assert_eq!(matches!(plan(&chain, &local), Some(Task::FetchSibling { .. })), waits, "block {best}");
	}
	run(&mut chain).view.config.train.adapter = None;
	local.sibling = Some(Sibling::Unfit(SIBLING));
	chain.best = 40;
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)), "nobody can have trained it");
}

#[test]
fn a_bridge_in_a_hurry_starts_from_its_own_checkpoint_unless_the_other_one_is_here() {
	let (mut chain, mut local) = bridged(ME);
	(chain.best, local.in_a_hurry) = (45, true);
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
	local.sibling = Some(Sibling::Here(SIBLING));
	assert_eq!(plan(&chain, &local), Some(across()));
}

#[test]
fn nobody_but_the_bridge_starts_elsewhere() {
	let (chain, mut local) = bridged(1);
	local.sibling = Some(Sibling::Here(SIBLING));
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
}

#[test]
fn work_from_a_checkpoint_that_was_drawn_on_another_branch_is_not_committed_to() {
	let (mut chain, mut local) = bridged(ME);
	local.sibling = Some(Sibling::Here(SIBLING));
	local.pending = vec![PendingWork { run: 7, round: 1, seed: SEED, seal: SEAL, bridged: Some(SIBLING) }];
	assert_eq!(plan(&chain, &local), Some(Task::Commit));
	let bridge = |chain: &mut ChainView| round(chain).bridge.as_mut().unwrap().checkpoint = EARLIER;
	bridge(&mut chain);
	chain.best = 45;
	assert_eq!(plan(&chain, &local), Some(Task::FetchSibling { run: 9, round: 3, root: EARLIER }));
	round(&mut chain).bridge = None;
	assert_eq!(plan(&chain, &local), Some(train(&chain, 1)));
	// Work from the own checkpoint is right whatever is drawn.
	local.pending = vec![PendingWork { run: 7, round: 1, seed: SEED, seal: SEAL, bridged: None }];
	let (mut other, _) = bridged(ME);
	assert_eq!([plan(&chain, &local), plan(&other, &local)], [Some(Task::Commit), Some(Task::Commit)]);
	// Once it is committed to, nothing is trained any more.
	me(&mut other).sealed = Some(SEAL);
	assert_eq!(plan(&other, &local), None);
}
