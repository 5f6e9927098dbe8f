//! Decisions on what comes next. Everything here is pure: it is given what the chain says and what this machine has, and does nothing itself.
//!
//! - [`plan`] decides what a participant does next, out of the [`view`]s; what that can be is a [`task`].
//! - [`choice`]: which run it takes part in, by what each promises ([`prospect`]).
//! - [`refusals`]: what is not tried again for now.
//! - [`obstacle`] and [`notice`]: what keeps it from its part, and what its operator should know all the same.

pub(super) mod choice;
pub(super) mod notice;
pub(super) mod obstacle;
pub mod plan;
pub mod prospect;
pub(super) mod refusals;
pub mod task;
pub mod view;
