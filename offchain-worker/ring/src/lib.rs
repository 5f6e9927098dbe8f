//! Inference rings: a model that is split by its layers over several workers.
//!
//! - [`placement`]: who holds which layers, and why.
//! - `driver`: has the spans computed one after the other, and is an engine like any other. `member`, `span`: whom it asks for which part. `reread`: what
//!   holders lack is computed anew. `settle`: what they say is compared.
//! - [`accounts`]: rings whose members are accounts of the chain, which pays them.
//! - [`start`]: greets the workers, places the spans, and sets up the engine.
//! - [`lend`], `answering`, `holder`: the other side, which computes a span. [`loaded`]: what it holds, and announces.
//! - [`find`]: who could hold a part, as the directory knows it. `recruit`: somebody of these takes the place of who is lost.
//! - `link`, `message`: what they say to each other. `history`: what is needed to compute the KV cache anew, and to say who has lied. `presence`: who is
//!   there. [`report`]: who was late, or lied; `view` tells it. [`liars`]: who lied is not used after a restart either.

pub mod accounts;
mod answering;
mod driver;
pub mod find;
mod history;
mod holder;
pub mod lend;
pub mod liars;
mod link;
pub mod loaded;
mod member;
mod message;
pub mod placement;
mod presence;
mod recruit;
#[cfg(test)]
mod recruit_tests;
pub mod report;
mod reread;
mod settle;
mod span;
pub mod start;
#[cfg(test)]
mod tests;
mod view;

pub use driver::{Patience, Ring};
pub use view::RingView;
