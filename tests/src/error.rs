//! Why a local network does not do what it should.

use neuroshard_chain_client::{keys::KeyError, ChainError};
use neuroshard_data::DataError;
use neuroshard_training as train;
use neuroshard_training::engine::EngineError;
use std::path::{Path, PathBuf};

/// Why a local network does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum Error {
	/// A binary is missing.
	#[error("{path} does not exist: build it first with `scripts/build.sh`")]
	NotBuilt {
		/// Where it should be.
		path: PathBuf,
	},
	/// A file or folder.
	#[error("cannot use {path}: {source}")]
	File {
		/// Which one.
		path: PathBuf,
		/// What the system said.
		source: std::io::Error,
	},
	/// The base folder holds something already.
	#[error("{path} is not empty: a network starts in a new folder; name another one with --base-path, or remove it")]
	NotEmpty {
		/// The folder.
		path: PathBuf,
	},
	/// No free ports.
	#[error("there are no {count} free ports from {from} on: name other ones with --port-base")]
	NoPorts {
		/// How many are needed.
		count: u16,
		/// First one looked at.
		from: u16,
	},
	/// A port that was asked for cannot be used.
	#[error("port {port} cannot be used ({source}), and {count} are needed from {from} on: name other ones with --port-base")]
	PortTaken {
		/// Which one.
		port: u16,
		/// How many are needed.
		count: u16,
		/// The first of them.
		from: u16,
		/// What the system said.
		source: std::io::Error,
	},
	/// The summary's file.
	#[error("cannot write a summary to {path}: {source}; name another file with --summary")]
	SummaryFile {
		/// The file.
		path: PathBuf,
		/// What the system said.
		source: std::io::Error,
	},
	/// Too little text.
	#[error("the text gives {windows} sequences to train on, but a round may need {needed}: name more text with --corpus")]
	TooLittleText {
		/// Sequences in the training shards.
		windows: u64,
		/// Sequences of a round with all the participants that it may have.
		needed: u64,
	},
	/// A process ended although it should run.
	#[error("{name} ended ({how}); the end of {log}:\n{tail}")]
	Ended {
		/// Which process.
		name: String,
		/// Its exit status.
		how: String,
		/// Its log file.
		log: PathBuf,
		/// Last lines of the log.
		tail: String,
	},
	/// A command failed.
	#[error("`{command}` failed: {reason}")]
	Command {
		/// The command.
		command: String,
		/// What it said.
		reason: String,
	},
	/// Something did not happen in time.
	#[error("waited {seconds} s for {what}, in vain")]
	Late {
		/// What was waited for.
		what: String,
		/// How long.
		seconds: u64,
	},
	/// Somebody asked for the end too early.
	#[error("stopped before {0}")]
	Interrupted(String),
	/// The finished training is not what it must be.
	#[error("the network ran, but {0}")]
	Unsound(String),
	/// The chain.
	#[error(transparent)]
	Chain(#[from] ChainError),
	/// Keys.
	#[error(transparent)]
	Key(#[from] KeyError),
	/// The dataset.
	#[error(transparent)]
	Data(#[from] DataError),
	/// The engine.
	#[error(transparent)]
	Engine(#[from] EngineError),
	/// A checkpoint.
	#[error(transparent)]
	Checkpoint(#[from] train::checkpoint::CheckpointError),
	/// Measuring a checkpoint.
	#[error(transparent)]
	Train(#[from] train::round::TrainError),
	/// Something that the network's own set-up got wrong.
	#[error("{0}")]
	Setup(String),
}

impl Error {
	/// Turns a system error about `path` into one of ours.
	pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
		move |source| Self::File { path: path.to_path_buf(), source }
	}
}
