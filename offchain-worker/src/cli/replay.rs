//! `replay`: executes the chain's blocks anew and recomputes what a run says of itself in them.

use super::{CliError, Common};
use crate::history::{self, HistoryError, RunHistory, State};
use clap::Args;
use neuroshard_chain_client::{Block, BlockId, ChainClient};
use neuroshard_data::{dataset, loader::Loader};
use neuroshard_support::{counted::counted, hardware, memory::available_memory, printable::printable_line};
use neuroshard_training::{
	files::{replay_bytes, replay_run_in_files, steps_bytes, InFiles},
	replay::{replay_run, Progress},
};
use neuroshard_types::{BlockNumber, RoundIndex, RunId, H256};
use std::{
	path::PathBuf,
	time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// Exit code if rounds were recomputed and agree.
const AGREES: u8 = 0;
/// Exit code if something differs.
const DIFFERENT: u8 = 1;
/// Exit code if there is no answer; a command line that cannot be read ends with the same one.
const NO_ANSWER: u8 = 2;

/// Pause between two lines on how far blocks or the inner steps of a round are.
const REPORT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct Replay {
	/// Run to recompute.
	#[arg(long)]
	run: RunId,
	/// Folder of its dataset; checked against the chain first.
	#[arg(long, value_name = "DIR")]
	dataset: PathBuf,
	/// Rounds to recompute; all that were adopted if not given.
	#[arg(long, value_parser = clap::value_parser!(RoundIndex).range(1..))]
	rounds: Option<RoundIndex>,
	/// Block whose state to start from, before the run's first round was adopted; genesis if not given. That state is believed.
	#[arg(long, value_name = "BLOCK", default_value_t = 0, conflicts_with = "chain_spec")]
	from_block: BlockNumber,
	/// Raw spec of the chain to take genesis from, for a node that has pruned it.
	#[arg(long, value_name = "FILE")]
	chain_spec: Option<PathBuf>,
	/// Threads.
	#[arg(long, value_parser = super::parse::threads)]
	threads: Option<usize>,
	#[command(flatten)]
	device: super::device::DeviceOption,
	/// Memory that it may take, in MiB; what is free if not given. Where rounds take more, the CPU computes them in parts, and the rest is on disk: that takes
	/// longer, and the answer is the same.
	#[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
	memory: Option<u32>,
	/// Folder for what does not fit into memory; the system's for temporary files if not given. What is written there goes at the end.
	#[arg(long, value_name = "DIR")]
	scratch: Option<PathBuf>,
}

impl Replay {
	/// The exit code says whether everything agrees, something differs, or there is no answer; the last line says what.
	pub(super) async fn run(self, common: &Common) -> u8 {
		match self.compare(common).await {
			Ok(last) => {
				println!("every delta and every checkpoint agrees, bit for bit; the last one is {last:?}");
				AGREES
			}
			Err(difference) if is_difference(&difference) => {
				// Parts of it, as of an error, may come from the node.
				println!("DIFFERENT: {}", printable_line(&difference.to_string()));
				DIFFERENT
			}
			Err(error) => {
				eprintln!("error: {}", printable_line(&error.to_string()));
				NO_ANSWER
			}
		}
	}

	/// Recomputes the run and returns the root of its last checkpoint.
	async fn compare(self, common: &Common) -> Result<H256, CliError> {
		let client = ChainClient::connect_all(&common.node).await?;
		let last = client.heads().await?.finalized;
		if self.from_block > last.number {
			return Err(CliError::Invalid(format!("--from-block {}: the last finalized block is {}", self.from_block, last.number)));
		}
		let history = self.history(&client, last).await?;
		let (Some(config), Some(manifest)) = (history.config().cloned(), history.manifest()) else {
			return Err(CliError::Unknown(format!("run {} in the blocks up to {}, the last finalized one", self.run, last.number)));
		};
		let rounds = history.rounds().to_vec();
		let end = match (history.is_finished(), self.rounds) {
			(true, _) => "all of them",
			(false, Some(enough)) if usize::try_from(enough).is_ok_and(|enough| history.rounds().len() >= enough) => {
				"no more are looked at"
			}
			(false, _) => "and it goes on",
		};
		println!("run {}: {} adopted rounds, {end}", self.run, rounds.len());

		dataset::verify(&self.dataset, Some(manifest.root))?;
		let loader = Loader::new(&self.dataset, manifest.shape, manifest.width())?;
		let (run, on) = (self.run, (self.device.device()?, hardware::threads(self.threads)));
		// What is in it is checked like everything else; there may be none.
		let store = common.base().ok().map(|base| base.join("store"));
		let mut shown = Shown::new(Instant::now());
		let tell = move |progress: Progress<'_>| {
			if let Some(words) = shown.words(progress, Instant::now()) {
				println!("{words}");
			}
		};
		let deltas = rounds.iter().map(|round| round.record.included.len()).max().unwrap_or_default();
		let needed = replay_bytes(&config.model, &config.train, deltas).map_err(|error| CliError::Invalid(error.to_string()))?;
		let Some(memory) = self.in_parts(needed, available_memory()) else {
			let replay = move || replay_run(run, &config, &rounds, &loader, store, on, tell);
			return Ok(tokio::task::spawn_blocking(replay).await.map_err(broken)??.header.root());
		};
		println!("rounds take {} MiB of memory, and {} MiB are given: they are computed in parts", needed >> 20, memory >> 20);
		let folder = self.scratch.unwrap_or_else(std::env::temp_dir);
		let on = InFiles { memory: steps_bytes(memory, deltas), threads: on.1, folder, store };
		let replay = move || replay_run_in_files(run, &config, &rounds, &loader, on, tell);
		Ok(tokio::task::spawn_blocking(replay).await.map_err(broken)??)
	}

	/// Bytes of memory in which rounds are computed in parts that take `needed` bytes otherwise, where `available` are free; `None` if they fit. What a device
	/// computes is in its own memory.
	fn in_parts(&self, needed: u64, available: Option<u64>) -> Option<u64> {
		let given = self.memory.map(|mebibytes| u64::from(mebibytes) << 20);
		given.or(available.filter(|_| !self.device.is_told())).filter(|memory| *memory < needed)
	}

	/// Executes blocks until the run is finished, enough rounds are adopted, or `last` is reached.
	async fn history(&self, client: &ChainClient, last: BlockId) -> Result<RunHistory, CliError> {
		let state = match &self.chain_spec {
			Some(path) => history::genesis_state(path, client.genesis()).await?,
			None => history::start_state(client, self.from_block).await?,
		};
		let first = self.from_block.saturating_add(1);
		println!("chain {:?}: executing blocks {first} to {}, the last finalized one, at most", client.genesis(), last.number);
		let blocks = history::blocks(client.clone(), first..=last.number);
		let (run, enough) = (self.run, self.rounds.and_then(|rounds| usize::try_from(rounds).ok()));
		let follow = move || follow(state, blocks, run, enough, last.number);
		Ok(tokio::task::spawn_blocking(follow).await.map_err(broken)??)
	}
}

/// Executes `blocks` on `state` and shows the history of `run` every state, until it is finished or has `enough` rounds.
fn follow(
	mut state: State,
	mut blocks: mpsc::Receiver<Result<Block, HistoryError>>,
	run: RunId,
	enough: Option<usize>,
	last: BlockNumber,
) -> Result<RunHistory, HistoryError> {
	let mut run = RunHistory::new(run, &state)?;
	let (started, first) = (Instant::now(), state.head().number);
	let mut reported = started;
	while !run.is_finished() && enough.is_none_or(|enough| run.rounds().len() < enough) {
		let Some(block) = blocks.blocking_recv() else {
			all_came(state.head().number, last)?;
			break;
		};
		state.execute(&block?)?;
		run.observe(&state)?;
		if reported.elapsed() >= REPORT {
			reported = Instant::now();
			println!("block {} of {last}, {}", state.head().number, counted(run.rounds().len(), "round"));
		}
	}
	run.note_findings(&state)?;
	let count = state.head().number.saturating_sub(first);
	println!(
		"executed {} in {:.2} s, {} of the run; the last one is {:?}",
		counted(count, "block"),
		started.elapsed().as_secs_f64(),
		run.changes(),
		state.head().hash
	);
	Ok(run)
}

/// Fails if blocks end at `head`, before `last`: a part of a run must not pass for all of it.
fn all_came(head: BlockNumber, last: BlockNumber) -> Result<(), HistoryError> {
	match head.checked_add(1).filter(|next| *next <= last) {
		Some(number) => Err(HistoryError::NotNext { number, reason: "nothing came".into() }),
		None => Ok(()),
	}
}

/// Whether an error is an answer: the chain, or what the node gives as its blocks, contradicts what was recomputed.
fn is_difference(error: &CliError) -> bool {
	match error {
		CliError::History(error) => error.is_difference(),
		CliError::Replay(error) => error.is_difference(),
		_ => false,
	}
}

/// What was said of a replay.
struct Shown {
	/// When the last line was.
	last: Instant,
}

impl Shown {
	fn new(now: Instant) -> Self {
		Self { last: now }
	}

	/// What to say at `now`, if it is not too soon for that.
	fn words(&mut self, progress: Progress<'_>, now: Instant) -> Option<String> {
		let words = match progress {
			Progress::Step(..) if now.saturating_duration_since(self.last) < REPORT => return None,
			Progress::Step(round, account, [taken, most]) => {
				format!("round {round}    {account}: {taken} of {}", counted(most, "inner step"))
			}
			Progress::Genesis(root) => format!("genesis    {root:?}"),
			Progress::Provider(round, account) => format!("round {round}    recomputing {account}"),
			Progress::Excluded(round, account) => {
				format!("round {round}    {account}: not what its work gives, as the chain has found since; left out of what was redone")
			}
			Progress::Fallen(round, root) => format!(
				"round {round}    {root:?}: not what its deltas give, as the chain has found since; it goes on from there until it was redone"
			),
			Progress::Round(round, root, loss) => format!("round {round}    {root:?}, validation loss {loss:.4}"),
		};
		self.last = now;
		Some(words)
	}
}

fn broken(error: tokio::task::JoinError) -> CliError {
	CliError::Invalid(format!("the replay broke off: {error}"))
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::Parser;
	use neuroshard_training::replay::ReplayError;
	use neuroshard_types::AccountId;

	#[test]
	fn an_answer_is_told_from_none() {
		let diverges = HistoryError::Diverges { number: 4, reason: "another root".into() };
		let checkpoint = ReplayError::Checkpoint { round: 1, found: H256([1; 32]), expected: H256([2; 32]) };
		for answer in [CliError::History(diverges), CliError::Replay(checkpoint)] {
			assert!(is_difference(&answer), "{answer}");
		}
		let no_body = HistoryError::NoBody { number: 4 };
		let silent = HistoryError::NotNext { number: 4, reason: "nothing came".into() };
		let none = [
			CliError::History(no_body),
			CliError::History(silent),
			CliError::Replay(ReplayError::NoRounds),
			CliError::Unknown("run 7".into()),
		];
		for error in none {
			assert!(!is_difference(&error), "{error}");
		}
	}

	#[test]
	fn rounds_are_computed_in_parts_where_they_take_more_memory_than_is_given_or_free() {
		let replay = |options: &[&str]| {
			let told = ["neuroshard-worker", "--run", "0", "--dataset", "nowhere"];
			<Parsed as Parser>::try_parse_from(told.iter().chain(options)).unwrap().replay
		};
		assert_eq!(replay(&[]).in_parts(100, Some(100)), None);
		assert_eq!(replay(&[]).in_parts(100, Some(99)), Some(99));
		assert_eq!(replay(&[]).in_parts(100, None), None, "nobody knows how much is free");
		assert_eq!(replay(&["--memory", "3"]).in_parts(4 << 20, Some(8 << 20)), Some(3 << 20));
		assert_eq!(replay(&["--memory", "4"]).in_parts(4 << 20, Some(0)), None);
		assert_eq!(replay(&["--device", "opencl:0"]).in_parts(100, Some(99)), None, "it has memory of its own");
		assert_eq!(replay(&["--device", "opencl:0", "--memory", "1"]).in_parts(2 << 20, Some(u64::MAX)), Some(1 << 20));
	}

	/// The options alone.
	#[derive(Debug, Parser)]
	struct Parsed {
		#[command(flatten)]
		replay: Replay,
	}

	#[test]
	fn a_round_that_takes_long_says_how_far_it_is_every_few_seconds() {
		let (start, account) = (Instant::now(), AccountId::new([1; 32]));
		let mut shown = Shown::new(start);
		let at = |seconds| start + Duration::from_secs(seconds);
		assert!(shown.words(Progress::Provider(3, &account), at(1)).is_some_and(|words| words.contains("recomputing")));
		let said = (2..13).filter_map(|second| shown.words(Progress::Step(3, &account, [second, 60]), at(second.into())));
		assert_eq!(said.collect::<Vec<_>>(), [6, 11].map(|taken| format!("round 3    {account}: {taken} of 60 inner steps")));
	}

	#[tokio::test]
	async fn a_node_that_is_away_gives_no_answer() {
		let cli = ["neuroshard-worker", "replay", "--node", "ws://127.0.0.1:1", "--run", "0", "--dataset", "nowhere"];
		let code = crate::cli::run(crate::cli::Cli::try_parse_from(cli).unwrap()).await.unwrap();
		assert_eq!(code, NO_ANSWER);
	}

	#[test]
	fn blocks_that_end_early_are_an_error() {
		assert!(matches!(all_came(6, 9), Err(HistoryError::NotNext { number: 7, .. })));
		all_came(9, 9).unwrap();
	}
}
