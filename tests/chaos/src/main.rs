//! `neuroshard-chaos`: a network that trains while its processes are killed, its clocks are wrong and its lines are cut.

mod cloud;
mod disk;
mod faults;

use clap::Parser;
use cloud::{Cloud, Line};
use disk::SmallDisk;
use faults::{Chaos, Kinds, Report, World};
use neuroshard_chain_client::Neuro;
use neuroshard_e2e::{
	even_units, exit_code, in_temporary_folder, until, write_json, AuditRules, Binaries, Cheat, Error, Layout, Minted, Network, Prepared,
	Preset, Rules, Summary, Text, Training, Verdicts, View, WorkerNode,
};
use neuroshard_types::run::RoundRecord;
use rand::{rngs::StdRng, Rng, SeedableRng};
use serde::Serialize;
use std::{
	path::{Path, PathBuf},
	process::ExitCode,
	time::{Duration, Instant},
};

/// Longest wait for a round that nothing disturbs.
const ROUND_LIMIT: Duration = Duration::from_secs(1_800);

/// The line of the worker that joins at the end: a round trip to a machine on a perfect line takes 50 ms.
const NEWCOMER: Line = Line { delay_ms: 25, lost_of_a_million: 0, rate: 100_000_000 };
/// The line of every machine where all are equal: a round trip between two takes 52 ms.
const EQUAL: Line = Line { delay_ms: 13, lost_of_a_million: 0, rate: 100_000_000 };
/// Rounds without faults at the end; the first of them is not measured.
const UNDISTURBED: u32 = 3;
/// Longest wait until it trains.
const JOIN_LIMIT: Duration = Duration::from_secs(1_200);
/// How many times as long as in a network on one machine phases may be: a look at a node that is far away takes a second.
const PATIENCE: u32 = 6;
/// The same of disputes and audits.
const PATIENCE_IN_DISPUTES: u32 = 3;
/// What liars do, one after the other, from this round on.
const LIES: [Cheat; 3] = [Cheat::BitFlip, Cheat::WrongAggregate, Cheat::WrongOuterStep];
const FIRST_LIE: u32 = 2;
/// Longest wait for the verdicts about them.
const VERDICT_LIMIT: Duration = Duration::from_secs(2_400);

/// Starts two validators and some workers, each on a machine of its own: a network namespace with a line that delays and loses packets, and is
/// thin on some. They train a model while they are killed, frozen, told a wrong time and cut off from each other at random. At the end, everything must be as it must be.
#[derive(Debug, Parser)]
#[command(name = "neuroshard-chaos", version)]
struct Arguments {
	/// Stop after so many minutes of faults.
	#[arg(long, value_name = "N", default_value_t = 10)]
	minutes: u64,
	/// Stop after so many kills, if that comes first.
	#[arg(long, value_name = "N")]
	kills: Option<usize>,
	/// Only kill: freeze nothing, fill no disk, set no clock and cut no line.
	#[arg(long)]
	only_kill: bool,
	/// Seed of faults and lines.
	#[arg(long, value_name = "S", default_value_t = 1)]
	seed: u64,
	/// Workers.
	#[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=16))]
	workers: u16,
	/// Workers beside them that lie, each in a round of its own; the others check everything. Nobody kills the liars.
	#[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=8))]
	liars: u16,
	/// Workers beside them that hold one place together, each a part of the model: they are killed as well.
	#[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=8), requires = "loopback", conflicts_with_all = ["liars", "overlap"])]
	quorum: Option<u16>,
	/// Size of model and rounds.
	#[arg(long, value_enum, default_value = "tiny")]
	preset: Preset,
	/// Inner steps of a round; without it, those of the preset, and of tiny twice as many.
	#[arg(long, value_name = "N")]
	inner_steps: Option<u32>,
	/// Have the inner steps of a round begin while the round before is exchanged.
	#[arg(long)]
	overlap: bool,
	/// Have each take as many inner steps of a round as its machine does in time, so many at least: whoever comes meanwhile takes part at once.
	#[arg(long, value_name = "N", conflicts_with = "overlap")]
	least_steps: Option<u32>,
	/// Give all machines the same line: 100 Mbit/s, round trips of 52 ms, and nothing lost.
	#[arg(long, conflicts_with = "loopback")]
	equal_lines: bool,
	/// All processes on the loopback interface, with perfect lines and right clocks.
	#[arg(long)]
	loopback: bool,
	/// Write the report to this file as JSON.
	#[arg(long, value_name = "FILE")]
	json: Option<PathBuf>,
}

/// All that is written.
#[derive(Serialize)]
struct Written {
	/// Lines of the machines: the validators', the workers', and the newcomer's. Empty on the loopback interface.
	lines: Vec<Line>,
	/// Share of the time of undisturbed rounds that workers computed.
	utilisation: f64,
	/// Seconds from the start of a worker that never was in this network, and has no text, until it has the run's checkpoint; all faults are over then.
	newcomer_has_checkpoint_after: Option<f64>,
	/// The same until it trains: it waits for a round to be drawn, unless it can come late to one.
	newcomer_trains_after: f64,
	/// Checkpoints since the first fault with the quorum's work, if there is one.
	quorum_included: Option<usize>,
	#[serde(flatten)]
	report: Report,
	summary: Summary,
}

impl Arguments {
	/// Workers that are honest, and whom faults hit.
	fn honest(&self) -> usize {
		usize::from(self.workers).saturating_add(self.quorum.unwrap_or_default().into())
	}
}

fn main() -> ExitCode {
	tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
	let arguments = Arguments::parse();
	let writable = arguments.json.as_deref().map_or(Ok(()), Summary::check_file);
	exit_code(writable.and_then(|()| in_temporary_folder("neuroshard-chaos-", async |folder| chaos(&arguments, folder).await)))
}

/// Lines of so many machines: round trips of 50 to 150 ms between two of them, losses of 0 to 2% each way, and one of four with 10 Mbit/s, the
/// others with 100.
fn lines(count: usize, arguments: &Arguments) -> Vec<Line> {
	if arguments.equal_lines {
		return vec![EQUAL; count];
	}
	let mut dice = StdRng::seed_from_u64(arguments.seed);
	let line = |dice: &mut StdRng| Line {
		delay_ms: dice.gen_range(12..=37),
		lost_of_a_million: dice.gen_range(0..=20_000),
		rate: if dice.gen_ratio(1, 4) { 10_000_000 } else { 100_000_000 },
	};
	(0..count).map(|_| line(&mut dice)).collect()
}

async fn chaos(arguments: &Arguments, folder: &Path) -> Result<(), Error> {
	let (started, workers) = (Instant::now(), arguments.workers.saturating_add(arguments.liars));
	let binaries = Binaries::find()?;
	let members = arguments.quorum.unwrap_or_default();
	let units = arguments.quorum.map(|members| even_units(&arguments.preset.configs().0, members)).transpose()?;
	let all = workers.saturating_add(1);
	// Members have an address for the others besides.
	let mut layout = Layout::create(folder.join("network"), None, members.saturating_mul(2).saturating_add(all))?;
	let mut lines = if arguments.loopback { Vec::new() } else { lines(Layout::machines(all), arguments) };
	if let Some(last) = lines.last_mut().filter(|_| !arguments.equal_lines) {
		*last = NEWCOMER;
	}
	let mut world = World { cloud: None, disk: None };
	if !lines.is_empty() {
		let cloud = Cloud::create(&lines, arguments.seed, folder, &binaries.other("libneuroshard_clock.so")?).map_err(|error| {
			Error::Setup(format!("{error}; --loopback does without machines of their own, and without lines that can be cut"))
		})?;
		layout = layout.on(cloud.machines());
		world.cloud = Some(cloud);
		// Root has both or neither; where nothing is disturbed, no disk is to be full.
		if arguments.minutes > 0 {
			world.disk = Some(SmallDisk::mount(layout.folder())?);
		}
	}
	println!("building a dataset");
	let mut prepared = Prepared::new(&layout, arguments.preset, Text::Registry, 2..=u32::from(all) + u32::from(members > 0))
		.await?
		.with_patience(PATIENCE);
	let of_preset = arguments.preset.configs().1.inner_steps;
	let twice = if arguments.preset == Preset::Tiny { 2 } else { 1 };
	prepared = prepared.with_inner_steps(arguments.inner_steps.unwrap_or(of_preset.saturating_mul(twice)));
	if arguments.overlap {
		prepared = prepared.with_overlap();
	}
	if let Some(least_steps) = arguments.least_steps {
		prepared = prepared.with_steps_by_speed(least_steps);
	}
	println!("starting two validators and {} workers in {}", workers.saturating_add(members), folder.display());
	let lies: Vec<_> = LIES.into_iter().cycle().zip(FIRST_LIE..).take(arguments.liars.into()).collect();
	let mut network = Network::start(binaries, layout, rules(arguments.preset, &lies)).await?;
	let training = Training::sponsor(&network, prepared, None).await?;
	let (honest, dataset) = (usize::from(arguments.workers), Some(training.dataset.as_path()));
	match lies.is_empty() {
		true => network.add_workers(honest, dataset, 1).await?,
		false => network.add_workers_and_cheaters(honest, &lies, dataset, 1).await?,
	}
	if let Some(units) = units {
		network.add_quorum(training.run, &units, dataset, 1).await?;
	}
	let interrupted = async {
		tokio::signal::ctrl_c().await.map_err(|error| Error::Setup(error.to_string()))?;
		Err(Error::Interrupted("all was done".into()))
	};
	let result = tokio::select! {
		result = train(arguments, lines, &world, &mut network, &training, started) => result,
		result = interrupted => result,
	};
	println!("stopping all processes");
	network.stop().await;
	if world.disk.is_some() && result.is_err() {
		println!("what the first worker had on its small disk is gone");
	}
	result
}

/// Rules of a network with these liars: disputes and audits may take longer where nodes are far away, and where whoever is to act is just being killed.
/// Phases are patient enough, and nobody lies in the first round.
fn rules(preset: Preset, lies: &[(Cheat, u32)]) -> Rules {
	let rules = preset.rules_for(lies, 1);
	let longer = |blocks: u32| blocks.saturating_mul(PATIENCE_IN_DISPUTES);
	let audits =
		rules.audits.map(|audits| AuditRules { seal_time: longer(audits.seal_time), report_time: longer(audits.report_time), ..audits });
	Rules { window: longer(rules.window), clock: longer(rules.clock), extension: longer(rules.extension), audits, patient: false, ..rules }
}

async fn train(
	arguments: &Arguments,
	lines: Vec<Line>,
	world: &World,
	network: &mut Network,
	training: &Training,
	started: Instant,
) -> Result<(), Error> {
	adopted(network, training, 1).await?;
	println!("round 0 is adopted: faults begin");
	let kinds = match (arguments.only_kill, lines.is_empty()) {
		(true, _) => Kinds::Kills,
		(false, true) => Kinds::Processes,
		(false, false) => Kinds::All,
	};
	let (mut chaos, mut faults, begun) =
		(Chaos::new(arguments.seed, kinds, (network.validators.len(), arguments.honest()), world), Vec::new(), Instant::now());
	let struck_from = View::look(network, training, None).await?.records.len();
	let mut kills = 0;
	while begun.elapsed() < Duration::from_secs(arguments.minutes.saturating_mul(60)) && arguments.kills.is_none_or(|most| kills < most) {
		let mended = chaos.strike(network, training).await?;
		kills += usize::from(mended.fault.is_kill());
		println!("{:6.0} s  {:?}: back after {:.1} s", mended.at, mended.fault, mended.seconds);
		faults.push(mended);
	}
	println!("no more faults: three more rounds, then all that was earned is minted");
	chaos.all_are_back(network, training).await?;
	judged(network, training).await?;
	let done = View::look(network, training, None).await?.run.rounds_adopted;
	// From one adoption to another one.
	adopted(network, training, done.saturating_add(1)).await?;
	let before = times(network);
	adopted(network, training, done.saturating_add(UNDISTURBED)).await?;
	let utilisation = utilisation(&before, &times(network));
	println!("workers computed {:.0}% of the time of undisturbed rounds", 100.0 * utilisation);
	let (newcomer_has_checkpoint_after, newcomer_trains_after) = join(network, training).await?;
	if let Some(seconds) = newcomer_has_checkpoint_after {
		println!("a newcomer has the checkpoint {seconds:.1} s after its start");
	}
	println!("a newcomer trains {newcomer_trains_after:.1} s after its start");
	training.stop(network).await?;
	let last = View::look(network, training, None).await?.run.rounds_adopted.saturating_sub(1);
	let minted = Minted::wait(network, training, last).await?;
	let view = View::look(network, training, None).await?;
	let report = Report::new(arguments.seed, faults, &view);
	let summary = Summary::collect(network, training, &view, minted, started.elapsed()).await?;
	if let Some((median, worst)) = report.recovery {
		println!("{} kills: back after {median:.1} s (median), {worst:.1} s (worst)", report.kills);
	}
	println!(
		"{} rounds, {} of {} places included; {} parts in audits missed",
		report.rounds,
		report.included,
		report.places,
		summary.missed_audits()
	);
	let mut verified = summary.verify_killed().and(unslashed(network, arguments.honest()).await);
	let mut quorum_included = None;
	if arguments.quorum.is_some() {
		let leader = network.workers.get(usize::from(arguments.workers)).map(WorkerNode::provider);
		let held = |record: &&RoundRecord| record.included.iter().any(|(account, _)| Some(account) == leader.as_ref());
		let since = view.records.get(struck_from..).unwrap_or_default();
		let included = since.iter().filter(held).count();
		println!("the quorum's work is in {included} of {} checkpoints since the first fault", since.len());
		if included == 0 {
			verified = verified.and(Err(Error::Unsound("no work of the quorum was included".into())));
		}
		quorum_included = Some(included);
		let replayed = training.replayed(network, arguments.workers.into(), view.run.checkpoint).await;
		if replayed.is_ok() {
			println!("all rounds computed again, by one machine, end with the chain's checkpoint {:?}", view.run.checkpoint);
		}
		verified = verified.and(replayed);
	}
	if let Some(path) = &arguments.json {
		let written =
			Written { lines, utilisation, newcomer_has_checkpoint_after, newcomer_trains_after, quorum_included, report, summary };
		write_json(&written, path)?;
	}
	verified
}

/// Fails if an honest worker, or a validator, has lost anything.
async fn unslashed(network: &Network, honest: usize) -> Result<(), Error> {
	let at = network.client().now().await?;
	let mut verdicts = Verdicts::default();
	verdicts.read(network.client(), network.client().heads().await?.finalized.number).await?;
	let burned = verdicts.burned_for_offences();
	if burned > 0 {
		return Err(Error::Unsound(format!("{} were burned for offences of validators", Neuro(burned))));
	}
	for worker in network.workers.iter().take(honest) {
		let bonded = at.provider(&worker.provider()).await?.map_or(0, |provider| provider.bonded);
		if bonded != Network::BOND {
			return Err(Error::Unsound(format!("{} has {} at stake, not {}", worker.name(), Neuro(bonded), Neuro(Network::BOND))));
		}
	}
	Ok(())
}

/// Seconds that each worker has computed, and seconds since its start, at the same moment.
fn times(network: &Network) -> Vec<[f64; 2]> {
	let of = |status: neuroshard_roles::status::Status| [status.computing_seconds, status.running_seconds];
	// Members that follow say nothing of it.
	network.workers.iter().filter(|worker| !worker.follows()).map(|worker| worker.status().map_or([0.0; 2], of)).collect()
}

/// Share of the time between two looks that workers computed, in the mean.
fn utilisation(before: &[[f64; 2]], after: &[[f64; 2]]) -> f64 {
	let share = |(before, after): (&[f64; 2], &[f64; 2])| (after[0] - before[0]) / (after[1] - before[1]);
	before.iter().zip(after).map(share).sum::<f64>() / before.len() as f64
}

/// Has one more worker join, which has no text, and returns the seconds from its start until it was seen to have the checkpoint, and until it trains.
async fn join(network: &mut Network, training: &Training) -> Result<(Option<f64>, f64), Error> {
	network.add_workers(1, None, 1).await?;
	let (started, mut has_checkpoint) = (Instant::now(), None);
	until("the newcomer to train", JOIN_LIMIT, async || {
		network.check()?;
		let status = network.workers.last().and_then(|worker| worker.status()).filter(|status| status.run == Some(training.run));
		if status.as_ref().is_some_and(|status| status.checkpoint_round.is_some()) {
			has_checkpoint.get_or_insert_with(|| started.elapsed().as_secs_f64());
		}
		Ok(status.and_then(|status| status.step).map(drop))
	})
	.await?;
	Ok((has_checkpoint, started.elapsed().as_secs_f64()))
}

/// Waits until every liar is judged, and what it did is out of the model.
async fn judged(network: &mut Network, training: &Training) -> Result<(), Error> {
	let mut verdicts = Verdicts::default();
	until("the verdicts about all liars", VERDICT_LIMIT, async || {
		network.check()?;
		let view = View::look(network, training, None).await?;
		verdicts.read(network.client(), view.heads.finalized.number).await?;
		Ok(network.cheaters.iter().all(|cheater| cheater.is_dealt_with(&verdicts, &view)).then_some(()))
	})
	.await
}

/// Waits until so many rounds are adopted.
async fn adopted(network: &mut Network, training: &Training, rounds: u32) -> Result<(), Error> {
	let what = format!("round {rounds} to begin");
	until(&what, ROUND_LIMIT, async || {
		network.check()?;
		match network.client().now().await {
			Ok(at) => Ok(at.run(training.run).await?.filter(|run| run.rounds_adopted >= rounds).map(drop)),
			Err(error) if error.passes() => Ok(None),
			Err(error) => Err(error.into()),
		}
	})
	.await
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::CommandFactory;

	#[tokio::test]
	async fn the_script_tells_every_option_without_building_anything() {
		let (told, known) = neuroshard_e2e::told_by("chaos.sh", Arguments::command()).await.unwrap();
		assert_eq!(told, known);
		assert!(told.contains("kills"), "{told:?}");
	}
}
