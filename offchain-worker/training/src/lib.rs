//! DiLoCo: inner loop, pseudo-gradient, outer step, checkpoints, and their replay.
//!
//! Everything here is a function of its arguments: no chain, no network, no clock. A round goes
//! [`round::Training`] -> [`round::Trained`] (revealed by the caller) -> [`outer::apply_outer`] -> next [`checkpoint::Checkpoint`].

pub mod adapter;
pub mod checkpoint;
pub mod ending;
pub mod engine;
pub mod export;
pub mod files;
pub mod hot;
pub mod keeper;
pub mod kept;
pub mod need;
pub mod outer;
pub mod presets;
pub mod priority;
pub mod reach;
pub mod redo;
pub mod replay;
pub mod round;
pub mod slowest;
#[cfg(test)]
mod testing;
