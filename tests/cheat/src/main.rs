//! `neuroshard-cheat`: the worker, whose `run` and `serve --provider` can be told to cheat. It is not given away with any release.

use std::process::ExitCode;

fn main() -> ExitCode {
	neuroshard_worker::cli::main::<neuroshard_cheat::Cheats>()
}
