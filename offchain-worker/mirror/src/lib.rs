//! Mirrors: content in object stores and on web servers, written with [`Target`], read with [`Mirrors`].
//!
//! The layout is that of a [store](neuroshard_store)'s folder, so that one can be served as it is:
//!
//! ```text
//! <url>/blobs/ab/<root>.bin     the bytes of a blob
//! <url>/blobs/ab/<root>.leaves  hashes of its leaves, 32 bytes each
//! <url>/notes/<root>            what a root that names no blob is made of
//! ```
//!
//! A mirror is trusted with nothing: the leaf list is compared with the root and every leaf with the list before it is stored, as with what peers
//! send. What arrived before a break is kept, and only the rest is asked for. Each piece must come in bounded time and is held in bounded memory.
//!
//! Only addresses that the operator named are asked: redirects are not followed, and the metadata services of clouds are left alone unless the
//! environment names them.

mod client;
mod error;
mod layout;
mod location;
mod push;
mod read;
mod rest;
#[cfg(test)]
mod tests;

pub use error::{FetchFailure, MirrorError, MirrorFailure, PushError};
pub use location::{Location, LocationError};
pub use push::Target;
pub use read::{Mirrors, Timing};
