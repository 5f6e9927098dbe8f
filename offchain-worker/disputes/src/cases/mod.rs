//! Checking claims of others, and defending our own: everything about a dispute but reading the chain and sending extrinsics.
//!
//! - [`case`]: a claim with what it takes to recompute it; finds what is wrong with it, and answers in a game about it.
//! - [`record`]: a game as it was played so far, from what was posted.
//! - [`library`]: chunks of a dataset with their proofs.
//! - [`ledger`]: which claims were checked, on disk.
//! - [`reports`]: what is reported in audits, on disk.

pub mod case;
pub mod ledger;
pub mod library;
pub mod record;
pub mod reports;

#[cfg(test)]
mod claimed;
#[cfg(test)]
mod tests;
