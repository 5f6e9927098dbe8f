//! The worker at work: what to do next, and the actors that do it.
//!
//! [`plan`] decides, purely; [`Worker`] looks at the chain, asks it, and has the tasks done: extrinsics by the account's submitter,
//! computing by the compute thread, transfers by the network. [`journal`] remembers what a restart must not forget.

mod announce;
mod aside;
mod auditor;
#[cfg(any(feature = "faults", test))]
mod cheat;
mod compute;
mod content;
mod dataset;
mod error;
mod holder;
pub mod journal;
mod local_folder;
mod notice;
mod observe;
mod obstacle;
mod outer;
mod patience;
mod peers;
pub mod plan;
mod prune;
mod refusals;
pub mod status;
mod supply;
mod tasks;
mod told;
mod verifier;
mod wait;
mod worker;

use crate::chain::{ChainClient, Submitter};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

pub use content::{checkpoint_folder, read_model};
pub use error::WorkerError;
use holder::Holder;
pub use worker::{Options, Parts, Worker};

/// A file of this name in the base folder asks the running worker to finish its round and end.
pub const LEAVE_FILE: &str = "leave";

/// Takes the request of [`LEAVE_FILE`] back: a worker that has left, or was stopped before it got to it, must not leave again after a new
/// registration.
///
/// # Errors
/// [`WorkerError::File`] if the file is there and cannot be removed.
pub fn forget_request(base: &Path) -> Result<(), WorkerError> {
	let path = base.join(LEAVE_FILE);
	match std::fs::remove_file(&path) {
		Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(WorkerError::File { path, source }),
		_ => Ok(()),
	}
}

/// Ends all that the account attests of datasets: withdraws it, concludes what was missed, and answers until then what is asked for out of the
/// folder `dataset`. Returns when nothing is attested any more; while the node is away it waits.
pub async fn end_attestations(client: ChainClient, submitter: Submitter, dataset: Option<PathBuf>) {
	Holder::leaving(client, submitter, dataset).run_to_the_end(CancellationToken::new()).await;
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_request_that_was_fulfilled_does_not_stay() {
		let base = tempfile::tempdir().unwrap();
		forget_request(base.path()).unwrap();
		std::fs::write(base.path().join(LEAVE_FILE), b"").unwrap();
		forget_request(base.path()).unwrap();
		assert!(!base.path().join(LEAVE_FILE).exists());
	}
}
