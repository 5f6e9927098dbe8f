//! Setup that several parts of the tests share.

pub mod dataset;
mod genesis;
pub mod provider;

pub use genesis::genesis_of;
