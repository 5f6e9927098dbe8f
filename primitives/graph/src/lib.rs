//! From a model configuration to an operator graph, its tiles and its Merkle commitments.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod config;

pub use config::{Aggregator, ConfigError, F32, ModelConfig, TrainConfig};
