//! The worker at work: what to do next, and the actors that do it.

pub mod journal;
pub mod plan;
pub mod status;

/// A file of this name in the base folder asks the running worker to finish its round and end.
pub const LEAVE_FILE: &str = "leave";
