//! The NeuroShard worker's program: its command line, the replay of runs out of the chain's blocks, and measurements of training. Everything else is in
//! the crates beside it.

pub mod bench;
pub mod cli;
pub mod history;
pub mod profile;
