//! What several parts of the tests begin with.

pub mod dataset;
mod genesis;
pub mod provider;

pub use genesis::genesis_of;
