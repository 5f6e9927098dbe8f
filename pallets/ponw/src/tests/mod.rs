//! Tests.

mod checks;
mod cleaning;
mod disputes;
mod lifecycle;
mod properties;
mod uptime;
mod views;
