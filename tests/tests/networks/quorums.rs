//! One place of a run that three workers hold as a quorum, beside a worker that holds all of the model.

use crate::{
	room::Load,
	scenario::{included, Scenario, ROUND, RULES},
};
use neuroshard_e2e::{kept_unless_passed, until, Binaries, Layout, Network, Prepared, Preset, Text, Training};
use neuroshard_roles::status::Status;
use neuroshard_types::RoundIndex;
use std::{path::Path, time::Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_hold_a_third_of_the_model_each_train_beside_one_that_holds_all_of_it() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("quorums").unwrap();
	let mut scenario = Scenario::with_a_quorum(folder.path()).await;
	let (run, both) = (scenario.training.run, scenario.accounts([0, 1]));
	// Nobody, then who leads, and then a member is killed within the round.
	for (round, killed) in [None, Some(1), Some(3)].into_iter().enumerate() {
		let round = u32::try_from(round).unwrap();
		if let Some(worker) = killed {
			scenario.is_killed_within(worker, round).await;
		}
		// The worker that has computed everything votes for the delta of the quorum, whose leader attests the same checkpoint.
		let record = scenario.adopted(round).await;
		assert_eq!(included(&record), both, "round {round}");
		let attested: Vec<_> = record.attested.iter().map(|(_, root)| *root).collect();
		assert!(attested.iter().all(|root| *root == record.checkpoint), "round {round}: {attested:?}");
		let at = scenario.network.client().now().await.unwrap();
		let claim = at.work_claim(run, round, &scenario.account(1)).await.unwrap().expect("it has revealed");
		let seats = claim.quorum.expect("a quorum").seats;
		assert_eq!(seats.iter().map(|seat| seat.who.clone()).collect::<Vec<_>>(), [1, 2, 3].map(|worker| scenario.account(worker)));
		assert!(at.work_claim(run, round, &scenario.account(0)).await.unwrap().expect("it has revealed").quorum.is_none());
	}
	let losses = [scenario.adopted(0).await.validation_loss.get(), scenario.adopted(1).await.validation_loss.get()];
	assert!(losses[0] < scenario.training.first_loss && losses[1] < losses[0], "{} > {losses:?}", scenario.training.first_loss);
	scenario.training.stop(&scenario.network).await.unwrap();
	scenario.a_replay_agrees().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// Kills a member of the quorum (kill -9) between two intervals of inner steps of a round, and starts it again. Returns when it takes steps of the same round.
	async fn is_killed_within(&mut self, worker: usize, round: RoundIndex) {
		let network = &mut self.network;
		let under_way = |status: &Status| status.round == Some(round) && status.step.is_some_and(|(done, all)| done < all);
		until("an interval of the round", ROUND, async || {
			network.check()?;
			Ok(network.workers[worker].status().filter(under_way))
		})
		.await
		.unwrap();
		network.workers[worker].kill();
		let before = Instant::now();
		network.workers[worker].start().unwrap();
		let pid = network.workers[worker].process().as_ref().unwrap().id();
		let again = until("steps after a restart", ROUND, async || {
			network.check()?;
			let status = network.workers[worker].status().filter(|status| status.pid == pid && status.round == Some(round));
			Ok(status.and_then(|status| status.step))
		});
		let (done, all) = again.await.unwrap();
		println!(
			"worker {worker} is killed in round {round}: {:.1} s after its start {done} of {all} inner steps are done",
			before.elapsed().as_secs_f64()
		);
	}

	/// A worker, and three that hold one place together.
	async fn with_a_quorum(folder: &Path) -> Self {
		// Each member has an address for the others besides.
		let layout = Layout::create(folder.join("network"), None, 7).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 2..=3).await.unwrap().with_patience(4);
		let mut network = Network::start(Binaries::find().unwrap(), layout, RULES).await.unwrap();
		let training = Training::sponsor(&network, prepared, None).await.unwrap();
		let layers = training.model.layers;
		let units = [2, layers.div_ceil(2), layers / 2];
		network.add_workers(1, Some(&training.dataset), 1).await.unwrap();
		network.add_quorum(training.run, &units, Some(&training.dataset), 1).await.unwrap();
		Self { network, training }
	}
}
