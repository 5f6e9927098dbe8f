//! Random calls over all pallets, block after block: after each of them every invariant holds, and money appears and disappears only where
//! it is said.

mod calls;
mod chain;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/dataset.rs"]
mod dataset;

use calls::Act;
use chain::Chain;
use proptest::prelude::*;

/// Calls of a block.
const CALLS: usize = 6;
/// Blocks of a sequence: about ten sessions and eras.
const BLOCKS: usize = 100;

proptest! {
	#![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

	#[test]
	fn whatever_is_called_the_sums_are_right(blocks in prop::collection::vec(prop::collection::vec(any::<Act>(), 0..=CALLS), BLOCKS)) {
		Chain::execute(|chain| {
			for acts in blocks {
				chain.block(&acts);
			}
		});
	}
}

#[test]
fn enough_of_the_calls_succeed_to_mean_something() {
	use proptest::{strategy::ValueTree, test_runner::TestRunner};
	let mut runner = TestRunner::deterministic();
	let strategy = prop::collection::vec(prop::collection::vec(any::<Act>(), CALLS), 4 * BLOCKS);
	let blocks = strategy.new_tree(&mut runner).expect("a sequence").current();
	Chain::execute(|chain| {
		blocks.iter().for_each(|acts| chain.block(acts));
		let done = chain.succeeded();
		for pallet in ["Balances", "Staking", "Dataset", "Training", "Validators", "Ownership", "Assets", "Council", "Proxy", "Utility"] {
			assert!(done.get(pallet).is_some_and(|count| *count > 0), "no call of {pallet} succeeded: {done:?}");
		}
		assert!(done.values().sum::<u32>() > 150, "{done:?}");
	});
}
