//! What scenarios of a network without cheaters share. Each is one test, because starting a network costs more than any part of it. Every wait has a
//! deadline and is for something that the chain or a process says.

use neuroshard_e2e::{until, Binaries, Ended, Error, Layout, Network, Prepared, Preset, Rules, Text, Training, View, WorkerNode};
use neuroshard_graph::merkle::blake2_256;
use neuroshard_inference::Card;
use neuroshard_types::{
	provider::ProviderView,
	run::{ParticipantView, Phase, RoundRecord, RunStatus},
	AccountId, RoundIndex,
};
use std::{collections::BTreeSet, path::Path, time::Duration};

/// A round may wait for an absentee in every one of its phases, on a busy machine.
pub(crate) const ROUND: Duration = Duration::from_secs(240);
/// Something that takes a few blocks.
pub(crate) const SOON: Duration = Duration::from_secs(120);
/// A dispute in which one side says nothing takes seconds; a claim can be disputed long enough for workers that are started again meanwhile.
pub(crate) const RULES: Rules = Rules { window: 30, clock: 15, extension: 5, audits: None, answers: None, patient: false };

/// The run of `training` at its end, after two rounds in which the loss fell.
pub(crate) async fn finished(network: &mut Network, training: &Training) -> View {
	let over = until("the end of the run", 2 * SOON, async || {
		network.check()?;
		let view = View::look(network, training, None).await?;
		Ok((view.run.status == RunStatus::Finished).then_some(view))
	});
	let over = over.await.unwrap();
	let losses: Vec<f32> = over.records.iter().map(|record| record.validation_loss.get()).collect();
	assert!(losses.len() == 2 && losses[0] < training.first_loss && losses[1] < losses[0], "{} > {losses:?}", training.first_loss);
	over
}

/// The model of the run as `worker` exports it to `out`, which is that of the run's last checkpoint.
pub(crate) async fn exported(worker: &WorkerNode, training: &Training, over: &View, out: &Path) -> Card {
	let newest = until("the last checkpoint", SOON, async || {
		let found = worker.checkpoint(training.run, &training.model)?;
		Ok(found.filter(|found| found.header.root() == over.run.checkpoint))
	});
	let newest = newest.await.unwrap();
	Ended::output_of(worker.command(["export", "--out", out.to_str().unwrap()])).await.unwrap();
	let (card, shape, parameters) = Card::of_folder(out, 1).unwrap();
	let bytes: Vec<u8> = newest.params.iter().flat_map(|value| value.to_le_bytes()).collect();
	assert_eq!((shape, parameters.root.0), (training.model.clone(), blake2_256(&bytes)));
	card
}

/// A network of three workers that train a tiny model.
pub(crate) struct Scenario {
	pub(crate) network: Network,
	pub(crate) training: Training,
}

impl Scenario {
	/// Starts it in `folder`, with room for `workers`.
	pub(crate) async fn start(folder: &Path, workers: u16) -> Self {
		let layout = Layout::create(folder.join("network"), None, workers).unwrap();
		// Whoever is started again on a busy machine is back before a phase is over.
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 3..=8).await.unwrap().with_patience(2);
		Self::of(layout, prepared, RULES).await
	}

	/// The same with rounds of so many inner steps, which may take longer.
	pub(crate) async fn with_long_rounds(folder: &Path, inner_steps: u32) -> Self {
		let layout = Layout::create(folder.join("network"), None, 3).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 2..=3).await.unwrap();
		Self::of(layout, prepared.with_inner_steps(inner_steps), Rules { patient: true, ..RULES }).await
	}

	/// The same with rounds of so many inner steps, each of which is trained while the one before is exchanged.
	pub(crate) async fn with_overlap(folder: &Path, inner_steps: u32) -> Self {
		let layout = Layout::create(folder.join("network"), None, 3).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 3..=3).await.unwrap();
		Self::of(layout, prepared.with_inner_steps(inner_steps).with_overlap().with_patience(2), Rules { patient: true, ..RULES }).await
	}

	/// Two workers with rounds of up to so many inner steps, of which each takes as many as it does in time, and room for a third one.
	pub(crate) async fn with_unequal_rounds(folder: &Path, inner_steps: u32, least_steps: u32) -> Self {
		let layout = Layout::create(folder.join("network"), None, 3).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 2..=3).await.unwrap();
		Self::with_workers(2, layout, prepared.with_inner_steps(inner_steps).with_steps_by_speed(least_steps), RULES).await
	}

	async fn of(layout: Layout, prepared: Prepared, rules: Rules) -> Self {
		Self::with_workers(3, layout, prepared, rules).await
	}

	async fn with_workers(count: usize, layout: Layout, prepared: Prepared, rules: Rules) -> Self {
		let mut network = Network::start(Binaries::find().unwrap(), layout, rules).await.unwrap();
		let training = Training::sponsor(&network, prepared, None).await.unwrap();
		network.add_workers(count, Some(&training.dataset), 1).await.unwrap();
		Self { network, training }
	}

	/// Rounds 0 and 1, undisturbed.
	pub(crate) async fn three_workers_train(&mut self) -> RoundIndex {
		let all = self.accounts([0, 1, 2]);
		for round in 0..2 {
			assert_eq!(included(&self.adopted(round).await), all, "round {round}");
		}
		let first = self.adopted(0).await.validation_loss.get();
		let second = self.adopted(1).await.validation_loss.get();
		assert!(first < self.training.first_loss && second < first, "{} > {first} > {second}", self.training.first_loss);
		1
	}

	/// Waits for the end of the run, which somebody has stopped.
	pub(crate) async fn all_workers_end_with_the_chains_checkpoint(&mut self) {
		let run = self.training.run;
		self.training.stopped(&self.network).await.unwrap();
		let view = self.view().await.unwrap();
		assert_eq!(view.run.status, RunStatus::Finished);
		for worker in &self.network.workers {
			let what = format!("the last checkpoint of {}", worker.name());
			until(&what, SOON, async || {
				let checkpoint = worker.checkpoint(run, &self.training.model)?;
				Ok((checkpoint.map(|checkpoint| checkpoint.header.root()) == Some(view.run.checkpoint)).then_some(()))
			})
			.await
			.unwrap();
		}
	}

	pub(crate) async fn view(&self) -> Result<View, Error> {
		View::look(&self.network, &self.training, None).await
	}

	pub(crate) fn account(&self, worker: usize) -> AccountId {
		self.network.workers[worker].provider()
	}

	pub(crate) fn accounts<const N: usize>(&self, workers: [usize; N]) -> BTreeSet<AccountId> {
		workers.map(|worker| self.account(worker)).into_iter().collect()
	}

	pub(crate) async fn provider(&self, worker: usize) -> ProviderView {
		let at = self.network.client().now().await.unwrap();
		at.provider(&self.account(worker)).await.unwrap().unwrap()
	}

	/// Process ids by the workers' own words.
	pub(crate) fn statuses(&self) -> Vec<u32> {
		self.network.workers.iter().map(|worker| worker.status().unwrap().pid).collect()
	}

	/// The record of `round`, once it is adopted.
	pub(crate) async fn adopted(&mut self, round: RoundIndex) -> RoundRecord {
		let run = self.training.run;
		until(&format!("the end of round {round}"), ROUND, async || {
			self.network.check()?;
			Ok(self.network.client().now().await?.record(run, round).await?)
		})
		.await
		.unwrap()
	}

	/// Waits until `round` is in a later phase than `phase`.
	pub(crate) async fn past(&mut self, round: RoundIndex, phase: Phase) {
		until(&format!("the end of {phase:?} in round {round}"), ROUND, async || {
			self.network.check()?;
			let at = self.network.client().now().await?;
			let there = at.round(self.training.run).await?.filter(|there| there.round <= round);
			Ok(there.is_none_or(|there| order(there.phase) > order(phase)).then_some(()))
		})
		.await
		.unwrap();
	}

	/// Waits until `worker` is a participant of `round` of whom `holds` is true.
	pub(crate) async fn participant(&mut self, worker: usize, round: RoundIndex, what: &str, holds: impl Fn(&ParticipantView) -> bool) {
		let who = self.account(worker);
		let waited = format!("round {round}, where worker {worker} {what}");
		let found = until(&waited, ROUND, async || {
			self.network.check()?;
			let there = self.network.client().now().await?.round(self.training.run).await?;
			let Some(there) = there.filter(|there| there.round >= round) else { return Ok(None) };
			let held = there.participants.iter().any(|one| one.account == who && holds(one));
			Ok((held || there.round > round).then_some(held && there.round == round))
		});
		assert!(found.await.unwrap(), "round {round} ended before worker {worker} {what}");
	}

	/// Waits for a round from `round` on in which `worker` takes part, and puts its number there.
	pub(crate) async fn participant_from(&mut self, worker: usize, round: &mut RoundIndex) {
		let who = self.account(worker);
		*round = until(&format!("a round in which worker {worker} takes part"), ROUND, async || {
			self.network.check()?;
			let there = self.network.client().now().await?.round(self.training.run).await?;
			let there = there.filter(|there| there.round >= *round && there.participants.iter().any(|one| one.account == who));
			Ok(there.map(|there| there.round))
		})
		.await
		.unwrap();
	}

	/// Waits until `worker`, which was started again, takes part, by the same identity and with the same bond as `before`.
	pub(crate) async fn is_back(&mut self, worker: usize, round: RoundIndex, before: &ProviderView) -> RoundIndex {
		let mut round = round;
		self.participant_from(worker, &mut round).await;
		let after = self.provider(worker).await;
		assert_eq!((&after.info.peer_id, after.info.ponw_key, after.bonded), (&before.info.peer_id, before.info.ponw_key, before.bonded));
		round
	}
}

impl Scenario {
	/// Whether a replay of the run so far gives the chain's checkpoint. Workers are stopped for it.
	pub(crate) async fn a_replay_agrees(&mut self) {
		let root = self.view().await.unwrap().run.checkpoint;
		self.training.replayed(&mut self.network, 1, root).await.unwrap();
	}
}

pub(crate) fn included(record: &RoundRecord) -> BTreeSet<AccountId> {
	record.included.iter().map(|(account, _)| account.clone()).collect()
}

fn order(phase: Phase) -> u8 {
	match phase {
		Phase::Joining => 0,
		Phase::Training => 1,
		Phase::Revealing => 2,
		Phase::Availability => 3,
		Phase::Checkpointing => 4,
	}
}
