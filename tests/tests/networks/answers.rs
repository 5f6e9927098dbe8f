//! Providers that give false answers, one of each kind, beside an honest one. Their users compute every answer anew, and dispute what is false by
//! themselves. A user who disputes a right answer pays for it.

use crate::room::Load;
use neuroshard_chain_client::{disputes, keys::Account, ChainClient, Submitter, Verdict};
use neuroshard_e2e::{
	kept_unless_passed, until, Binaries, Cheat, Ended, Error, Gateway, Layout, Network, Prepared, Preset, Provider, Question, Reply, Rules,
	Swindle, Text, Training, User, Verdicts,
};
use neuroshard_inference::receipt::Transcript;
use neuroshard_types::{
	dispute::{ClaimKind, Decision},
	inference::SessionId,
	AccountId, Balance, NEURO,
};
use std::time::{Duration, Instant};

/// Longest wait for the training, and for what the chain does.
const SOON: Duration = Duration::from_secs(240);
/// The checkpoint before the newest one is the first of all.
const ROUNDS: u32 = 1;
const INNER_STEPS: u32 = 20;
/// A user that says nothing is late within a minute.
const RULES: Rules = Rules { window: 30, clock: 30, extension: 10, audits: None, answers: None, patient: false };
/// Right answers that a provider is paid for before it lies: enough for a claim.
const RIGHT: u64 = 4;
/// What workers bond, and what is put aside for a session.
const STAKE: Balance = 1_000 * NEURO;
const ESCROW: Balance = 20 * NEURO;
/// The smallest bond of a challenge: a sixteenth of the stake is less.
const BOND: Balance = 100 * NEURO;
/// More than what all extrinsics of a user cost.
const FEES: Balance = 2 * NEURO;
const CHEATERS: [(Cheat, &str); 3] = [(Cheat::WrongToken, "//Charlie"), (Cheat::WrongLayer, "//Dave"), (Cheat::StaleCheckpoint, "//Eve")];
const USER_OF_HONEST: &str = "//Ferdie";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_answers_falsely_loses_its_stake_to_the_user_who_computed_it_anew_and_who_disputes_a_right_answer_its_bond() {
	let _room = Load::Light.room().await;
	let mut folder = kept_unless_passed("answers").unwrap();
	let mut scene = Scene::start(folder.path()).await;
	let (honest, gateway, answer) = scene.an_honest_provider_answers().await;
	let denied = scene.its_user_disputes_a_right_answer(&answer).await;

	let users = CHEATERS.map(|(_, secret)| Account::from_secret(secret).unwrap().id());
	let mut before = Vec::new();
	for user in &users {
		before.push(total(&scene.client, user).await);
	}
	let (mut swindles, mut sessions) = (scene.cheaters_answer().await, Vec::new());
	for swindle in &mut swindles {
		scene.is_caught(swindle).await;
		sessions.push(scene.its_user_closes_the_session(swindle).await);
	}
	for ((swindle, session), before) in swindles.iter().zip(sessions).zip(before) {
		scene.the_escrow_comes_back(swindle, session, before).await;
	}
	scene.the_bond_is_gone(&honest.account, denied).await;
	assert!(!gateway.said().unwrap().contains("disputed on chain"));
	assert_eq!(stake(&scene.client, &honest.account).await, STAKE);
	assert_eq!(scene.verdicts.list().len(), CHEATERS.len() + 1);
	println!("all of it took {:.0} s", scene.started.elapsed().as_secs_f64());
	scene.network.stop().await;
	folder.disable_cleanup(false);
}

struct Scene {
	network: Network,
	training: Training,
	client: ChainClient,
	verdicts: Verdicts,
	started: Instant,
}

impl Scene {
	/// Starts a network whose workers have trained a tiny model, and are stopped.
	async fn start(folder: &std::path::Path) -> Self {
		let started = Instant::now();
		let workers = u16::try_from(CHEATERS.len()).unwrap() + 1;
		let layout = Layout::create(folder.join("network"), None, workers).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, workers.into()..=workers.into()).await.unwrap();
		let prepared = prepared.with_inner_steps(INNER_STEPS);
		let mut network = Network::start(Binaries::find().unwrap(), layout, RULES).await.unwrap();
		let training = Training::sponsor(&network, prepared, Some(ROUNDS)).await.unwrap();
		println!("the network stands after {:.0} s", started.elapsed().as_secs_f64());
		network.add_workers(workers.into(), Some(&training.dataset), 1).await.unwrap();
		println!("the workers are registered after {:.0} s", started.elapsed().as_secs_f64());
		let client = network.client().clone();
		until("the model in the files of all workers", SOON, async || {
			network.check()?;
			let newest = |view: neuroshard_types::run::RunView| (view.rounds_adopted == ROUNDS).then_some(view.checkpoint);
			let Some(root) = client.at(client.heads().await?.finalized).await?.run(training.run).await?.and_then(newest) else {
				return Ok(None);
			};
			let mut all = true;
			for worker in &network.workers {
				let there = worker.checkpoint(training.run, &training.model)?;
				all &= there.is_some_and(|checkpoint| checkpoint.header.root() == root);
			}
			Ok(all.then_some(()))
		})
		.await
		.unwrap();
		network.stop_workers().await;
		println!("the model is trained after {:.0} s", started.elapsed().as_secs_f64());
		Self { network, training, client, verdicts: Verdicts::default(), started }
	}

	/// Worker 0 answers; what it says of one answer.
	async fn an_honest_provider_answers(&mut self) -> (Provider, Gateway, Transcript) {
		let provider = Provider::honest(&self.network, &self.training, 0).await.unwrap();
		let user = User::new(&self.network, &self.training, USER_OF_HONEST).unwrap();
		let gateway = user.gateway(&self.network, &provider.account).await.unwrap();
		let (question, model) = (Question::default(), format!("run-{}", self.training.run));
		let mut last = None;
		for seed in 0..3 {
			let question = Question { seed, ..question.clone() };
			let reply = Reply::to(gateway.address, question.path(), question.body(&model).as_bytes()).await.unwrap();
			let body = reply.json().await.unwrap();
			last = Some(body["choices"][0]["receipt"].clone());
		}
		let transcript = serde_json::from_value(last.unwrap()).unwrap();
		(provider, gateway, transcript)
	}

	/// Its user opens a game about a right answer, and has nothing to say in it.
	async fn its_user_disputes_a_right_answer(&self, answer: &Transcript) -> AccountId {
		let submitter = Submitter::spawn(self.client.clone(), Account::from_secret(USER_OF_HONEST).unwrap());
		let (receipt, signature) = (answer.receipt.clone(), answer.signature.unwrap());
		let challenge = disputes::challenge_answer(receipt, signature, 5);
		submitter.submit(challenge).await.unwrap();
		submitter.who().clone()
	}

	/// The others cheat, each with a user of its own, until an answer of each is disputed.
	async fn cheaters_answer(&self) -> Vec<Swindle> {
		let swindle = async |index: usize| {
			let (cheat, secret) = CHEATERS[index];
			let mut swindle = Swindle::start(&self.network, &self.training, index + 1, cheat, secret).await.unwrap();
			assert_eq!(stake(&self.client, &swindle.cheater.account).await, STAKE);
			if cheat == Cheat::WrongToken {
				self.right_answers_are_paid(&swindle).await;
			}
			let answers = swindle.ask(&self.training).await.unwrap();
			println!("{}: disputed after {answers} answers and {:.0} s", cheat.name(), self.started.elapsed().as_secs_f64());
			swindle
		};
		let (one, two, three) = tokio::join!(swindle(0), swindle(1), swindle(2));
		vec![one, two, three]
	}

	/// It answers rightly where there is no place for a false token, and claims what it is owed.
	async fn right_answers_are_paid(&self, swindle: &Swindle) {
		let (provider, model) = (&swindle.cheater.account, format!("run-{}", self.training.run));
		for seed in 0..RIGHT {
			// With the token that begins a text, the prompt has 33 tokens: the answer ends before the place after them.
			let question = Question { prompt: "x".repeat(32), tokens: 31, seed, ..Question::default() };
			question.ask(swindle.gateway.address, &model).await.unwrap();
		}
		let session = self.client.now().await.unwrap().sessions_of(&swindle.user.account).await.unwrap()[0];
		let paid = until("the claim of a provider", SOON, async || {
			let claimed = self.client.now().await?.claimed(session, provider).await?;
			Ok((claimed.paid > 0).then_some(claimed.paid))
		});
		// 31 tokens of an answer at a thousandth of a NEURO, and 33 of a prompt at half of that.
		assert!(paid.await.unwrap() <= u128::from(RIGHT) * (31 * NEURO + 33 * NEURO / 2) / 1_000);
	}

	/// It is proven bit by bit, and costs the provider all it has: half of it goes to the user, the other half is burned.
	async fn is_caught(&mut self, swindle: &mut Swindle) {
		let decided = swindle.judged(&self.network, &mut self.verdicts).await.unwrap();
		let Verdict { claim, challenger, decision, slashed, rewarded, receiver, burned, extrinsics, witness_bytes, .. } = decided.verdict;
		let name = swindle.cheater.cheat.name();
		println!("{name}: {decision:?}, {extrinsics} extrinsics, a witness of {witness_bytes} bytes, {:.0} s", decided.seconds);
		assert!(matches!(claim.kind, ClaimKind::Answer(_)), "{name}");
		assert_eq!((decision, &challenger, receiver.as_ref()), (Decision::Fraud, &swindle.user.account, Some(&challenger)), "{name}");
		assert!(extrinsics <= 11 && witness_bytes > 0 && witness_bytes <= 256 * 1024, "{name}");
		assert_eq!((slashed, rewarded, burned), (STAKE, STAKE / 2, STAKE / 2), "{name}");
		assert_eq!(stake(&self.client, &claim.who).await, 0, "{name}");
	}

	async fn its_user_closes_the_session(&self, swindle: &mut Swindle) -> SessionId {
		let (user, provider) = (&swindle.user, swindle.cheater.account.to_string());
		let id = self.client.now().await.unwrap().sessions_of(&user.account).await.unwrap()[0];
		swindle.gateway.process.ask_to_stop();
		swindle.gateway.process.ended_by_itself(SOON).await.unwrap();
		let mut close = user.command(&self.network, "gateway");
		close.args(["--provider", &provider, "--close"]);
		Ended::output_of(close).await.unwrap();
		id
	}

	/// The user, who had so much `before`, has what was not paid, and half of the provider's stake.
	async fn the_escrow_comes_back(&self, swindle: &Swindle, id: SessionId, before: Balance) {
		let (user, name) = (&swindle.user, swindle.cheater.cheat.name());
		let closed = self.client.now().await.unwrap().session(id).await.unwrap().unwrap();
		assert_eq!(closed.escrow + closed.paid, ESCROW, "{name}");
		until("the delay to be over", SOON, async || {
			let mut settle = user.command(&self.network, "gateway");
			settle.args(["--provider", &swindle.cheater.account.to_string(), "--close"]);
			Ended::output_of(settle).await?;
			Ok(self.client.now().await?.session(id).await?.is_none().then_some(()))
		})
		.await
		.unwrap();
		let after = total(&self.client, &user.account).await;
		let fees = (before + STAKE / 2).checked_sub(closed.paid + after);
		println!("{name}: the user paid {} planck for answers, and {fees:?} for extrinsics", closed.paid);
		// What is owed for right answers was claimed before any was false; others may have claimed while the dispute went on, or not yet.
		assert!(closed.paid > 0 || swindle.cheater.cheat != Cheat::WrongToken, "{name}");
		assert!(fees.is_some_and(|fees| fees < FEES), "{name}: {before} {after}");
	}

	/// Half of the bond went to the provider.
	async fn the_bond_is_gone(&mut self, provider: &AccountId, challenger: AccountId) {
		let client = &self.client;
		let verdict = until("the end of a false dispute", SOON, async || {
			self.verdicts.read(client, client.heads().await?.finalized.number).await?;
			let about = self.verdicts.list().iter().find(|one| one.verdict.claim.who == *provider);
			Ok::<_, Error>(about.map(|one| one.verdict.clone()))
		})
		.await
		.unwrap();
		assert_eq!((verdict.decision, &verdict.challenger), (Decision::ChallengerLate, &challenger));
		assert_eq!((verdict.slashed, verdict.rewarded, verdict.burned), (BOND, BOND / 2, BOND / 2));
		assert_eq!(verdict.receiver.as_ref(), Some(provider));
	}
}

/// What a provider has at stake.
async fn stake(client: &ChainClient, who: &AccountId) -> Balance {
	client.now().await.unwrap().provider(who).await.unwrap().map_or(0, |provider| provider.bonded)
}

/// All that an account has.
async fn total(client: &ChainClient, who: &AccountId) -> Balance {
	let funds = client.now().await.unwrap().funds(who).await.unwrap();
	funds.free + funds.held
}
