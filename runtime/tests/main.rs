//! The runtime as a whole. One executable, for each that links the runtime takes long to build.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod governance;
mod invariants;
mod limits;
mod live;
mod migrations;
mod offences;
mod round;
mod sequences;
mod tables;
mod verdict;
