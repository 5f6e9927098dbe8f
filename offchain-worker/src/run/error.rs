//! Why a worker, or one of its tasks, cannot go on.

use super::{journal::JournalError, refusals::Rest};
use crate::{
	arithmetic::Fault,
	chain::ChainError,
	data::DataError,
	engine::EngineError,
	net::{FetchError, NetworkError, Stopped},
	store::StoreError,
	train::{checkpoint::CheckpointError, outer::OuterError, round::TrainError},
	verify::case::CaseError,
};
use neuroshard_kernels::exec::ExecError;
use neuroshard_types::{BlockNumber, DatasetId, RunId, H256};
use std::path::PathBuf;

/// Why a worker, or one of its tasks, cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
	/// The chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// The network could not be started.
	#[error(transparent)]
	Network(#[from] NetworkError),
	/// Content could not be fetched.
	#[error(transparent)]
	Fetch(#[from] FetchError),
	/// The content store.
	#[error(transparent)]
	Store(#[from] StoreError),
	/// The journal.
	#[error(transparent)]
	Journal(#[from] JournalError),
	/// The dataset.
	#[error(transparent)]
	Data(#[from] DataError),
	/// A checkpoint.
	#[error(transparent)]
	Checkpoint(#[from] CheckpointError),
	/// The engine.
	#[error(transparent)]
	Engine(#[from] EngineError),
	/// The compute threads.
	#[error(transparent)]
	Exec(#[from] ExecError),
	/// This machine has no answer to the chain's test of arithmetic.
	#[error(transparent)]
	Arithmetic(#[from] Fault),
	/// Training.
	#[error(transparent)]
	Train(#[from] TrainError),
	/// The outer step.
	#[error(transparent)]
	Outer(#[from] OuterError),
	/// A claim cannot be recomputed.
	#[error(transparent)]
	Case(#[from] CaseError),
	/// The run's first checkpoint is another one here: sponsor and worker do not compute the same.
	#[error("run {run} states the genesis checkpoint {expected:?}, but its seed gives {found:?} here: this worker does not join it; is it of the chain's release?")]
	Genesis {
		/// Run.
		run: RunId,
		/// On chain.
		expected: H256,
		/// Recomputed.
		found: H256,
	},
	/// The run that was asked for does not exist.
	#[error("there is no run {0} on this chain: `neuroshard-worker status` shows what there is")]
	UnknownRun(RunId),
	/// The run's dataset is not on chain any more: it was retired, and went with the last run that used it.
	#[error("dataset {0} is retired and not on chain any more: nothing can be trained on it; take part in another run (--run ID)")]
	UnknownDataset(DatasetId),
	/// The dataset has more shards than can be described to peers.
	#[error("dataset {0} has too many shards to be fetched from peers: get it elsewhere and name its folder with --dataset DIR")]
	DatasetTooLarge(DatasetId),
	/// Nobody at hand has the list of a dataset's shards, without which nothing of it can be fetched.
	#[error("{}; give it with --dataset DIR", nobody_has_shards(*dataset, *peers))]
	NoShardList {
		/// The dataset.
		dataset: DatasetId,
		/// Peers that were asked.
		peers: usize,
	},
	/// The place of shards from peers holds what somebody else put there.
	#[error("shards of dataset {dataset} from peers would go to {path}, which holds a dataset that was built: name it with --dataset, or move it away if it is another one")]
	OthersFolder {
		/// The dataset.
		dataset: DatasetId,
		/// The folder.
		path: PathBuf,
	},
	/// What a round leaves behind would not fit beside what must stay.
	#[error("no room for a round: it takes {} MiB, and {} of the {} MiB of --max-disk are kept, above all for disputes about earlier rounds, until those are too old for any; this worker sits rounds out until enough of that may go, or --max-disk is raised", mebibytes(*needed), mebibytes(*kept), mebibytes(*limit))]
	NoRoom {
		/// Bytes that a round takes.
		needed: u64,
		/// Bytes that may not be evicted.
		kept: u64,
		/// Most bytes that the store may take.
		limit: u64,
	},
	/// The folder of a dataset is not what its manifest says.
	#[error("{what}. Nothing of it is attested until that is mended; it is read again in {blocks} blocks, and `neuroshard-worker dataset verify` tells before")]
	Folder {
		/// What is wrong with which file.
		what: String,
		/// Blocks until it is read again.
		blocks: BlockNumber,
	},
	/// A chunk that this account attests cannot be opened.
	#[error("chunk {chunk} of shard {shard} of dataset {dataset} is asked for and cannot be opened: {why}. Without an answer by block {deadline} a part of the stake is lost")]
	Unanswerable {
		/// The dataset.
		dataset: DatasetId,
		/// Shard, counted from 0.
		shard: u32,
		/// Chunk within the shard.
		chunk: u32,
		/// Last block for the answer.
		deadline: BlockNumber,
		/// What is in the way.
		why: String,
	},
	/// The checkpoint that a job needs is not in memory.
	#[error("checkpoint {root:?} is not loaded")]
	NotLoaded {
		/// Its root.
		root: H256,
	},
	/// Not enough time for one attempt; another one follows.
	#[error("fetching {what} took longer than {seconds} s; what has arrived is kept")]
	Slow {
		/// What was fetched.
		what: String,
		/// How long was waited.
		seconds: u64,
	},
	/// A file or folder.
	#[error("cannot use {path}: {source}")]
	File {
		/// Which one.
		path: PathBuf,
		/// What the system said.
		source: std::io::Error,
	},
	/// The worker is shutting down, or a part of it has ended unexpectedly.
	#[error("the worker is shutting down")]
	Stopped,
}

impl WorkerError {
	/// Whether the worker must end: trying again would not help.
	pub(super) fn is_fatal(&self) -> bool {
		matches!(self, Self::Genesis { .. } | Self::UnknownRun(_) | Self::Stopped | Self::Chain(ChainError::Incompatible { .. }))
	}
}

/// Rounded up.
fn mebibytes(bytes: u64) -> u64 {
	bytes.div_ceil(1 << 20)
}

fn nobody_has_shards(dataset: DatasetId, peers: usize) -> String {
	match peers {
		0 => format!("no peer is known that could have the list of shards of dataset {dataset}"),
		_ => format!("nobody among {peers} peers has the list of shards of dataset {dataset}"),
	}
}

impl WorkerError {
	/// Whether another block only was faster: what it changed in the meantime is no problem of anybody.
	pub(super) fn is_outrun(&self) -> bool {
		let names = [
			"Training::WrongPhase",
			"Training::WrongRound",
			"Training::WrongAttempt",
			"Training::AlreadyActed",
			"Training::AlreadyMember",
			"Staking::AlreadyProven",
		];
		matches!(self, Self::Chain(chain) if names.iter().any(|name| chain.is_dispatch(name)))
	}

	/// Whether the run's dataset is out of reach. That stands in the status as long as it lasts.
	pub(super) fn lacks_dataset(&self) -> bool {
		matches!(self, Self::NoShardList { .. } | Self::UnknownDataset(_))
	}

	/// Whether something could not be fetched from anybody.
	pub(super) fn is_out_of_reach(&self) -> bool {
		matches!(self, Self::Fetch(_) | Self::Slow { .. }) || self.lacks_dataset()
	}

	/// How long the same attempt would end the same way; `None` if it may be made again at once.
	pub(super) fn rest(&self) -> Option<Rest> {
		match self {
			// The same machine gives the same answer.
			Self::Arithmetic(_) => Some(Rest::Lasting),
			Self::Chain(error) if error.is_dispatch("Staking::WrongAnswer") => Some(Rest::Lasting),
			// Every refused extrinsic costs a fee, every divergent attempt a computation that would end alike.
			Self::Chain(ChainError::Dispatch { .. })
			| Self::Train(TrainError::Diverged(_))
			| Self::Outer(OuterError::Train(TrainError::Diverged(_))) => Some(Rest::Fixed),
			Self::NoShardList { .. } | Self::UnknownDataset(_) | Self::OthersFolder { .. } | Self::NoRoom { .. } => Some(Rest::Growing),
			_ => None,
		}
	}
}

impl From<Stopped> for WorkerError {
	fn from(_: Stopped) -> Self {
		Self::Stopped
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_machine_that_computes_wrongly_is_not_tested_again_and_again() {
		assert_eq!(WorkerError::Arithmetic(Fault::Unstable).rest(), Some(Rest::Lasting));
		let refused = |name: &str| ChainError::Dispatch { call: String::new(), name: name.into(), advice: String::new() };
		assert_eq!(WorkerError::Chain(refused("Staking::WrongAnswer")).rest(), Some(Rest::Lasting));
		assert_eq!(WorkerError::Chain(refused("Staking::BondTooSmall")).rest(), Some(Rest::Fixed));
	}

	#[test]
	fn a_retired_dataset_is_asked_for_less_and_less_often_and_says_what_to_do() {
		let error = WorkerError::UnknownDataset(1);
		assert_eq!(error.rest(), Some(Rest::Growing));
		assert!(error.lacks_dataset() && !error.is_fatal());
		assert!(error.to_string().contains("retired") && error.to_string().contains("--run ID"), "{error}");
	}
}
