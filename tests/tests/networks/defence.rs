//! Workers that have nothing to do go on defending what they claimed, whatever a stranger has put in their way. One of them works for an account whose
//! key it does not have.

use crate::{
	room::Load,
	scenario::{included, Scenario, ROUND, SOON},
};
use neuroshard_chain_client::{disputes, holdings, keys::Account, training, Funds, Submitter, Verdict};
use neuroshard_e2e::{kept_unless_passed, until, Ended, Error};
use neuroshard_graph::game::Side;
use neuroshard_types::{
	dataset::ChunkPlace,
	dispute::{ClaimId, ClaimKind, Decision, GameView},
	provider::ProviderView,
	AccountId, Balance, BlockNumber, RoundIndex, RunId, H256, NEURO,
};
use subxt_signer::sr25519::dev;

/// What an operator is given, in planck: what disputes may cost, and some rounds.
const FEES: Balance = 500 * NEURO;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_workers_defend_what_they_claimed_and_an_operator_works_for_its_owner() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("defence").unwrap();
	let mut scenario = Scenario::start(folder.path(), 5).await;
	scenario.a_worker_attests_its_dataset();
	let last = scenario.three_workers_train().await;
	let owned = scenario.a_late_worker_fetches_everything_from_peers(last.saturating_add(1)).await;
	scenario.accounts_without_money_or_bond_are_told_so().await;
	scenario.an_attester_opens_what_is_asked_for_and_keeps_its_stake().await;
	scenario.idle_workers_defend_what_they_claimed_beside_a_false_run().await;
	scenario.an_owner_has_bond_and_reward_and_its_operator_pays_the_fees(owned).await;
	scenario.all_workers_end_with_the_chains_checkpoint().await;
	scenario.network.stop().await;
	folder.disable_cleanup(false);
}

impl Scenario {
	/// Worker 0 does, before there is anything else to do.
	fn a_worker_attests_its_dataset(&mut self) {
		let worker = &mut self.network.workers[0];
		worker.kill();
		worker.attest();
		worker.start().unwrap();
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
		let who = [0, 1].map(|worker| self.account(worker));
		let first = self.view().await.unwrap().run.rounds_adopted;
		let mut round = first;
		// A checkpoint is adopted without the attestation of one who is slower than the others.
		let both = |attested: &[(AccountId, H256)]| who.iter().all(|who| attested.iter().any(|(account, _)| account == who));
		while !both(&self.adopted(round).await.attested) {
			round = round.saturating_add(1);
			assert!(round < first.saturating_add(10), "one of them never attests in time");
		}
		let claims = who.map(|who| ClaimId { run, round, kind: ClaimKind::Attestation, who });

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
		assert!(!named.ended_by_itself(2 * ROUND).await.unwrap());
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
		until("the end of all disputes", 2 * ROUND, async || {
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
}

fn total(funds: &Funds) -> Balance {
	funds.free + funds.held
}
