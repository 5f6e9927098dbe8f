//! Disputes: what it takes to check a claim, to defend one, and to play the games about answers.
//!
//! - [`cases`]: claims of training, and the games about them.
//! - [`answers`]: claims of answers, what is kept for them, and who plays the games about them.
//! - [`games`]: playing, whatever is claimed.

// `claimed` is compiled by other crates' tests too, and names this crate.
#[cfg(test)]
extern crate self as neuroshard_disputes;

pub mod answers;
pub mod cases;
pub mod games;
