//! Disputes and audits of answers: what is kept for them, and how this account plays games about them.
//!
//! Who gave an answer defends its receipt (`serve --provider`), and who was answered disputes it (`gateway`, `dispute`). The chain knows nothing of an
//! answer before, and keeps none of its tokens: each side has them, and the checkpoint, on its own disk.
//!
//! - [`transcript_store`]: transcripts and checkpoints on disk, until nobody can ask for them any more.
//! - [`judge`]: which answers a dispute can judge at all.
//! - [`challenge`]: opens a game.
//! - [`handed`]: what a provider hands to who was drawn to audit an answer. [`provider`] asks it.
//! - [`player`]: plays the open games of one side. [`progress`] is what it tells of them.

pub mod challenge;
pub mod handed;
pub mod judge;
pub mod player;
pub mod progress;
pub mod provider;
#[cfg(test)]
mod tests;
pub mod transcript_store;

pub use challenge::{challenge, Accusation, ChallengeError};
pub use handed::{Asking, Handed, NotPaid};
pub use judge::{check_disputable, longest_text, Undisputable};
pub use player::{Lie, Parts, Player, PlayerError};
pub use progress::{Dispute, State};
pub use provider::Endpoint;
pub use transcript_store::{InUse, TranscriptStore, TranscriptStoreError};
