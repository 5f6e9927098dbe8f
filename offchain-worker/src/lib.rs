//! The NeuroShard worker: lends compute to train language models with others, exactly checkable, and earns NEURO for it.

pub mod answers;
pub mod api;
pub mod arithmetic;
pub mod bench;
pub mod cases;
pub mod cli;
pub mod counted;
pub mod data;
pub mod engine;
pub mod export;
pub mod gateway;
pub mod hardware;
pub mod history;
pub mod infer;
mod json_file;
pub mod receipt;
pub mod ring;
pub mod run;
pub mod serve;
pub mod status;
#[cfg(test)]
mod testing;
pub mod train;
pub mod web;
