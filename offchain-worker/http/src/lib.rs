//! Common parts of the HTTP services of the worker: which pages in browsers may use them, how many connections there are, and that no proxy keeps a
//! stream back.
//!
//! A page of any site can have its visitor's browser ask this machine. So a service that only this machine reaches is asked by its address, and by no name
//! that somebody else could have stand for it (DNS rebinding); and no service answers pages of other sites, but for those that its owner names.

pub mod api;
mod connections;
mod guard;
mod origin;

pub use connections::{listen, next_connection, serve_until};
pub use guard::Guard;
pub use origin::{BadOrigin, Origin};

/// Header by which browsers say from where a page asks. Other clients do not send it.
pub const SITE: &str = "sec-fetch-site";
/// Header by which browsers say how a page asks. Other clients do not send it, but for `cors`.
pub const MODE: &str = "sec-fetch-mode";
/// Header by which browsers say what a page asks for. Other clients do not send it.
pub const DEST: &str = "sec-fetch-dest";

/// Content type of the OpenMetrics text format.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
