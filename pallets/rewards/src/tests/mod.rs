//! Tests.

mod accounting;
mod claims;
mod eras;
mod formula;
mod views;
