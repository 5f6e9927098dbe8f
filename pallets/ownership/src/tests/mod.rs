//! Tests.

mod calls;
mod places;
mod properties;
mod shares;
mod tables;
mod views;
