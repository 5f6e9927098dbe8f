//! From a model configuration to an operator graph, its tiles and its Merkle commitments.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod commit;
pub mod config;
pub mod init;
pub mod layout;
pub mod merkle;
pub mod tiles;
mod validate;

pub use config::{Aggregator, ConfigError, ModelConfig, TrainConfig, F32};
pub use layout::{ParamKind, ParamLayout, ParamTensor};
pub use merkle::Hash;
