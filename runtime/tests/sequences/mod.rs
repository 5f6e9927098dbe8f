//! Random calls of all pallets, block after block: after each of them every invariant holds, and money appears and disappears only where
//! it is said.

mod calls;
mod chain;
mod outcomes;

use calls::Act;
use chain::Chain;
use frame_support::traits::GetCallMetadata;
use neuroshard_runtime::RuntimeCall;
use outcomes::OUTCOMES;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use std::collections::BTreeMap;

/// Most acts of a block. Four of five are calls; the others find that there is nothing to do.
const ACTS: usize = 8;
/// Blocks of a sequence, of about a thousand calls: more than 30 sessions and eras.
const BLOCKS: usize = 350;
/// Pallets whose calls nobody signs: what the author of a block says itself.
const UNSIGNED: [&str; 3] = ["Timestamp", "Babe", "Grandpa"];
/// Our own pallets: all of their calls succeed.
const OURS: [&str; 10] =
	["Staking", "Validators", "Dataset", "Training", "Ponw", "Disputes", "Rewards", "Ownership", "Inference", "Enactment"];
/// And those that make places among the holders of models, and empty and remove them.
const OF_PLACES: [&str; 6] =
	["Assets.touch", "Assets.touch_other", "Assets.transfer", "Assets.transfer_all", "Assets.refund", "Assets.refund_other"];
/// But for what no sequence is long enough for: the history of a run stays for 14 days.
const TOO_LATE: [&str; 1] = ["Training.remove_run"];

proptest! {
	#![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 200, ..ProptestConfig::default() })]

	#[test]
	fn whatever_is_called_the_sums_are_right(blocks in prop::collection::vec(prop::collection::vec(any::<Act>(), 0..=ACTS), BLOCKS)) {
		Chain::of(&blocks);
	}
}

#[test]
fn calls_of_all_pallets_succeed_and_all_that_moves_money_comes_about() {
	let mut runner = TestRunner::deterministic();
	let strategy = prop::collection::vec(prop::collection::vec(any::<Act>(), ACTS), BLOCKS);
	let (mut made, mut done, mut outcomes) = (0, BTreeMap::new(), BTreeMap::new());
	for _ in 0..36 {
		let chain = Chain::of(&strategy.new_tree(&mut runner).expect("a sequence").current());
		made += chain.made;
		chain.succeeded.into_iter().for_each(|(call, count)| *done.entry(call).or_insert(0) += count);
		chain.outcomes.into_iter().for_each(|(outcome, count)| *outcomes.entry(outcome).or_insert(0) += count);
	}
	let pallets = RuntimeCall::get_module_names().iter().filter(|pallet| !UNSIGNED.contains(pallet));
	let idle: Vec<_> = pallets.filter(|pallet| !done.keys().any(|call| call.starts_with(&format!("{pallet}.")))).collect();
	let calls = OURS.iter().flat_map(|pallet| RuntimeCall::get_call_names(pallet).iter().map(move |call| format!("{pallet}.{call}")));
	let unmade: Vec<_> =
		calls.chain(OF_PLACES.map(String::from)).filter(|call| !done.contains_key(call) && !TOO_LATE.contains(&call.as_str())).collect();
	let missed: Vec<_> = OUTCOMES.iter().filter(|outcome| !outcomes.contains_key(*outcome)).collect();
	assert!(
		idle.is_empty() && unmade.is_empty() && missed.is_empty(),
		"not once: {idle:?}, {unmade:?}, {missed:?} of {done:#?}, {outcomes:#?}"
	);
	assert!(made > 60_000 && done.values().sum::<u32>() > made / 4, "{made}: {done:#?}");
}
