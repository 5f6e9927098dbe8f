//! `neuroshard-node`: validator and full node of the NeuroShard chain.

mod chain_spec;
mod cli;
mod command;
mod rpc;
mod service;

fn main() -> sc_cli::Result<()> {
	command::run()
}
