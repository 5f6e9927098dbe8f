//! Getting deltas from those who revealed them, or others who have them: those of the round at hand, and after a fraud those of earlier rounds
//! once more.

use super::patience::until_patience_ends;
use crate::{
	content::rounds::round_label,
	participant::tasks::{leaves, Effect, Moment, Tasks},
	WorkerError,
};
use neuroshard_store::ContentDescriptor;
use neuroshard_training::reach::rounds_apart;
use neuroshard_types::{run::RoundView, AccountId, RoundIndex, RunId, H256, MAX_PARTICIPANTS};
use std::{
	collections::{BTreeMap, BTreeSet},
	time::Duration,
};

/// A delta that does not come within a block of the first one is asked for again, by itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// Deltas that are fetched in one task: as many as a round can have.
const AT_A_TIME: usize = MAX_PARTICIPANTS as usize;

impl Tasks {
	/// Gets the oldest of the `wanted` deltas, given as rounds and roots, into the store, and checks them.
	pub(in crate::participant) async fn fetch_deltas(
		&self,
		moment: &Moment,
		mut wanted: Vec<(RoundIndex, H256)>,
	) -> Result<Effect, WorkerError> {
		let (state, round) = moment.round()?;
		let (run, config) = (state.id, state.view.config.clone());
		wanted.truncate(AT_A_TIME);
		let leaves = leaves(&config)?.delta;
		let owners = owners(moment, run, round, &wanted).await?;
		let peers = moment.book.all();
		let fetches = wanted.into_iter().map(|(index, root)| {
			let content = ContentDescriptor { root, leaves };
			let owner = owners.get(&(index, root)).and_then(|owner| moment.book.peer_of(owner));
			let fetched = self.content.delta(round_label(run, index), content, owner, &peers);
			let config = config.clone();
			// What is redone was voted on when it was new.
			let voted_on = (index == round.round).then_some((round.start, rounds_between(round, root)));
			let checked = async move {
				let bytes = fetched.await?;
				match self.quorum {
					// It is in the store, and is read from there.
					Some(_) => {
						drop(bytes);
						self.check_filed_delta((run, config), voted_on, root).await
					}
					None => self.check_delta((run, config), voted_on, root, bytes).await,
				}
			};
			async move { (root, checked.await) }
		});
		let mut missing = false;
		for (root, result) in until_patience_ends(fetches, PATIENCE).await {
			match result {
				Ok(()) => {}
				// Without the checkpoint that they start from, none can be checked.
				Err(error @ (WorkerError::Stopped | WorkerError::NotLoaded { .. })) => return Err(error),
				Err(error) => {
					tracing::warn!("delta {root}: {error}");
					missing = true;
				}
			}
		}
		Ok(if missing { Effect::Incomplete } else { Effect::Fetched })
	}
}

/// Returns the number of rounds whose inner steps may lie between what a round starts from and what the delta with this root leads to: those of the
/// round, and of a bridge also those by which the other cohort may be away.
fn rounds_between(round: &RoundView, root: H256) -> u32 {
	let bridge = round.bridge.as_ref().filter(|bridge| bridge.taken);
	let revealed = |who: &AccountId| {
		round.participants.iter().any(|one| one.account == *who && one.work.as_ref().is_some_and(|work| work.delta_root == root))
	};
	bridge.filter(|bridge| revealed(&bridge.who)).map_or(1, |bridge| rounds_apart(round.round, bridge.round).saturating_add(1))
}

/// Returns the accounts that revealed these deltas: according to the round at hand, or to the records of those before it.
async fn owners(
	moment: &Moment,
	run: RunId,
	round: &RoundView,
	wanted: &[(RoundIndex, H256)],
) -> Result<BTreeMap<(RoundIndex, H256), AccountId>, WorkerError> {
	let mut owners = BTreeMap::new();
	for index in wanted.iter().map(|(index, _)| *index).collect::<BTreeSet<_>>() {
		let revealed: Vec<_> = if index == round.round {
			let roots = round.participants.iter().filter_map(|one| Some((one.account.clone(), one.work.as_ref()?.delta_root)));
			roots.collect()
		} else {
			moment.seen.at.record(run, index).await?.map(|record| record.included).unwrap_or_default()
		};
		owners.extend(revealed.into_iter().map(|(account, root)| ((index, root), account)));
	}
	Ok(owners)
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::participant::decide::plan::tests::training;
	use neuroshard_types::run::{Bridge, Work};

	#[test]
	fn the_delta_of_a_bridge_may_lead_as_far_as_cohorts_may_be_apart_and_a_round_further() {
		let (chain, _) = training();
		let mut round = chain.run.and_then(|run| run.round).unwrap();
		let root = |place: u8| H256::repeat_byte(0xd0 + place);
		for (place, one) in (0..).zip(&mut round.participants) {
			one.work = Some(Work { state_roots: Default::default(), delta_root: root(place), delta_bytes: 0, tokens: 0 });
		}
		let far = |round: &RoundView| [0, 1, 2].map(|place| rounds_between(round, root(place)));
		assert_eq!(far(&round), [1, 1, 1]);
		let who = round.participants[1].account.clone();
		round.bridge = Some(Bridge { who, run: 9, round: 3, checkpoint: H256::zero(), taken: false });
		assert_eq!(far(&round), [1, 1, 1], "it has started from its own cohort's");
		round.bridge.as_mut().unwrap().taken = true;
		assert_eq!((round.round, far(&round)), (1, [1, 4, 1]));
		// Whoever hands over the same takes nothing from it.
		round.participants[2].work.as_mut().unwrap().delta_root = root(1);
		assert_eq!(far(&round), [1, 4, 1]);
		round.bridge.as_mut().unwrap().round = 6_000;
		assert_eq!(far(&round), [1, 5, 1], "a false bridge hands over no more the longer a run lasts");
	}
}
