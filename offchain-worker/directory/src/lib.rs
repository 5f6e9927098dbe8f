//! The directory of providers: who is there, what they have, and how far they are from each other, by what they announce.
//!
//! - [`Directory`]: takes [announcements](neuroshard_types::announcement) that peers have passed on, and forgets who has left or was silent for too long.
//! - [`Announcer`]: when this worker should announce itself again, and with what.
//! - [`Matrix`]: ways between members, as both ends have measured them.
//! - [`Tier`]: which sizes of models a machine is asked for, by its speed.
//!
//! Nothing here waits, sends or reads anything, or is random: the time, chance and what the chain says are arguments.

mod announcer;
mod matrix;
mod members;
mod row;
mod take;
#[cfg(test)]
mod tests;
mod tier;

pub use announcer::{is_changed, Announcer, REPEAT_MS};
pub use matrix::{Matrix, Route, ASSUMED_BANDWIDTH};
pub use members::{Directory, Member, MOST_MEMBERS};
pub use row::{row, Measured, MAX_AGE_S};
pub use take::{News, Refusal, Registered};
pub use tier::{in_time, Sizes, Tier, ROUND_S, ROUND_TOKENS};
