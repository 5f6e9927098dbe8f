//! Machines of different speed in one run: each takes as many inner steps as it does in time, and nobody is dropped.

use crate::scenario::{included, Scenario, ROUND};
use neuroshard_e2e::kept_unless_passed;
use neuroshard_types::{run::RoundRecord, RoundIndex};
use std::time::{Duration, Instant};

/// More than a worker that shares two cores with two others takes in the time for training, or not many fewer.
const MOST_STEPS: u32 = 600;
const LEAST_STEPS: u32 = 10;
/// A worker that stands still for three of four moments is four times slower.
const STANDS: Duration = Duration::from_millis(300);
const GOES: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_four_times_slower_takes_fewer_steps_and_is_included_all_the_same() {
	let mut folder = kept_unless_passed("unequal").unwrap();
	let mut scenario = Scenario::with_unequal_rounds(folder.path(), MOST_STEPS, LEAST_STEPS).await;
	let all = scenario.accounts([0, 1, 2]);
	for round in 0..2 {
		let record = scenario.adopted_beside_a_slow_worker(2, round).await;
		assert_eq!(included(&record), all, "round {round}");
		let [one, other, slow] = scenario.steps(round).await;
		println!("round {round}: {one}, {other} and {slow} inner steps");
		assert!(slow >= LEAST_STEPS && 2 * slow < one.min(other), "the slow one took {slow}, the others {one} and {other}");
	}
	let first = scenario.adopted(0).await.validation_loss.get();
	assert!(first < scenario.training.first_loss && scenario.adopted(1).await.validation_loss.get() < first);
	scenario.training.stop(&scenario.network).await.unwrap();
	scenario.a_replay_agrees().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// The record of `round`, during which `slow` stands still most of the time.
	async fn adopted_beside_a_slow_worker(&mut self, slow: usize, round: RoundIndex) -> RoundRecord {
		let (run, begun) = (self.training.run, Instant::now());
		loop {
			self.network.workers[slow].freeze();
			tokio::time::sleep(STANDS).await;
			self.network.workers[slow].thaw();
			tokio::time::sleep(GOES).await;
			self.network.check().unwrap();
			if let Some(record) = self.network.client().now().await.unwrap().record(run, round).await.unwrap() {
				return record;
			}
			assert!(begun.elapsed() < ROUND, "round {round} is not adopted");
		}
	}

	/// Inner steps behind the work of each worker in an adopted round.
	async fn steps(&self, round: RoundIndex) -> [u32; 3] {
		let at = self.network.client().now().await.unwrap();
		let mut steps = [0; 3];
		for (worker, steps) in steps.iter_mut().enumerate() {
			let claim = at.work_claim(self.training.run, round, &self.account(worker)).await.unwrap();
			*steps = claim.expect("it has revealed its work").steps;
		}
		steps
	}
}
