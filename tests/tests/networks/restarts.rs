//! A worker that is killed in the middle of its inner steps goes on where it was, and nobody waits for one that said farewell.

use crate::{
	room::Load,
	scenario::{included, Scenario, SOON},
};
use neuroshard_e2e::{kept_unless_passed, until};
use neuroshard_types::{run::Phase, RoundIndex};
use std::time::{Duration, Instant};

/// So many that a round takes several times as long as a worker takes to start.
const INNER_STEPS: u32 = 480;
/// A worker that trains beside two others on two cores gets there.
const STEPS: Duration = Duration::from_secs(240);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_worker_goes_on_in_the_middle_of_its_round_and_nobody_waits_for_one_that_left() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("restarts").unwrap();
	let mut scenario = Scenario::with_long_rounds(folder.path(), INNER_STEPS).await;
	scenario.a_killed_worker_loses_nothing(0).await;
	scenario.a_round_ends_without_a_worker_that_was_stopped().await;
	scenario.training.stop(&scenario.network).await.unwrap();
	scenario.a_replay_agrees().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// Waits until `worker` has done more than `steps` inner steps of `round`, and returns how many.
	async fn has_done(&mut self, worker: usize, round: RoundIndex, steps: u32) -> u32 {
		let waited = format!("inner step {steps} of worker {worker} in round {round}");
		until(&waited, STEPS, async || {
			self.network.check()?;
			let status = self.network.workers[worker].status().filter(|status| status.round == Some(round));
			Ok(status.and_then(|status| status.step).map(|(step, _)| step).filter(|step| *step > steps))
		})
		.await
		.unwrap()
	}

	async fn a_killed_worker_loses_nothing(&mut self, round: RoundIndex) {
		let killed_after = self.has_done(0, round, INNER_STEPS / 2).await;
		self.network.workers[0].kill();
		let started = Instant::now();
		self.network.workers[0].start().unwrap();
		let words = format!("goes on with round {round} after inner step ");
		let went_on = until("the killed worker to go on", SOON, async || {
			let said = self.network.workers[0].said()?;
			let number = |rest: &str| rest.split(' ').next().and_then(|step| step.parse::<u32>().ok());
			Ok(said.split_once(&words).and_then(|(_, rest)| number(rest)))
		});
		let went_on = went_on.await.unwrap();
		println!(
			"killed after inner step {killed_after}, went on after step {went_on}, {:.1} s after its start",
			started.elapsed().as_secs_f32()
		);
		assert!(went_on > 0 && went_on <= INNER_STEPS);
		assert_eq!(included(&self.adopted(round).await), self.accounts([0, 1, 2]), "its round is not lost");
	}

	async fn a_round_ends_without_a_worker_that_was_stopped(&mut self) {
		let mut round = 1;
		self.participant_from(2, &mut round).await;
		self.has_done(2, round, 1).await;
		let there = self.view().await.unwrap().round.filter(|there| (there.round, there.phase) == (round, Phase::Training));
		let deadline = there.and_then(|there| there.deadline).expect("a round in Training with a deadline");
		self.network.workers[2].stop().await;
		self.past(round, Phase::Training).await;
		let now = self.network.client().heads().await.unwrap().best.number;
		println!("Training of round {round} was over in block {now} at the latest, its deadline is {deadline}");
		assert!(now < deadline, "nobody waits for the deadline {deadline}: it is block {now}");
		assert_eq!(included(&self.adopted(round).await), self.accounts([0, 1]));
	}
}
