//! `neuroshard-load-serve`: how a ring of workers bears load. Many clients ask it, some of them bad ones, while its members are killed and started again.
//! Every complete answer is compared with that of one process.

mod client;
mod draw;
mod gaps;
mod measurement;
mod mishaps;

use clap::Parser;
use client::Client;
use draw::Draw;
use measurement::{Measurement, Seen};
use neuroshard_e2e::{exit_code, in_temporary_folder, lively_model, write_json, Answers, Binaries, Error, Question, Ring, Server};
use std::{
	path::{Path, PathBuf},
	process::ExitCode,
	sync::Arc,
	time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// Name of the model.
const MODEL: &str = "tiny";
/// Tokens of its longest text.
const LONGEST: u32 = 1_024;
/// Different questions.
const QUESTIONS: u32 = 96;
/// Longest time of one answer for whom another process computes it.
const REFERENCE: Duration = Duration::from_secs(120);

/// Starts a ring of four workers on this machine, of which two hold each half of a model, and has many clients ask it, some of them bad ones, while a
/// member is killed every 30 seconds and started again. Every complete answer is compared with that of one process.
#[derive(Debug, Parser)]
#[command(name = "neuroshard-load-serve", version)]
struct Arguments {
	/// How long.
	#[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(10..=86_400))]
	seconds: u64,
	/// Clients at a time.
	#[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=512))]
	clients: u32,
	/// Write what was measured to this file, as JSON.
	#[arg(long, value_name = "FILE")]
	json: Option<PathBuf>,
}

/// A question, and its answer by one process.
struct Known {
	question: Question,
	answers: Answers,
}

/// What clients and mishaps share.
struct Shared {
	address: std::net::SocketAddr,
	known: Vec<Known>,
	start: Instant,
	until: Instant,
}

fn main() -> ExitCode {
	tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
	let arguments = Arguments::parse();
	exit_code(in_temporary_folder("neuroshard-load-serve-", async |folder| measure(&arguments, folder).await))
}

async fn measure(arguments: &Arguments, folder: &Path) -> Result<(), Error> {
	let (started, binaries) = (Instant::now(), Binaries::find()?);
	let say = |words: &str| eprintln!("[{:>4.0} s] {words}", started.elapsed().as_secs_f64());
	let measured = load(arguments, &binaries.worker, folder, say).await?;
	measured.describe().iter().for_each(|line| println!("{line}"));
	arguments.json.as_ref().map_or(Ok(()), |path| write_json(&measured, path))?;
	match measured.faults.first() {
		None => Ok(()),
		Some(first) => Err(Error::Unsound(format!("{} things are wrong, the first one: {first}", measured.faults.len()))),
	}
}

/// Starts a ring in the new folder `folder`, loads it, and says how it did. `say` is told what is done.
///
/// # Errors
/// Those of the processes. A ring that does not do what it should is no error: see [`Measurement::faults`].
async fn load(arguments: &Arguments, worker: &Path, folder: &Path, say: impl Fn(&str)) -> Result<Measurement, Error> {
	let time = Duration::from_secs(arguments.seconds);
	let files = folder.join(MODEL);
	lively_model(&files, LONGEST)?;
	say("one process answers all questions");
	let known = reference(worker, &files, &folder.join("alone")).await?;
	say("starting the ring");
	let mut ring = Ring::start(worker, &files, &folder.join("ring")).await?;
	let start = Instant::now();
	let shared = Arc::new(Shared { address: ring.driver.address, known, start, until: start + time });
	let mut clients = JoinSet::new();
	for number in 0..arguments.clients {
		clients.spawn(Client::new(shared.clone(), number).run());
	}
	let mishaps = mishaps::run(&mut ring, start, time, &say).await?;
	say("waiting for the last answers");
	let mut seen = Seen::default();
	while let Some(of_client) = clients.join_next().await {
		seen.add(of_client.map_err(|error| Error::Setup(error.to_string()))?);
	}
	let measured = Measurement::of(arguments, seen, mishaps);
	ring.driver.process.stop().await;
	Ok(measured)
}

/// Different questions, and what one process answers.
async fn reference(worker: &Path, files: &Path, folder: &Path) -> Result<Vec<Known>, Error> {
	let server = Server::start::<&str>(worker, files, folder, &[]).await?;
	let mut draw = Draw::new(0);
	let mut asked = JoinSet::new();
	for number in 0..QUESTIONS {
		let (question, address) = (draw.question(number), server.address);
		asked.spawn(async move {
			let answers = tokio::time::timeout(REFERENCE, question.ask(address, MODEL)).await;
			(question, answers.unwrap_or_else(|late| Err(late.into())))
		});
	}
	let mut known = Vec::new();
	while let Some(answered) = asked.join_next().await {
		let (question, answers) = answered.map_err(|error| Error::Setup(error.to_string()))?;
		let answers = answers.map_err(|error| Error::Setup(format!("one process does not answer {question:?}: {error}")))?;
		known.push(Known { question, answers });
	}
	server.process.stop().await;
	Ok(known)
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::CommandFactory;

	#[tokio::test]
	async fn the_script_tells_every_option_without_building_anything() {
		let (told, known) = neuroshard_e2e::told_by("load-serve.sh", Arguments::command()).await.unwrap();
		assert_eq!(told, known);
		assert!(told.contains("clients"), "{told:?}");
	}
}
