//! Command line of the node.

use sc_cli::RunCmd;

/// Validator and full node of the NeuroShard chain.
#[derive(Debug, clap::Parser)]
pub struct Cli {
	/// A tool instead of the node itself.
	#[command(subcommand)]
	pub subcommand: Option<Subcommand>,
	/// Options of the node.
	#[command(flatten)]
	pub run: RunCmd,
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
