//! What comes next. Everything here is pure: it is given what the chain says and what this machine has, and does nothing itself.
//!
//! - [`plan`] decides what a participant does next, out of the [`view`]s; what that can be is a [`task`].
//! - [`choice`]: which run it takes part in, by what each promises ([`prospect`]).
//! - [`refusals`]: what is not tried again for now.
//! - [`obstacle`] and [`notice`]: what keeps it from its part, and what its operator should know all the same.

pub(super) mod choice;
pub(super) mod notice;
pub(super) mod obstacle;
pub(crate) mod plan;
pub(crate) mod prospect;
pub(super) mod refusals;
pub(crate) mod task;
pub(crate) mod view;
