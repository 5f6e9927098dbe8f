//! `neuroshard-devnet`: a whole network on this machine, which trains a model.

mod dashboard;

use clap::{error::ErrorKind, CommandFactory, Parser};
use dashboard::Dashboard;
use neuroshard_chain_client::Neuro;
use neuroshard_e2e::{
	kept_folder, newest_sample, set_pace, slot, until, Binaries, Cheat, DisputeSummary, Error, Layout, Minted, Model, Network, Prepared,
	Preset, Service, Summary, Swindle, Text, Training, Verdicts, View,
};
use neuroshard_roles::status::Status;
use neuroshard_support::printable::printable;
use neuroshard_types::{run::RunStatus, RoundIndex};
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
/// Most participants of a round, and room for those who join later, so that others can join a running network.
const MOST_PARTICIPANTS: u16 = 8;
const LATE_PARTICIPANTS: u16 = 2;
/// Longest wait for the workers' account of the last round.
const TELL_LIMIT: Duration = Duration::from_secs(30);
/// Longest wait for the verdict about a cheat, and for the checkpoint after it.
const VERDICT_LIMIT: Duration = Duration::from_secs(2_400);
/// For the end of `--help`.
const EXIT_CODES: &str = "Exit codes: 0 if all rounds are done, or the cheater is judged, and everything is as it must be, or after \
	Ctrl-C without --rounds and --cheat; 1 if something failed; 2 for wrong options; 130 after Ctrl-C with --rounds or --cheat, or \
	after a second Ctrl-C";
/// Exit code of an end that was asked for before the work was done, or twice.
const INTERRUPTED: u8 = 130;
/// The round that is cheated in: there is honest work before it.
const CHEAT_ROUND: RoundIndex = 1;
/// Rounds of the model that a cheater answers with: so many checkpoints, one older than the newest.
const ROUNDS_TO_ANSWER: RoundIndex = 2;
/// Whom a cheater answers.
const CHEATED_USER: &str = "//Eve";

/// Starts two validators and some workers as separate processes on this machine, has them train a model on text that is at hand, and
/// shows how it goes. Ctrl-C stops everything; a second one does not wait until all have ended in good order.
#[derive(Debug, Parser)]
#[command(name = "neuroshard-devnet", version, after_help = EXIT_CODES)]
struct Arguments {
	/// Stop after so many rounds, with exit code 0 if everything is as it must be. Without it, go on until Ctrl-C.
	#[arg(long, value_parser = clap::value_parser!(RoundIndex).range(1..))]
	rounds: Option<RoundIndex>,
	/// Have one more worker cheat in round 1, and stop when it is judged and the next checkpoint is adopted. The others check everything. Or,
	/// with a kind of false answers, have a worker serve the model when all rounds are done, 2 if not given, and stop when it is judged.
	#[arg(long, value_enum, value_name = "KIND")]
	cheat: Option<Cheat>,
	/// When all rounds are done, have three workers serve the model as a ring that is paid, until Ctrl-C. Goes with --rounds.
	#[arg(long, requires = "rounds", conflicts_with = "cheat")]
	serve: bool,
	/// Write a JSON summary to this file at the end. Goes with --rounds or --cheat.
	#[arg(long, value_name = "FILE")]
	summary: Option<PathBuf>,
	/// Workers, without a cheater and its accomplice.
	#[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
	workers: u16,
	/// New folder for everything the network writes; if not given, a temporary one, of which only the model stays, until the next one.
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
	/// How many times as long as on a machine of two fast cores everything may take, 1 to 100: blocks, and what is counted in them. Measured if not
	/// given. For a machine that gets busier, name more than the seconds between the blocks that are announced without it.
	#[arg(long, value_name = "TIMES", value_parser = times)]
	pace: Option<f64>,
}

/// Reads a pace.
fn times(text: &str) -> Result<f64, String> {
	text.parse().ok().filter(|times| (1.0..=100.0).contains(times)).ok_or_else(|| "name a number from 1 to 100".into())
}

impl Arguments {
	/// The cheat in a round.
	fn in_training(&self) -> Option<Cheat> {
		self.cheat.filter(|cheat| !cheat.is_of_answers())
	}

	/// The cheat when all rounds are done.
	fn in_answers(&self) -> Option<Cheat> {
		self.cheat.filter(|cheat| cheat.is_of_answers())
	}

	/// Rounds to train, if there is an end.
	fn rounds(&self) -> Option<RoundIndex> {
		self.rounds.or_else(|| self.in_answers().map(|_| ROUNDS_TO_ANSWER))
	}
}

fn main() -> ExitCode {
	tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
	let arguments = Arguments::parse();
	if let (Some(cheat), Some(_)) = (arguments.in_training(), arguments.rounds) {
		let words = format!("--rounds does not go with --cheat {}: it ends when the cheater is judged", cheat.name());
		Arguments::command().error(ErrorKind::ArgumentConflict, words).exit();
	}
	if let Some(cheat @ (Cheat::WrongMask | Cheat::WrongBase)) = arguments.cheat {
		let words =
			format!("--cheat {} is no lie here, where a model is trained on all tokens of a text: networks of tests have it", cheat.name());
		Arguments::command().error(ErrorKind::ValueValidation, words).exit();
	}
	if let Some(cheat) = arguments.cheat.filter(|cheat| cheat.is_of_quorums()) {
		let words = format!("--cheat {} takes a quorum, which this network has not: networks of tests have it", cheat.name());
		Arguments::command().error(ErrorKind::ValueValidation, words).exit();
	}
	if arguments.summary.is_some() && arguments.rounds.is_none() && arguments.cheat.is_none() {
		let words = "--summary goes with --rounds or --cheat: a network without end has none";
		Arguments::command().error(ErrorKind::MissingRequiredArgument, words).exit();
	}
	if let Some(times) = arguments.pace {
		set_pace(times);
	}
	match run(&arguments) {
		Ok(()) => ExitCode::SUCCESS,
		Err(error) => {
			eprintln!("error: {error}");
			match error {
				Error::Interrupted(_) => ExitCode::from(INTERRUPTED),
				_ => ExitCode::FAILURE,
			}
		}
	}
}

/// Runs the network in the folder that was asked for, or in a temporary one, which stays if a process in it had something to say before
/// something went wrong.
fn run(arguments: &Arguments) -> Result<(), Error> {
	arguments.summary.as_deref().map_or(Ok(()), Summary::check_file)?;
	let (temporary, folder) = match &arguments.base_path {
		Some(folder) => (None, std::path::absolute(folder).map_err(|source| Error::File { path: folder.clone(), source })?),
		None => {
			let path = std::env::temp_dir();
			let made = tempfile::Builder::new().prefix("neuroshard-devnet-").tempdir();
			let made = made.map_err(|source| Error::File { path, source })?;
			let folder = made.path().to_path_buf();
			(Some(made), folder)
		}
	};
	let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
	let runtime = runtime.map_err(|error| Error::Setup(format!("the system gives no threads: {error}")))?;
	let result = runtime.block_on(devnet(arguments, &folder));
	// Before the folder goes, so that nothing is written to it any more.
	runtime.shutdown_timeout(Duration::from_millis(500));
	if let (Err(_), Some(temporary), true) = (&result, temporary, folder.join("logs").exists()) {
		eprintln!("logs and data stay in {}", temporary.keep().display());
	}
	result
}

async fn devnet(arguments: &Arguments, folder: &Path) -> Result<(), Error> {
	let started = Instant::now();
	let stop = Stop::listen()?;
	let mut dashboard = Dashboard::new(started);
	let binaries = Binaries::find()?;
	let worker = binaries.worker.clone();
	let cheats: Vec<(Cheat, RoundIndex)> = arguments.in_training().iter().map(|&cheat| (cheat, CHEAT_ROUND)).collect();
	if arguments.cheat.is_some() {
		binaries.cheat()?;
	}
	let workers = arguments.workers;
	let all = workers.saturating_add(Cheat::workers(&cheats));
	let most = if cheats.is_empty() { MOST_PARTICIPANTS.max(workers.saturating_add(LATE_PARTICIPANTS)) } else { all };
	let layout = Layout::create(folder.to_path_buf(), arguments.port_base, all)?;
	dashboard.say("building a dataset");
	let text = arguments.corpus.clone().map_or(Text::Registry, Text::Path);
	let prepared = stop.unless(Prepared::new(&layout, arguments.preset, text, u32::from(workers)..=u32::from(most))).await;
	let Some(prepared) = prepared else { return interrupted(arguments) };
	let prepared = prepared?;
	if arguments.pace.is_none() {
		dashboard.say("measuring how fast this machine trains");
	}
	let Some(Ok(slot)) = stop.unless(tokio::task::spawn_blocking(slot)).await else { return interrupted(arguments) };
	let folder = folder.display();
	dashboard.say(&format!("starting two validators, which make a block every {:.1} s, in {folder}", slot.as_secs_f64()));
	let Some(network) = stop.unless(Network::start(binaries, layout, arguments.preset.rules_for(&cheats, crowd(arguments.workers)))).await
	else {
		return interrupted(arguments);
	};
	let mut network = network?;
	let begun = stop.unless(begin(arguments, &cheats, &mut network, prepared, &mut dashboard)).await;
	let (result, training) = match begun {
		Some(Ok(training)) => (train(arguments, &mut network, &training, &mut dashboard, &stop, started).await, Some(training)),
		Some(Err(error)) => (Err(error), None),
		None => (interrupted(arguments), None),
	};
	dashboard.say("stopping all processes");
	network.stop().await;
	// The folder of a network that failed stays as it is.
	if let (Ok(()), Some(training)) = (&result, training) {
		match model_that_stays(arguments, &network, &training) {
			Ok(Some(model)) => {
				let (text, serve) = (model.command(&worker), model.serve_command(&worker));
				dashboard.say(&format!(
					"the model stays; for text from it:\n\n  {text}\n\nand to chat with it, on a page or by HTTP:\n\n  {serve}\n"
				));
			}
			Ok(None) => {}
			Err(error) => dashboard.say(&format!("the model is not kept: {error}")),
		}
	}
	result
}

/// The model of a network that is over, in the folder that was asked for, or else where that of the last one is kept.
fn model_that_stays(arguments: &Arguments, network: &Network, training: &Training) -> Result<Option<Model>, Error> {
	match (Model::newest(network, training)?, &arguments.base_path, kept_folder()) {
		(Some(model), None, Some(kept)) => model.keep(&kept).map(Some),
		(Some(_), None, None) => Err(Error::Setup("neither HOME nor XDG_CACHE_HOME names a folder for it".into())),
		(model, ..) => Ok(model),
	}
}

/// How many times as many workers there are for a core of this machine as with three on two cores, rounded up.
fn crowd(workers: u16) -> u32 {
	let cores = u32::try_from(cores()).unwrap_or(u32::MAX);
	u32::from(workers).saturating_mul(2).div_ceil(cores.saturating_mul(3)).max(1)
}

/// Cores of this machine.
fn cores() -> usize {
	std::thread::available_parallelism().map_or(1, usize::from)
}

/// Ctrl-C is how a network without end is stopped, but no end of one that was to train so many rounds.
fn interrupted(arguments: &Arguments) -> Result<(), Error> {
	match (arguments.rounds, arguments.cheat) {
		(Some(rounds), _) => Err(Error::Interrupted(format!("{rounds} rounds were done and paid"))),
		(None, Some(cheat)) => Err(Error::Interrupted(format!("{} was judged", cheat.name()))),
		(None, None) => Ok(()),
	}
}

/// Registers dataset and run, and starts the workers.
async fn begin(
	arguments: &Arguments,
	cheats: &[(Cheat, RoundIndex)],
	network: &mut Network,
	prepared: Prepared,
	dashboard: &mut Dashboard,
) -> Result<Training, Error> {
	for validator in &network.validators {
		dashboard.say(&format!("{} answers at {}", validator.name(), validator.url()));
	}
	dashboard.say("registering the dataset, creating a run");
	let count = arguments.workers;
	let training = Training::sponsor(network, prepared, arguments.rounds()).await?;
	dashboard.say(&format!("starting {count} workers: each measures this machine, bonds NEURO and registers"));
	let threads = cores().checked_div(usize::from(count)).unwrap_or(1).max(1);
	let dataset = training.dataset.clone();
	if cheats.is_empty() {
		network.add_workers(usize::from(count), Some(&dataset), threads).await?;
	} else {
		network.add_workers_and_cheaters(usize::from(count), cheats, Some(&dataset), threads).await?;
	}
	for cheater in &network.cheaters {
		dashboard.say(&format!("{} will do {} in round {}", cheater.account, cheater.cheat.name(), cheater.round));
	}
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
	let watched = async {
		if !network.cheaters.is_empty() {
			watch_until_judged(network, training, dashboard).await?;
		}
		watch_until_finished(network, training, dashboard).await
	};
	let (true, Some(view)) = (arguments.rounds.is_some() || arguments.cheat.is_some(), stop.unless(watched).await) else {
		network.stop_workers().await;
		if let Some(text) = newest_sample(network, training)? {
			dashboard.say(&format!("text from the model:\n\n{}\n", printable(&text)));
		}
		return interrupted(arguments);
	};
	view?;
	dashboard.say("all rounds done; waiting until the first audits are closed and rewards minted");
	let work = async {
		let minted = Minted::wait_for_first(network, training).await?;
		let view = told(network, training).await?;
		if let Some(cheat) = arguments.in_answers() {
			answer_falsely(network, training, cheat, dashboard).await?;
		}
		Summary::collect(network, training, &view, minted, started.elapsed()).await
	};
	let Some(summary) = stop.unless(work).await else { return interrupted(arguments) };
	let summary = summary?;
	report(&summary, dashboard);
	arguments.summary.as_deref().map_or(Ok(()), |path| summary.write(path))?;
	// With a cheater, rounds are as few as it takes.
	let rounds = arguments.rounds.filter(|_| arguments.cheat.is_none());
	summary.verify(rounds.map(|rounds| usize::try_from(rounds).unwrap_or(usize::MAX)))?;
	if !arguments.serve {
		return Ok(());
	}
	stop.unless(serve(network, training, dashboard)).await.unwrap_or(Ok(()))
}

/// Has the model served, and says how to ask it, until a process of it ends or this is dropped.
async fn serve(network: &mut Network, training: &Training, dashboard: &mut Dashboard) -> Result<(), Error> {
	dashboard.say("serving the model by a ring of two workers and a driver");
	let mut service = Service::start(network, training).await?;
	for words in &service.explained {
		dashboard.say(words);
	}
	let mut gateway = service.gateway(network.user_command("gateway")).await?;
	let (address, provider, run) = (gateway.address, &service.driver.account, training.run);
	dashboard.say(&format!(
		"ask it with any client of the OpenAI API; the sponsor pays {provider} for each answer:\n\n  curl http://{address}/v1/completions -H \
		 'content-type: application/json' -d '{{\"model\": \"run-{run}\", \"prompt\": \"The \", \"max_tokens\": 100}}'\n"
	));
	loop {
		network.check()?;
		service.check()?;
		gateway.process.check()?;
		tokio::time::sleep(LOOK_INTERVAL).await;
	}
}

/// Has a worker serve the model and cheat, and a user ask it who computes every answer anew, until that is judged.
async fn answer_falsely(network: &mut Network, training: &Training, cheat: Cheat, dashboard: &mut Dashboard) -> Result<(), Error> {
	network.stop_workers().await;
	let last = network.workers.len().saturating_sub(1);
	let mut swindle = Swindle::start(network, training, last, cheat, CHEATED_USER).await?;
	let (provider, user) = (&swindle.provider.account, &swindle.user.account);
	let before = network.client().now().await?.provider(provider).await?.map_or(0, |view| view.bonded);
	dashboard.say(&format!(
		"{provider}, with {} at stake, answers with {}; {user} asks, and computes every answer anew",
		Neuro(before),
		cheat.name()
	));
	network.cheaters.push(swindle.cheater.clone());
	let answers = swindle.ask(training).await?;
	dashboard.say(&format!("{answers} answers were given; one is disputed on chain"));
	let verdict = swindle.judged(network, &mut Verdicts::default()).await?;
	let (one, told) = (DisputeSummary::new(&verdict, &network.cheaters), &verdict.verdict);
	dashboard.say(&format!(
		"dispute about {}: {}, after {} extrinsics, with a witness of {} bytes, and {:.0} s",
		one.kind, one.verdict, one.extrinsics, one.witness_bytes, one.seconds
	));
	dashboard.say(&format!(
		"{} slashed: {} to {}, {} burned",
		Neuro(told.slashed),
		Neuro(told.rewarded),
		one.receiver.as_deref().unwrap_or("nobody"),
		Neuro(told.burned)
	));
	swindle.gateway.process.stop().await;
	swindle.provider.process.stop().await;
	Ok(())
}

/// Shows the training until every cheater is judged and the next checkpoint is adopted, and ends the run then.
async fn watch_until_judged(network: &mut Network, training: &Training, dashboard: &mut Dashboard) -> Result<(), Error> {
	let (mut verdicts, mut told, mut known) = (Verdicts::default(), 0, None);
	until("the verdict and the checkpoint after it", VERDICT_LIMIT, async || {
		let Some(view) = look(network, training, known.clone(), dashboard).await? else { return Ok(None) };
		match verdicts.read(network.client(), view.heads.finalized.number).await {
			Ok(()) | Err(Error::Chain(_)) => {}
			Err(error) => return Err(error),
		}
		for decided in verdicts.list().iter().skip(told) {
			let one = DisputeSummary::new(decided, &network.cheaters);
			let (kind, verdict, slashed, extrinsics) = (&one.kind, &one.verdict, Neuro(decided.verdict.slashed), one.extrinsics);
			dashboard.say(&format!(
				"dispute about {kind}: {verdict}, {slashed} slashed, after {extrinsics} extrinsics and {:.0} s",
				one.seconds
			));
		}
		told = verdicts.list().len();
		let judged = network.cheaters.iter().all(|cheater| cheater.is_dealt_with(&verdicts, &view));
		known = Some(view);
		Ok(judged.then_some(()))
	})
	.await?;
	dashboard.say("judged, and the next checkpoint is adopted: ending the run");
	training.stop(network).await
}

async fn watch_until_finished(network: &mut Network, training: &Training, dashboard: &mut Dashboard) -> Result<View, Error> {
	let mut known = None;
	loop {
		if let Some(view) = look(network, training, known.clone(), dashboard).await? {
			if view.run.status == RunStatus::Finished {
				return Ok(view);
			}
			known = Some(view);
		}
		tokio::time::sleep(LOOK_INTERVAL).await;
	}
}

/// Shows what there is to be seen; nothing while the node that is asked is away.
async fn look(network: &mut Network, training: &Training, known: Option<View>, dashboard: &mut Dashboard) -> Result<Option<View>, Error> {
	for words in network.notice_deaths()? {
		dashboard.say(&words);
	}
	match View::look(network, training, known).await {
		// It may be away for a while; notice_deaths says so.
		Err(Error::Chain(_)) => Ok(None),
		Err(error) => Err(error),
		Ok(view) => {
			dashboard.show(training, &view);
			Ok(Some(view))
		}
	}
}

/// Waits for a while until every worker says what the last round cost it; one that is gone says nothing.
async fn told(network: &Network, training: &Training) -> Result<View, Error> {
	// Anew: verdicts change the records of older rounds.
	let mut view = View::look(network, training, None).await?;
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
		let (number, loss) = (round.round, round.validation_loss);
		dashboard.say(&format!("round {number}: loss {loss:.4}, {} deltas, {mib:.1} MiB per worker", round.included));
	}
	let (start, end, entropy) = (summary.validation_loss_start, summary.validation_loss_end, summary.unigram_entropy);
	dashboard.say(&format!("loss {start:.4} > {end:.4} (unigram entropy {entropy:.4}), {:.0} tokens/s", summary.tokens_per_second));
	dashboard.say(&format!("checkpoint {} on chain", summary.checkpoint_root_chain));
	for root in &summary.checkpoint_roots_workers {
		dashboard.say(&format!("           {root} from a worker's files"));
	}
	let (rewards, issued) = (&summary.rewards_total, &summary.issued_total);
	let (burned, grown) = (&summary.burned_total, &summary.issuance_delta);
	dashboard.say(&format!(
		"rewards {rewards} planck, blocks and treasury {issued} planck, burned {burned} planck, new issuance {grown} planck"
	));
	let ((drawn, reported), audits) = (summary.audited(), &summary.audits);
	let expected = audits.iter().map(|audit| audit.auditors.len()).sum::<usize>();
	dashboard.say(&format!("audits: {drawn} drawn, {reported} of {expected} reports"));
	dashboard.say(&format!("text from the model:\n\n{}\n", printable(&summary.sample)));
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
			std::process::exit(i32::from(INTERRUPTED));
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

#[cfg(test)]
mod tests {
	use super::*;

	#[tokio::test]
	async fn the_script_tells_every_option_without_building_anything() {
		let (told, known) = neuroshard_e2e::told_by("devnet.sh", Arguments::command()).await.unwrap();
		assert_eq!(told, known);
		assert!(told.contains("rounds"), "{told:?}");
	}

	#[test]
	fn a_pace_is_a_number_from_1_to_100() {
		assert_eq!((times("1"), times("2.5"), times("100")), (Ok(1.0), Ok(2.5), Ok(100.0)));
		for wrong in ["0.9", "-1", "101", "NaN", "fast"] {
			assert!(times(wrong).is_err(), "{wrong}");
		}
	}
}
