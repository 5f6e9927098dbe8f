//! Command line of the node.

use sc_cli::RunCmd;
use std::path::PathBuf;

/// Calls of one connection in a minute, from addresses other than the machine's own. A worker makes some thousand.
const RATE_LIMIT: &str = "6000";
const RATE_HELP: &str = "Calls of one connection in a minute. More wait, and are refused if they wait too long";
/// Addresses without that limit: workers and wallets beside the node.
const UNLIMITED: [&str; 2] = ["127.0.0.0/8", "::1/128"];
/// Calls of one batch.
const BATCH: &str = "100";

const METHODS_HELP: &str = "RPC methods to expose. Whatever is said here, web pages are served safe ones only";
const CORS_HELP: &str = "Origins of web pages that may use JSON-RPC over HTTP and WebSocket, with commas between them: scheme://host, with :PORT if that is \
	not the scheme's own and :* for any; null; or all. Pages of other origins are refused. So are requests for a host that is neither an address nor \
	localhost, unless all are allowed.\n\n\
	By default, pages of localhost and 127.0.0.1 (http and https, any port) and of https://polkadot.js.org may; with --dev, all";

/// Validator and full node of the NeuroShard chain.
// The SDK limits neither rate nor batches.
#[derive(Debug, clap::Parser)]
#[command(mut_arg("rpc_rate_limit", |option| option.default_value(RATE_LIMIT).long_help(RATE_HELP)))]
#[command(mut_arg("rpc_rate_limit_whitelisted_ips", |option| option.default_values(UNLIMITED)))]
#[command(mut_arg("rpc_max_batch_request_len", |option| option.default_value(BATCH)))]
#[command(mut_arg("rpc_methods", |option| option.long_help(METHODS_HELP)))]
#[command(mut_arg("rpc_cors", |option| option.long_help(CORS_HELP)))]
pub struct Cli {
	/// A tool instead of the node itself.
	#[command(subcommand)]
	pub subcommand: Option<Subcommand>,
	/// Options of the node.
	#[command(flatten)]
	pub run: RunCmd,
	/// Folder for the runtime's compiled code, so that the next start need not compile it; below the base path if not given. Whoever can write there
	/// decides what the node executes.
	#[arg(long, value_name = "DIR")]
	pub wasm_cache: Option<PathBuf>,
}

/// Tools beside the node.
#[derive(Debug, clap::Subcommand)]
pub enum Subcommand {
	/// Generates, inspects and inserts keys.
	#[command(subcommand)]
	Key(sc_cli::KeySubcommand),
	/// Prints the JSON of a chain spec, plain or raw.
	ExportChainSpec(sc_cli::ExportChainSpecCmd),
	/// Checks that blocks of the local database execute.
	CheckBlock(sc_cli::CheckBlockCmd),
	/// Writes blocks to a file.
	ExportBlocks(sc_cli::ExportBlocksCmd),
	/// Writes the state at a block as a chain spec.
	ExportState(sc_cli::ExportStateCmd),
	/// Reads blocks from a file.
	ImportBlocks(sc_cli::ImportBlocksCmd),
	/// Deletes the local database.
	PurgeChain(sc_cli::PurgeChainCmd),
	/// Takes back the newest blocks that are not finalized.
	Revert(sc_cli::RevertCmd),
}

#[cfg(test)]
mod tests {
	use super::*;
	use clap::{CommandFactory, Parser};

	fn limits(options: &[&str]) -> (Option<u32>, Vec<String>, Option<u32>) {
		let cli = Cli::try_parse_from(["neuroshard-node"].iter().chain(options)).unwrap();
		let rpc = cli.run.rpc_params;
		let unlimited = rpc.rpc_rate_limit_whitelisted_ips.iter().map(ToString::to_string).collect();
		(rpc.rpc_rate_limit.map(Into::into), unlimited, rpc.rpc_max_batch_request_len)
	}

	#[test]
	fn rate_and_batches_are_limited_where_nothing_else_is_said() {
		Cli::command().debug_assert();
		let loopback = UNLIMITED.map(String::from).to_vec();
		assert_eq!(limits(&[]), (Some(6_000), loopback.clone(), Some(100)));
		assert_eq!(limits(&["--rpc-rate-limit=7", "--rpc-max-batch-request-len=8"]), (Some(7), loopback, Some(8)));
		assert_eq!(limits(&["--rpc-rate-limit-whitelisted-ips=10.0.0.0/8"]).1, ["10.0.0.0/8"]);
	}

	#[test]
	fn limits_of_ones_own_leave_no_conflict_with_those_of_the_node() {
		for options in [["--rpc-disable-batch-requests"], ["--experimental-rpc-endpoint=listen-addr=127.0.0.1:9944"]] {
			limits(&options);
		}
	}
}
