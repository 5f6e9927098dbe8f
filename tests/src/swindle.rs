//! A provider that gives false answers, and a user who computes them anew.

use crate::{until, Cheat, Cheater, Decided, Error, Gateway, Model, Network, Provider, Question, Training, Verdicts};
use neuroshard_chain_client::keys::Account;
use neuroshard_graph::ParamLayout;
use neuroshard_training::{checkpoint::Checkpoint, redo::Redo};
use neuroshard_types::{dispute::OuterJob, AccountId};
use std::{
	path::{Path, PathBuf},
	process::Command,
	time::Duration,
};

/// Longest wait for a user to dispute an answer, and for the verdict.
const JUDGED: Duration = Duration::from_secs(180);
/// Most questions that a cheater is asked: each answer should be false.
const QUESTIONS: u64 = 6;
/// Tokens of an answer. Prompt and answer together are longer than the places at which tokens can be wrong are apart.
const TOKENS: u32 = 60;
/// What a gateway's log has when it has disputed an answer.
const DISPUTED: &str = "disputed on chain";
/// What a user puts aside for a session, in NEURO.
const ESCROW: &str = "20";

/// Somebody with money and a copy of the model, who asks.
#[derive(Clone, Debug)]
pub struct User {
	/// The account.
	pub account: AccountId,
	secret: String,
	base: PathBuf,
	logs: PathBuf,
}

impl User {
	/// The account with this secret, which has money, with a copy of the network's newest model.
	///
	/// # Errors
	/// [`Error::Setup`] if no worker has the model yet, [`Error::File`], [`Error::Key`].
	pub fn new(network: &Network, training: &Training, secret: &str) -> Result<Self, Error> {
		let base = network.folder().join("users").join(secret.trim_start_matches('/'));
		let model = Model::newest(network, training)?.ok_or_else(|| Error::Setup("nobody has the model yet".into()))?;
		model.keep(&base)?;
		Ok(Self { account: Account::from_secret(secret)?.id(), secret: secret.to_owned(), base, logs: network.logs() })
	}

	/// A command of the worker's binary for this user.
	pub fn command(&self, network: &Network, command: &str) -> Command {
		network.command_as(&self.secret, &self.base, command)
	}

	/// Starts a gateway that asks `provider`, and computes every answer anew.
	///
	/// # Errors
	/// [`Error::Ended`], [`Error::Late`].
	pub async fn gateway(&self, network: &Network, provider: &AccountId) -> Result<Gateway, Error> {
		let mut command = self.command(network, "gateway");
		command.args(["--escrow", ESCROW, "--check", "1", "--threads", "1"]);
		self.gateway_by(command, provider).await
	}

	/// The same for a user that checks nothing.
	///
	/// # Errors
	/// [`Error::Ended`], [`Error::Late`].
	pub async fn trusting_gateway(&self, network: &Network, provider: &AccountId) -> Result<Gateway, Error> {
		let mut command = self.command(network, "gateway");
		command.args(["--escrow", ESCROW]);
		self.gateway_by(command, provider).await
	}

	async fn gateway_by(&self, command: Command, provider: &AccountId) -> Result<Gateway, Error> {
		Gateway::start(command, provider, self.logs.join(format!("gateway-of-{}.log", self.secret.trim_start_matches('/')))).await
	}
}

/// A provider that gives false answers, and a user who asks it.
#[derive(Debug)]
pub struct Swindle {
	/// What it does.
	pub cheater: Cheater,
	/// The provider.
	pub provider: Provider,
	/// The user.
	pub user: User,
	/// By which the user asks.
	pub gateway: Gateway,
}

impl Swindle {
	/// Has worker number `worker`, which is stopped, answer falsely, and a user with this secret ask it.
	///
	/// # Errors
	/// [`Error::NotBuilt`] without a worker that can cheat; [`Error::Setup`] without such a worker, or without an older checkpoint in its files.
	pub async fn start(network: &Network, training: &Training, worker: usize, cheat: Cheat, secret: &str) -> Result<Self, Error> {
		let user = User::new(network, training, secret)?;
		let (cheater, provider) = false_provider(network, training, worker, cheat).await?;
		let gateway = user.gateway(network, &provider.account).await?;
		Ok(Self { cheater, provider, user, gateway })
	}

	/// The same, where the user checks nothing.
	///
	/// # Errors
	/// As [`Self::start`].
	pub async fn start_unnoticed(network: &Network, training: &Training, worker: usize, cheat: Cheat, secret: &str) -> Result<Self, Error> {
		let user = User::new(network, training, secret)?;
		let (cheater, provider) = false_provider(network, training, worker, cheat).await?;
		let gateway = user.trusting_gateway(network, &provider.account).await?;
		Ok(Self { cheater, provider, user, gateway })
	}

	/// Asks until an answer is disputed on chain; returns how many were given.
	///
	/// # Errors
	/// [`Error::Late`] if none is, [`Error::Ended`] if the gateway ends.
	pub async fn ask(&mut self, training: &Training) -> Result<u64, Error> {
		let (model, mut answered) = (format!("run-{}", training.run), 0);
		for seed in 0..QUESTIONS {
			let question = Question { tokens: TOKENS, seed, ..Question::default() };
			// The gateway refuses when it has found something.
			match question.ask(self.gateway.address, &model).await {
				Ok(_) => answered += 1,
				Err(_) => break,
			}
			if self.is_disputed()? {
				break;
			}
		}
		until("a false answer to be disputed", JUDGED, async || {
			self.gateway.process.check()?;
			Ok(self.is_disputed()?.then_some(()))
		})
		.await?;
		Ok(answered)
	}

	fn is_disputed(&self) -> Result<bool, Error> {
		Ok(self.gateway.said()?.contains(DISPUTED))
	}

	/// Waits for the verdict that condemns the provider.
	///
	/// # Errors
	/// [`Error::Late`] if there is none.
	pub async fn judged(&mut self, network: &Network, verdicts: &mut Verdicts) -> Result<Decided, Error> {
		let client = network.client();
		until("the verdict about a false answer", JUDGED, async || {
			self.gateway.process.check()?;
			verdicts.read(client, client.heads().await?.finalized.number).await?;
			Ok(self.cheater.caught(verdicts).and_then(|index| verdicts.list().get(index)).cloned())
		})
		.await
	}
}

/// Has a worker that is stopped answer falsely.
async fn false_provider(network: &Network, training: &Training, worker: usize, cheat: Cheat) -> Result<(Cheater, Provider), Error> {
	let node = network.workers.get(worker).ok_or_else(|| Error::Setup(format!("there is no worker {worker}")))?;
	let mut options = vec!["--cheat".to_owned(), cheat.name().to_owned()];
	if cheat == Cheat::StaleCheckpoint {
		let folder = network.folder().join("older");
		let layout = ParamLayout::new(&training.model).map_err(|error| Error::Setup(error.to_string()))?;
		before_the_newest(network, training, node.base(), &layout).await?.save(&folder, &layout)?;
		options.extend(["--cheat-checkpoint".to_owned(), folder.display().to_string()]);
	}
	let options: Vec<&str> = options.iter().map(String::as_str).collect();
	let provider = Provider::start(node, &network.binaries().cheat()?, training.run, &options, &network.logs()).await?;
	let view = network.client().now().await?.run(training.run).await?;
	let round = view.map_or(0, |view| view.rounds_adopted);
	Ok((Cheater { cheat, round, again: false, account: provider.account.clone() }, provider))
}

/// The checkpoint before the newest one: the first one of the run, or as the worker with this base folder has it in its content store.
async fn before_the_newest(network: &Network, training: &Training, base: &Path, layout: &ParamLayout) -> Result<Checkpoint, Error> {
	let (at, run) = (network.client().now().await?, training.run);
	let adopted = at.run(run).await?.map_or(0, |view| view.rounds_adopted);
	let Some(before) = adopted.checked_sub(2) else { return Ok(Checkpoint::genesis(run, &training.model, &training.train, 1)?) };
	let missing = || Error::Setup(format!("the checkpoint that round {before} ended with is not at hand any more"));
	let root = at.record(run, before).await?.ok_or_else(missing)?.checkpoint;
	let redo = Redo::new(std::iter::empty::<&OuterJob>(), [], Some(base.join("store")))?;
	redo.checkpoint(run, root, layout, 1)?.ok_or_else(missing)
}
