//! `neuroshard-worker`: see `neuroshard-worker --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
	neuroshard_worker::cli::main::<neuroshard_roles::Honest>()
}
