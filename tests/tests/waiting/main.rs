//! Networks that wait most of the time, for windows, sessions and blocks: so beside each other.

#[path = "../common/mod.rs"]
mod common;

mod audits;
mod authorities;
mod clients;
