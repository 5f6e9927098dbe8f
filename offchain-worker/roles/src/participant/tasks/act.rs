//! Actions that a participant has to take in a phase, sent before its deadline.

use crate::participant::decide::view::ChainView;
use neuroshard_chain_client::{training, Call, ChainError, Submitter};
use neuroshard_types::{BlockNumber, RunId};

/// Longest attempt, in blocks: the proof in a reveal is too old after five minutes, which are 100 blocks.
const LONGEST: BlockNumber = 90;
/// Blocks of one attempt where there are more: what is left for the next one is enough for the largest tip.
const ATTEMPT: BlockNumber = 60;
/// Blocks for what is to be done in a phase that should be over: it may end with any of them.
const OVERDUE: BlockNumber = 3;

/// Sends what the phase asks for that `chain` is in, and waits until it is in a block. Tips leave free what disputes may cost.
///
/// # Errors
/// Those of [`Submitter::submit_timely`].
pub(super) async fn act(submitter: &Submitter, chain: &ChainView, call: Call) -> Result<(), ChainError> {
	let deadline = chain.run.as_ref().and_then(|run| run.round.as_ref()).and_then(|round| round.deadline);
	submitter.submit_timely(call, end_of_attempt(chain.best, deadline), chain.reserve).await.map(drop)
}

/// Joins a run. Where somebody fills the blocks, nobody could take part who offers nothing: tips leave free what disputes may cost.
///
/// # Errors
/// Those of [`Submitter::submit_paying`].
pub(super) async fn join(submitter: &Submitter, chain: &ChainView, run: RunId) -> Result<(), ChainError> {
	submitter.submit_paying(training::join(run), chain.reserve).await.map(drop)
}

/// First block that is too late for an attempt that begins at block `best`, in a phase with this deadline.
fn end_of_attempt(best: BlockNumber, deadline: Option<BlockNumber>) -> BlockNumber {
	match deadline.map(|deadline| deadline.saturating_sub(best)) {
		Some(0) => best.saturating_add(OVERDUE),
		Some(left) if left <= LONGEST => best.saturating_add(left),
		_ => best.saturating_add(ATTEMPT),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training as in_training;
	use neuroshard_fixtures::Connect;
	use neuroshard_mock_node::{nonce_and_tip_of, Fate, MockNode, Script};
	use neuroshard_types::NEURO;

	#[test]
	fn an_attempt_ends_with_the_phase_and_before_a_proof_is_too_old() {
		let ends = |deadline| end_of_attempt(1_000, Some(deadline));
		assert_eq!([1_001, 1_020, 1_090].map(ends), [1_001, 1_020, 1_090]);
		assert_eq!([1_091, 5_000].map(ends), [1_060, 1_060]);
		// A block with too much to do puts the end of a phase off.
		assert_eq!([1_000, 990].map(ends), [1_003, 1_003]);
		assert_eq!(end_of_attempt(7, None), 67);
	}

	/// Returns the tips that are offered for a commitment before block 80, or for joining, by an account that has so much free beside what disputes may
	/// cost, and how that ends.
	async fn offered(beside: u128, fate: fn(usize) -> Fate, joins: bool) -> (Vec<u128>, Result<(), ChainError>) {
		let node = MockNode::start(Script { blocks_a_look: 2, fate }).await;
		let (mut chain, _) = in_training();
		(chain.best, chain.reserve) = (0, 10 * NEURO);
		chain.run.as_mut().unwrap().round.as_mut().unwrap().deadline = Some(80);
		node.fund(chain.reserve + beside);
		let submitter = node.submitter().await;
		let sent = match joins {
			true => join(&submitter, &chain, 7).await,
			false => act(&submitter, &chain, training::commit(7, 1, 0, Default::default())).await,
		};
		let mut tips: Vec<_> = node.submitted().borrow().iter().map(|one| nonce_and_tip_of(one).1).collect();
		tips.dedup();
		(tips, sent)
	}

	#[tokio::test]
	async fn an_act_that_blocks_have_no_room_for_offers_tips_up_to_its_deadline() {
		let (tips, sent) = offered(1_000 * NEURO, |_| Fate::Forgotten, false).await;
		assert_eq!(tips, [0, 1, 4, 16, 64, 256, 500].map(|hundredths| hundredths * NEURO / 100));
		assert!(matches!(sent, Err(ChainError::Late { deadline: 80, .. })), "{sent:?}");
	}

	#[tokio::test]
	async fn tips_leave_what_disputes_may_cost() {
		let taken = |number| if number < 5 { Fate::Forgotten } else { Fate::Included };
		for joins in [false, true] {
			let (tips, sent) = offered(NEURO, taken, joins).await;
			assert_eq!(tips, [0, 1, 4, 10].map(|hundredths| hundredths * NEURO / 100), "{joins}");
			sent.unwrap();
		}
	}
}
