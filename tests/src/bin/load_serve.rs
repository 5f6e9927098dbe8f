//! `neuroshard-load-serve`: how a ring of workers bears load.

use clap::Parser;
use neuroshard_e2e::{Binaries, Error, ServeLoad};
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
	match run(&Arguments::parse()) {
		Ok(()) => ExitCode::SUCCESS,
		Err(error) => {
			eprintln!("error: {error}");
			ExitCode::FAILURE
		}
	}
}

/// Runs everything in a temporary folder, which stays if something went wrong.
fn run(arguments: &Arguments) -> Result<(), Error> {
	let path = std::env::temp_dir();
	let folder = tempfile::Builder::new().prefix("neuroshard-load-serve-").tempdir();
	let folder = folder.map_err(|source| Error::File { path, source })?;
	let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
	let runtime = runtime.map_err(|error| Error::Setup(format!("the system gives no threads: {error}")))?;
	let result = runtime.block_on(measure(arguments, folder.path()));
	runtime.shutdown_timeout(Duration::from_millis(500));
	if result.is_err() {
		eprintln!("logs and data stay in {}", folder.keep().display());
	}
	result
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
