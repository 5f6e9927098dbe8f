//! Tests.

mod claims;
mod offers;
mod properties;
mod sessions;
mod views;
