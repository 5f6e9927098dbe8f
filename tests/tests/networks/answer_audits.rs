//! Answers that nobody computes anew but who was drawn to: of an honest provider, of one that lies, and of one that is away when its text is asked for.

use crate::room::Load;
use neuroshard_chain_client::keys::Account;
use neuroshard_e2e::{
	kept_unless_passed, until, AnswerRules, Binaries, Cheat, Error, Gateway, Layout, Network, Prepared, Preset, Provider, Question, Rules,
	Swindle, Text, Training, User, Verdicts,
};
use neuroshard_types::{
	answer_audit::Delivery,
	dispute::{ClaimKind, Decision},
	AccountId, Balance, NEURO,
};
use std::time::{Duration, Instant};

/// Longest wait for the training, and for what the chain does.
const SOON: Duration = Duration::from_secs(240);
const INNER_STEPS: u32 = 20;
/// Every answer is drawn, at most four of a claim.
const ANSWERS: AnswerRules = AnswerRules { share: 1_000_000, deliver_time: 30 };
const RULES: Rules = Rules { window: 30, clock: 30, extension: 10, audits: None, answers: Some(ANSWERS), patient: false };
/// Tokens of an answer at a thousandth of a NEURO, and so many answers: enough for a claim.
const TOKENS: u32 = 60;
const QUESTIONS: u64 = 3;
/// What workers bond.
const STAKE: Balance = 1_000 * NEURO;
const USER_OF_HONEST: &str = "//Ferdie";
/// Which worker does what.
const HONEST: usize = 0;
const LIAR: usize = 1;
/// The last: those before it audit nothing.
const AUDITOR: usize = 2;
const WORKERS: u16 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_drawn_reads_answers_disputes_a_false_one_and_demands_the_text_that_it_does_not_get() {
	let _room = Load::Heavy.room().await;
	let mut folder = kept_unless_passed("answer-audits").unwrap();
	let mut scene = Scene::start(folder.path()).await;
	let (honest, gateway) = scene.an_honest_provider_is_paid().await;
	let mut swindle = scene.a_liar_is_paid().await;
	scene.right_answers_are_found_right().await;
	scene.the_liar_loses_its_stake(&mut swindle).await;
	scene.what_is_demanded_of_who_was_away_is_delivered(honest, gateway).await;
	println!("all of it took {:.0} s", scene.started.elapsed().as_secs_f64());
	scene.network.stop().await;
	folder.disable_cleanup(false);
}

struct Scene {
	network: Network,
	training: Training,
	auditor: AccountId,
	started: Instant,
}

impl Scene {
	/// Starts a network whose workers have trained a tiny model. One of them goes on, and is the only one that is ever drawn.
	async fn start(folder: &std::path::Path) -> Self {
		let started = Instant::now();
		let layout = Layout::create(folder.join("network"), None, WORKERS).unwrap();
		let prepared = Prepared::new(&layout, Preset::Tiny, Text::Registry, WORKERS.into()..=WORKERS.into()).await.unwrap();
		let prepared = prepared.with_inner_steps(INNER_STEPS);
		let mut network = Network::start(Binaries::find().unwrap(), layout, RULES).await.unwrap();
		let training = Training::sponsor(&network, prepared, Some(1)).await.unwrap();
		network.add_workers_without_audits(AUDITOR, Some(&training.dataset), 1).await.unwrap();
		network.add_workers(1, Some(&training.dataset), 1).await.unwrap();
		let (client, auditor) = (network.client().clone(), network.workers[AUDITOR].provider());
		until("the model in the files of all workers, and a place on the list", SOON, async || {
			network.check()?;
			let newest = |view: neuroshard_types::run::RunView| (view.rounds_adopted == 1).then_some(view.checkpoint);
			let at = client.at(client.heads().await?.finalized).await?;
			let Some(root) = at.run(training.run).await?.and_then(newest) else { return Ok(None) };
			let mut all = at.verifiers().await? == [auditor.clone()];
			for worker in &network.workers {
				let there = worker.checkpoint(training.run, &training.model)?;
				all &= there.is_some_and(|checkpoint| checkpoint.header.root() == root);
			}
			Ok(all.then_some(()))
		})
		.await
		.unwrap();
		network.workers[HONEST].kill();
		network.workers[LIAR].kill();
		println!("the model is trained after {:.0} s", started.elapsed().as_secs_f64());
		Self { network, training, auditor, started }
	}

	/// Asks until the provider has claimed what it is owed.
	async fn answers_are_paid(&self, gateway: &Gateway, provider: &AccountId, user: &AccountId) {
		let (model, client) = (format!("run-{}", self.training.run), self.network.client());
		let session = client.now().await.unwrap().sessions_of(user).await.unwrap()[0];
		let before = client.now().await.unwrap().claimed(session, provider).await.unwrap().answers;
		for seed in 0..QUESTIONS {
			let question = Question { tokens: TOKENS, seed, ..Question::default() };
			question.ask(gateway.address, &model).await.unwrap();
		}
		until("the claim of a provider", SOON, async || {
			Ok((client.now().await?.claimed(session, provider).await?.answers > before).then_some(()))
		})
		.await
		.unwrap();
	}

	async fn an_honest_provider_is_paid(&self) -> (Provider, Gateway) {
		let provider = Provider::honest(&self.network, &self.training, HONEST).await.unwrap();
		let user = User::new(&self.network, &self.training, USER_OF_HONEST).unwrap();
		let gateway = user.trusting_gateway(&self.network, &provider.account).await.unwrap();
		self.answers_are_paid(&gateway, &provider.account, &user.account).await;
		(provider, gateway)
	}

	async fn a_liar_is_paid(&self) -> Swindle {
		let swindle = Swindle::start_unnoticed(&self.network, &self.training, LIAR, Cheat::WrongToken, "//Charlie").await.unwrap();
		self.answers_are_paid(&swindle.gateway, &swindle.cheater.account, &swindle.user.account).await;
		assert_eq!(self.stake(&swindle.cheater.account).await, STAKE, "nobody has noticed anything");
		swindle
	}

	/// How often the auditor has said so.
	fn told(&self, what: &str) -> Result<usize, Error> {
		Ok(self.network.workers[AUDITOR].said()?.matches(what).count())
	}

	async fn right_answers_are_found_right(&mut self) {
		until("an answer to be drawn, handed over and found right", SOON, async || {
			self.network.check()?;
			let found = self.told("was computed anew in an audit, and is right")? > 0;
			Ok(found.then_some(()))
		})
		.await
		.unwrap();
		assert!(self.told("handed over answer").unwrap() > 0);
		println!("a right answer is audited after {:.0} s", self.started.elapsed().as_secs_f64());
	}

	/// Half of its stake goes to the auditor, the other half is burned.
	async fn the_liar_loses_its_stake(&mut self, swindle: &mut Swindle) {
		let decided = swindle.judged(&self.network, &mut Verdicts::default()).await.unwrap().verdict;
		println!("{:?} after {} extrinsics, {:.0} s", decided.decision, decided.extrinsics, self.started.elapsed().as_secs_f64());
		assert!(matches!(decided.claim.kind, ClaimKind::Answer(_)));
		assert_eq!(
			(decided.decision, &decided.challenger, decided.receiver.as_ref()),
			(Decision::Fraud, &self.auditor, Some(&self.auditor))
		);
		assert_eq!((decided.slashed, decided.rewarded, decided.burned), (STAKE, STAKE / 2, STAKE / 2));
		assert_eq!(self.stake(&swindle.cheater.account).await, 0);
	}

	/// The provider is paid once more and goes. When it is back, it delivers what was demanded meanwhile, and nothing of its stake is lost.
	async fn what_is_demanded_of_who_was_away_is_delivered(&mut self, honest: Provider, gateway: Gateway) {
		let (client, provider) = (self.network.client().clone(), honest.account.clone());
		let user = Account::from_secret(USER_OF_HONEST).unwrap().id();
		self.answers_are_paid(&gateway, &provider, &user).await;
		gateway.process.stop().await;
		honest.process.stop().await;
		let mut right = 0;
		let demanded = until("the text of an answer to be demanded", SOON, async || {
			self.network.check()?;
			right = self.told("was computed anew in an audit, and is right")?;
			Ok(client.now().await?.answers_demanded_of(&provider).await?.into_iter().next())
		});
		let demanded = demanded.await.unwrap();
		println!("a text is demanded after {:.0} s", self.started.elapsed().as_secs_f64());
		let mut honest = Provider::honest(&self.network, &self.training, HONEST).await.unwrap();
		until("the text to be delivered", SOON, async || {
			honest.process.check()?;
			let audit = client.now().await?.answer_audit(&demanded.answer).await?;
			let delivered = audit.is_none_or(|audit| matches!(audit.delivery, Delivery::Delivered(_)));
			// It says so when it has seen that for itself.
			let said = honest.said()?.contains("delivered the text of answer");
			Ok((delivered && said && self.told("was computed anew in an audit, and is right")? > right).then_some(()))
		})
		.await
		.unwrap();
		let audit = client.now().await.unwrap().answer_audit(&demanded.answer).await.unwrap();
		assert!(audit.is_some_and(|audit| matches!(audit.delivery, Delivery::Delivered(_))), "it was not closed before");
		assert_eq!(self.stake(&provider).await, STAKE, "it pays its half of each deposit of what it can spend");
	}

	/// What a provider has at stake.
	async fn stake(&self, who: &AccountId) -> Balance {
		self.network.client().now().await.unwrap().provider(who).await.unwrap().map_or(0, |provider| provider.bonded)
	}
}
