//! Why a command failed, in words for people.

use super::run_file::RunFileError;
use crate::{bench::BenchError, history::HistoryError};
use neuroshard_chain_client::{keys::KeyError, ChainError, Neuro};
use neuroshard_data::DataError;
use neuroshard_disputes::answers::{ChallengeError, PlayerError, TranscriptStoreError};
use neuroshard_gateway::GatewayError;
use neuroshard_hub::HubError;
use neuroshard_inference::{
	eval::EvalError,
	generate::GenerateError,
	receipt::{check::CheckError, Malformed},
	ModelError,
};
use neuroshard_network::NetworkError;
use neuroshard_provider::{paid::BusinessError, ServeError};
use neuroshard_ring::{accounts::Unfit, start::RingError};
use neuroshard_roles::{arithmetic::Fault, status::metrics::MetricsError, JournalError, WorkerError};
use neuroshard_store::StoreError;
use neuroshard_support::memory::LimitError;
use neuroshard_training::{checkpoint::CheckpointError, engine::EngineError, export::ExportError, replay::ReplayError};
use neuroshard_types::{AccountId, RunId};
use std::path::PathBuf;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
	/// No folder to work in.
	#[error("there is no home folder to keep keys and data in: name one with --base-path DIR")]
	NoHome,
	/// Standard input could not be read.
	#[error("cannot read the secret from standard input: {0}")]
	Input(std::io::Error),
	/// A file or folder.
	#[error("cannot use {path}: {source}")]
	File {
		/// Which one.
		path: PathBuf,
		/// What the system said.
		source: std::io::Error,
	},
	/// The limit of memory cannot be set.
	#[error("--max-memory: {0}")]
	Memory(#[from] LimitError),
	/// Another worker uses the folder.
	#[error("a worker is running in {path} already: stop it first, or use another folder with --base-path")]
	AlreadyRunning {
		/// The folder.
		path: PathBuf,
	},
	/// The account is no provider.
	#[error("account {address} is not registered as a provider: do that first with `neuroshard-worker register`")]
	NotRegistered {
		/// Its address.
		address: String,
	},
	/// A ring on the offer has a liar.
	#[error(
		"a worker of the ring has told wrong rows: a ring is made anew without it, and offered, and what is not claimed yet is paid to that one"
	)]
	RingLied,
	/// Another ring is to be placed.
	#[error("{0}: the ring is placed anew")]
	RingMoves(String),
	/// The account at hand is the operator of another provider.
	#[error("account {operator} is the operator of {known} already, not of {owner}: use another account, in a folder of its own, with --base-path")]
	OtherOwner {
		/// The account at hand.
		operator: String,
		/// Whom it acts for.
		known: String,
		/// Whom it was asked to act for.
		owner: String,
	},
	/// The provider has not named the account at hand.
	#[error("{owner} has not named {operator} as its operator: `neuroshard-worker register --owner {owner}` prints the call that it signs first")]
	NotNamed {
		/// The account at hand.
		operator: String,
		/// Whom it was asked to act for.
		owner: String,
	},
	/// The account is a provider already.
	#[error("account {address} is registered already; `neuroshard-worker status` shows its bond")]
	AlreadyRegistered {
		/// Its address.
		address: String,
	},
	/// The bond is larger than what the account has.
	#[error("account {address} has {free}, but a bond of {bond} and the first fees take {needed}: send it some NEURO first")]
	TooPoor {
		/// Its address.
		address: String,
		/// What it has.
		free: Neuro,
		/// What should be bonded.
		bond: Neuro,
		/// That, and the fees up to the end of the first round.
		needed: Neuro,
	},
	/// The account has less than an extrinsic takes.
	#[error("account {address} has {free} free, but {needed} are needed: {amount} for {what}, {fees} for fees, and {stays} that must stay in every account. Nothing was sent")]
	CannotPay {
		/// Its address.
		address: String,
		/// What it has.
		free: Neuro,
		/// Amount, fees, and what stays.
		needed: Neuro,
		/// What the amount is for, in words.
		what: &'static str,
		/// Sent away, or held as a deposit.
		amount: Neuro,
		/// Fees, at most.
		fees: Neuro,
		/// The existential deposit.
		stays: Neuro,
	},
	/// The account cannot approve runs.
	#[error("account {address} cannot approve runs: {}. Nothing was sent", match .key { Some(key) => format!("the chain's sudo key is {key}"), None => "the chain has no sudo key".to_owned() })]
	NotSudo {
		/// Its address.
		address: String,
		/// Who can.
		key: Option<AccountId>,
	},
	/// A run was created, and its approval failed.
	#[error("run {run} is created and its deposit held, but approving it failed: {source}. Do not create it again: `neuroshard-worker train approve {run}` approves it")]
	NotApproved {
		/// The run.
		run: RunId,
		/// Why.
		source: ChainError,
	},
	/// A run was created in a block that another branch of the chain has won over.
	#[error("the block in which run {run} was created did not become final, and nothing was approved. The run may be in another block by now, with another number: `neuroshard-worker train list` shows which runs are yours, and `neuroshard-worker train approve RUN` approves one")]
	RunMoved {
		/// What its number was.
		run: RunId,
	},
	/// A session was opened in a block that another branch of the chain has won over, and is not open there.
	#[error("the block in which the session was opened did not become final. It may be opened in another block by now: start the command again, which goes on with the one that is open, or opens one")]
	SessionMoved,
	/// The bond is below the chain's minimum.
	#[error("the bond must be at least {minimum}: name more with --bond")]
	BondTooSmall {
		/// The chain's minimum.
		minimum: Neuro,
	},
	/// The kernels do not compute on this machine what they must.
	#[error("this machine does not compute the known answers ({0}): its work would be judged wrong, so it is not registered; please report processor and version")]
	KnownAnswer(String),
	/// This machine has no answer to the chain's test.
	#[error("{0}. The account is registered, and its bond is safe: `neuroshard-worker register` tries again, `neuroshard-worker leave` takes the bond out")]
	Arithmetic(#[from] Fault),
	/// The chain refused this machine's answer.
	#[error("{source} The bond is safe: `neuroshard-worker register` tries again, on this machine or another one with the same keys; `neuroshard-worker leave` takes the bond out. Please report processor and version")]
	WrongAnswer {
		/// What the chain said.
		source: ChainError,
	},
	/// The account is registered, but the answer did not get into a block.
	#[error(
		"the account is registered, but its arithmetic is not proven yet ({source}): `neuroshard-worker register` or `run` go on from here"
	)]
	NotProven {
		/// Why.
		source: ChainError,
	},
	/// The folder of a provider has no accounts of sessions.
	#[error("{path} is not there, so it is not known what sessions owe: name the folder that `serve --provider` runs in with --base-path, or go on without it with --forgo")]
	NoAccounts {
		/// Where they would be.
		path: PathBuf,
	},
	/// Sessions owe something that a provider would lose.
	#[error("{amount} are owed, and would be lost: by vouchers that could not be claimed, or for answers that are not signed for. Try again later, or give up that of single sessions with --close SESSION --forgo")]
	Unclaimed {
		/// How much.
		amount: Neuro,
	},
	/// An offer cannot be withdrawn while it is served.
	#[error("`serve --provider` runs in this folder, and nothing that it answers could be claimed without the offer: stop it first, and call this again")]
	Serving,
	/// It is not known whether a block has a call that is not to be made twice.
	#[error("{source}. It is not certain that nothing was done: look at what the chain has now before you do it again")]
	Unsure {
		/// What the chain or the node said.
		source: ChainError,
	},
	/// Something asked for does not exist.
	#[error("there is no {0}")]
	Unknown(String),
	/// An option's value.
	#[error("{0}")]
	Invalid(String),
	/// A run file.
	#[error(transparent)]
	RunFile(#[from] RunFileError),
	/// Keys.
	#[error(transparent)]
	Key(#[from] KeyError),
	/// Chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// The chain's history.
	#[error(transparent)]
	History(#[from] HistoryError),
	/// A replay that differs, or has no answer.
	#[error(transparent)]
	Replay(#[from] ReplayError),
	/// Dataset.
	#[error(transparent)]
	Data(#[from] DataError),
	/// Hugging Face's hub, or its cache.
	#[error(transparent)]
	Hub(#[from] HubError),
	/// Content store.
	#[error(transparent)]
	Store(#[from] StoreError),
	/// Journal.
	#[error(transparent)]
	Journal(#[from] JournalError),
	/// Network.
	#[error(transparent)]
	Network(#[from] NetworkError),
	/// Metrics.
	#[error(transparent)]
	Metrics(#[from] MetricsError),
	/// The worker.
	#[error(transparent)]
	Worker(#[from] WorkerError),
	/// Checkpoint files.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// Engine.
	#[error(transparent)]
	Engine(#[from] EngineError),
	/// Benchmark.
	#[error(transparent)]
	Bench(#[from] BenchError),
	/// Export.
	#[error(transparent)]
	Export(#[from] ExportError),
	/// Evaluation.
	#[error(transparent)]
	Eval(#[from] EvalError),
	/// Sampling.
	#[error(transparent)]
	Generate(#[from] GenerateError),
	/// A model that is to answer.
	#[error(transparent)]
	Model(#[from] ModelError),
	/// The server.
	#[error(transparent)]
	Serve(#[from] ServeError),
	/// A provider's business.
	#[error(transparent)]
	Business(#[from] BusinessError),
	/// The gateway.
	#[error(transparent)]
	Gateway(#[from] GatewayError),
	/// A ring.
	#[error(transparent)]
	Ring(#[from] RingError),
	/// An account that cannot be a member of one.
	#[error(transparent)]
	Unfit(#[from] Unfit),
	/// What is kept of answers.
	#[error(transparent)]
	TranscriptStore(#[from] TranscriptStoreError),
	/// A dispute about an answer that is not opened.
	#[error(transparent)]
	Challenge(#[from] ChallengeError),
	/// A move in one that is not made.
	#[error(transparent)]
	Player(#[from] PlayerError),
	/// A receipt that contradicts itself.
	#[error(transparent)]
	Malformed(#[from] Malformed),
	/// A receipt that cannot be checked.
	#[error(transparent)]
	Check(#[from] CheckError),
}

impl CliError {
	pub(super) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
		move |source| Self::File { path: path.to_path_buf(), source }
	}
}
