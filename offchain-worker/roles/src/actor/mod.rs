//! Shared parts of the loops of all roles: each is an actor that looks at the chain with every block, and does one thing after the other.

pub(super) mod aside;
pub(super) mod blocking;
pub(super) mod guarded;
pub(super) mod told;
