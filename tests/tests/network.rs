//! One network of real processes lives through everything that may happen to it, in one scenario: starting one costs more than any of
//! its parts. Every wait has a deadline and is for something that the chain or a process says.

use neuroshard_e2e::{until, Binaries, Ended, Error, Layout, Minted, Network, Prepared, Preset, Text, Training, View};
use neuroshard_types::{
	dataset::ChunkPlace,
	provider::ProviderView,
	run::{ParticipantView, Phase, RoundRecord, RunStatus},
	AccountId, RoundIndex, H256,
};
use neuroshard_worker::chain::holdings;
use std::{collections::BTreeSet, time::Duration};

/// A round may wait for an absentee in every one of its phases, on a busy machine.
const ROUND: Duration = Duration::from_secs(240);
/// Something that takes a few blocks.
const SOON: Duration = Duration::from_secs(120);

struct Scenario {
	network: Network,
	training: Training,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_trains_through_crashes_and_everybody_can_recompute_it() {
	let mut folder = tempfile::Builder::new().prefix("neuroshard-test-").tempdir().unwrap();
	// Logs and data of a failure stay.
	folder.disable_cleanup(true);
	println!("everything is in {}", folder.path().display());
	let layout = Layout::create(folder.path().join("network"), None, 5).unwrap();
	let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, 3..=8).await.unwrap();
	let mut network = Network::start(Binaries::find().unwrap(), layout).await.unwrap();
	let training = Training::sponsor(&network, prepared, None).await.unwrap();
	network.add_workers(3, Some(&training.dataset), 1).await.unwrap();
	let mut scenario = Scenario { network, training };

	let mut last = scenario.three_workers_train().await;
	last = scenario.a_worker_killed_before_its_reveal_is_back_in_the_next_round(last.saturating_add(1)).await;
	last = scenario.a_worker_killed_after_its_reveal_is_back_in_the_next_round(last).await;
	last = scenario.workers_survive_a_killed_validator(last).await;
	scenario.a_late_worker_fetches_everything_from_peers(last.saturating_add(1)).await;
	scenario.accounts_without_money_or_bond_are_told_so().await;
	scenario.rewards_are_what_was_minted().await;
	scenario.an_attester_opens_what_is_asked_for_and_keeps_its_stake().await;
	scenario.all_workers_end_with_the_chains_checkpoint().await;
	scenario.a_replay_agrees_and_a_forged_dataset_does_not_pass().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// Rounds 0 and 1, undisturbed.
	async fn three_workers_train(&mut self) -> RoundIndex {
		let all = self.accounts([0, 1, 2]);
		for round in 0..2 {
			assert_eq!(included(&self.adopted(round).await), all, "round {round}");
		}
		let first = self.adopted(0).await.validation_loss.get();
		let second = self.adopted(1).await.validation_loss.get();
		assert!(first < self.training.first_loss && second < first, "{} > {first} > {second}", self.training.first_loss);
		1
	}

	/// Returns a round in which all three take part again.
	async fn a_worker_killed_before_its_reveal_is_back_in_the_next_round(&mut self, round: RoundIndex) -> RoundIndex {
		let before = self.provider(0).await;
		self.participant(0, round, "takes part", |_| true).await;
		self.network.workers[0].kill();
		// It may have committed, but not revealed: that waits for the finality of the commitment.
		self.past(round, Phase::Revealing).await;
		self.network.workers[0].attest();
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
	async fn workers_survive_a_killed_validator(&mut self, round: RoundIndex) -> RoundIndex {
		let processes: Vec<u32> = self.statuses();
		self.network.validators[0].kill();
		self.network.validators[0].start().unwrap();
		assert_eq!(included(&self.adopted(round).await), self.accounts([0, 1, 2]), "nobody lost its work");
		assert_eq!(self.statuses(), processes, "no worker was started again");
		let adopted_at = self.adopted(round).await.adopted_at;
		until("finality after the restart", SOON, async || {
			Ok((self.network.client().heads().await?.finalized.number >= adopted_at).then_some(()))
		})
		.await
		.unwrap();
		round
	}

	/// A fourth worker without a dataset joins in the middle of `round`.
	async fn a_late_worker_fetches_everything_from_peers(&mut self, round: RoundIndex) {
		self.participant(0, round, "takes part", |_| true).await;
		self.network.add_workers(1, None, 1).await.unwrap();
		let mut round = round;
		self.participant_from(3, &mut round).await;
		assert_eq!(included(&self.adopted(round).await), self.accounts([0, 1, 2, 3]), "round {round}");
		let status = self.network.workers[3].status().unwrap();
		assert!(status.bytes_in > 0, "{status:?}");
	}

	async fn accounts_without_money_or_bond_are_told_so(&mut self) {
		let poor = self.network.create_worker(None, 1).unwrap();
		for (command, words) in [("register", "send it some NEURO"), ("run", "not registered")] {
			let ended = Ended::of(poor.command([command])).await.unwrap();
			assert!(!ended.success && ended.error.contains(words), "{}", ended.error);
		}
		let doctor = Ended::of(poor.command(["doctor"])).await.unwrap();
		assert!(!doctor.success && doctor.output.contains("BAD   funds"), "{}", doctor.output);
		let doctor = Ended::output_of(self.network.workers[0].command(["doctor"])).await.unwrap();
		assert!(doctor.contains("everything a provider needs is there"), "{doctor}");
	}

	async fn rewards_are_what_was_minted(&mut self) {
		let minted = Minted::wait(&self.network, &self.training, 1).await.unwrap();
		assert!(minted.rewards > 0);
		assert!(minted.is_balanced() && minted.burned == 0, "{minted:?}");
	}

	/// Worker 0, which attests its dataset since it was started again, is asked for a chunk.
	async fn an_attester_opens_what_is_asked_for_and_keeps_its_stake(&mut self) {
		let who = self.account(0);
		let client = self.network.client().clone();
		let held = async |block| Ok::<_, Error>(client.at(block).await?.attestations_of(&who).await?.pop());
		let holding = until("an attestation", SOON, async || held(client.heads().await?.best).await).await.unwrap();
		let before = self.provider(0).await;
		let place = ChunkPlace { shard: holding.shards.count - 1, chunk: 0 };
		let asked = self.network.sponsor().submit(holdings::challenge(holding.dataset, who.clone(), place)).await.unwrap().block.number;
		// One that is not answered takes the attestation with it.
		let after = until("the answer to a challenge", SOON, async || {
			self.network.check()?;
			let mut opened = false;
			for number in asked..=client.heads().await?.finalized.number {
				let holding = held(client.block_at(number).await?).await?;
				let open = holding.as_ref().is_some_and(|holding| !holding.challenges.is_empty());
				if opened && !open {
					return Ok(Some(holding));
				}
				opened |= open;
			}
			Ok(None)
		})
		.await
		.unwrap();
		assert_eq!(after, Some(holding));
		let after = self.provider(0).await;
		assert_eq!((after.bonded, &after.status, after.suspended_until), (before.bonded, &before.status, 0));
	}

	async fn all_workers_end_with_the_chains_checkpoint(&mut self) {
		let run = self.training.run;
		self.training.stop(&self.network).await.unwrap();
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

impl Scenario {
	async fn view(&self) -> Result<View, Error> {
		View::look(&self.network, &self.training, None).await
	}

	fn account(&self, worker: usize) -> AccountId {
		self.network.workers[worker].account().id()
	}

	fn accounts<const N: usize>(&self, workers: [usize; N]) -> BTreeSet<AccountId> {
		workers.map(|worker| self.account(worker)).into_iter().collect()
	}

	async fn provider(&self, worker: usize) -> ProviderView {
		let at = self.network.client().now().await.unwrap();
		at.provider(&self.account(worker)).await.unwrap().unwrap()
	}

	/// Process ids by the workers' own words.
	fn statuses(&self) -> Vec<u32> {
		self.network.workers.iter().map(|worker| worker.status().unwrap().pid).collect()
	}

	/// The record of `round`, once it is adopted.
	async fn adopted(&mut self, round: RoundIndex) -> RoundRecord {
		let run = self.training.run;
		until(&format!("the end of round {round}"), ROUND, async || {
			self.network.check()?;
			Ok(self.network.client().now().await?.record(run, round).await?)
		})
		.await
		.unwrap()
	}

	/// Waits until `round` is in a later phase than `phase`.
	async fn past(&mut self, round: RoundIndex, phase: Phase) {
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
	async fn participant(&mut self, worker: usize, round: RoundIndex, what: &str, holds: impl Fn(&ParticipantView) -> bool) {
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
	async fn participant_from(&mut self, worker: usize, round: &mut RoundIndex) {
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
	async fn is_back(&mut self, worker: usize, round: RoundIndex, before: &ProviderView) -> RoundIndex {
		let mut round = round;
		self.participant_from(worker, &mut round).await;
		let after = self.provider(worker).await;
		assert_eq!((&after.info.peer_id, after.info.ponw_key, after.bonded), (&before.info.peer_id, before.info.ponw_key, before.bonded));
		round
	}
}

fn included(record: &RoundRecord) -> BTreeSet<AccountId> {
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
