//! Kills the holders of a ring one after the other while it answers: see `scripts/failover.sh --help`.

use clap::Parser;
use neuroshard_e2e::{exit_code, in_temporary_folder, lively_model, Binaries, Error, Question, Ring, Server};
use std::{
	net::SocketAddr,
	path::Path,
	process::ExitCode,
	sync::{
		atomic::{AtomicBool, Ordering},
		Arc, Mutex,
	},
	time::{Duration, Instant},
};
use tokio::task::JoinHandle;

const MODEL: &str = "tiny";
/// Tokens of an answer: some seconds, with what is asked meanwhile by whoever looks after the holders.
const TOKENS: u32 = 1_500;
/// Longest text of the model.
const LONGEST: u32 = 4_096;
/// Time behind a kill in which the longest pause is counted as its.
const BEHIND: Duration = Duration::from_secs(5);
/// Time that a killed holder is away.
const AWAY: Duration = Duration::from_secs(2);

/// Starts four workers that hold each half of a small model twice, and a driver that streams answers of theirs, while one of them after the other is killed.
#[derive(Debug, Parser)]
#[command(name = "failover")]
struct Arguments {
	/// Stop after so many minutes.
	#[arg(long, value_name = "N", default_value_t = 20)]
	minutes: u64,
	/// Kill somebody every so many seconds, or when all hold their spans again, if that is later.
	#[arg(long, value_name = "SECONDS", default_value_t = 60)]
	every: u64,
}

fn main() -> ExitCode {
	let arguments = Arguments::parse();
	exit_code(in_temporary_folder("neuroshard-failover-", async |folder| kill(folder, &arguments).await))
}

/// Moments at which pieces of answers came, and the answers.
#[derive(Default)]
struct Told {
	/// Those of each answer.
	pieces: Vec<Vec<Instant>>,
	/// By the seed of the question.
	answers: Vec<(u64, String)>,
}

/// Reads one answer after the other until `stop`.
fn read(driver: SocketAddr, told: Arc<Mutex<Told>>, stop: Arc<AtomicBool>) -> JoinHandle<Result<(), Error>> {
	tokio::spawn(async move {
		let mut seed = 0;
		while !stop.load(Ordering::SeqCst) {
			let failed = |error: std::io::Error| Error::Unsound(format!("the answer with seed {seed}: {error}"));
			let mut answer = question(seed).begin(driver, MODEL).await.map_err(failed)?;
			of(&told).pieces.push(Vec::new());
			while answer.next().await.map_err(failed)? {
				of(&told).pieces.iter_mut().next_back().into_iter().for_each(|pieces| pieces.push(Instant::now()));
			}
			if !answer.is_done() {
				return Err(Error::Unsound(format!("the answer with seed {seed} has no end")));
			}
			let text = answer.texts().concat();
			of(&told).answers.push((seed, text));
			seed += 1;
		}
		Ok(())
	})
}

fn of(told: &Mutex<Told>) -> std::sync::MutexGuard<'_, Told> {
	told.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn question(seed: u64) -> Question {
	Question { stream: true, seed, tokens: TOKENS, ..Question::default() }
}

async fn kill(folder: &Path, arguments: &Arguments) -> Result<(), Error> {
	let (files, worker) = (folder.join(MODEL), Binaries::find()?.worker);
	lively_model(&files, LONGEST)?;
	let mut alone = Server::start::<&str>(&worker, &files, &folder.join("alone"), &[]).await?;
	let mut ring = Ring::start(&worker, &files, &folder.join("ring")).await?;
	let (told, stop) = (Arc::<Mutex<Told>>::default(), Arc::<AtomicBool>::default());
	let reading = read(ring.driver.address, told.clone(), stop.clone());
	let (begun, every) = (Instant::now(), Duration::from_secs(arguments.every));
	let (mut kills, mut back) = (Vec::new(), Vec::new());
	// So that there is something to compare pauses with.
	tokio::time::sleep(every.min(Duration::from_secs(30))).await;
	while begun.elapsed() < Duration::from_secs(60 * arguments.minutes) {
		let holder = kills.len() % ring.holders.len();
		let joins = ring.joins(holder)?;
		let at = Instant::now();
		ring.holders[holder].kill();
		kills.push(at);
		tokio::time::sleep(AWAY).await;
		let started = Instant::now();
		ring.holders[holder].begin().await?;
		ring.joined(holder, joins + 1).await?;
		back.push(started.elapsed().as_secs_f64());
		println!(
			"{:6.0} s  holder {holder} was killed: back {:.1} s after its start",
			begun.elapsed().as_secs_f64(),
			started.elapsed().as_secs_f64()
		);
		tokio::time::sleep(every.saturating_sub(at.elapsed()).max(BEHIND)).await;
		if reading.is_finished() {
			break;
		}
	}
	stop.store(true, Ordering::SeqCst);
	reading.await.map_err(|error| Error::Setup(error.to_string()))??;
	report(&of(&told).pieces, &kills, &mut back);
	let answers = std::mem::take(&mut of(&told).answers);
	for (seed, text) in &answers {
		let expected = question(*seed).ask(alone.address, MODEL).await.map_err(|error| Error::Setup(error.to_string()))?;
		if expected.first().map(|(expected, _)| expected) != Some(text) {
			return Err(Error::Unsound(format!("the answer with seed {seed} is not that of one machine")));
		}
	}
	println!("all {} answers of {TOKENS} tokens are those of one machine", answers.len());
	ring.driver.process.check()?;
	alone.process.check()?;
	alone.process.stop().await;
	ring.driver.process.stop().await;
	Ok(())
}

/// Says how long pauses between tokens are, and how much longer they are behind a kill.
fn report(answers: &[Vec<Instant>], kills: &[Instant], back: &mut [f64]) {
	let pause = |pair: &[Instant]| Some((*pair.get(1)?, (*pair.get(1)? - *pair.first()?).as_secs_f64() * 1e3));
	let pauses: Vec<(Instant, f64)> = answers.iter().flat_map(|pieces| pieces.windows(2).filter_map(pause)).collect();
	let of_kill = |at: &Instant| kills.iter().any(|kill| *at >= *kill && *at - *kill < BEHIND);
	let mut usual: Vec<f64> = pauses.iter().filter(|(at, _)| !of_kill(at)).map(|(_, pause)| *pause).collect();
	usual.sort_by(f64::total_cmp);
	let median = share(&usual, 0.5);
	let behind =
		|kill: &Instant| pauses.iter().filter(|(at, _)| at >= kill && *at - *kill < BEHIND).map(|(_, pause)| *pause).fold(0.0, f64::max);
	let mut beyond: Vec<f64> = kills.iter().map(|kill| behind(kill) - median).collect();
	beyond.sort_by(f64::total_cmp);
	back.sort_by(f64::total_cmp);
	println!(
		"{} tokens, from one to the next: median {median:.1} ms, p99 {:.1}, p99.9 {:.1}",
		pauses.len(),
		share(&usual, 0.99),
		share(&usual, 0.999)
	);
	println!(
		"{} kills: the longest pause behind one is longer than usual by {:.0} ms (median), {:.0} ms (p99), {:.0} ms (worst); back after {:.1} s (median), {:.1} s (worst)",
		kills.len(),
		share(&beyond, 0.5),
		share(&beyond, 0.99),
		share(&beyond, 1.0),
		share(back, 0.5),
		share(back, 1.0)
	);
}

/// The value below which so large a share of all is, of sorted ones.
fn share(sorted: &[f64], share: f64) -> f64 {
	let place = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
	sorted.get(place).copied().unwrap_or(f64::NAN)
}
