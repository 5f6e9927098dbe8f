//! Tests.

mod accounting;
mod budgets;
mod claims;
mod eras;
mod factors;
mod fees;
mod formula;
mod history;
mod tables;
mod views;
