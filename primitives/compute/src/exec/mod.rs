//! Running plans on this machine: training steps and validation, in one arena that the caller owns; a step allocates nothing. And models that
//! answer. Results do not depend on the number of threads.

mod arena;
mod backend;
mod beside;
mod code;
mod decoding;
mod inference;
mod kv_pages;
mod loss;
mod memory;
mod out_of_core;
mod outer;
mod profile;
mod runner;
mod span;
mod trainer;
mod validator;
mod weight;

pub use crate::native::{Exec, ExecError, Shared};
pub use arena::Arena;
pub use backend::{At, Backend, DeviceError, RmsInput};
pub use beside::{Beside, PackedAdapter};
pub use code::{add_residual, decode_delta, decode_vector, encode_vector, CodeError};
pub use decoding::{Decoding, Tokens};
pub use inference::{Inference, InferenceError, Input, Output, Piece, Stage, Wanted};
pub use kv_pages::{GivenUp, Page, Pages, Sequence, PAGE_TOKENS};
pub(crate) use loss::{add_to_weights_of, blocks};
pub use memory::{largest_quantized, StepMemory};
pub use out_of_core::{OutOfCore, OutOfCoreError, Shelf, Shelved};
pub use outer::{aggregate, outer_step, take_outer_step, Combination, Deltas, OuterStep};
pub use profile::{Profile, Spent};
pub use span::SpanTrainer;
pub use trainer::{StepOutcome, Trainer};
pub use validator::{ValidationError, Validator};
pub use weight::Weight;

use neuroshard_graph::config::ConfigError;

/// Why an executor cannot be set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetupError {
	/// The configuration is refused.
	#[error("the model or training configuration is refused: {0}")]
	Config(#[from] ConfigError),
	/// The arena would not fit this machine's address space.
	#[error("the job does not fit the memory that this machine can address")]
	Memory,
	/// Micro-batches whose gradients do not add up to those of the batch.
	#[error(
		"a micro-batch of {micro_batch} sequences of {seq_len} tokens has to go into a batch of {batch}, and if that has more than 4,096 tokens, into 4,096"
	)]
	MicroBatch {
		/// Sequences of it.
		micro_batch: u32,
		/// Sequences of a step.
		batch: u32,
		/// Tokens of a sequence.
		seq_len: u32,
	},
}

/// Why a batch gives no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StepError {
	/// Loss or gradient norm is not finite. The outcome of the job, not a fault of the machine.
	#[error("diverged: the loss or the gradient norm is not finite")]
	Diverged,
	/// Not `batch * (seq_len + 1)` tokens.
	#[error("{found} tokens where the batch has {expected}")]
	Tokens {
		/// Tokens of a batch.
		expected: usize,
		/// Tokens given.
		found: usize,
	},
	/// The device that computes.
	#[error(transparent)]
	Device(#[from] DeviceError),
	/// The arena is shorter than the plan.
	#[error("arena of {found} elements where the plan has {expected}")]
	Arena {
		/// Elements that the plan needs.
		expected: usize,
		/// Elements given.
		found: usize,
	},
}
