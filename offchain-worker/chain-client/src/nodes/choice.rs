//! Choice of the node that is used among several, and of what counts as final of what they say: pure functions of what is known of each.

use crate::{BlockId, Heads};
use neuroshard_types::{BlockNumber, H256};
use std::{
	collections::{BTreeMap, BTreeSet},
	time::Duration,
};

/// A node whose best block is more blocks than this behind another node's is not used.
pub const BEHIND: BlockNumber = 5;
/// The same for finalized blocks.
pub const FINALITY_BEHIND: BlockNumber = 20;
/// A node that is named before the one in use must have been fit to be used for so long, without a break, until the worker goes back to it.
pub const STEADY: Duration = Duration::from_secs(60);
/// While nodes contradict each other, each is used for so long before it is the next one's turn.
pub const TURN: Duration = Duration::from_secs(120);

/// Knowledge of one node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeView {
	/// Its newest blocks; `None` while it does not answer.
	pub heads: Option<Heads>,
	/// True if it says that it has yet to catch up with others.
	pub syncing: bool,
	/// Version of the runtime after its best block.
	pub spec: u32,
	/// Why it is not used whatever it says, in words: it is on another chain.
	pub fault: Option<String>,
	/// True if its finalized block was another one a short while ago.
	pub moving: bool,
	/// Time for which it has been fit to be used, without a break.
	pub fit_for: Duration,
	/// Blocks that it called finalized: height and hash of the newest ones, those that it has taken back included.
	pub said: BTreeSet<(BlockNumber, H256)>,
}

/// Different blocks of one height that nodes call finalized.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
	/// The height.
	pub number: BlockNumber,
	/// Place of a node in the list, and the hash that it names.
	pub said: Vec<(usize, H256)>,
}

/// Conclusions from what the nodes say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
	/// Place of the node that is used.
	pub used: usize,
	/// The newest block that counts as final. It never goes back.
	pub finalized: BlockId,
	/// Once there is one, it stays, and nothing more becomes final: which node is right is for people to find out.
	pub contradiction: Option<Contradiction>,
}

/// Chooses after `before`, while nodes have contradicted each other `for_so_long`.
///
/// The freshest node is used at first, then the same one as long as it is fit; one that is named earlier is gone back to once it has been fit for
/// [`STEADY`]. Final is what two nodes call so, or the only one that can. While nodes contradict each other, each that answers is used in turn:
/// what is to be defended on the right chain is defended there, whichever that is.
pub fn choose(nodes: &[NodeView], before: Option<&Choice>, for_so_long: Duration) -> Choice {
	let known = before.and_then(|before| before.contradiction.clone());
	let agreed = match known {
		Some(_) => None,
		None => agreed(nodes, contradiction(nodes).map_or(BlockNumber::MAX, |found| found.number.saturating_sub(1))),
	};
	let finalized = before.map(|before| before.finalized).into_iter().chain(agreed).max_by_key(|block| block.number);
	let contradiction = known.or_else(|| contradiction(nodes));
	let used = match contradiction {
		Some(_) => in_turn(nodes, for_so_long),
		None => fittest(nodes, before.map(|before| before.used)),
	};
	Choice { used: used.or(before.map(|before| before.used)).unwrap_or(0), finalized: finalized.unwrap_or_default(), contradiction }
}

/// Returns for each node whether it may be used: it answers, is on the chain, and not behind another one.
pub fn fit(nodes: &[NodeView]) -> Vec<bool> {
	nodes.iter().map(|node| obstacle(node, nodes).is_none()).collect()
}

/// Why a node is not used, in words.
pub fn obstacle(node: &NodeView, nodes: &[NodeView]) -> Option<String> {
	let Some(heads) = node.answer() else { return Some(node.fault.clone().unwrap_or_else(|| "does not answer".into())) };
	if node.syncing {
		return Some("has yet to catch up with others".into());
	}
	let ready = || nodes.iter().filter(|node| !node.syncing).filter_map(NodeView::answer);
	let best = ready().map(|heads| heads.best.number).max().unwrap_or_default().saturating_sub(heads.best.number);
	let finalized = newest_finality(nodes).saturating_sub(heads.finalized.number);
	match (best > BEHIND, finalized > FINALITY_BEHIND) {
		(true, _) => Some(format!("is {best} blocks behind another node")),
		(_, true) => Some(format!("has finalized {finalized} blocks fewer than another node")),
		_ => None,
	}
}

impl NodeView {
	/// Its newest blocks, if it can be used at all.
	fn answer(&self) -> Option<Heads> {
		self.heads.filter(|_| self.fault.is_none())
	}

	/// Returns whether what it calls finalized counts, where another node has finalized block `newest`. One that stands still far behind is asked no
	/// more.
	fn is_witness(&self, newest: BlockNumber) -> bool {
		let near = |heads: Heads| self.moving || heads.finalized.number.saturating_add(FINALITY_BEHIND) >= newest;
		!self.syncing && self.answer().is_some_and(near)
	}
}

fn newest_finality(nodes: &[NodeView]) -> BlockNumber {
	nodes.iter().filter(|node| !node.syncing).filter_map(NodeView::answer).map(|heads| heads.finalized.number).max().unwrap_or_default()
}

/// The newest block up to height `last` that two nodes call finalized, or the only one that can.
fn agreed(nodes: &[NodeView], last: BlockNumber) -> Option<BlockId> {
	let newest = newest_finality(nodes);
	let witnesses: Vec<_> = nodes.iter().filter(|node| node.is_witness(newest)).map(|node| &node.said).collect();
	let needed = witnesses.len().clamp(1, 2);
	let all: BTreeSet<_> = witnesses.iter().copied().flatten().filter(|(number, _)| *number <= last).collect();
	let found = all.into_iter().rev().find(|block| witnesses.iter().filter(|said| said.contains(block)).count() >= needed);
	found.map(|(number, hash)| BlockId { number: *number, hash: *hash })
}

/// The first height at which different blocks are called finalized, also by one node at different times.
fn contradiction(nodes: &[NodeView]) -> Option<Contradiction> {
	let mut heights: BTreeMap<BlockNumber, Vec<(usize, H256)>> = BTreeMap::new();
	for (place, node) in nodes.iter().enumerate().filter(|(_, node)| node.fault.is_none()) {
		for (number, hash) in &node.said {
			heights.entry(*number).or_default().push((place, *hash));
		}
	}
	let differs = |said: &Vec<(usize, H256)>| said.windows(2).any(|two| matches!(two, [(_, one), (_, other)] if one != other));
	heights.into_iter().find(|(_, said)| differs(said)).map(|(number, said)| Contradiction { number, said })
}

/// The node to use while none contradicts another one: if none is fit, one that answers; `None` if none does.
fn fittest(nodes: &[NodeView], used: Option<usize>) -> Option<usize> {
	let fit = fit(nodes);
	let is_fit = |place: usize| fit.get(place).copied().unwrap_or_default();
	if let Some(used) = used.filter(|used| is_fit(*used)) {
		let steady = |(_, node): &(usize, &NodeView)| node.fit_for >= STEADY;
		let earlier = nodes.iter().enumerate().take(used).filter(|(place, _)| is_fit(*place)).find(steady);
		return Some(earlier.map_or(used, |(place, _)| place));
	}
	let best = |node: &NodeView| node.heads.map(|heads| heads.best.number);
	// Of several that are as fresh, the one that is named first.
	let freshest = nodes.iter().enumerate().filter(|(place, _)| is_fit(*place)).rev().max_by_key(|(_, node)| best(node));
	let answers = |place: &usize| nodes.get(*place).and_then(NodeView::answer).is_some();
	freshest.map(|(place, _)| place).or_else(|| used.filter(answers)).or_else(|| (0..nodes.len()).find(answers))
}

/// The node whose turn it is.
fn in_turn(nodes: &[NodeView], for_so_long: Duration) -> Option<usize> {
	let answering: Vec<_> = nodes.iter().enumerate().filter(|(_, node)| node.answer().is_some()).map(|(place, _)| place).collect();
	let turns = for_so_long.as_secs().checked_div(TURN.as_secs()).and_then(|turns| usize::try_from(turns).ok()).unwrap_or_default();
	answering.get(turns.checked_rem(answering.len())?).copied()
}

#[cfg(test)]
mod tests {
	use super::*;

	fn block(number: BlockNumber) -> BlockId {
		BlockId { number, hash: H256::from_low_u64_be(u64::from(number)) }
	}

	/// A node with these best and finalized blocks, that was asked for the last ten finalized ones.
	fn node(best: BlockNumber, finalized: BlockNumber) -> NodeView {
		let said = (finalized.saturating_sub(9)..=finalized).map(|number| (number, block(number).hash)).collect();
		NodeView { heads: Some(Heads { best: block(best), finalized: block(finalized) }), moving: true, said, ..Default::default() }
	}

	fn away(node: NodeView) -> NodeView {
		NodeView { heads: None, ..node }
	}

	fn steady(node: NodeView) -> NodeView {
		NodeView { fit_for: STEADY, ..node }
	}

	/// The same node, which calls another block of this height finalized.
	fn lying(mut node: NodeView, number: BlockNumber) -> NodeView {
		node.said.remove(&(number, block(number).hash));
		node.said.insert((number, H256::repeat_byte(0xff)));
		node
	}

	fn first(nodes: &[NodeView]) -> Choice {
		choose(nodes, None, Duration::ZERO)
	}

	fn next(nodes: &[NodeView], before: &Choice) -> Choice {
		choose(nodes, Some(before), Duration::ZERO)
	}

	fn using(used: usize) -> Choice {
		Choice { used, ..Default::default() }
	}

	#[test]
	fn one_node_is_used_and_believed() {
		assert_eq!(first(&[node(100, 97)]), Choice { used: 0, finalized: block(97), contradiction: None });
	}

	#[test]
	fn the_freshest_node_is_used_first_and_of_equal_ones_the_one_named_first() {
		assert_eq!(first(&[node(98, 97), node(100, 97), node(100, 97)]).used, 1);
		assert_eq!(first(&[node(100, 97), node(100, 97)]).used, 0);
		assert_eq!(first(&[away(node(100, 97)), node(90, 80)]).used, 1);
	}

	#[test]
	fn a_node_stays_in_use_until_it_is_more_than_five_blocks_behind() {
		assert_eq!(next(&[node(105, 97), node(100, 97)], &using(1)).used, 1);
		assert_eq!(next(&[node(106, 97), node(100, 97)], &using(1)).used, 0);
	}

	#[test]
	fn a_node_whose_finality_stands_still_is_left() {
		assert_eq!(next(&[node(120, 100), node(120, 80)], &using(1)).used, 1);
		assert_eq!(next(&[node(121, 101), node(121, 80)], &using(1)).used, 0);
	}

	#[test]
	fn a_node_that_is_away_syncing_or_of_another_chain_is_left() {
		let syncing = NodeView { syncing: true, ..node(100, 97) };
		let other = NodeView { fault: Some("is on another chain".into()), ..node(500, 497) };
		for unfit in [away(node(100, 97)), syncing, other] {
			assert_eq!(next(&[unfit, node(100, 97)], &using(0)).used, 1);
		}
	}

	#[test]
	fn without_a_fit_node_one_that_answers_is_used_or_the_one_in_use_stays() {
		let syncing = || NodeView { syncing: true, ..node(100, 97) };
		assert_eq!(next(&[away(node(100, 97)), away(node(100, 97))], &using(1)).used, 1);
		assert_eq!(next(&[away(node(100, 97)), syncing()], &using(0)).used, 1);
		assert_eq!(next(&[syncing(), syncing()], &using(1)).used, 1);
		assert_eq!(first(&[away(node(100, 97)), syncing()]).used, 1);
	}

	#[test]
	fn an_earlier_node_is_gone_back_to_only_when_it_has_been_fit_for_a_while() {
		assert_eq!(next(&[node(100, 97), node(100, 97)], &using(1)).used, 1);
		assert_eq!(next(&[steady(node(100, 97)), node(100, 97)], &using(1)).used, 0);
		// And never to a later one.
		assert_eq!(next(&[node(100, 97), steady(node(101, 97))], &using(0)).used, 0);
	}

	#[test]
	fn final_is_what_two_nodes_call_so() {
		assert_eq!(first(&[node(100, 97), node(100, 95)]).finalized, block(95));
		assert_eq!(first(&[node(100, 97), node(100, 95), node(100, 94)]).finalized, block(95));
		assert_eq!(first(&[node(100, 97), away(node(100, 95))]).finalized, block(97), "nobody else can be asked");
	}

	#[test]
	fn a_node_that_stands_still_far_behind_holds_nothing_up_but_one_that_moves_is_waited_for() {
		let mut slow = node(100, 76);
		let fast = NodeView { said: (60..=97).map(|number| (number, block(number).hash)).collect(), ..node(100, 97) };
		assert_eq!(first(&[fast.clone(), slow.clone()]).finalized, block(76));
		slow.moving = false;
		assert_eq!(first(&[fast, slow]).finalized, block(97));
	}

	#[test]
	fn what_was_final_stays_so() {
		let before = Choice { finalized: block(97), ..Default::default() };
		assert_eq!(next(&[node(100, 97), node(100, 90)], &before).finalized, block(97));
	}

	#[test]
	fn nodes_that_name_different_finalized_blocks_are_told_and_nothing_more_becomes_final() {
		let before = first(&[node(100, 95), node(100, 95)]);
		let choice = next(&[node(101, 97), lying(node(101, 97), 96)], &before);
		let said = vec![(0, block(96).hash), (1, H256::repeat_byte(0xff))];
		assert_eq!(choice.contradiction, Some(Contradiction { number: 96, said }));
		assert_eq!(choice.finalized, block(95));
		// Also when one gives in later, or is away: that may be the right one.
		for later in [[node(200, 197), node(200, 197)], [node(200, 197), away(node(101, 97))]] {
			let later = next(&later, &choice);
			assert_eq!((later.contradiction, later.finalized), (choice.contradiction.clone(), block(95)));
		}
	}

	#[test]
	fn what_two_of_three_say_does_not_outvote_the_third() {
		let nodes = [node(100, 97), node(100, 97), lying(node(100, 97), 97)];
		let choice = first(&nodes);
		assert_eq!(choice.contradiction.map(|found| found.number), Some(97));
		assert_eq!(choice.finalized, block(96));
	}

	#[test]
	fn a_node_that_takes_back_what_it_called_finalized_contradicts_itself() {
		let mut changing = node(100, 97);
		changing.said.insert((96, H256::repeat_byte(7)));
		assert_eq!(first(&[changing]).contradiction.map(|found| found.number), Some(96));
	}

	#[test]
	fn a_node_of_another_chain_contradicts_nobody() {
		let other = NodeView { fault: Some("is on another chain".into()), ..lying(node(100, 97), 95) };
		assert_eq!(first(&[node(100, 97), other]).contradiction, None);
	}

	#[test]
	fn while_nodes_contradict_each_other_each_that_answers_is_used_in_turn() {
		let nodes = [node(101, 97), away(node(101, 97)), lying(node(50, 97), 96)];
		let before = first(&nodes);
		let used = |seconds| choose(&nodes, Some(&before), Duration::from_secs(seconds)).used;
		assert_eq!([0, 119, 120, 239, 240].map(used), [0, 0, 2, 2, 0]);
	}
}
