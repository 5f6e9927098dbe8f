//! Machines of different speed in one run: each takes as many inner steps as it does in time, and nobody is dropped. Whoever comes meanwhile trains at once.

use crate::{
	room::Load,
	scenario::{included, Scenario, ROUND, SOON},
};
use neuroshard_e2e::{kept_unless_passed, until};
use neuroshard_types::{
	run::{Phase, RoundRecord, RoundView},
	RoundIndex,
};
use std::time::Duration;

/// More than a worker that shares two cores with another one takes in the time for training, or not many fewer.
const MOST_STEPS: u32 = 600;
const LEAST_STEPS: u32 = 10;
/// Which worker does what.
const SLOW: usize = 1;
const NEWCOMER: usize = 2;
/// A worker that goes for 100 ms and stands still for 900 ms, and for the 250 ms between two looks, is more than twelve times slower: also where rounds last so long
/// that the other one takes all steps and leaves it both cores, it takes far fewer.
const STANDS: Duration = Duration::from_millis(900);
const GOES: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_twelve_times_slower_takes_fewer_steps_and_is_included_all_the_same() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("unequal").unwrap();
	let mut scenario = Scenario::with_unequal_rounds(folder.path(), MOST_STEPS, LEAST_STEPS).await;
	let all = scenario.accounts([0, SLOW]);
	for round in 0..2 {
		let record = scenario.adopted_beside_a_slow_worker(SLOW, round).await;
		assert_eq!(included(&record), all, "round {round}");
		let [one, slow] = [scenario.steps(0, round).await, scenario.steps(SLOW, round).await];
		println!("round {round}: {one} and {slow} inner steps");
		assert!(slow >= LEAST_STEPS && 3 * slow < 2 * one, "the slow one took {slow}, the other {one}");
	}
	let first = scenario.adopted(0).await.validation_loss.get();
	assert!(first < scenario.training.first_loss && scenario.adopted(1).await.validation_loss.get() < first);
	scenario.a_newcomer_trains_in_the_round_under_way().await;
	scenario.training.stop(&scenario.network).await.unwrap();
	scenario.a_replay_agrees().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// The record of `round`, during which `slow` stands still most of the time.
	async fn adopted_beside_a_slow_worker(&mut self, slow: usize, round: RoundIndex) -> RoundRecord {
		let (run, what) = (self.training.run, format!("the end of round {round}"));
		let adopted = until(&what, ROUND, async || {
			self.network.workers[slow].thaw();
			tokio::time::sleep(GOES).await;
			self.network.workers[slow].freeze();
			tokio::time::sleep(STANDS).await;
			self.network.check()?;
			Ok(self.network.client().now().await?.record(run, round).await?)
		});
		let record = adopted.await.unwrap();
		self.network.workers[slow].thaw();
		record
	}

	/// A third worker comes while a round is trained, and is included in it with windows of its own.
	async fn a_newcomer_trains_in_the_round_under_way(&mut self) {
		let (run, dataset) = (self.training.run, self.training.dataset.clone());
		self.network.add_workers(1, Some(&dataset), 1).await.unwrap();
		// It stands still until a round begins.
		self.network.workers[NEWCOMER].freeze();
		let begins = |round: &RoundView, best| round.phase == Phase::Training && best <= round.started_at.0 + 1;
		let newest = self.network.client().now().await.unwrap().round(run).await.unwrap().expect("a round").round;
		let index = until("the beginning of a round", ROUND, async || {
			self.network.check()?;
			let at = self.network.client().now().await?;
			let round = at.round(run).await?.filter(|round| round.round > newest && begins(round, at.block().number));
			Ok(round.map(|round| round.round))
		});
		let (index, newcomer) = (index.await.unwrap(), self.account(NEWCOMER));
		self.network.workers[NEWCOMER].thaw();
		let position = until("the newcomer's place", SOON, async || {
			self.network.check()?;
			let round = self.network.client().now().await?.round(run).await?;
			Ok(round.filter(|round| round.round == index).and_then(|round| round.position(&newcomer)))
		});
		assert_eq!(position.await.unwrap(), 2, "its place is behind the others'");
		let record = self.adopted(index).await;
		assert_eq!(record.late, std::slice::from_ref(&newcomer));
		assert_eq!(included(&record), self.accounts([0, SLOW, NEWCOMER]));
		let claim = self.network.client().now().await.unwrap().work_claim(run, index, &newcomer).await.unwrap().expect("it has revealed");
		println!("round {index}: {} inner steps of the newcomer, {} of another one", claim.steps, self.steps(0, index).await);
		assert_eq!(claim.position, 2);
		assert!((LEAST_STEPS..MOST_STEPS).contains(&claim.steps), "{} steps", claim.steps);
	}

	/// Inner steps behind the work of a worker in an adopted round.
	async fn steps(&self, worker: usize, round: RoundIndex) -> u32 {
		let at = self.network.client().now().await.unwrap();
		let claim = at.work_claim(self.training.run, round, &self.account(worker)).await.unwrap();
		claim.expect("it has revealed its work").steps
	}
}
