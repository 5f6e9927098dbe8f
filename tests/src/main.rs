//! `neuroshard-devnet`: a whole network on this machine, which trains a model.

use clap::Parser;
use neuroshard_e2e::{newest_sample, until, Binaries, Dashboard, Error, Layout, Minted, Network, Preset, Summary, Text, Training, View};
use neuroshard_types::{run::RunStatus, RoundIndex};
use neuroshard_worker::run::status::Status;
use std::{
	future::Future,
	path::{Path, PathBuf},
	process::ExitCode,
	time::{Duration, Instant},
};
use tokio::{
	signal::unix::{signal, SignalKind},
	sync::watch,
};

/// Pause between two looks at the network.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Longest wait for the workers' account of the last round.
const TELL_LIMIT: Duration = Duration::from_secs(30);
/// The round whose rewards must be minted before the summary is written.
const PAID_ROUND: RoundIndex = 1;

/// Starts two validators and some workers as separate processes on this machine, has them train a model on text that is at hand, and
/// shows how it goes. Ctrl-C stops everything.
#[derive(Debug, Parser)]
#[command(name = "neuroshard-devnet", version)]
struct Arguments {
	/// Stop after so many rounds, with exit code 0 if everything is as it must be. Without it, go on until Ctrl-C.
	#[arg(long, value_parser = clap::value_parser!(RoundIndex).range(1..))]
	rounds: Option<RoundIndex>,
	/// Write a JSON summary to this file at the end.
	#[arg(long, value_name = "FILE", requires = "rounds")]
	summary: Option<PathBuf>,
	/// Workers.
	#[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
	workers: u16,
	/// New folder for everything the network writes; a temporary one, removed at the end, if not given.
	#[arg(long, value_name = "DIR")]
	base_path: Option<PathBuf>,
	/// Text file or folder of text to train on; without it, sources and READMEs in the cargo registry.
	#[arg(long, value_name = "PATH")]
	corpus: Option<PathBuf>,
	/// Size of model and rounds.
	#[arg(long, value_enum, default_value = "devnet")]
	preset: Preset,
	/// First of the consecutive ports to use; free ones if not given.
	#[arg(long, value_name = "PORT")]
	port_base: Option<u16>,
}

fn main() -> ExitCode {
	tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
	let arguments = Arguments::parse();
	let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
		Ok(runtime) => runtime,
		Err(error) => {
			eprintln!("error: the system gives no threads: {error}");
			return ExitCode::FAILURE;
		}
	};
	let result = runtime.block_on(in_folder(&arguments));
	runtime.shutdown_timeout(Duration::from_millis(500));
	match result {
		Ok(()) => ExitCode::SUCCESS,
		Err(error) => {
			eprintln!("error: {error}");
			ExitCode::FAILURE
		}
	}
}

/// Runs the network in the folder that was asked for, or in a temporary one, which stays if something goes wrong.
async fn in_folder(arguments: &Arguments) -> Result<(), Error> {
	if let Some(folder) = &arguments.base_path {
		let folder = std::path::absolute(folder).map_err(|source| Error::File { path: folder.clone(), source })?;
		return devnet(arguments, &folder).await;
	}
	let path = std::env::temp_dir();
	let folder = tempfile::Builder::new().prefix("neuroshard-devnet-").tempdir().map_err(|source| Error::File { path, source })?;
	let result = devnet(arguments, folder.path()).await;
	if result.is_err() {
		eprintln!("logs and data stay in {}", folder.keep().display());
	}
	result
}

async fn devnet(arguments: &Arguments, folder: &Path) -> Result<(), Error> {
	let started = Instant::now();
	let stop = Stop::listen()?;
	let mut dashboard = Dashboard::new(started);
	let layout = Layout { folder: folder.to_path_buf(), port_base: arguments.port_base, workers: arguments.workers };
	dashboard.say(&format!("starting two validators in {}", folder.display()));
	let Some(network) = stop.unless(Network::start(Binaries::find()?, layout)).await else { return interrupted(arguments) };
	let mut network = network?;
	let result = match stop.unless(begin(arguments, &mut network, &mut dashboard)).await {
		Some(Ok(training)) => train(arguments, &mut network, &training, &mut dashboard, &stop, started).await,
		Some(Err(error)) => Err(error),
		None => interrupted(arguments),
	};
	dashboard.say("stopping all processes");
	network.stop().await;
	result
}

/// Ctrl-C is how a network without end is stopped, but no end of one that was to train so many rounds.
fn interrupted(arguments: &Arguments) -> Result<(), Error> {
	match arguments.rounds {
		None => Ok(()),
		Some(rounds) => Err(Error::Setup(format!("stopped before {rounds} rounds were done and paid"))),
	}
}

/// Registers dataset and run, and starts the workers.
async fn begin(arguments: &Arguments, network: &mut Network, dashboard: &mut Dashboard) -> Result<Training, Error> {
	for validator in &network.validators {
		dashboard.say(&format!("{} answers at {}", validator.name(), validator.url()));
	}
	dashboard.say("building and registering a dataset, creating a run");
	let text = arguments.corpus.clone().map_or(Text::Registry, Text::Path);
	let count = arguments.workers;
	let training = Training::sponsor(network, arguments.preset, text, u32::from(count), arguments.rounds).await?;
	dashboard.say(&format!("starting {count} workers: each measures this machine, bonds NEURO and registers"));
	let cores = std::thread::available_parallelism().map_or(1, usize::from);
	let threads = cores.checked_div(usize::from(count)).unwrap_or(1).max(1);
	let dataset = training.dataset.clone();
	network.add_workers(usize::from(count), Some(&dataset), threads).await?;
	Ok(training)
}

/// Shows the training until it is over, or until it is to stop, and ends with text from the model.
async fn train(
	arguments: &Arguments,
	network: &mut Network,
	training: &Training,
	dashboard: &mut Dashboard,
	stop: &Stop,
	started: Instant,
) -> Result<(), Error> {
	let finished = stop.unless(watch_until_finished(network, training, dashboard)).await;
	let (Some(rounds), Some(view)) = (arguments.rounds, finished) else {
		network.stop_workers().await;
		if let Some(text) = newest_sample(network, training)? {
			dashboard.say(&format!("text from the model:\n\n{text}\n"));
		}
		return interrupted(arguments);
	};
	let view = view?;
	dashboard.say("all rounds done; waiting until their first rewards are minted");
	let paid = PAID_ROUND.min(rounds.saturating_sub(1));
	let work = async {
		let minted = Minted::wait(network, training, paid).await?;
		let view = told(network, training, view).await?;
		Summary::collect(network, training, &view, minted, started.elapsed()).await
	};
	let Some(summary) = stop.unless(work).await else { return interrupted(arguments) };
	let summary = summary?;
	report(&summary, dashboard);
	if let Some(path) = &arguments.summary {
		let text = serde_json::to_string_pretty(&summary).map_err(|error| Error::Setup(error.to_string()))?;
		std::fs::write(path, text + "\n").map_err(|source| Error::File { path: path.clone(), source })?;
	}
	summary.verify(usize::try_from(rounds).unwrap_or(usize::MAX))
}

async fn watch_until_finished(network: &mut Network, training: &Training, dashboard: &mut Dashboard) -> Result<View, Error> {
	let mut known = None;
	loop {
		for words in network.notice_deaths()? {
			dashboard.say(&words);
		}
		let view = match View::look(network, training, known.clone()).await {
			// The node that is asked may be away for a while; notice_deaths says so.
			Err(Error::Chain(_)) => {
				tokio::time::sleep(LOOK_INTERVAL).await;
				continue;
			}
			other => other?,
		};
		dashboard.show(training, &view);
		if view.run.status == RunStatus::Finished {
			return Ok(view);
		}
		known = Some(view);
		tokio::time::sleep(LOOK_INTERVAL).await;
	}
}

/// Waits for a while until every worker says what the last round cost it; one that is gone says nothing.
async fn told(network: &Network, training: &Training, mut view: View) -> Result<View, Error> {
	let what = "the workers' account of the last round";
	let told = until(what, TELL_LIMIT, async || {
		view = View::look(network, training, Some(view.clone())).await?;
		let last = view.run.rounds_adopted.checked_sub(1);
		let knows = |status: &Status| status.rounds.iter().any(|round| Some(round.round) == last);
		Ok(view.workers.iter().flatten().all(knows).then_some(()))
	});
	match told.await {
		Ok(()) | Err(Error::Late { .. }) => Ok(view),
		Err(error) => Err(error),
	}
}

fn report(summary: &Summary, dashboard: &mut Dashboard) {
	for round in &summary.rounds {
		let mib = round.bytes_per_worker as f64 / f64::from(1u32 << 20);
		let (number, loss) = (round.round.saturating_add(1), round.validation_loss);
		dashboard.say(&format!("round {number}: loss {loss:.4}, {} deltas, {mib:.1} MiB per worker", round.included));
	}
	let (start, end, entropy) = (summary.validation_loss_start, summary.validation_loss_end, summary.unigram_entropy);
	dashboard.say(&format!("loss {start:.4} > {end:.4} (unigram entropy {entropy:.4}), {:.0} tokens/s", summary.tokens_per_second));
	dashboard.say(&format!("checkpoint {} on chain", summary.checkpoint_root_chain));
	for root in &summary.checkpoint_roots_workers {
		dashboard.say(&format!("           {root} from a worker's files"));
	}
	dashboard.say(&format!("rewards {} planck, new issuance {} planck", summary.rewards_total, summary.issuance_delta));
	dashboard.say(&format!("text from the model:\n\n{}\n", summary.sample));
}

/// Whether somebody asked for the end, with Ctrl-C or TERM.
struct Stop(watch::Receiver<bool>);

impl Stop {
	fn listen() -> Result<Self, Error> {
		let failed = |error: std::io::Error| Error::Setup(format!("cannot listen for signals: {error}"));
		let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
		let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
		let (sender, receiver) = watch::channel(false);
		tokio::spawn(async move {
			tokio::select! {
				_ = interrupt.recv() => {}
				_ = terminate.recv() => {}
			}
			let _ = sender.send(true);
			// A second time is impatience: the processes die with this one.
			tokio::select! {
				_ = interrupt.recv() => {}
				_ = terminate.recv() => {}
			}
			std::process::exit(130);
		});
		Ok(Self(receiver))
	}

	/// What `work` gives, or nothing if it was asked to stop meanwhile.
	async fn unless<T>(&self, work: impl Future<Output = T>) -> Option<T> {
		let mut asked = self.0.clone();
		tokio::select! {
			result = work => Some(result),
			_ = asked.wait_for(|asked| *asked) => None,
		}
	}
}
