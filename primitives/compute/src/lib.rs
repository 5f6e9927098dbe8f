//! What workers compute with. Whatever it computes has the bits of the reference, which the chain executes: that of [`neuroshard_kernels`] for
//! operators, and of [`neuroshard_graph`] for single tiles of a job. The tests compare them.
//!
//! - [`native`]: the operators on this machine's SIMD registers and threads.
//! - [`kat`]: whether they give the known answers.
//! - [`exec`], [`round`]: running plans, the inner loop of a round, validation, and models that answer.
//! - [`trace`], [`recorder`]: a job with all its tensors at hand, and witnesses that are written off it.
//! - [`player`]: what to answer in a dispute.

pub mod exec;
pub mod kat;
pub mod native;
pub mod pages;
pub mod player;
mod pool;
pub mod recorder;
pub mod round;
mod simd;
pub mod trace;
