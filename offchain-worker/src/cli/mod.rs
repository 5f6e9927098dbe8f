//! The command line: one file per command.

// First: its macro is for all that follow.
#[macro_use]
mod print;

mod bench;
mod bill;
mod bond;
mod check;
mod conduct;
mod dataset;
mod dataset_build;
mod dataset_chain;
mod device;
mod directory;
mod disk;
mod dispute;
mod doctor;
mod error;
mod eval;
mod export;
mod found;
mod gateway;
mod generate;
mod hold;
mod hub;
mod key;
mod leave;
mod local;
mod machine;
mod max_memory;
mod model;
mod money;
mod offer;
mod open;
mod owner;
mod parse;
mod plan;
mod ports;
mod process;
mod push;
mod quorum;
mod reach;
mod reading;
mod register;
mod replay;
mod run_check;
mod run_file;
mod run_start;
mod serve;
mod start;
mod status;
mod tokenizer;
mod train;
mod until;

pub use conduct::{Conducts, NoOptions};
pub use error::CliError;
pub use process::main;
pub use run_file::{ModelFile, Preset, RunFile, RunFileError, TrainFile};

use clap::{Args, Parser, Subcommand};
use neuroshard_chain_client::keys::Unlock;
use neuroshard_roles::Honest;
use std::path::PathBuf;

/// Lends compute to train language models with others, exactly checkable, and earns NEURO for it.
#[derive(Debug, Parser)]
#[command(name = "neuroshard-worker", version, arg_required_else_help = true)]
pub struct CliOf<C: Conducts> {
	#[command(flatten)]
	common: Common,
	#[command(subcommand)]
	command: Command<C>,
}

/// The command line of the worker that is installed.
pub type Cli = CliOf<Honest>;

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub struct Common {
	/// Address of a node of the chain. Given several times, or with commas between addresses, all of them are followed and compared; one is used,
	/// and another one takes its place when it is away or behind.
	#[arg(long, global = true, env = "NEUROSHARD_NODE", value_name = "URL", value_delimiter = ',', default_value = "ws://127.0.0.1:9944")]
	node: Vec<String>,
	/// Folder of keys, checkpoints, datasets and the journal. Every account needs its own.
	#[arg(long, global = true, env = "NEUROSHARD_BASE_PATH", value_name = "DIR")]
	base_path: Option<PathBuf>,
	/// Account of a development network, such as //Alice, instead of the key file. Other users of the machine can see it.
	#[arg(long, global = true, value_name = "SURI")]
	suri: Option<String>,
	/// File whose first line is the passphrase of encrypted keys, readable by its owner alone; without it, the terminal is asked. A pipe is named
	/// /dev/fd/N.
	#[arg(long, global = true, env = "NEUROSHARD_PASSPHRASE_FILE", value_name = "FILE")]
	passphrase_file: Option<PathBuf>,
	/// Most memory of its own that this process may take, in GiB, to which the system holds it: what does not fit is not begun, or is done in files. Without
	/// it, what the machine, control groups and `ulimit` leave.
	#[arg(long, global = true, env = "NEUROSHARD_MAX_MEMORY", value_name = "GIB", value_parser = parse::gib)]
	max_memory: Option<u64>,
}

impl Common {
	/// Has the passphrase of encrypted keys.
	fn unlock(&self) -> Unlock {
		Unlock::new(self.passphrase_file.as_deref())
	}

	/// The base folder: what was asked for, else `neuroshard-worker` in the user's data folder.
	///
	/// # Errors
	/// [`CliError::NoHome`] if neither is known.
	pub fn base(&self) -> Result<PathBuf, CliError> {
		let data = || {
			let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
			named("XDG_DATA_HOME").or_else(|| named("HOME").map(|home| home.join(".local/share")))
		};
		self.base_path.clone().or_else(|| data().map(|data| data.join("neuroshard-worker"))).ok_or(CliError::NoHome)
	}
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command<C: Conducts> {
	/// Make, show or restore the keys.
	#[command(subcommand)]
	Key(key::KeyCommand),
	/// Become a compute provider: measure this machine and bond NEURO.
	Register(register::Register),
	/// Measure this machine anew and register that.
	Update(register::Update),
	/// Add to the bond.
	BondExtra(bond::BondExtra),
	/// Start to take a part of the bond out. Chills if less than the minimum remains.
	Unbond(bond::Unbond),
	/// Lock the bond: taking it out cannot start before. A lock can be lengthened only, and a slash takes what is locked as well.
	Lock(bond::Lock),
	/// Take out what has unlocked of the bond.
	Withdraw,
	/// Take no new work; the bond stays.
	Chill,
	/// Take work again after chilling.
	Activate,
	/// Claim what ended eras owe. A running worker does that by itself.
	Claim(money::Claim),
	/// Send NEURO to another account.
	Transfer(money::Transfer),
	/// Take part in training, or only serve checkpoints.
	Run(start::Run<C>),
	/// Finish the round at hand, leave, and start to take the bond out. Called again later, withdraws it.
	Leave(leave::Leave),
	/// Show account, bond, run, round and earnings.
	Status(status::StatusCommand),
	/// Make a tokenizer.
	#[command(subcommand)]
	Tokenizer(tokenizer::TokenizerCommand),
	/// Build, verify, register, list or retire datasets.
	#[command(subcommand)]
	Dataset(dataset::DatasetCommand),
	/// Make a checkpoint to start a run from.
	#[command(subcommand)]
	Model(model::ModelCommand),
	/// Write a dataset or a checkpoint to an object store or a folder, from which workers read it with `run --mirror`. What is there is not sent again.
	Push(push::Push),
	/// Create, list and steer training runs.
	#[command(subcommand)]
	Train(train::TrainCommand),
	/// Hold one place of a run together with other accounts, each a span of the model: propose it, agree to it, or show who does.
	#[command(subcommand)]
	Quorum(quorum::QuorumCommand<C>),
	/// Execute the chain's blocks anew, recompute a run from them and its dataset, and name the first round or provider that differs.
	Replay(replay::Replay),
	/// Write a checkpoint in Hugging Face layout, or as GGUF.
	Export(export::Export),
	/// Say how well a checkpoint or a model predicts a text, or answers questions.
	Eval(eval::Eval),
	/// Sample text from a checkpoint.
	Generate(generate::Generate),
	/// Answer over HTTP, as clients of the OpenAI API ask, with a checkpoint or any Llama, Qwen 2 or Qwen 3. Needs no chain.
	Serve(serve::Serve<C>),
	/// Show this provider's offer and the sessions that pay for its answers, close and settle them, or withdraw the offer.
	Offer(offer::OfferCommand),
	/// Answer clients of the OpenAI API on this machine by a provider, and pay it for each answer with this account.
	Gateway(gateway::Gateway),
	/// Hold some layers of a model for drivers of rings: `serve --ring` on this or another machine.
	Hold(hold::Hold),
	/// Compute an answer anew from its receipt, and name the first token that differs. Exits with 2 if one does.
	Check(check::Check),
	/// Dispute a false answer on chain by its receipt, and play until that is decided. Exits with 2 if it is lost.
	Dispute(dispute::DisputeAnswer),
	/// Check everything that a provider needs, and say in words what is missing.
	Doctor(doctor::Doctor),
	/// Measure training speed against candle autograd, and what commitments cost.
	Bench(bench::Bench),
}

/// Runs the command and returns the process's exit code.
///
/// # Errors
/// Whatever the command ran into, in words for people.
pub async fn run<C: Conducts>(cli: CliOf<C>) -> Result<u8, CliError> {
	let CliOf { common, command } = cli;
	common.max_memory.map_or(Ok(()), max_memory::hold_to)?;
	match command {
		Command::Key(command) => command.run(&common),
		Command::Register(command) => command.run(&common).await,
		Command::Update(command) => command.run(&common).await,
		Command::BondExtra(command) => command.run(&common).await,
		Command::Unbond(command) => command.run(&common).await,
		Command::Lock(command) => command.run(&common).await,
		Command::Withdraw => bond::withdraw(&common).await,
		Command::Chill => bond::chill(&common).await,
		Command::Activate => bond::activate(&common).await,
		Command::Claim(command) => command.run(&common).await,
		Command::Transfer(command) => command.run(&common).await,
		Command::Run(command) => command.run(&common).await,
		Command::Leave(command) => command.run(&common).await,
		Command::Status(command) => command.run(&common).await,
		Command::Tokenizer(command) => command.run().await,
		Command::Dataset(command) => command.run(&common).await,
		Command::Model(command) => command.run().await,
		Command::Push(command) => command.run().await,
		Command::Train(command) => command.run(&common).await,
		Command::Quorum(command) => command.run(&common).await,
		Command::Replay(command) => Ok(command.run(&common).await),
		Command::Export(command) => command.run(&common),
		Command::Eval(command) => command.run(&common),
		Command::Generate(command) => command.run(&common),
		Command::Serve(command) => command.run(&common).await,
		Command::Offer(command) => command.run(&common).await,
		Command::Gateway(command) => command.run(&common).await,
		Command::Hold(command) => command.run(&common).await,
		Command::Check(command) => command.run(&common),
		Command::Dispute(command) => command.run(&common).await,
		Command::Doctor(command) => command.run(&common).await,
		Command::Bench(command) => command.run(),
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::CommandFactory;

	#[test]
	fn the_command_line_is_well_formed() {
		Cli::command().debug_assert();
	}

	#[test]
	fn common_options_may_stand_behind_the_command() {
		let cli = Cli::try_parse_from(["neuroshard-worker", "status", "--node", "ws://host:1", "--base-path", "/data", "--json"]).unwrap();
		assert_eq!(cli.common.node, ["ws://host:1"]);
		assert_eq!(cli.common.base().unwrap(), PathBuf::from("/data"));
		assert!(matches!(cli.command, Command::Status(_)));
	}

	#[test]
	fn several_nodes_are_named_one_by_one_or_with_commas() {
		let nodes = |arguments: &[&str]| Cli::try_parse_from([&["neuroshard-worker"], arguments].concat()).unwrap().common.node;
		assert_eq!(nodes(&["status", "--node", "ws://a:1", "--node", "ws://b:2"]), ["ws://a:1", "ws://b:2"]);
		assert_eq!(nodes(&["--node", "ws://a:1,wss://b:2", "status"]), ["ws://a:1", "wss://b:2"]);
	}

	#[test]
	fn amounts_and_addresses_are_refused_by_name_before_anything_is_sent() {
		let alice = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";
		Cli::try_parse_from(["neuroshard-worker", "transfer", "--to", alice, "--amount", "0.5"]).unwrap();
		let refused = |arguments: &[&str]| Cli::try_parse_from([&["neuroshard-worker"], arguments].concat()).unwrap_err().to_string();
		assert!(refused(&["transfer", "--to", "bob", "--amount", "1"]).contains("\"bob\" is not an address"));
		assert!(refused(&["transfer", "--to", alice, "--amount", "1e3"]).contains("\"1e3\" is not an amount of NEURO"));
		assert!(refused(&["transfer", "--to", alice, "--amount", "-5"]).contains("\"-5\" is not an amount of NEURO"));
		assert!(refused(&["register", "--bond", "-5"]).contains("\"-5\" is not an amount of NEURO"));
		assert!(refused(&["generate", "--max-tokens", "0"]).contains("0 is not in 1.."));
		assert!(refused(&["bond-extra", "--amount", "0"]).contains("\"0\" is nothing"));
		assert!(refused(&["register", "--threads", "0"]).contains("1 or more"));
	}

	#[test]
	fn a_worker_that_is_installed_cannot_be_told_to_cheat() {
		for line in [["run", "--cheat", "noise"], ["run", "--hand-over", "--local"], ["serve", "--cheat", "wrong-token"]] {
			assert!(Cli::try_parse_from([&["neuroshard-worker"][..], &line].concat()).is_err(), "{line:?}");
		}
	}

	#[test]
	fn an_unknown_command_is_refused() {
		assert!(Cli::try_parse_from(["neuroshard-worker", "mine"]).is_err());
		let refused = Cli::try_parse_from(["neuroshard-worker", "run", "--audit", "1"]).unwrap_err().to_string();
		assert!(refused.contains("this option is called --check"), "{refused}");
		Cli::try_parse_from(["neuroshard-worker", "run", "--check", "1"]).unwrap();
	}
}
