//! Content-addressed blobs on disk: shards, deltas and checkpoints.
//!
//! A blob is a whole number of 4 KiB leaves and is named by the Merkle root over their hashes. On disk:
//!
//! ```text
//! <dir>/store.lock            held while a process uses the folder
//! <dir>/pins.json             which blobs must stay, and why
//! <dir>/blobs/ab/<root>.bin   the bytes
//! <dir>/blobs/ab/<root>.leaves  hashes of the leaves, 32 bytes each
//! <dir>/blobs/ab/<root>.part  a download that is not complete yet
//! <dir>/notes/<root>          what a root that names no blob is made of
//! <dir>/spare/<name>         what is kept while there is room for it
//! <dir>/tmp/                  files being written; emptied when the store is opened
//! ```
//!
//! Invariants: a `.bin` file appears only by renaming a complete, synced file; a `.leaves` file always hashes to its
//! root; every leaf that leaves this crate was compared with its hash on the way out. A blob that turns out to be
//! damaged is dropped, so that it can be fetched again. What is pinned is never evicted.
//!
//! All calls block on the disk: asynchronous code calls them from a blocking thread.

mod blob;
mod disk;
mod error;
mod index;
mod layout;
mod leaves;
mod notes;
mod partial;
mod pins;
mod spare;
mod storage;
#[cfg(test)]
mod tests;

pub use blob::{Blob, LINKING};
pub use disk::{free_disk, Disk, LocalDisk, LEFT_FREE};
pub use error::StoreError;
pub use index::Usage;
pub use leaves::{parse_hashes, ContentDescriptor, LeafList, LEAF_BYTES};
pub use notes::{read_note, MAX_NOTE_BYTES};
pub use partial::Partial;
pub use storage::{blob_path, read_blob, Store};
