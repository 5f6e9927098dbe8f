//! `neuroshard-load-serve`: how a ring of workers bears load.

use clap::Parser;
use neuroshard_e2e::{exit_code, in_temporary_folder, Binaries, Error, ServeLoad};
use std::{
	path::{Path, PathBuf},
	process::ExitCode,
	time::{Duration, Instant},
};

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

fn main() -> ExitCode {
	tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
	let arguments = Arguments::parse();
	exit_code(in_temporary_folder("neuroshard-load-serve-", async |folder| measure(&arguments, folder).await))
}

async fn measure(arguments: &Arguments, folder: &Path) -> Result<(), Error> {
	let (started, binaries) = (Instant::now(), Binaries::find()?);
	let load = ServeLoad { time: Duration::from_secs(arguments.seconds), clients: arguments.clients };
	let say = |words: &str| eprintln!("[{:>4.0} s] {words}", started.elapsed().as_secs_f64());
	let measured = load.run(&binaries.worker, folder, say).await?;
	measured.describe().iter().for_each(|line| println!("{line}"));
	arguments.json.as_ref().map_or(Ok(()), |path| measured.write(path))?;
	match measured.faults.first() {
		None => Ok(()),
		Some(first) => Err(Error::Unsound(format!("{} things are wrong, the first one: {first}", measured.faults.len()))),
	}
}
