//! `neuroshard-worker` with the feature `faults`: its `run` and `serve --provider` can be told to cheat. Nothing that is installed or given away contains it.

use std::process::ExitCode;

fn main() -> ExitCode {
	neuroshard_worker::cli::main()
}
