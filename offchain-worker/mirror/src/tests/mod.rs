//! Mirrors on this machine: folders, and web servers that do as they please.

mod push;
mod read;
mod server;

use crate::{FetchFailure, Location, MirrorError, Mirrors, Timing};
use neuroshard_store::{Blob, ContentDescriptor, LeafList, Store, LEAF_BYTES};
use neuroshard_support::backoff::Backoff;
use server::{Asked, Reaction, Server};
use std::{path::Path, time::Duration};

const PLENTY: u64 = 1 << 30;

/// Bytes of so many leaves, which all differ.
fn bytes(leaves: usize) -> Vec<u8> {
	(0..leaves * LEAF_BYTES).map(|at| (at / LEAF_BYTES * 31 + at % 251 + at / LEAF_BYTES / 256) as u8).collect()
}

fn content(data: &[u8]) -> ContentDescriptor {
	LeafList::of(data).unwrap().descriptor()
}

/// Timing that keeps no test waiting: attempts follow at once, and whoever failed rests for the rest of the test.
fn timing() -> Timing {
	let (at_once, for_good) =
		(Backoff::new(Duration::ZERO, Duration::ZERO), Backoff::new(Duration::from_secs(3_600), Duration::from_secs(3_600)));
	Timing { again: at_once, failed: for_good, lied: for_good, ..Timing::default() }
}

fn folder(path: &Path) -> Location {
	format!("file://{}", path.display()).parse().unwrap()
}

fn mirrors(locations: impl IntoIterator<Item = Location>) -> Mirrors {
	Mirrors::open(locations, timing()).unwrap()
}

async fn fetch(mirrors: &Mirrors, store: &Store, content: ContentDescriptor) -> Result<Blob, FetchFailure> {
	mirrors.fetch(store, content, None, |_| {}).await
}

/// Why the mirrors, one after the other, did not bring it.
async fn failures(mirrors: &Mirrors, store: &Store, content: ContentDescriptor) -> Vec<MirrorError> {
	match fetch(mirrors, store, content).await.unwrap_err() {
		FetchFailure::Mirrors(failures) => failures.into_iter().map(|failure| failure.error).collect(),
		other => panic!("{other}"),
	}
}

/// Leaves that `store` lacks of a download that was begun.
fn missing(store: &Store, content: ContentDescriptor) -> u32 {
	store.resume(content).unwrap().unwrap().missing()
}
