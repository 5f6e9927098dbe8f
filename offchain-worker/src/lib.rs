//! The NeuroShard worker: lends compute to train language models with others, exactly checkable, and earns NEURO for it.

pub mod arithmetic;
pub mod bench;
pub mod chain;
pub mod cli;
pub mod data;
pub mod engine;
pub mod export;
#[cfg(any(feature = "faults", test))]
pub mod faults;
pub mod files;
pub mod hardware;
pub mod history;
pub mod infer;
pub mod keys;
pub mod metrics;
pub mod net;
pub mod run;
pub mod store;
pub mod train;
pub mod verify;
