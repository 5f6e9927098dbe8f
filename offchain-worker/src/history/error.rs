//! Why a chain's history cannot be executed anew, in words that say what to do.

use neuroshard_chain_client::ChainError;
use neuroshard_types::{BlockNumber, DatasetId, RoundIndex, RunId, H256};
use std::path::PathBuf;

/// Why there is no state that follows from the blocks.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
	/// The node, or what the runtime's view functions are.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// The node has pruned the state to start from.
	#[error("the node does not hand out the state after block {number} ({source}): use one with `--state-pruning archive` from its first start on, or name the chain's raw spec with --chain-spec FILE")]
	NoState {
		/// Block.
		number: BlockNumber,
		/// What the node said.
		source: Box<ChainError>,
	},
	/// The node does not hold a block's body.
	#[error("the node does not hold the body of block {number}: use one that keeps all of them (the default; no --blocks-pruning, and --sync full)")]
	NoBody {
		/// Block.
		number: BlockNumber,
	},
	/// A chain spec cannot be read.
	#[error("{path} is no raw chain spec ({reason}): `neuroshard-node export-chain-spec --chain SPEC --raw` makes one")]
	Spec {
		/// The file.
		path: PathBuf,
		/// What is wrong.
		reason: String,
	},
	/// The start state is another one than the header names.
	#[error("the state to start from has root {found:?}, but the header of block {number} names {expected:?}: another chain's, or the node is not to be trusted")]
	Root {
		/// Block whose state it should be.
		number: BlockNumber,
		/// Root of what was given.
		found: H256,
		/// Root in the header.
		expected: H256,
	},
	/// The state at genesis is another chain's.
	#[error("the entries at genesis are those of a chain with genesis hash {found:?}, but the node's has {expected:?}: the chain spec is another chain's, or the node is not to be trusted")]
	Genesis {
		/// Hash of the header that follows from what was given.
		found: H256,
		/// Genesis hash by which the node knows its chain.
		expected: H256,
	},
	/// What the node gave is not the block that comes next.
	#[error("what the node gave is not block {number} of this chain: {reason}")]
	NotNext {
		/// Block that should come.
		number: BlockNumber,
		/// What is wrong.
		reason: String,
	},
	/// Executing a block gives something else than its header says.
	#[error("block {number} does not follow from its body: {reason}")]
	Diverges {
		/// Block.
		number: BlockNumber,
		/// What the runtime, or its executor, said.
		reason: String,
	},
	/// Nobody who may make a block made this one.
	#[error("block {number} is not sealed by a validator of its epoch: {reason}; the node is not to be trusted")]
	NotSealed {
		/// Block.
		number: BlockNumber,
		/// What is wrong.
		reason: String,
	},
	/// The runtime cannot be asked.
	#[error("the runtime does not execute {method} after block {number}: {reason}")]
	Runtime {
		/// Block.
		number: BlockNumber,
		/// Runtime API.
		method: String,
		/// What its executor said.
		reason: String,
	},
	/// The run was under way in the state to start from.
	#[error("run {run} has adopted rounds up to block {number}, the one to start from: name an earlier one with --from-block, or start at genesis without it")]
	StartsTooLate {
		/// Run.
		run: RunId,
		/// Block whose state it was seen in.
		number: BlockNumber,
	},
	/// A run without its dataset.
	#[error("run {run} has dataset {dataset}, which is not in the state after block {number}: the chain is of another version; use the worker of its release")]
	NoDataset {
		/// Run.
		run: RunId,
		/// Its dataset.
		dataset: DatasetId,
		/// Block.
		number: BlockNumber,
	},
	/// An adopted round without a record.
	#[error(
		"round {round} was adopted in block {number} without a record: the chain is of another version; use the worker of its release"
	)]
	NoRecord {
		/// Round.
		round: RoundIndex,
		/// Block.
		number: BlockNumber,
	},
	/// A round was adopted without outer steps to attest.
	#[error("round {round} was adopted in block {number}, but nothing was to be attested in the block before: the chain is of another version; use the worker of its release")]
	NoJob {
		/// Round.
		round: RoundIndex,
		/// Block.
		number: BlockNumber,
	},
}

impl HistoryError {
	/// Whether what a node gives as the chain's blocks cannot be the chain's. Otherwise there is no answer.
	pub fn is_difference(&self) -> bool {
		matches!(self, Self::Diverges { .. } | Self::NotSealed { .. })
	}
}
