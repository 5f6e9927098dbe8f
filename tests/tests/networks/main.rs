//! Networks of real processes. They wait much of the time, for windows, sessions and blocks: so [some](room) run beside each other.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod adapter;
mod answer_audits;
mod answers;
mod audits;
mod authorities;
mod cheats;
mod clients;
mod cohorts;
mod crashes;
mod defence;
mod devices;
mod devnet;
mod found;
mod limits;
mod overlap;
mod paid;
mod quorum_cheats;
mod quorums;
mod restarts;
mod room;
mod scenario;
mod start;
mod tokens;
mod trial;
mod unequal;
