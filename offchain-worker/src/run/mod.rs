//! The worker at work: what to do next, and the actors that do it.
//!
//! [`plan`] decides, purely; [`Worker`] looks at the chain, asks it, and has the tasks done: extrinsics by the account's submitter,
//! computing by the compute thread, transfers by the network. [`journal`] remembers what a restart must not forget.

mod announce;
mod aside;
mod compute;
mod content;
mod dataset;
mod error;
pub mod journal;
mod local_folder;
mod observe;
mod obstacle;
mod patience;
mod peers;
pub mod plan;
mod prune;
mod refusals;
pub mod status;
mod supply;
mod tasks;
mod told;
mod worker;

pub use content::{checkpoint_folder, read_model};
pub use error::WorkerError;
pub use worker::{Options, Parts, Worker};

/// A file of this name in the base folder asks the running worker to finish its round and end.
pub const LEAVE_FILE: &str = "leave";
