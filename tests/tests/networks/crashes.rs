//! One network of real processes lives through everything that may happen to it, in one scenario: starting one costs more than any of
//! its parts. Every wait has a deadline and is for something that the chain or a process says.

use neuroshard_chain_client::{disputes, holdings, keys::Account, training, Funds, Submitter, Verdict};
use neuroshard_e2e::{until, Binaries, Ended, Error, Layout, Minted, Network, Prepared, Preset, Rules, Text, Training, View, SLOT};
use neuroshard_graph::game::Side;
use neuroshard_types::{
	dataset::ChunkPlace,
	dispute::{ClaimId, ClaimKind, Decision, GameView},
	provider::ProviderView,
	run::{ParticipantView, Phase, RoundRecord, RunStatus},
	AccountId, Balance, BlockNumber, RoundIndex, RunId, H256, NEURO,
};
use std::{collections::BTreeSet, time::Duration};
use subxt_signer::sr25519::dev;

/// A round may wait for an absentee in every one of its phases, on a busy machine.
const ROUND: Duration = Duration::from_secs(240);
/// Something that takes a few blocks.
const SOON: Duration = Duration::from_secs(120);
/// A dispute in which one side says nothing takes seconds; a claim can be disputed long enough for workers that are started again meanwhile.
const RULES: Rules = Rules { window: 30, clock: 15, extension: 5, audits: None, patient: false };

/// What an operator is given, in planck: what disputes may cost, and some rounds.
const FEES: Balance = 500 * NEURO;

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
	let mut network = Network::start(Binaries::find().unwrap(), layout, SLOT, RULES).await.unwrap();
	let training = Training::sponsor(&network, prepared, None).await.unwrap();
	network.add_workers(3, Some(&training.dataset), 1).await.unwrap();
	let mut scenario = Scenario { network, training };

	let mut last = scenario.three_workers_train().await;
	last = scenario.a_worker_killed_before_its_reveal_is_back_in_the_next_round(last.saturating_add(1)).await;
	last = scenario.a_worker_killed_after_its_reveal_is_back_in_the_next_round(last).await;
	last = scenario.workers_survive_a_killed_validator(last).await;
	let owned = scenario.a_late_worker_fetches_everything_from_peers(last.saturating_add(1)).await;
	scenario.accounts_without_money_or_bond_are_told_so().await;
	scenario.rewards_are_what_was_minted().await;
	scenario.an_attester_opens_what_is_asked_for_and_keeps_its_stake().await;
	scenario.idle_workers_defend_what_they_claimed_beside_a_false_run().await;
	scenario.an_owner_has_bond_and_reward_and_its_operator_pays_the_fees(owned).await;
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

	/// A fourth worker without a dataset joins in the middle of `round`. It is the operator of an account whose key it does not have. Returns what
	/// that account has, bond included, before it has earned anything.
	async fn a_late_worker_fetches_everything_from_peers(&mut self, round: RoundIndex) -> Balance {
		self.participant(0, round, "takes part", |_| true).await;
		self.network.add_operator(&dev::charlie(), FEES, None, 1).await.unwrap();
		let now = self.network.client().now().await.unwrap();
		let owned = total(&now.funds(&self.account(3)).await.unwrap());
		let mut round = round;
		self.participant_from(3, &mut round).await;
		assert_eq!(included(&self.adopted(round).await), self.accounts([0, 1, 2, 3]), "round {round}");
		let status = self.network.workers[3].status().unwrap();
		assert!(status.bytes_in > 0, "{status:?}");
		owned
	}

	/// The fourth worker's own account has fees and nothing else. Its owner, which had so much after its only extrinsic, has what is earned.
	async fn an_owner_has_bond_and_reward_and_its_operator_pays_the_fees(&mut self, owned: Balance) {
		let (client, owner, operator) = (self.network.client().clone(), self.account(3), self.network.workers[3].account().id());
		let (at, claimed) = until("a reward of the owner", ROUND, async || {
			self.network.check()?;
			let at = client.at(client.heads().await?.finalized).await?;
			let claimed = at.earnings(&owner).await?.claimed;
			Ok((claimed > 0).then_some((at, claimed)))
		})
		.await
		.unwrap();
		assert_eq!(total(&at.funds(&owner).await.unwrap()), owned + claimed);
		let provider = at.provider(&owner).await.unwrap().unwrap();
		assert_eq!(provider.bonded, 1_000 * NEURO);
		assert!(at.funds(&owner).await.unwrap().held >= provider.bonded);
		assert_eq!(at.operator_of(&owner).await.unwrap(), Some(operator.clone()));

		let left = at.funds(&operator).await.unwrap();
		assert!(left.held == 0 && left.free < FEES && left.free > FEES - 10 * NEURO, "{left:?}");
		assert_eq!((at.provider(&operator).await.unwrap(), at.earnings(&operator).await.unwrap().claimed), (None, 0));
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

	/// The run ends, and there is another one, which a stranger has created with a first checkpoint that nothing gives. Worker 0 has nothing to do
	/// then, and worker 1 was told to take the false run. What both have claimed can still be disputed, and others do, falsely.
	async fn idle_workers_defend_what_they_claimed_beside_a_false_run(&mut self) {
		let (client, run) = (self.network.client().clone(), self.training.run);
		let false_run = self.a_stranger_creates_a_false_run().await;
		let before = [self.provider(0).await, self.provider(1).await];
		let round = self.view().await.unwrap().run.rounds_adopted;
		let attested = self.adopted(round).await.attested;
		let claims = [0, 1].map(|worker| ClaimId { run, round, kind: ClaimKind::Attestation, who: self.account(worker) });
		assert!(claims.iter().all(|claim| attested.iter().any(|(who, _)| *who == claim.who)), "{attested:?}");

		let stopped = self.network.sponsor().submit(training::stop_run(run)).await.unwrap().block.number;
		let named = &mut self.network.workers[1];
		named.kill();
		named.take(Some(false_run));
		named.start().unwrap();
		until("an idle worker, and one that cannot train what it was told to", SOON, async || {
			self.network.check()?;
			let [idle, named] = [0, 1].map(|worker| self.network.workers[worker].status().unwrap_or_default());
			Ok((idle.best_block >= stopped && idle.phase.is_none() && named.ended.is_some()).then_some(()))
		})
		.await
		.unwrap();
		let challengers = ["//Eve", "//Ferdie"].map(|secret| Submitter::spawn(client.clone(), Account::from_secret(secret).unwrap()));
		let challenge = |game: usize| challengers[game].submit(disputes::challenge_attestation(run, round, claims[game].who.clone()));
		let (first, second) = tokio::join!(challenge(0), challenge(1));
		let opened = first.unwrap().block.number.min(second.unwrap().block.number);

		let bonds = until("answers of both workers", SOON, async || {
			self.network.check()?;
			let at = client.now().await?;
			let answered = |game: GameView| (game.turn == Side::Challenger).then_some(game.bond);
			let first = at.game(&claims[0], challengers[0].who()).await?.and_then(answered);
			Ok(first.zip(at.game(&claims[1], challengers[1].who()).await?.and_then(answered)))
		})
		.await
		.unwrap();
		let idle = self.network.workers[0].status().unwrap();
		assert!(idle.run == Some(run) && idle.ended.is_none() && idle.barred.is_empty(), "{idle:?}");
		let verdicts = self.verdicts_from(opened, 2).await;
		for ((claim, challenger), bond) in claims.iter().zip(&challengers).zip([bonds.0, bonds.1]) {
			let verdict = verdicts.iter().find(|verdict| verdict.claim == *claim).unwrap();
			assert_eq!((verdict.decision, verdict.loser(), verdict.slashed), (Decision::ChallengerLate, challenger.who(), bond));
		}
		let after = [self.provider(0).await, self.provider(1).await];
		let stake = |of: [ProviderView; 2]| of.map(|provider| (provider.bonded, provider.status, provider.suspended_until));
		assert_eq!(stake(after), stake(before));

		// Nothing of it can be disputed any more.
		let named = &mut self.network.workers[1];
		assert!(!named.ended_by_itself(ROUND).await.unwrap());
		let words = named.status().and_then(|status| status.ended).unwrap();
		assert!(words.contains(&format!("run {false_run} states the genesis checkpoint")), "{words}");
		named.take(None);
		named.start().unwrap();
	}

	/// Returns its number.
	async fn a_stranger_creates_a_false_run(&mut self) -> RunId {
		let stranger = Submitter::spawn(self.network.client().clone(), Account::from_secret("//Dave").unwrap());
		let mut config = self.view().await.unwrap().run.config;
		config.genesis_root = H256::repeat_byte(0xfa);
		let created = stranger.submit(training::create_run(config)).await.unwrap();
		created.first_field("Training", "RunCreated").unwrap()
	}

	/// What was decided from block `first` on, once that are at least `count` disputes.
	async fn verdicts_from(&mut self, first: BlockNumber, count: usize) -> Vec<Verdict> {
		let (client, mut next, mut verdicts) = (self.network.client().clone(), first, Vec::new());
		until("the end of all disputes", ROUND, async || {
			self.network.check()?;
			while next <= client.heads().await?.finalized.number {
				verdicts.extend(client.at(client.block_at(next).await?).await?.verdicts().await?);
				next += 1;
			}
			Ok((verdicts.len() >= count).then_some(()))
		})
		.await
		.unwrap();
		verdicts
	}

	async fn all_workers_end_with_the_chains_checkpoint(&mut self) {
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
		self.network.workers[worker].provider()
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

fn total(funds: &Funds) -> Balance {
	funds.free + funds.held
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
