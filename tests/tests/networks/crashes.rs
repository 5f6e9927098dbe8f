//! A network lives through killed workers and a killed validator, and whoever has its blocks and the text can compute all of it again.

use crate::{
	room::Load,
	scenario::{included, Scenario, SOON},
};
use neuroshard_e2e::{kept_unless_passed, unless_away, until, Ended, Minted};
use neuroshard_types::{run::Phase, RoundIndex, H256};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_trains_through_crashes_and_everybody_can_recompute_it() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("crashes").unwrap();
	let mut scenario = Scenario::start(folder.path(), 3).await;
	let mut last = scenario.three_workers_train().await;
	last = scenario.a_worker_killed_before_its_reveal_is_back_in_the_next_round(last.saturating_add(1)).await;
	last = scenario.a_worker_killed_after_its_reveal_is_back_in_the_next_round(last).await;
	scenario.workers_survive_a_killed_validator(last).await;
	scenario.rewards_are_what_was_minted().await;
	scenario.training.stop(&scenario.network).await.unwrap();
	scenario.all_workers_end_with_the_chains_checkpoint().await;
	scenario.a_replay_agrees_and_a_forged_dataset_does_not_pass().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// Returns a round in which all three take part again.
	async fn a_worker_killed_before_its_reveal_is_back_in_the_next_round(&mut self, round: RoundIndex) -> RoundIndex {
		let before = self.provider(0).await;
		self.participant(0, round, "takes part", |_| true).await;
		self.network.workers[0].kill();
		// It may have committed, but not revealed: that waits for the finality of the commitment.
		self.past(round, Phase::Revealing).await;
		self.network.workers[0].start().unwrap();
		assert_eq!(included(&self.adopted(round).await), self.accounts([1, 2]));
		self.is_back(0, round.saturating_add(1), &before).await
	}

	/// Kills the worker in `round`, in which it takes part. Returns a round in which all three take part again.
	async fn a_worker_killed_after_its_reveal_is_back_in_the_next_round(&mut self, round: RoundIndex) -> RoundIndex {
		let before = self.provider(1).await;
		self.participant(1, round, "has revealed", |participant| participant.work.is_some()).await;
		self.network.workers[1].kill();
		// Its vote is missed.
		self.past(round, Phase::Availability).await;
		self.network.workers[1].start().unwrap();
		// Whether the others had fetched its delta by then is theirs to say.
		let included = included(&self.adopted(round).await);
		assert!(included.is_superset(&self.accounts([0, 2])), "round {round}: {included:?}");
		self.is_back(1, round.saturating_add(1), &before).await
	}

	/// Kills the validator of two workers in `round`, in which all three take part.
	async fn workers_survive_a_killed_validator(&mut self, round: RoundIndex) {
		let processes: Vec<u32> = self.statuses();
		self.network.validators[0].kill();
		self.network.validators[0].start().unwrap();
		until("an answer of the validator that was started again", SOON, async || {
			self.network.check()?;
			Ok(unless_away(self.network.client().heads().await)?.map(drop))
		})
		.await
		.unwrap();
		assert_eq!(included(&self.adopted(round).await), self.accounts([0, 1, 2]), "nobody lost its work");
		assert_eq!(self.statuses(), processes, "no worker was started again");
		let adopted_at = self.adopted(round).await.adopted_at;
		until("finality after the restart", SOON, async || {
			Ok((self.network.client().heads().await?.finalized.number >= adopted_at).then_some(()))
		})
		.await
		.unwrap();
	}

	async fn rewards_are_what_was_minted(&mut self) {
		let minted = Minted::wait(&self.network, &self.training, 1).await.unwrap();
		assert!(minted.rewards > 0);
		assert!(minted.is_balanced() && minted.burned == 0, "{minted:?}");
	}

	async fn a_replay_agrees_and_a_forged_dataset_does_not_pass(&mut self) {
		self.network.stop_workers().await;
		let root: H256 = self.view().await.unwrap().run.checkpoint;
		let (run, dataset) = (self.training.run.to_string(), self.training.dataset.to_string_lossy().into_owned());
		let replay = || self.network.workers[0].command(["replay", "--run", &run, "--dataset", &dataset]);
		let output = Ended::output_of(replay()).await.unwrap();
		assert!(output.contains("bit for bit") && output.contains(&format!("{root:?}")), "{output}");

		let shard = self.training.dataset.join("shards/00000.bin");
		let mut bytes = std::fs::read(&shard).unwrap();
		*bytes.first_mut().unwrap() ^= 1;
		std::fs::write(&shard, bytes).unwrap();
		let ended = Ended::of(replay()).await.unwrap();
		assert!(!ended.success && ended.error.contains("shard 0"), "{}", ended.error);
	}
}
