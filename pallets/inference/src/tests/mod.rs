//! Tests.

mod answers;
mod claims;
mod offers;
mod properties;
mod sessions;
mod views;
