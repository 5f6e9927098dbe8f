//! Rounds of a model that is larger than memory: all its vectors lie in files, and parts of them are in memory.
//!
//! [`FileEngine`] takes inner steps with [`neuroshard_compute::exec::OutOfCore`] on a [`FileShelf`], and reads and writes checkpoints, deltas and residuals as
//! [`TileFile`]s, in the tile encoding in which peers exchange them. All bits are those of [`crate::engine::Engine`] and [`crate::outer`]. Nothing as large as a
//! vector of the model is in memory but hashes of parts of it.
//!
//! Where several machines hold a model, each reads its part of a file with [`TileFile::held`], and [`PartsWriter`] writes the file of what they hold.

mod audit;
mod checkpoint;
mod delta;
mod engine;
mod error;
mod held;
mod need;
mod outer;
mod replay;
mod shelf;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_held;
mod vector;

pub use checkpoint::FiledCheckpoint;
pub use delta::{filed_delta, SentFiles};
pub use engine::{FileEngine, FileRound, FileStart};
pub use error::{FileJobError, FilesError};
pub use held::{handed, PartError, PartsWriter, HANDED_TILES};
pub use need::{replay_bytes, steps_bytes, FilesNeed};
pub use replay::{replay_run_in_files, InFiles};
pub use shelf::FileShelf;
pub use vector::{TileFile, TileWriter};
