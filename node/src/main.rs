//! `neuroshard-node`: validator and full node of the NeuroShard chain.

// The SDK's error types are large, and every service function returns one: once, at start or end.
#![allow(clippy::result_large_err)]

mod chain_spec;
mod cli;
mod command;
mod offences;
mod rpc;
mod service;

use std::process::ExitCode;

fn main() -> ExitCode {
	match command::run() {
		Ok(()) => ExitCode::SUCCESS,
		Err(error) => {
			eprintln!("error: {error}");
			ExitCode::FAILURE
		}
	}
}
