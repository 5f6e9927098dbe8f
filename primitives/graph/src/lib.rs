//! From a model configuration to an operator graph, its tiles and its Merkle commitments.
//!
//! - [`config`]: what fixes a run; accepted or refused here, with the numbers that follow from it.
//! - [`layout`]: where each parameter lives in a flat vector, under its Hugging Face name.
//! - [`tiles`], [`merkle`], [`cover`], [`commit`]: 32x32 tiles as 4 KiB leaves, trees over them and parts of these, roots of states and checkpoints.
//! - [`span`]: a model cut into parts that different machines hold.
//! - [`init`]: theta_0 from a seed.
//! - [`graph`], [`plan`]: operators, stages and nodes of each job, and one arena for all its tensors.
//! - [`cell`], [`resume`]: single tiles, where each is committed to, and how one is computed piece by piece.
//! - [`witness`], [`corpus`]: judging one such piece by what its inputs are committed to.
//! - [`game`]: the dispute that comes down to such a piece.
//! - [`outer`], [`code`]: aggregation of deltas and the outer step; what deltas are sent as.
//! - [`sampler`], [`class`], [`answer`]: choosing the next token from logits, the arithmetic that these are computed in, and claims about what was
//!   chosen.
//!
//! The arithmetic is that of [`neuroshard_kernels`]: the same bits on every machine and with any number of threads. What workers compute with, plans
//! as a whole instead of single tiles, is `neuroshard-compute`.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod answer;
pub mod cell;
pub mod class;
pub mod code;
pub mod commit;
pub mod config;
pub mod corpus;
pub mod cover;
pub mod game;
pub mod graph;
#[cfg(feature = "std")]
mod hexadecimal;
pub mod init;
pub mod layout;
pub mod merkle;
pub mod outer;
pub mod plan;
pub mod resume;
pub mod sampler;
pub mod span;
pub mod tiles;
mod validate;
pub mod witness;

pub use class::Class;
pub use config::{
	Adapter, Aggregator, Code, Compressed, ConfigError, Family, ModelConfig, Optimizer, Products, Projection, Projections, Robust,
	RopeScaling, Rule, TopK, TrainConfig, F32, MAX_LAYERS, MAX_RANK,
};
pub use layout::{ParamKind, ParamLayout, ParamTensor};
pub use merkle::Hash;
pub use validate::MAX_TRAINED_VOCAB;
