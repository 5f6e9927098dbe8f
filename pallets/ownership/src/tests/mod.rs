//! Tests.

mod calls;
mod properties;
mod shares;
mod views;
