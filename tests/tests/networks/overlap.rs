//! Rounds that overlap: workers compute the next one while this one is exchanged, voted on and attested.

use crate::{
	room::Load,
	scenario::{included, Scenario, ROUND},
};
use neuroshard_e2e::{kept_unless_passed, until};
use neuroshard_types::{run::Phase, RoundIndex};

/// So many that a round takes longer than what is exchanged of the one before.
const INNER_STEPS: u32 = 240;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_round_is_computed_while_this_one_is_exchanged_and_a_killed_worker_loses_nothing_of_it() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("overlap").unwrap();
	let mut scenario = Scenario::with_overlap(folder.path(), INNER_STEPS).await;
	let all = scenario.accounts([0, 1, 2]);
	scenario.everybody_trains_while_a_round_is_exchanged(0).await;
	scenario.network.workers[0].kill();
	scenario.network.workers[0].start().unwrap();
	for round in 0..3 {
		let record = scenario.adopted(round).await;
		assert_eq!(included(&record), all, "round {round}");
		assert!(record.validation_loss.get() < scenario.training.first_loss, "round {round}");
		// The first round has none before it, and the second one starts where that did.
		let before = match round {
			0 => scenario.adopted(0).await.start,
			_ => scenario.adopted(round - 1).await.start,
		};
		assert_eq!(record.inner_start, before, "round {round}");
	}
	scenario.training.stop(&scenario.network).await.unwrap();
	scenario.a_replay_agrees().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// Waits until each worker is seen to take inner steps in a phase of `round` after Training, or of a later one.
	async fn everybody_trains_while_a_round_is_exchanged(&mut self, round: RoundIndex) {
		let mut seen = [false; 3];
		until("everybody to train while a round is exchanged", ROUND, async || {
			self.network.check()?;
			let there = self.network.client().now().await?.round(self.training.run).await?;
			let exchanged = there.is_some_and(|there| {
				there.round >= round && matches!(there.phase, Phase::Revealing | Phase::Availability | Phase::Checkpointing)
			});
			for (worker, seen) in self.network.workers.iter().zip(&mut seen) {
				let phase = worker.status().and_then(|status| status.step.and(status.phase));
				*seen |= exchanged && phase.is_some_and(|phase| phase != "Training");
			}
			Ok(seen.iter().all(|seen| *seen).then_some(()))
		})
		.await
		.unwrap();
	}
}
