//! What the HTTP services of the worker have in common: which pages in browsers may use them, how many connections there are, and that no proxy keeps a
//! stream back.
//!
//! A page of any site can have its visitor's browser ask this machine. So a service that only this machine reaches is asked by its address, and by no name
//! that somebody else could have stand for it (DNS rebinding); and no service answers pages of other sites, but for those that its owner names.

mod door;
mod guard;
mod origin;

pub(crate) use door::{listen, next_connection};
pub use guard::Guard;
pub use origin::{BadOrigin, Origin};

/// Headers by which browsers say from where a page asks, how, and what for. Other clients send none of them, but for `cors` as a mode.
pub(crate) const SITE: &str = "sec-fetch-site";
pub(crate) const MODE: &str = "sec-fetch-mode";
pub(crate) const DEST: &str = "sec-fetch-dest";
