//! Tests.

mod checks;
mod cleaning;
mod lifecycle;
mod properties;
mod uptime;
mod views;
