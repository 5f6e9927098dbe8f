//! Errors by which a worker, or one of its tasks, cannot go on.

use super::journal::JournalError;
use crate::arithmetic::Fault;
use neuroshard_chain_client::ChainError;
use neuroshard_compute::exec::ExecError;
use neuroshard_data::DataError;
use neuroshard_disputes::{
	answers::{ChallengeError, PlayerError, TranscriptStoreError},
	cases::case::CaseError,
	games::GameError,
};
use neuroshard_graph::tiles::DecodeError;
use neuroshard_mirror::PushError;
use neuroshard_network::{FetchError, NetworkError, Stopped};
use neuroshard_quorum::{RespondError, SeatError};
use neuroshard_store::{StoreError, LEFT_FREE};
use neuroshard_support::counted::counted;
use neuroshard_training::{checkpoint::CheckpointError, engine::EngineError, files::FilesError, outer::OuterError, round::TrainError};
use neuroshard_types::{AccountId, BlockNumber, DatasetId, RoundIndex, RunId, H256};
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
	/// The residual that a delta is said to begin with is none that anybody can have computed with.
	#[error("the residual {root:?}, which a delta is said to begin with, is none: {source}")]
	NoResidual {
		/// Its root.
		root: H256,
		/// Error of decoding.
		source: DecodeError,
	},
	/// What a run names as the model that its adapter is beside is no model of its kind.
	#[error("the model {root:?}, which the run's adapter is beside, is none of its kind: {source}")]
	NoBase {
		/// Its root.
		root: H256,
		/// Error of decoding.
		source: DecodeError,
	},
	/// The checkpoint that inner steps are said to have started from is none that anybody can have started from.
	#[error("checkpoint {root:?} of another cohort, which inner steps are said to have started from, {what}")]
	NoStart {
		/// Its root.
		root: H256,
		/// Fault of it.
		what: String,
	},
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
	/// What was computed in files.
	#[error(transparent)]
	Files(#[from] FilesError),
	/// A round of a quorum.
	#[error(transparent)]
	Seat(#[from] SeatError),
	/// This account's part in a dispute about its quorum's work.
	#[error(transparent)]
	Respond(#[from] RespondError),
	/// A member of the quorum of which it is not known where it is reached.
	#[error("the members file does not say where {who} is reached, which is in this worker's quorum: add it with its address, and start this worker again")]
	Unreachable {
		/// The member.
		who: AccountId,
	},
	/// The account was to lead a quorum, and leads none in the round.
	#[error("this account was to lead a quorum (--quorum), and leads none in round {round} of run {run}: it sits the round out; `neuroshard-worker quorum show --run {run}` says who has agreed")]
	NoQuorum {
		/// The run.
		run: RunId,
		/// The round.
		round: RoundIndex,
	},
	/// The outer step.
	#[error(transparent)]
	Outer(#[from] OuterError),
	/// A claim cannot be recomputed.
	#[error(transparent)]
	Case(#[from] CaseError),
	/// There is no move in a dispute.
	#[error(transparent)]
	Game(#[from] GameError),
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
	/// What the run starts from is no checkpoint of its model: its sponsor named another one.
	#[error("run {run} is to start from checkpoint {root:?}, which is none of its model: {source}; this worker does not join it")]
	FalseStart {
		/// Run.
		run: RunId,
		/// Root of the checkpoint.
		root: H256,
		/// Fault of it.
		source: CheckpointError,
	},
	/// The machine has less memory than something takes.
	#[error("at least {} MiB of memory are needed, and {} MiB are available: use a machine with more, hold a place together with others (`neuroshard-worker quorum`), or take part in a smaller run (--run ID)", mebibytes(*needed), available >> 20)]
	TooLittleMemory {
		/// Bytes that it takes.
		needed: u64,
		/// Bytes that are available.
		available: u64,
	},
	/// The machine has less memory than this account's part of a model takes.
	#[error("this account's part of the model takes {} MiB of memory, and {} MiB are available: use a machine with more, or have the leader propose smaller parts (`neuroshard-worker quorum form`)", mebibytes(*needed), available >> 20)]
	TooLargePart {
		/// Bytes that it takes.
		needed: u64,
		/// Bytes that are available.
		available: u64,
	},
	/// A computation ended in a panic.
	#[error("{what} failed unexpectedly ({words}): that is a defect of this worker, please report it")]
	Panicked {
		/// Computation that was under way.
		what: &'static str,
		/// Message of the panic.
		words: String,
	},
	/// The chain is not the one that this worker was made for.
	#[error("{0}. This worker trains no more; it goes on defending what it claimed, as far as the chain lets it")]
	Outdated(ChainError),
	/// The run that was asked for does not exist.
	#[error("there is no run {0} on this chain: `neuroshard-worker status` shows what there is")]
	UnknownRun(RunId),
	/// The run's dataset is not on chain any more: it was retired, and went with the last run that used it.
	#[error("dataset {0} is retired and not on chain any more: nothing can be trained on it; take part in another run (--run ID)")]
	UnknownDataset(DatasetId),
	/// The dataset has more shards than can be described to peers.
	#[error("dataset {0} has too many shards to be fetched from peers: get it elsewhere and name its folder with --dataset DIR")]
	DatasetTooLarge(DatasetId),
	/// The dataset has more shards than a mirror can name.
	#[error("the dataset has {0} shards: one of more than 16,384 is read from a folder only, so that a mirror of it would be of no use; build it with larger shards")]
	TooManyShards(usize),
	/// Content could not be pushed to a mirror.
	#[error(transparent)]
	Push(#[from] PushError),
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
	/// The data that a round leaves behind would not fit beside what must stay.
	#[error("no room for a round: it takes {} MiB, and {} of the {} MiB of --max-disk are kept, above all for disputes about earlier rounds, until those are too old for any; this worker sits rounds out until enough of that may go, or --max-disk is raised", mebibytes(*needed), mebibytes(*kept), mebibytes(*limit))]
	NoRoom {
		/// Bytes that a round takes.
		needed: u64,
		/// Bytes that may not be evicted.
		kept: u64,
		/// Most bytes that the store may take.
		limit: u64,
	},
	/// The data that a round leaves behind would not fit on the file system.
	#[error("the disk is full: a round takes {} MiB, and its file system has {} MiB left, of which {} MiB stay free, and {} MiB more that may be evicted; free some space: this worker sits rounds out until then, and goes on to defend what it has claimed", mebibytes(*needed), mebibytes(*free), mebibytes(LEFT_FREE), mebibytes(*evictable))]
	DiskFull {
		/// Bytes that a round takes.
		needed: u64,
		/// Bytes that the file system has left.
		free: u64,
		/// Bytes of the store that may be evicted.
		evictable: u64,
	},
	/// The folder of a dataset is not what its manifest says.
	#[error("{what}. Nothing of it is attested until that is mended; it is read again in {}, and `neuroshard-worker dataset verify` tells before", counted(*blocks, "block"))]
	Folder {
		/// File, and its error.
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
		/// Reason for which it cannot be opened.
		why: String,
	},
	/// The text of an answer that is audited.
	#[error("its text is not here: {0}")]
	NoText(String),
	/// An answer cannot be computed anew.
	#[error(transparent)]
	Player(#[from] PlayerError),
	/// Transcripts of answers.
	#[error(transparent)]
	TranscriptStore(#[from] TranscriptStoreError),
	/// An answer cannot be disputed.
	#[error(transparent)]
	Challenge(#[from] ChallengeError),
	/// The checkpoint that a job needs is not in memory.
	#[error("checkpoint {root:?} is not loaded")]
	NotLoaded {
		/// Its root.
		root: H256,
	},
	/// Not enough time for one attempt; another one follows.
	#[error("fetching {what} took longer than {seconds} s; what has arrived is kept")]
	Slow {
		/// Content that was fetched.
		what: String,
		/// Time that was waited, in seconds.
		seconds: u64,
	},
	/// The same of the residual that audited work began with.
	#[error("residual {root:?}, which {who} alone has, has not come in {seconds} s; what has arrived is kept")]
	SlowResidual {
		/// Its root.
		root: H256,
		/// Account whose work it is.
		who: AccountId,
		/// Time that was waited, in seconds.
		seconds: u64,
	},
	/// A file or folder.
	#[error("cannot use {path}: {source}")]
	File {
		/// The file or folder.
		path: PathBuf,
		/// Error of the operating system.
		source: std::io::Error,
	},
	/// The worker is shutting down, or a part of it has ended unexpectedly.
	#[error("a part of the worker has ended: it is shutting down, or has to be started again")]
	Stopped,
}

impl WorkerError {
	/// Whether the device that computes is at fault, or its driver: the CPU can do the same.
	pub(crate) fn is_of_device(&self) -> bool {
		match self {
			Self::Engine(error) | Self::Train(TrainError::Engine(error)) | Self::Outer(OuterError::Train(TrainError::Engine(error))) => {
				error.is_of_device()
			}
			_ => false,
		}
	}

	/// Returns whether training must end: trying again would not help. What else this worker does goes on.
	pub(super) fn is_fatal(&self) -> bool {
		matches!(self, Self::UnknownRun(_) | Self::Stopped | Self::Outdated(_) | Self::Chain(ChainError::Incompatible { .. }))
	}
}

/// Rounded up.
fn mebibytes(bytes: u64) -> u64 {
	bytes.div_ceil(1 << 20)
}

fn nobody_has_shards(dataset: DatasetId, peers: usize) -> String {
	match peers {
		0 => format!("no peer is known that could have the list of shards of dataset {dataset}"),
		_ => format!("nobody among {} has the list of shards of dataset {dataset}", counted(peers, "peer")),
	}
}

impl WorkerError {
	/// Returns whether another block only was faster: what it changed in the meantime is no problem of anybody.
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

	/// Returns whether the run's dataset is out of reach. That stands in the status as long as it lasts.
	pub(super) fn lacks_dataset(&self) -> bool {
		matches!(self, Self::NoShardList { .. } | Self::UnknownDataset(_))
	}

	/// Returns whether something could not be fetched from anybody. What only takes long is in reach, but for what one account alone has: that of many
	/// peers comes as fast as the own line is.
	pub(super) fn is_out_of_reach(&self) -> bool {
		let missing = matches!(
			self,
			Self::Fetch(_) | Self::SlowResidual { .. } | Self::NoResidual { .. } | Self::NoStart { .. } | Self::NoBase { .. }
		);
		missing || self.lacks_dataset()
	}
}

impl From<Stopped> for WorkerError {
	fn from(_: Stopped) -> Self {
		Self::Stopped
	}
}
