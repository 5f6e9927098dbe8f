//! Where a quorum begins, or goes on: with the last state that all members have.
//!
//! Each tells the leader which states it has, with its part's hash. The leader knows what each part has to be: those of the checkpoint, and those that members
//! have signed after each interval. So a state counts only if it is the right one.

use crate::{
	ledger::Ledger,
	member::Fault,
	message::{Beginning, Message},
	run::{room, Mail, QuorumError},
	KeepError, Place,
};
use neuroshard_graph::{
	game::Record,
	merkle::Hash,
	tiles::{leaf_hash, LEAF_BYTES},
	TrainConfig,
};
use std::{collections::BTreeMap, ops::Range, time::Duration};

/// States that a member says it has, at most.
pub(crate) const MOST: usize = 8;

/// Why there is no state to begin with.
#[derive(Debug, thiserror::Error)]
pub enum AgreeError {
	/// Messages, or who sends them.
	#[error(transparent)]
	Quorum(#[from] QuorumError),
	/// What the leader keeps.
	#[error(transparent)]
	Keep(#[from] KeepError),
	/// Some have none of the states that the leader knows.
	#[error("members {0:?} have no state that all have and that is what was signed or agreed on; have each of them load the checkpoint again, or replace it")]
	Nothing(Vec<usize>),
}

/// Parts of a state: of each member the roots of its subtrees of parameters, first and second moments.
pub(crate) type Parts = Vec<[Vec<Hash>; 3]>;

/// Intervals of a round between two committed states.
pub fn intervals(train: &TrainConfig) -> impl Iterator<Item = Range<u32>> + '_ {
	let mut first = 0;
	(1..=train.inner_steps).filter(|&step| train.commits_after(step)).map(move |end| {
		let steps = first..end;
		first = end;
		steps
	})
}

/// A part of a state, as records have it.
pub(crate) fn part_hash(part: &[Vec<Hash>; 3]) -> Hash {
	Record::new(0, part, None).before
}

/// Parts of the state that a round begins with, of the roots of each member's subtrees of the parameters: moments are zeros.
pub(crate) fn first_parts(params: &[Vec<Hash>], covers: &[neuroshard_graph::cover::Cover]) -> Parts {
	let zeros = leaf_hash(&[0; LEAF_BYTES]);
	params.iter().zip(covers).map(|(params, cover)| [params.clone(), cover.uniform(zeros), cover.uniform(zeros)]).collect()
}

/// What the leader knows of the states that a round can go on from: parts by steps behind it. After an interval of which it keeps no records it knows none.
///
/// # Errors
/// [`KeepError`].
pub(crate) fn known(train: &TrainConfig, first: Parts, ledger: &Ledger) -> Result<BTreeMap<u32, Parts>, KeepError> {
	let mut known = BTreeMap::from([(0, first)]);
	for steps in intervals(train) {
		let Some(led) = ledger.kept(steps.start)? else { break };
		known.insert(steps.end, led.parts());
	}
	Ok(known)
}

/// The most inner steps behind a state that the leader knows and all members have.
///
/// # Errors
/// Members that have the fewest of these states, if there is none.
pub fn latest(known: &BTreeMap<u32, Vec<Hash>>, have: &BTreeMap<usize, Vec<Beginning>>) -> Result<u32, Vec<usize>> {
	let has = |member: &usize, steps: u32, parts: &[Hash]| {
		let state = parts.get(*member);
		have.get(member).is_some_and(|have| have.iter().any(|one| one.steps == steps && Some(&one.state) == state))
	};
	let all = |(steps, parts): &(&u32, &Vec<Hash>)| have.keys().all(|member| has(member, **steps, parts));
	if let Some((steps, _)) = known.iter().rev().find(all) {
		return Ok(*steps);
	}
	let count = |member: &usize| known.iter().filter(|(steps, parts)| has(member, **steps, parts)).count();
	let least = have.keys().map(count).min().unwrap_or_default();
	Err(have.keys().filter(|member| count(member) == least).copied().collect())
}

/// Agrees with the others on the state to begin with: what is behind it. `have` is what this member has; who leads gives what it knows.
///
/// # Errors
/// [`AgreeError`].
pub(crate) fn agree(
	(place, leader): (&Place, usize),
	mail: &mut Mail,
	have: Vec<Beginning>,
	known: Option<&BTreeMap<u32, Parts>>,
	patience: Duration,
) -> Result<u32, AgreeError> {
	let (own, room) = (place.member, room(place.flying));
	let fault = |member, what| AgreeError::Quorum(Fault::Member { member, what }.into());
	let Some(known) = known else {
		mail.send(leader, Message::Have(have.clone()))?;
		return match mail.expect(patience, &[leader], room)? {
			(from, Message::Begin(steps)) if from == leader && have.iter().any(|one| one.steps == steps) => Ok(steps),
			(from, _) => Err(fault(from, "sent something else than which of the known states all begin with")),
		};
	};
	let mut all = BTreeMap::from([(own, have)]);
	loop {
		let missing: Vec<usize> = (0..place.spans.len()).filter(|member| !all.contains_key(member)).collect();
		if missing.is_empty() {
			break;
		}
		match mail.expect(patience, &missing, room)? {
			(from, Message::Have(have)) if missing.contains(&from) && have.len() <= MOST => drop(all.insert(from, have)),
			(from, _) => return Err(fault(from, "sent something else than the states that it has, or too many of them")),
		}
	}
	let hashes = known.iter().map(|(steps, parts)| (*steps, parts.iter().map(part_hash).collect())).collect();
	let steps = latest(&hashes, &all).map_err(AgreeError::Nothing)?;
	for member in (0..place.spans.len()).filter(|&member| member != own) {
		mail.send(member, Message::Begin(steps))?;
	}
	Ok(steps)
}

#[cfg(test)]
mod tests {
	use super::*;

	fn beginnings(states: &[(u32, u8)]) -> Vec<Beginning> {
		states.iter().map(|&(steps, state)| Beginning { steps, state: [state; 32] }).collect()
	}

	#[test]
	fn all_begin_with_the_last_state_that_is_known_and_that_all_have() {
		// Parts of members 0 and 1.
		let known = BTreeMap::from([(0, vec![[1; 32], [2; 32]]), (4, vec![[3; 32], [4; 32]]), (8, vec![[5; 32], [6; 32]])]);
		let latest =
			|first: &[(u32, u8)], second: &[(u32, u8)]| latest(&known, &BTreeMap::from([(0, beginnings(first)), (1, beginnings(second))]));
		assert_eq!(latest(&[(0, 1), (4, 3), (8, 5)], &[(0, 2), (4, 4), (8, 6)]), Ok(8));
		assert_eq!(latest(&[(0, 1), (4, 3), (8, 5)], &[(4, 4), (0, 2)]), Ok(4));
		// Another state after 4 steps than was signed is none, and a state that the leader does not know neither.
		assert_eq!(latest(&[(0, 1), (4, 3)], &[(0, 2), (4, 9)]), Ok(0));
		assert_eq!(latest(&[(0, 1), (12, 7)], &[(0, 2), (12, 7)]), Ok(0));
		// A new leader keeps no records, and one has another checkpoint.
		assert_eq!(latest(&[(0, 1), (4, 3)], &[(0, 1)]), Err(vec![1]));
		assert_eq!(latest(&[(4, 3)], &[(8, 6)]), Err(vec![0, 1]));
	}

	#[test]
	fn intervals_end_where_states_are_committed_and_the_last_one_with_the_round() {
		let train = TrainConfig { inner_steps: 10, commit_interval: 4, ..TrainConfig::tiny() };
		assert_eq!(intervals(&train).collect::<Vec<_>>(), [0..4, 4..8, 8..10]);
	}
}
