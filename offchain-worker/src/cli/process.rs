//! The process around a command: log, threads, last words and exit code.

use super::{run, CliOf, Conducts};
use clap::Parser;
use neuroshard_support::printable::printable_line;
use std::{
	io::{IsTerminal, Write},
	process::ExitCode,
};
use tracing_subscriber::EnvFilter;

/// Does what the process was started for, with workers that behave by `C`.
pub fn main<C: Conducts>() -> ExitCode {
	// All crates of our own have names that begin like this.
	let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,libp2p_kad=error,neuroshard=info"));
	tracing_subscriber::fmt()
		.with_env_filter(filter)
		.with_writer(std::io::stderr)
		.with_ansi(std::io::stderr().is_terminal())
		.with_target(false)
		// Else a log on a full disk would end what logs by a panic.
		.log_internal_errors(false)
		.init();
	let cli = CliOf::<C>::parse();
	let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
		Ok(runtime) => runtime,
		Err(error) => {
			eprintln!("error: the system gives no threads: {error}");
			return ExitCode::FAILURE;
		}
	};
	let result = runtime.block_on(run(cli));
	// Blocking work that nobody waits for any more must not keep the process.
	runtime.shutdown_timeout(std::time::Duration::from_millis(500));
	match result {
		Ok(code) => ExitCode::from(code),
		Err(error) => {
			// Parts of it may come from a node or another machine.
			let _ = writeln!(std::io::stderr(), "error: {}", printable_line(&error.to_string()));
			ExitCode::FAILURE
		}
	}
}
